"""``fairaudit when --cpus N``: the shapes, the answers, and what is wrong with options."""

import json
from pathlib import Path
from typing import Any

import pytest

from audit.errors import UsageError
from audit.oneoff.before import BeforeAnswer, JobShape, ShapeForecast, lines, placed, shapes
from audit.oneoff.requests import walltime
from tests.cli.command import Run
from tests.cli.conftest import run as run  # noqa: PLC0414 (a fixture)
from tests.oneoff.test_when import site as site  # noqa: PLC0414 (a fixture)
from tests.scenario.predict.test_sweep import job, scenario
from tests.strategies import EPOCH


@pytest.mark.parametrize(
    ("text", "want"),
    [("4:00:00", 14_400), ("2-0", 172_800), ("90", 5_400), ("1h30m", 5_400), ("45s", 45)],
)
def test_walltimes(text: str, want: int) -> None:
    assert walltime(text) == want


@pytest.mark.parametrize("text", ["", "h", "4 h", "UNLIMITED", "0", "9" * 30])
def test_what_is_no_walltime(text: str) -> None:
    with pytest.raises(UsageError, match="--walltime"):
        walltime(text)


def test_shapes_are_all_combinations() -> None:
    found = shapes(JobShape(cpus="4"), ["walltime=1h,2h", "cpus=8,16"])
    assert [(one.walltime, one.cpus) for one in found] == [
        ("1h", "8"),
        ("1h", "16"),
        ("2h", "8"),
        ("2h", "16"),
    ]
    assert shapes(JobShape(cpus="4"), []) == [JobShape(cpus="4")]
    twice = shapes(JobShape(), ["walltime=1h", "walltime=2h"])
    assert [one.walltime for one in twice] == ["1h", "2h"]
    for wrong in ("walltime", "walltime=", "colour=red", "cpus=" + ",".join("1" * 65)):
        with pytest.raises(UsageError, match="--compare"):
            shapes(JobShape(), [wrong])


def test_a_job_in_words() -> None:
    assert JobShape(cpus="1").words == "A job of 1 CPU"
    assert JobShape(cpus="2", gpus="1").words == "A job of 2 CPUs and 1 GPU"
    shape = JobShape("64", "2", "a100:2", "64G", "4h", "batch", "ann")
    assert shape.words == (
        "A job of 64 CPUs, 2 nodes, a100:2 GPUs, 64G of memory and 4 h in partition batch of user "
        "ann"
    )


@pytest.mark.thorough
def test_a_shape_gets_an_interval(run: Run, site: Path) -> None:
    of_config = ("--config", "config.toml")
    asked = ("when", site, "--cpus", "4", "--walltime", "2h", *of_config)
    (told,) = run(*asked, "--user", "ann").stdout.splitlines()
    assert told.startswith("A job of 4 CPUs and 2 h of user ann, submitted now: between ")
    answer = json.loads(run(*asked, "--user", "ann", "--format", "json").stdout)
    (one,) = answer["shapes"]
    assert one["sentence"] == told
    assert (one["cpus"], one["walltime_s"], one["partition"]) == (4, 7_200, "long")
    assert answer["as_of"] < one["p10"] <= one["p50"] <= one["p90"]
    heads, *rows = run(*asked, "--compare", "cpus=1,4,4000").stdout.splitlines()
    assert heads.split() == ["cpus", "half", "wait", "under", "8", "of", "10", "wait"]
    assert [row.split()[0] for row in rows] == ["1", "4", "4000"]
    assert "more than the pool or one of its limits ever allows" in rows[2]


@pytest.mark.thorough
def test_what_is_wrong_with_a_shape(run: Run, site: Path) -> None:
    for wrong, remedy in (
        (("--walltime", "2h"), "pass --cpus"),
        (("--cpus", "four"), "write a whole number, at least 1"),
        (("--cpus", "4", "--node-count", "0"), "--node-count '0'"),
        (("--cpus", "4", "--gpus", "1"), "--gpus: pool all has no GPUs"),
        (("--cpus", "4", "--gpus", "x:y"), "write N or TYPE:N"),
        (("--cpus", "4", "--mem", "much"), "write an amount such as 64G"),
        (("--cpus", "4", "--partition", "<b>"), "there is: long"),
        (("1", "--cpus", "4"), "give either JOB"),
    ):
        error = run("when", *wrong, site, "--config", "config.toml", check=2).stderr
        assert remedy in error


def test_a_user_whose_jobs_have_no_partition_gets_the_most_used_one() -> None:
    jobs = [job(k, k, k + 1, 1, user="ann", partition="long") for k in range(3)]
    jobs += [job(9, 9, 10, 1, user="ann", partition="debug")]
    jobs += [job(20 + k, 20 + k, 30, 1, user="bob", partition=None) for k in range(9)]
    assert placed(JobShape(user="bob"), scenario(jobs).attempts).partition == "long"


def test_a_job_that_starts_at_once_waits_0_seconds() -> None:
    made = EPOCH + 1  # a second after the newest record
    facts: dict[str, Any] = dict.fromkeys(ShapeForecast.__dataclass_fields__)
    one = ShapeForecast(**facts | {"p10": made, "p50": made, "p90": made + 20})
    answer = BeforeAnswer(cluster="c", zone="UTC", as_of=EPOCH, shapes=(one,))
    _, row = lines(answer, [JobShape(cpus="1")], ["cpus"])
    assert row.split() == ["1", "0", "s", "0", "s", "to", "20", "s"]
