"""Attempts that ran at an unknown time: their usage, and the rest in the report."""

from pathlib import Path

import pytest

from audit.config import Config
from audit.config.table import TableMapping
from audit.formats.dialects import Reading
from audit.model import Period
from audit.oneoff.audit import AuditOptions, AuditResult, audit
from audit.pipeline.opening import LogRequest, Session
from audit.report import standing
from audit.report.build import build
from audit.report.sections.records.record import Unplaced, UnplacedOf
from audit.store import database
from tests import stores
from tests.logs import line, log, write
from tests.strategies import EPOCH

NO_START = {"wait": -1, "run": 3_600}


def audited(folder: Path, lines: list[str]) -> AuditResult:
    return audited_log(folder, LogRequest(logs=[write(folder / "a.swf", log(lines, MaxProcs=4))]))


def audited_log(folder: Path, request: LogRequest) -> AuditResult:
    options = AuditOptions(out=folder / "out", pdf=False)
    return audit(Session(request, Config(), fit=False), options)


def unplaced_lines(count: int) -> list[str]:
    """Jobs of an hour and one or two CPUs, whose starts are unknown."""
    return [
        line(k, submit=60 * k, allocated=1 + k % 2, user=k % 2, group=7, **NO_START)
        for k in range(count)
    ]


@pytest.mark.thorough
def test_usage_is_what_the_log_still_allows(tmp_path: Path) -> None:
    sizeless = line(99, submit=9_000, allocated=-1, user=5, group=-1, **NO_START)
    outcome = audited(tmp_path, [*unplaced_lines(40), sizeless])
    assert outcome.verdict == "cannot tell"
    assert outcome.sentence == "Cannot tell: The log has too few start times."
    assert not any("no attempt ended" in text for text in outcome.warnings)
    with stores.published(outcome.database) as con:
        rows = database.rows(con, "SELECT from_time, to_time FROM run", {})
        made = build(con, outcome.cluster, Period("all", *rows[0]))
        machine = database.rows(
            con,
            "SELECT metric, value FROM summary WHERE dimension = 'all' AND metric IN "
            "('utilization', 'loss_of_capacity', 'over_capacity_time', 'peak_in_use')",
            {},
        )
        verdicts = database.rows(con, "SELECT verdict, sentence FROM verdicts", {})
    assert {value for _, value in machine} == {None}  # not 0 % busy
    assert verdicts == [("cannot tell", "Cannot tell: The log has too few start times.")]
    hour = 3_600.0
    assert made.unplaced == (
        Unplaced(
            *("all", "cpus", 41, 40, 60 * hour),
            users=(
                UnplacedOf("1", 20, 40 * hour),
                UnplacedOf("0", 20, 20 * hour),
                UnplacedOf("5", 1, 0.0),
            ),
            accounts=(UnplacedOf("7", 40, 60 * hour), UnplacedOf(None, 1, 0.0)),
        ),
    )
    assert made.empty
    assert standing.standing(made).text == standing.unplaced(made)
    page = outcome.html.read_text()
    assert "Cannot tell: The log has too few start times." in page
    assert "41 jobs used 60 CPU-hours: the sum of size × run time." in page
    assert "The size or run time of 1 job is unknown" in page
    assert "66.7" in page
    assert "33.3" in page


@pytest.mark.thorough
@pytest.mark.parametrize(("known", "told"), [(45, False), (35, True)])
def test_with_most_starts_unknown_the_log_cannot_tell(
    tmp_path: Path, known: int, told: bool
) -> None:
    placed = [line(100 + k, submit=60 * k, wait=5, run=30, user=k % 3) for k in range(known)]
    outcome = audited(tmp_path, [*unplaced_lines(40), *placed])
    assert (outcome.sentence == "Cannot tell: The log has too few start times.") is told
    with stores.published(outcome.database) as con:
        utilization = "SELECT value FROM summary WHERE metric = 'utilization' AND dimension = 'all'"
        assert database.rows(con, utilization, {})[0][0] > 0


@pytest.mark.thorough
@pytest.mark.parametrize(("known", "told"), [(20, False), (19, True), (0, True)])
def test_with_most_submissions_unknown_the_log_cannot_tell(
    tmp_path: Path, known: int, told: bool
) -> None:
    """No job of such a log waited long, so it would be quiet."""
    starts = range(EPOCH, EPOCH + 40 * 60, 60)
    rows = [
        f"{k},u{k % 3},{start if k < known else ''},{start},{start + 30},1"
        for k, start in enumerate(starts)
    ]
    path = tmp_path / "jobs.csv"
    path.write_text("\n".join(["id,user,submit,start,end,cpus", *rows, ""]))
    columns = {"job_id": "id", "start_time": "start", "end_time": "end", "submit_time": "submit"}
    table = TableMapping.model_validate({"user": "user", "cpus": "cpus", **columns})
    outcome = audited_log(tmp_path, LogRequest(logs=[path], reading=Reading(table=table)))
    assert (outcome.sentence == "Cannot tell: The log has too few submission times.") is told
    if not known:
        assert dict(outcome.lines)["Waits"] == "machine 50 % busy (40 jobs)"


@pytest.mark.thorough
def test_a_log_without_such_attempts_has_none(tmp_path: Path) -> None:
    placed = [line(k, submit=60 * k, wait=5, run=30, user=k % 3) for k in range(40)]
    outcome = audited(tmp_path, placed)
    with stores.published(outcome.database) as con:
        rows = database.rows(con, "SELECT from_time, to_time FROM run", {})
        assert build(con, outcome.cluster, Period("all", *rows[0])).unplaced == ()
