"""Empty stores: migrated once, for that takes longer than most tests that need one."""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl

from audit.store import archive, database, migrations, snapshots
from audit.store.appending import ENTITY, Appending, Histories
from audit.store.database import Connection
from audit.words import ARCHIVE

really_migrated = migrations.migrated


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.duckdb"
        with really_migrated(path):
            pass
        return path.read_bytes()


def _begin(path: Path) -> None:
    with path.open("wb") as file:  # a test may make Path.write_bytes fail
        file.write(_empty())


def new(path: Path) -> Connection:
    """A store at ``path``, as migrations make it."""
    _begin(path)
    return database.open_store(path)


@contextmanager
def migrated(
    path: Path, memory_limit: str = "512MB", seed: Path | None = None, base: Path | None = None
) -> Iterator[Connection]:
    """``migrations.migrated``, which begins a new store as ``new`` does."""
    if seed is None and not path.exists():
        _begin(path)
        with closing(database.open_store(path, memory_limit)) as con:
            if base is not None:
                archive.reach(con, base)
            yield con
    else:
        with really_migrated(path, memory_limit, seed, base) as con:
            yield con


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
