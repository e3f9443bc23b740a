"""Attempts that ran at an unknown time: their usage, and the rest in the report."""

from pathlib import Path

import pytest

from audit.config import Config
from audit.model import Period
from audit.oneoff.audit import AuditOptions, AuditResult, audit
from audit.pipeline.opening import LogRequest, Session
from audit.report import standing
from audit.report.build import build
from audit.report.sections.records.record import (
    Unplaced,
    UnplacedOf,
)
from audit.store import database
from tests import stores
from tests.logs import line, log, write

NO_START = {"wait": -1, "run": 3_600}


def audited(folder: Path, lines: list[str]) -> AuditResult:
    path = write(folder / "a.swf", log(lines, MaxProcs=4))
    return audit(
        Session(LogRequest(logs=[path]), Config(), fit=False),
        AuditOptions(out=folder / "out", pdf=False),
    )


def unplaced_lines(count: int) -> list[str]:
    """Jobs of an hour and one or two CPUs, whose starts are unknown."""
    return [
        line(k, submit=60 * k, allocated=1 + k % 2, user=k % 2, group=7, **NO_START)
        for k in range(count)
    ]


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
    assert "No data" not in page
    assert "Cannot tell: the log does not say when jobs started." in page
    assert "41 jobs used 60 CPU-hours: the sum of size × run time." in page
    assert "The size or run time of 1 job is unknown" in page
    assert "66.7" in page
    assert "33.3" in page


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


def test_a_log_without_such_attempts_has_none(tmp_path: Path) -> None:
    placed = [line(k, submit=60 * k, wait=5, run=30, user=k % 3) for k in range(40)]
    outcome = audited(tmp_path, placed)
    with stores.published(outcome.database) as con:
        rows = database.rows(con, "SELECT from_time, to_time FROM run", {})
        assert build(con, outcome.cluster, Period("all", *rows[0])).unplaced == ()
