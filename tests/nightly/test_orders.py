"""Logs of several nights in any order: the same records give the same figures."""

import itertools
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from audit.config.places import Site
from audit.nightly.run import run
from audit.store import database
from tests import stores
from tests.logs import line, log, write
from tests.nightly import test_run
from tests.nightly.test_run import DAY
from tests.nightly.test_timetable import epoch

BEGIN = epoch("2026-03-20T00:00+00:00")
TABLES = ("job_result", "summary_result", "entity_result", "charge_result", "run_input")


def nights(number: int) -> list[str]:
    """The logs of some nights: each has the jobs that ended in one day."""
    chance = random.Random(1)
    of_day: list[list[str]] = [[] for _ in range(number)]
    for job in range(60 * number):
        submit = chance.randrange(number * DAY)
        wait, spent = chance.choice([0, 600, 7200]), chance.choice([60, 3600, 20_000])
        day = (submit + wait + spent) // DAY
        if day < number:
            user, procs = chance.randint(1, 4), chance.choice([1, 2, 4])
            of_day[day].append(
                line(job, submit=submit, wait=wait, run=spent, procs=procs, user=user)
            )
    return [log(lines, UnixStartTime=BEGIN, MaxProcs=40) for lines in of_day]


def left(
    folder: Path, order: Sequence[int], clock: Sequence[int] = ()
) -> dict[str, list[tuple[object, ...]]]:
    """The figures after nights whose logs arrived in this order; ``clock`` gives their times."""
    folder.mkdir()
    site = Site(test_run.site(folder, period="day"), folder)
    logs = nights(len(order))
    for done, night in enumerate(order):
        write(folder / "logs" / f"{night}.swf", logs[night])
        now = clock[done] if clock else BEGIN + (len(order) + done) * DAY
        assert run(site, now, stages=("ingest", "compute", "publish")).failures == []
    with stores.published(folder / "fairaudit.duckdb") as con:
        found = {name: database.rows(con, f"SELECT * FROM {name} ORDER BY ALL") for name in TABLES}
    # a check of rounding over all that was known when it was computed
    found["summary_result"] = [
        row for row in found["summary_result"] if "re_conservation" not in row
    ]
    return found


@pytest.mark.thorough
def test_three_nights_in_reverse_order(tmp_path: Path) -> None:
    assert left(tmp_path / "a", (0, 1, 2)) == left(tmp_path / "b", (2, 1, 0))


@pytest.mark.faults
@pytest.mark.thorough
def test_wrong_clocks_change_no_figure(tmp_path: Path) -> None:
    """In 1970, in 2100, and back: a machine without a battery, and one that was corrected."""
    far = epoch("2100-01-01T00:00+00:00")
    wrong = left(tmp_path / "wrong", (0, 1, 2), (1_000, far, BEGIN + 4 * DAY))
    assert wrong == left(tmp_path / "right", (0, 1, 2))


@pytest.mark.slow
def test_four_nights_in_any_order(tmp_path: Path) -> None:
    first, *others = itertools.permutations(range(4))
    expected = left(tmp_path / "first", first)
    for number, order in enumerate(others):
        assert left(tmp_path / f"{number}", order) == expected, order
