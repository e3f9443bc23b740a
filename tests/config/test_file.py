"""config.toml: the shipped one is the defaults, and mistakes are all reported."""

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from audit import config, resources
from audit.errors import ConfigError


def keys(section: type[BaseModel], prefix: str = "") -> set[str]:
    """Every key below a section, by path, and its sections themselves."""
    found = set()
    for name, field in section.model_fields.items():
        path = f"{prefix}{name}"
        found.add(path)
        inner = [part for part in (field.annotation, *get_args(field.annotation)) if part]
        for kind in inner:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                found |= keys(kind, f"{path}.")
    return found


def test_the_shipped_file_shows_every_key_with_its_default() -> None:
    path = resources.path("config.toml")
    shipped = config.load(path)
    examples = {"clusters", "recipients", "thresholds"}
    assert shipped.model_dump(exclude=examples) == config.Config().model_dump(exclude=examples)
    (cluster,) = shipped.clusters
    assert cluster.usage == config.Usage()
    section, shown, commented = "", set(), False
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.fullmatch(r"\[+([\w.]+)\]+", line):
            section = match[1]
            shown.add(section)
        elif match := re.match(r"(?:# )?(\w+) = (.*)", line):
            key = f"{section}.{match[1]}"
            shown.add(key)
            assert commented, f"{key} has no comment"
            shown |= {f"{key}.{name}" for name in re.findall(r"(\w+) = ", match[2])}
            continue
        commented = line.startswith("#") or (commented and bool(line))
    by_resource = ("clusters.pools.capacity", "clusters.pools.steps", "clusters.usage.weights")
    told_together = {
        f"{name}.{key}"
        for name in (*by_resource, "clusters.usage.billing_weights")
        for key in ("nodes", "gpus", "mem_bytes", "cpus")
    } | {f"clusters.usage.shares.{name}" for name in config.Share.model_fields}
    told_together |= {f"clusters.pools.limits.{key}" for key in config.Limit.model_fields}
    told_together |= {f"clusters.pools.windows.{key}" for key in config.Window.model_fields}
    assert keys(config.Config) - shown <= told_together  # named together in a comment
    assert shown <= keys(config.Config)


def test_three_mistakes_are_three(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[metrics]\ntau = 3\ntau_s = "x"\n[stor]\na = 1\n[store]\nmemory_limit = "all"')
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: 4 wrong:")
    assert "metrics.tau: no such key; did you mean metrics.tau_s?" in message
    assert "metrics.tau_s: Input should be a valid integer (it is 'x')" in message
    assert "stor: no such key; did you mean store?" in message
    assert 'store.memory_limit: must be an amount with its unit, such as "4GB"' in message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[metrics", "not valid TOML"),
        ("[metrics]\ntau_s = 0", "metrics.tau_s: Input should be greater than or equal to 1"),
        ("[metrics]\nzzz = 0", "known here: tau_s, "),
        ('[metrics]\nresource_equality_weights = "area"', "Input should be 'size' or 'jobs'"),
        ("[uncertainty]\nresamples = 99", "uncertainty.resamples"),
        ("metrics = 3", "metrics: "),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert said in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        config.load(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        config.load(tmp_path / "binary.toml")


def test_two_clusters_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[[clusters]]\nname = "c"\n[[clusters]]\nname = "c"\n')
    with pytest.raises(ConfigError, match="clusters: two clusters have the same name"):
        config.load(path)
