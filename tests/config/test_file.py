"""config.toml: the shipped one is the defaults, and mistakes are all reported."""

import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from audit import config, resources
from audit.errors import ConfigError
from audit.nightly.timetable import next_after


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
    told_together |= {f"compute.slurm.{key}" for key in config.Slurm.model_fields}
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
        ('[store]\nmemory_limit = "1KB"', 'store.memory_limit: must be at least "64MB" (it is'),
        ('[sql]\nmemory_limit = "63MB"', 'sql.memory_limit: must be at least "64MB"'),
        ('[report]\npdf_memory_limit = "1MiB"', "report.pdf_memory_limit: must be at least"),
        ('[service]\ntimes = "x 4 * * *"', "service.times: minute 'x': must be of 0 to 59; also"),
        ('[service]\ntimes = "0 24 * * *"', "service.times: hour '24': must be of 0 to 23"),
        ('[service]\ntimes = "0 4 * foo *"', "month 'foo': must be of 1 to 12, or jan to dec"),
        ('[service]\ntimes = "0 4 * * fri-tue"', "day of the week 'fri-tue': must be of mon to"),
        ('[service]\ntimes = "*/0 4 * * *"', "service.times: minute '*/0'"),
        ('[service]\nby_cluster = { c = "0,,5 4 * * *" }', "service.by_cluster: minute '0,,5'"),
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
    with pytest.raises(ConfigError, match=r"binary\.toml:1: holds a character that is not UTF-8"):
        config.load(tmp_path / "binary.toml")
    (tmp_path / "latin.toml").write_bytes(b"# Config\n# caf\xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.toml:2: .*; save the file in UTF-8$"):
        config.load(tmp_path / "latin.toml")
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbf[metrics]\r\ntau_s = 3\r\n")
    assert config.load(tmp_path / "marked.toml").metrics.tau_s == 3


@given(
    minute=st.sampled_from(["0", "59", "*", "*/7", "5-9", "5-9/2", "1,2,30-40"]),
    hour=st.sampled_from(["0", "23", "*/2", "1-3"]),
    day=st.sampled_from(["*", "1", "31", "last", "1-7"]),
    month=st.sampled_from(["*", "1", "12", "jan", "FEB-nov", "1,mar"]),
    weekday=st.sampled_from(["*", "mon", "mon-fri", "Sat,sun", "*/2"]),
)
def test_times_that_are_taken_can_be_kept(**fields: str) -> None:
    times = " ".join(fields[name] for name in ("minute", "hour", "day", "month", "weekday"))
    service = config.Service(times=times)
    assert next_after(service.times, "Europe/Berlin", 10**9) > 10**9


def test_two_clusters_of_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text('[[clusters]]\nname = "c"\n[[clusters]]\nname = "c"\n')
    with pytest.raises(ConfigError, match="clusters: two clusters have the same name"):
        config.load(path)
