"""Attempts as they are read from the store."""

import polars as pl
import pytest

from audit import on_disk
from audit.metrics.attempts.population import describe
from audit.model import ATTEMPTS, Pool, Resource
from audit.pipeline.opening import recorded_attempts
from audit.store import queries
from audit.store.database import Connection, insert
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
    got = recorded_attempts(store, cluster)
    assert got.schema == ATTEMPTS
    stored = queries.run(store, "attempts", cluster=cluster, since=None, until=None)
    assert got.equals(stored.select(ATTEMPTS.names()), null_equal=True)
    assert recorded_attempts(store, "nobody's").schema == ATTEMPTS
    assert recorded_attempts(store, "nobody's").is_empty()


@pytest.mark.parametrize("least", [0, on_disk.LEAST])
def test_attempts_are_in_the_order_of_describe(
    store: Connection, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of long logs too, of which one column is read at a time."""
    monkeypatch.setattr(on_disk, "LEAST", least)
    monkeypatch.setattr(on_disk, "_VALUES", least)
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
    got = recorded_attempts(store, held["cluster"][0])
    described = describe(got, [Pool("all", Resource.cpus, 10)])
    assert described["job_id"].to_list() == got["job_id"].to_list()
    assert describe(held, [Pool("all", Resource.cpus, 10)]).equals(described, null_equal=True)
