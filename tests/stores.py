"""Stores and published databases of tests."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from audit.store import database, empty, migrations, snapshots
from audit.store.appending import ENTITY, Appending, Histories
from audit.store.database import Connection
from audit.words import ARCHIVE


def new(path: Path) -> Connection:
    """An empty store at ``path``."""
    placed = empty.place(path)
    con = database.open_store(path)
    if not placed:
        migrations.migrate(con, new=True)
    return con


@contextmanager
def published(path: Path) -> Iterator[Connection]:
    """A published database that fairaudit itself made: opened without the checks of its views.

    They take most of the time of ``open_snapshot``, which only archived attempts need here.
    """
    kept = (path.parent / ARCHIVE).exists()
    con = snapshots.open_snapshot(path) if kept else database.open_locked(path, "1GB", 60)
    with closing(con):
        yield con


def rows(path: Path, sql: str, values: Mapping[str, object] | None = None) -> list[Any]:
    """The rows of a query over a published database."""
    with published(path) as con:
        return database.rows(con, sql, values)


def fetch(path: Path, sql: str) -> pl.DataFrame:
    """The same as a frame."""
    with published(path) as con:
        return database.fetch(con, sql)


def insert_history(con: Connection, *parts: pl.DataFrame) -> None:
    """Puts rows of a fairshare history into a store; what they leave out is null."""
    waiting = Appending(con)
    history = Histories(con, waiting)
    for rows in parts:
        missing = [name for name in ENTITY if name not in rows.columns]
        history.add(rows.with_columns(pl.lit(None, pl.String).alias(name) for name in missing))
    waiting.finish()
