"""``fairaudit when``, from logs and from databases."""

import re
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from audit.oneoff import when
from audit.report import wording
from audit.scenario.predict.predictions import PREDICTIONS
from tests.cli.command import QUICK, Run
from tests.cli.conftest import run as run  # noqa: PLC0414 (a fixture)
from tests.logs import busy, write
from tests.scenario.predict.test_predictions import records
from tests.scenario.predict.test_sweep import job, scenario
from tests.strategies import EPOCH

pytestmark = pytest.mark.usefixtures("short_paper")

JOBS = 420
"""So many that three users have pending jobs on more than 20 days together."""
COLUMNS = (
    "JobID|User|Account|Partition|QOS|State|Submit|Start|End|AllocCPUS|ReqCPUS|Timelimit|"
    "NNodes|Reason"
)


def at(time: int | None) -> str:
    return "Unknown" if time is None else f"{datetime.fromtimestamp(time, UTC):%Y-%m-%dT%H:%M:%S}"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A log of sacct whose last jobs are pending; its pool serves one job after another."""
    write(
        tmp_path / "config.toml",
        '[[clusters]]\nname = "c"\nzone = "UTC"\n[[clusters.pools]]\nname = "all"\n'
        'capacity = { cpus = 4 }\nbackfill = "none"\n[[clusters.sources]]\nfiles = "a.psv"\n',
    )
    past = records(JOBS)
    return write(tmp_path / "a.psv", sacct_at(past[-1]["submit_time"]))


def sacct_at(now: int, held: int = JOBS) -> str:
    """The output of sacct at an instant, epoch s; job ``held`` waits for another one."""
    lines = [COLUMNS]
    for number, one in enumerate(records(JOBS), 1):
        start, end = one["start_time"], one["end_time"]
        if one["submit_time"] > now:
            break
        if start > now:
            state, start, end, reason = "PENDING", None, None, "Priority"
        elif end > now:
            state, end, reason = "RUNNING", None, "None"
        else:
            state, reason = "COMPLETED", "None"
        if number == held:
            reason = "Dependency"
        used = "4" if start is not None else "0"
        shown = (state, at(one["submit_time"]), at(start), at(end))
        lines.append(
            f"{number}|{one['user']}|a|long|high|{'|'.join(shown)}|{used}|4|02:00:00|1|{reason}"
        )
    return "\n".join(lines) + "\n"


@pytest.mark.thorough
def test_pending_jobs_get_an_interval_or_a_reason(run: Run, site: Path) -> None:
    answer = run("when", site, "--config", "config.toml")
    assert answer.stderr.count("warning: the records end at ") == 1
    told = answer.stdout.splitlines()
    assert len(told) > 2
    assert told[-1] == (
        f"Job {JOBS}: no prediction, because it waits for something other than its turn."
    )
    assert re.fullmatch(
        r"Job \d+: between (today|tomorrow) \d\d:\d\d and (today|tomorrow) \d\d:\d\d, most likely "
        r"around (tomorrow )?\d\d:\d\d; (\d|10) of 10 such intervals were right in "
        r"the last 30 days\.",
        told[0],
    )
    (one,) = run("when", str(JOBS - 1), site, "--config", "config.toml").stdout.splitlines()
    assert one == told[-2]
    of_user = run("when", site, "--user", "cem", "--config", "config.toml").stdout.splitlines()
    assert of_user == [line for line in told if int(line.split()[1].rstrip(":")) % 3 == 0]


@pytest.mark.thorough
def test_the_database_is_read_where_no_log_is_given(run: Run, site: Path) -> None:
    run("run", "--config", "config.toml")
    from_log = run("when", site, "--config", "config.toml").stdout
    assert run("when", "--config", "config.toml").stdout == from_log


def test_jobs_that_were_cancelled_before_an_interval_ended_do_not_count() -> None:
    gave_up = {"state": "CANCELLED", "start_time": None}
    jobs = [
        job(0, 500, 600, 1),  # within the interval
        job(0, 0, 900, 1) | gave_up,
        job(0, 0, 2_000, 1) | gave_up,  # after it
        job(0, 5_000, 6_000, 1),
    ]
    of = scenario(jobs)
    rows = [
        (row, EPOCH + 1, EPOCH + 400, EPOCH + 700, EPOCH + 1_000, True, None, None, None, None)
        for row in range(3)
    ]
    past = pl.DataFrame(rows, schema=PREDICTIONS, orient="row")
    assert when.record_of(of, past)[True] == (
        "; 5 of 10 such intervals were right in the last 30 days"
    )


def test_old_records_are_stated() -> None:
    assert list(when.stale(EPOCH, "UTC", EPOCH + 3_599)) == []
    (warning,) = when.stale(EPOCH, "Asia/Tokyo", EPOCH + 28 * 86_400)
    end = wording.instant(EPOCH, "Asia/Tokyo")
    assert warning == f"the records end at {end}, 28 d ago: 'now' and 'today' are of that time"


@pytest.mark.thorough
def test_what_is_not_pending_has_no_prediction(run: Run, tmp_path: Path, site: Path) -> None:
    of_config = ("--config", "config.toml")
    assert "is not pending" in run("when", "1", site, *of_config, check=2).stderr
    said = run("when", "9999", site, *of_config, check=2).stderr
    assert "there is no job '9999' among" in said
    assert "and there is no file of this name" in said
    both = run("when", str(JOBS - 1), "--user", "ann", site, *of_config, check=2)
    assert "either JOB or --user" in both.stderr
    write(tmp_path / "mine.swf", busy(60))
    run("audit", "mine.swf", *QUICK)
    none = run("when").stdout
    assert none.startswith("No job was pending at 2001-")
    assert run("when", "--user", "7").stdout.startswith("No job of user 7 was pending at 2001-")


@pytest.mark.thorough
def test_each_waiting_task_of_an_array_is_predicted(run: Run, site: Path) -> None:
    """In sacct's one row for them, as in a row for each; and by the id of the row or of a task."""
    *lines, pending, _ = site.read_text().splitlines()
    of_job = pending.partition("|")[2]

    def told(ids: list[str], *job: str) -> list[str]:
        write(site, "\n".join([*lines, *(f"{one}|{of_job}" for one in ids), ""]))
        found = run("when", *job, site, "--config", "config.toml").stdout.splitlines()
        return [line for line in found if line.startswith("Job 999_")]

    tasks = [f"999_{task}" for task in range(3)]
    apart = told(tasks)
    assert [line.split()[1].rstrip(":") for line in apart] == tasks
    assert told(["999_[0-2]"], "999_[0-2]") == apart
    for task, line in enumerate(apart):
        assert told(["999_[0-2]"], f"999_{task}") == [line]
