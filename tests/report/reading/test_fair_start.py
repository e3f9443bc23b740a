"""Fair start times: from the rows of the database to what is said, drawn and carried along."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from audit.model import Period
from audit.report.build import build
from audit.report.contents import Figure, PoolPart
from audit.report.text import tables
from audit.store import database
from audit.store.database import Connection
from tests import stores

_PERIOD = Period("2026-10", 1790805600, 1793487600)


_KEY = {"cluster": "demo", "period": "2026-10", "run_id": "run-1"}


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Connection]:
    con = stores.new(tmp_path / "audit.duckdb")
    cluster = {"cluster": "demo", "zone": "Europe/Berlin", "notes": "[]"}
    run = {
        **_KEY,
        "state": "done",
        "stage": "compute",
        "version": "0.1.0",
        "config": '{"config": {"metrics": {"tolerance_s": 120}}}',
        "config_hash": "c",
        "input_hash": "d",
    }
    known = {"cluster": "demo", "pool": "batch", "resource": "cpus", "capacity": 4}
    for table, row in (("clusters", cluster), ("run", run), ("pools", known)):
        database.insert(con, table, pl.DataFrame([row]))
    try:
        yield con
    finally:
        con.close()


def _summary(con: Connection, *rows: tuple[str, str, str | None, float | None, int]) -> None:
    frame = pl.DataFrame(
        rows, ("metric", "dimension", "dimension_value", "value", "attempts"), orient="row"
    )
    own = {**_KEY, "pool": "batch", "schedule": "observed", "unit": "s"}
    database.insert(
        con, "summary_result", frame.with_columns(**{name: pl.lit(own[name]) for name in own})
    )


def _entity(con: Connection, kind: str, name: str | None, **values: object) -> None:
    own = {"pool": "batch", "schedule": "observed", "entity_kind": kind, "entity": name}
    counts = {"jobs": 9, "attempts": 9, "never_started": 0, "gave_up_wait_s": 0, "tuwt_s": 9}
    row = {**_KEY, **own, **counts, "tusa": 9.0, **values}
    database.insert(con, "entity_result", pl.DataFrame([row]))


def _part(con: Connection) -> PoolPart:
    return build(con, "demo", _PERIOD).pools[0]


def test_a_database_without_fair_starts_has_none(con: Connection) -> None:
    _summary(con, ("attempts", "all", None, 9.0, 9))
    _entity(con, "user", "anna")
    part = _part(con)
    assert not part.has_fair_starts
    assert not part.fair_start.statuses
    assert not part.fair_start.partitions
    assert part.fair_start.fidelity is None
    assert part.users.rows[0].missed is None


def test_statuses_and_partitions_come_in_order(con: Connection) -> None:
    _summary(
        con,
        ("fst_attempts", "fst_status", "blocked", 2.0, 2),
        ("fst_attempts", "fst_status", "final", 7.0, 7),
        ("fst_attempts", "fst_status", "provisional", 1.0, 1),
        ("miss_strict_mean", "partition", "short", 50.0, 10),
        ("miss_strict_mean", "partition", "long", 600.0, 2),
        ("miss_strict_mean", "partition", None, 0.0, 1),
        ("miss_strict_mean", "partition", "unknown", None, 0),
    )
    fair = _part(con).fair_start
    assert [row.status for row in fair.statuses] == ["final", "provisional", "blocked"]
    assert (fair.subjects, fair.counted) == (10, 8)
    assert [part.label for part in fair.partitions] == ["long", "short", "unknown"]
    assert fair.tolerance_s == 120


def test_one_partition_is_no_comparison(con: Connection) -> None:
    _summary(con, ("miss_strict_mean", "partition", "short", 50.0, 10))
    assert _part(con).fair_start.partitions == ()


def test_fidelity_is_that_of_the_pool(con: Connection) -> None:
    rows = [("batch", "start_error_median", 60.0), ("other", "start_error_median", 9.0)]
    frame = pl.DataFrame(rows, ("pool", "metric", "value"), orient="row").with_columns(
        order=pl.lit("fcfs"), backfill=pl.lit("easy"), unit=pl.lit("s")
    )
    marked = frame.with_columns(**{name: pl.lit(_KEY[name]) for name in _KEY})
    database.insert(con, "fidelity_result", marked)
    found = _part(con).fair_start.fidelity
    assert found is not None
    assert (found.order, found.backfill) == ("fcfs", "easy")
    assert found.figures == (Figure("start_error_median", 60.0, unit="s"),)


def test_who_lost_and_who_gained(con: Connection) -> None:
    for name, late, preferred, early in (
        ("anna", 500, 0.0, 10.0),
        ("ben", 100, 0.5, 90.0),
        (None, 900, 0.0, 0.0),
    ):
        _entity(
            con,
            "user",
            name,
            miss_strict_s=late,
            miss_relaxed_s=late // 2,
            missed_strict=2,
            missed_relaxed=1,
        )
        _summary(
            con,
            ("miss_strict_mean", "user", name, late / 5, 5),
            ("preferred_strict_share", "user", name, preferred, 5),
            ("preference_strict_mean", "user", name, early, 5),
            ("miss_strict_mean", "account", name, 1e9, 7),
        )
    users = _part(con).users
    told = {row.name: row.missed for row in users.rows if row.missed}
    assert told["anna"].net_s == 450
    assert told["anna"].missed_strict_share == 0.4
    assert told["anna"].missed_relaxed_share == 0.2
    assert told[None].miss_strict_s == 900
    assert [row.name for row in tables.lost(users, 5)] == ["anna"]
    assert [row.name for row in tables.gained(users, 5)] == ["ben"]
    assert tables.unlisted(users, 5) == 0
