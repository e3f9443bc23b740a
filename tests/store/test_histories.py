"""Histories: what goes in comes out, each name once."""

import polars as pl

from audit.store import histories
from audit.store.database import Connection, fetch
from tests.stores import insert_history

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
TOLD = ("period", "entity", "parent", "as_of", "usage")


def held(con: Connection) -> list[tuple[object, ...]]:
    return fetch(
        con, f"SELECT {', '.join(TOLD)} FROM fairshare_day JOIN fairshare_entity USING (entity_id)"
    ).rows()


def test_each_is_named_once_and_keeps_its_days(store: Connection) -> None:
    insert_history(store, DAYS, MORE)
    insert_history(store, DAYS.with_columns(cluster=pl.lit("d")))
    expected = pl.concat([DAYS, MORE, DAYS]).select(TOLD).rows()
    assert sorted(held(store), key=repr) == sorted(expected, key=repr)
    entities = fetch(store, "FROM fairshare_entity")
    assert entities.height == 2 * DAYS.height
    assert entities["entity_id"].n_unique() == entities.height
    assert fetch(store, "FROM fairshare_history").height == 3 * DAYS.height


def test_those_of_a_cluster_go_but_for_periods_that_are_kept(store: Connection) -> None:
    insert_history(store, DAYS)
    histories.delete(store, cluster="d")
    assert len(held(store)) == DAYS.height
    histories.delete(store, cluster="c", keep=["q"])
    assert sorted(held(store), key=repr) == [
        ("q", "ann", None, 2, 4.0),
        ("q", "bob", None, 2, 5.0),
    ]
    histories.delete(store, cluster="c")
    assert held(store) == []
    assert fetch(store, "FROM fairshare_entity").is_empty()
