"""Attempts read from the store, and sums of them."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit.metrics.attempts.population import describe
from audit.metrics.course import SUMS
from audit.model import ATTEMPTS, Period, Pool, Resource
from audit.store import attempts, database, queries
from audit.store.attempts import read_attempts
from audit.store.database import Connection, insert
from tests import stores
from tests.strategies import frame


def records(count: int, **changed: pl.Expr) -> pl.DataFrame:
    common = {"kind": "job", "byte_offset": 0}
    rows = frame([{"job_id": str(n), "job_number": n, **common} for n in range(count)])
    return rows.with_columns(**changed)


def test_constant_and_empty_columns_are_complete(store: Connection) -> None:
    some = pl.when(pl.col("job_number") > 2).then(7)
    held = records(
        6, gpus=some, mem_bytes=pl.lit(5), priority=pl.lit(0.5), qos=pl.lit(None, pl.String)
    )
    insert(store, "records", held, {"superseded": False, "input_id": "x"})
    (cluster,) = held["cluster"].unique()
    got = read_attempts(store, cluster)
    assert got.schema == ATTEMPTS
    stored = queries.run(store, "attempts", cluster=cluster, since=None, until=None)
    assert got.equals(stored.select(ATTEMPTS.names()), null_equal=True)
    assert read_attempts(store, "nobody's").schema == ATTEMPTS
    assert read_attempts(store, "nobody's").is_empty()


def test_attempts_are_in_the_order_of_describe(store: Connection, tmp_path: Path) -> None:
    number = pl.col("job_number")
    held = records(
        40,
        submit_time=pl.when(number % 7 > 0).then(1_000 + number * 13 % 5 * 100),
        eligible_time=pl.when(number % 3 == 0).then(1_000 + number * 11 % 5 * 100),
        start_time=1_350 + number * 7 % 6 * 50,
        end_time=pl.lit(5_000),
        line=40 - number,
    )
    insert(store, "records", held, {"superseded": False, "input_id": "x"})
    got = read_attempts(store, held["cluster"][0])
    described = describe(got, [Pool("all", Resource.cpus, 10)])
    assert described["job_id"].to_list() == got["job_id"].to_list()
    assert describe(held, [Pool("all", Resource.cpus, 10)]).equals(described, null_equal=True)


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
