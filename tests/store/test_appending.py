"""Rows that are gathered until they are worth an insert."""

import polars as pl
import pytest

from audit.store import appending
from audit.store.appending import Appending
from audit.store.database import Connection, execute, fetch


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
    told = fetch(store, "SELECT a, b FROM several ORDER BY rowid")
    assert told["a"].to_list() == list(range(21))
    assert told["b"].to_list() == [str(number) for number in range(21)]
    assert fetch(store, "SELECT a FROM other")["a"].sort().to_list() == [0, 3, 5, 20]
