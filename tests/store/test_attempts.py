"""Sums over the attempts of the store."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit.metrics.course import SUMS
from audit.model import Period
from audit.store import attempts, database
from audit.store.database import Connection
from tests import stores

MONTHS = [Period("2026-01", 0, 100), Period("2026-02", 100, 200), Period("2026-03", 200, 300)]


def sums(con: Connection, *over: Period) -> pl.DataFrame:
    return attempts.course_sums(con, "c", "observed", over)


def keep(con: Connection, *periods: Period) -> None:
    """Store sums as a night that computed these periods does."""
    runs = [{"period": name, "from_time": first, "to_time": last} for name, first, last in periods]
    of = {"cluster": "c", "run_id": "r", "stage": "compute", "state": "done", "version": "1"}
    hashes = {"config": "{}", "config_hash": "c", "input_hash": "i"}
    database.insert(con, "run", pl.DataFrame(runs), {**of, **hashes})
    attempts.keep_course(con, "c", periods)


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    """A store in which an attempt ends every 7 s until 290; two thirds of them have a user."""
    ends = range(0, 290, 7)
    rows = [
        {
            "job_id": str(end),
            "user": "ann" if end % 3 == 0 else "ben" if end % 3 == 1 else None,
            "pool": "small" if end % 5 == 0 else "all",
            "arrival_time": end - 40,
            "end_time": end,
            "wait_s": end % 11,
            "suspended_s": end % 4 if end % 2 else None,
            "miss_delivered_s": end % 13 if end % 4 else None,
        }
        for end in ends
    ]
    of = {"cluster": "c", "schedule": "observed", "attempt": 1, "standing": "ended", "run_id": "r"}
    with closing(stores.new(tmp_path / "audit.duckdb")) as con:
        database.insert(con, "job_result", pl.DataFrame(rows, infer_schema_length=None), of)
        yield con


def test_stored_sums_equal_those_of_the_attempts(con: Connection) -> None:
    read = sums(con, *MONTHS)
    assert read.schema == {"pool": pl.String(), **SUMS}
    assert read["attempts"].sum() == 42
    keep(con, MONTHS[0], MONTHS[2])
    assert_frame_equal(sums(con, *MONTHS), read)
    keep(con, MONTHS[1])
    con.execute("DELETE FROM job_result")  # nor are they looked at again
    assert_frame_equal(sums(con, *MONTHS), read)


def test_other_bounds_or_schedules_are_read_anew(con: Connection) -> None:
    keep(con, *MONTHS)
    con.execute("DELETE FROM job_result WHERE end_time < 50")
    half = sums(con, Period("2026-01", 0, 60), MONTHS[1])
    assert half.filter(pl.col("stretch") == 0)["attempts"].sum() == 1
    assert half.filter(pl.col("stretch") == 1)["attempts"].sum() == 14
    assert attempts.course_sums(con, "c", "replay", MONTHS).is_empty()


def test_only_periods_that_sites_report_have_stored_sums(con: Connection) -> None:
    keep(con, Period("all", 0, 300))
    assert database.rows(con, "FROM course_result") == []
