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
    amounts = {
        f"{name}.{key}"
        for name in ("clusters.pools.capacity", "clusters.pools.steps")
        for key in ("nodes", "gpus", "mem_bytes", "cpus")
    }
    assert keys(config.Config) - shown <= amounts  # named together in a comment
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


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ('zone = "Mars"', "clusters[0].zone: time zone 'Mars'"),
        ('zone = "Europe/Berlin"\nname = ""', "clusters[0].name: String should have at least 1"),
        ("perod = 3", "clusters[0].perod: no such key; did you mean clusters[0].period?"),
        ('period = "year"', "clusters[0].period: Input should be 'day', 'week' or 'month'"),
        (
            '[[clusters.pools]]\nname = "a"\ncapacity = { cpu = 1 }',
            "did you mean clusters[0].pools[0].capacity.cpus?",
        ),
        (
            '[[clusters.pools]]\nname = "a"\npartitions = ["x"]\n'
            '[[clusters.pools]]\nname = "b"\npartitions = ["x"]',
            "partitions in two pools: x",
        ),
        (
            '[[clusters.pools]]\nname = "a"\n[[clusters.pools]]\nname = "b"',
            "only one pool may leave out its partitions",
        ),
        (
            '[[clusters.pools]]\nname = "a"\n'
            "steps = [{ since = 2026-02-01, cpus = 1 }, { since = 2026-01-01, cpus = 2 }]",
            "steps must be in the order of their days",
        ),
        ("[[clusters.sources]]", "a source has either files or a command"),
        ('[[clusters.sources]]\nfiles = "a"\ncommand = ["b"]', "either files or a command"),
        ("[[clusters.sources]]\ncommand = []", "at least a program"),
        (
            "[clusters.usage]\nhalf_life_days = 0.0",
            "half_life_days: Input should be greater than 0",
        ),
        ("[clusters.usage]\ndecay = nan", "clusters[0].usage.decay"),
    ],
)
def test_mistakes_in_a_cluster_are_said_by_key_path(
    tmp_path: Path, cluster: str, said: str
) -> None:
    path = tmp_path / "my.toml"
    name = "" if "\nname" in cluster and "clusters." not in cluster else 'name = "c"\n'
    path.write_text(f"[[clusters]]\n{name}{cluster}\n")
    with pytest.raises(ConfigError) as caught:
        config.load(path)
    assert said in str(caught.value)


def test_two_clusters_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[[clusters]]\nname = "c"\n[[clusters]]\nname = "c"\n')
    with pytest.raises(ConfigError, match="clusters: two clusters have the same name"):
        config.load(path)
