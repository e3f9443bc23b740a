"""config.toml: the shipped one shows the defaults, and all faults are reported."""

import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from audit import config, resources
from audit.config.table import TableMapping
from audit.errors import ConfigError
from audit.nightly.timetable import next_after
from tests.config.refusals import cases, refusals


def keys(section: type[BaseModel], prefix: str = "") -> set[str]:
    """The paths of all keys and sections below a section."""
    found = set()
    for name, field in section.model_fields.items():
        path = f"{prefix}{name}"
        found.add(path)
        for kind in (field.annotation, *get_args(field.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                found |= keys(kind, f"{path}.")
    return found


def test_the_shipped_file_shows_every_key_with_its_default() -> None:
    path = resources.path("config.toml")
    shipped = config.load(path)
    examples = {"clusters", "recipients", "thresholds"}
    assert shipped.model_dump(exclude=examples) == config.Config().model_dump(exclude=examples)
    (cluster,) = shipped.clusters
    assert cluster.usage == config.UsageConfig()
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
    tables: dict[str, type[BaseModel]] = {
        "clusters.pools.capacity": config.AmountsConfig,
        "clusters.pools.steps": config.AmountsConfig,
        "clusters.usage.weights": config.Weights,
        "clusters.usage.billing_weights": config.ByResource,
        "clusters.usage.shares": config.Share,
        "clusters.pools.limits": config.Limit,
        "clusters.pools.windows": config.Window,
        "clusters.pools.preemption": config.PreemptionRule,
        "clusters.pools.nodes": config.Nodes,
        "compute.slurm": config.Slurm,
        "clusters.evidence": config.EvidenceConfig,
    }
    in_one_comment = {f"{path}.{key}" for path, of in tables.items() for key in of.model_fields}
    in_one_comment |= keys(TableMapping, "clusters.sources.table.")
    assert keys(config.Config) - shown <= in_one_comment
    assert shown <= keys(config.Config)


def test_all_faults_are_reported_at_once(tmp_path: Path) -> None:
    text = '[metrics]\ntau = 3\ntau_s = "x"\n[stor]\na = 1\n[store]\nmemory_limit = "all"'
    assert {line.split(" (it is")[0] for line in refusals(tmp_path, text)} == {
        "metrics.tau: no such key; did you mean metrics.tau_s?",
        "metrics.tau_s: Input should be a valid integer",
        "stor: no such key; did you mean store?",
        'store.memory_limit: must be an amount with its unit, such as "4GB"',
    }


REFUSED = """
[metrics] ; tau_s = 0 => metrics.tau_s: Input should be greater than or equal to 1
[metrics] ; zzz = 0 => metrics.zzz: no such key; known: tau_s,
[metrics] ; resource_equality_weights = "area" => metrics.resource_equality_weights: Input should be 'size' or 'jobs'
[uncertainty] ; resamples = 99 => uncertainty.resamples
metrics = 3 => metrics:
[clusters.c] ; zone = "UTC" => clusters: must be a list; write [[clusters]]
[[clusters]] ; name = "c" ; [clusters.pools] ; name = "p" => clusters[0].pools: must be a list; write [[clusters.pools]]
[[recipients]] ; addresses = "a@b.org" => recipients[0].addresses: must be a list; write [ ] around its values
[store] ; memory_limit = "1KB" => store.memory_limit: must be at least "64MB" (it is
[sql] ; memory_limit = "63MB" => sql.memory_limit: must be at least "64MB"
[report] ; pdf_memory_limit = "1MiB" => report.pdf_memory_limit: must be at least
[[thresholds]] ; metric = "uwt" ; above = 2 => thresholds[0]: uwt has no dimension 'all'; it has entity_kind
[service] ; times = "x 4 * * *" => service.times: minute 'x': must be 0 to 59; also
[service] ; times = "0 24 * * *" => service.times: hour '24': must be 0 to 23
[service] ; times = "0 4 * foo *" => service.times: month 'foo': must be 1 to 12, or jan to dec
[service] ; times = "0 4 * * fri-tue" => service.times: day of the week 'fri-tue': must be mon to sun
[service] ; times = "*/0 4 * * *" => service.times: minute '*/0'
[service] ; times = "*/60 4 * * *" => service.times: minute '*/60'
[service] ; times = "0 23/1 * * *" => service.times: hour '23/1'
[service] ; times = "0 4-10/7 * * *" => service.times: hour '4-10/7'
[service] ; times = "0 4 * * mon-fri/2" => service.times: day of the week 'mon-fri/2'
[service] ; times = "0 4 * *" => service.times: must be minute, hour, day, month and day of the week
[service] ; by_cluster = { c = "0,,5 4 * * *" } => service.by_cluster.c: minute '0,,5'
[[clusters]] ; name = "c" ; [[clusters]] ; name = "c" => clusters: two clusters have the same name
[service] ; by_cluster = { d = "0 4 * * *" } => service.by_cluster.d: no such cluster
[[recipients]] ; addresses = ["=?utf-8?q?a?=@b.org"] => recipients[0].addresses[0]: must be one bare address
[[recipients]] ; addresses = ["a@b.org"] ; clusters = ["d"] => recipients[0].clusters[0]: no such cluster
"""  # noqa: E501


@pytest.mark.parametrize(("text", "message"), cases(REFUSED))
def test_faults_are_reported_by_key_path(tmp_path: Path, text: str, message: str) -> None:
    (found,) = refusals(tmp_path, text)
    assert found.startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"[metrics", "not valid TOML"),
        (b"\xff\xfe", r"my\.toml:1: contains a character that is not UTF-8"),
        (b"# Config\n# caf\xe9\n", r"my\.toml:2: .*; save the file in UTF-8$"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "my.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        config.load(path)


def test_a_byte_order_mark_and_crlf_are_accepted(tmp_path: Path) -> None:
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbf[metrics]\r\ntau_s = 3\r\n")
    assert config.load(tmp_path / "marked.toml").metrics.tau_s == 3


@given(
    minute=st.sampled_from(["0", "59", "*", "*/7", "*/59", "5-9", "5-9/4", "1,2,30-40"]),
    hour=st.sampled_from(["0", "23", "*/23", "22/1", "1-3"]),
    day=st.sampled_from(["*", "1", "31", "last", "1-7"]),
    month=st.sampled_from(["*", "1", "12", "jan", "FEB-nov", "1,mar"]),
    weekday=st.sampled_from(["*", "mon", "mon-fri", "Sat,sun", "*/2"]),
)
def test_the_timetable_understands_all_accepted_times(**fields: str) -> None:
    times = " ".join(fields[name] for name in ("minute", "hour", "day", "month", "weekday"))
    service = config.Service(times=times)
    assert next_after(service.times, "Europe/Berlin", 10**9) > 10**9
