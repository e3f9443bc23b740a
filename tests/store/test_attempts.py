"""Attempts as the store gives them: all of them, in order, in little memory."""

from pathlib import Path

import polars as pl

from audit.metrics.attempts.population import describe
from audit.model import ATTEMPTS, Pool, Resource
from audit.store import queries
from audit.store.attempts import read_attempts
from audit.store.database import Connection, insert
from tests.strategies import frame


def records(count: int, **changed: pl.Expr) -> pl.DataFrame:
    common = {"kind": "job", "byte_offset": 0}
    rows = frame([{"job_id": str(n), "job_number": n, **common} for n in range(count)])
    return rows.with_columns(**changed)


def test_columns_are_whole_whatever_they_hold(store: Connection) -> None:
    some = pl.when(pl.col("job_number") > 2).then(7)
    held = records(
        6, gpus=some, mem_bytes=pl.lit(5), priority=pl.lit(0.5), qos=pl.lit(None, pl.String)
    )
    insert(store, "records", held, {"superseded": False, "input_id": "x"})
    (cluster,) = held["cluster"].unique()
    told = read_attempts(store, cluster)
    assert told.schema == ATTEMPTS
    assert told.equals(
        queries.run(store, "attempts", cluster=cluster, since=None, until=None), null_equal=True
    )
    assert read_attempts(store, "nobody's").schema == ATTEMPTS
    assert read_attempts(store, "nobody's").is_empty()


def test_they_come_in_the_order_in_which_they_are_described(
    store: Connection, tmp_path: Path
) -> None:
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
    told = read_attempts(store, held["cluster"][0])
    described = describe(told, [Pool("all", Resource.cpus, 10)])
    assert described["job_id"].to_list() == told["job_id"].to_list()
    assert describe(held, [Pool("all", Resource.cpus, 10)]).equals(described, null_equal=True)
