"""Inserts of collected rows, and histories of fairshare."""

import polars as pl
import pytest

from audit.store import appending
from audit.store.appending import Appending
from audit.store.database import Connection, execute, fetch
from tests.stores import insert_history


def test_rows_arrive_whole_and_in_order(store: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appending, "AT_ONCE", 4)
    execute(store, "CREATE TABLE several (a BIGINT, b VARCHAR)")
    execute(store, "CREATE TABLE other (a BIGINT)")
    rows = Appending(store)
    for low, high in ((0, 3), (3, 5), (5, 20), (20, 21)):
        numbers = pl.int_range(low, high, eager=True)
        rows.add("several", pl.DataFrame({"b": numbers.cast(pl.String), "a": numbers}))
        rows.add("other", pl.DataFrame({"a": [low]}))
    rows.finish()
    got = fetch(store, "SELECT a, b FROM several ORDER BY rowid")
    assert got["a"].to_list() == list(range(21))
    assert got["b"].to_list() == [str(number) for number in range(21)]
    assert fetch(store, "SELECT a FROM other")["a"].sort().to_list() == [0, 3, 5, 20]


DAYS = pl.DataFrame(
    {
        "period": ["p", "p", "p", "q", "q"],
        "entity": ["ann", None, "ann", "ann", "bob"],
        "parent": [None, None, "maths", None, None],
        "as_of": [1, 1, 1, 2, 2],
        "usage": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
).with_columns(
    cluster=pl.lit("c"), method=pl.lit("m"), entity_kind=pl.lit("user"), run_id=pl.lit("r")
)
MORE = DAYS.with_columns(as_of=pl.col("as_of") + 10, usage=pl.col("usage") * 10)
SHOWN = ("period", "entity", "parent", "as_of", "usage")


def days(con: Connection) -> list[tuple[object, ...]]:
    return fetch(
        con, f"SELECT {', '.join(SHOWN)} FROM fairshare_day JOIN fairshare_entity USING (entity_id)"
    ).rows()


def test_each_entity_is_named_once_and_keeps_its_days(store: Connection) -> None:
    insert_history(store, DAYS, MORE)
    insert_history(store, DAYS.with_columns(cluster=pl.lit("d")))
    expected = pl.concat([DAYS, MORE, DAYS]).select(SHOWN).rows()
    assert sorted(days(store), key=repr) == sorted(expected, key=repr)
    entities = fetch(store, "FROM fairshare_entity")
    assert entities.height == 2 * DAYS.height
    assert entities["entity_id"].n_unique() == entities.height
    assert fetch(store, "FROM fairshare_history").height == 3 * DAYS.height


def test_histories_of_a_cluster_are_deleted_except_kept_periods(store: Connection) -> None:
    insert_history(store, DAYS)
    appending.delete_histories(store, cluster="d")
    assert len(days(store)) == DAYS.height
    appending.delete_histories(store, cluster="c", keep=["q"])
    assert sorted(days(store), key=repr) == [("q", "ann", None, 2, 4.0), ("q", "bob", None, 2, 5.0)]
    appending.delete_histories(store, cluster="c")
    assert days(store) == []
    assert fetch(store, "FROM fairshare_entity").is_empty()
