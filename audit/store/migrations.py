"""Numbered scripts that bring a store's tables up to this version, and the views on top."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from audit import resources
from audit.errors import StoreError
from audit.store import publish
from audit.store.database import (
    Connection,
    execute,
    open_store,
    rows,
    statements,
    transaction,
)


@contextmanager
def migrated(
    path: Path, memory_limit: str = "512MB", seed: Path | None = None
) -> Iterator[Connection]:
    """The store at ``path``, made where there is none, up to date, and open while the block runs.

    Args:
        path: the file; its folder must exist.
        memory_limit: as in ``database.open_store``.
        seed: a published database, with whose content a new store begins.

    Raises:
        LockedError, StoreError: as ``database.open_store``, ``publish.seed`` and ``migrate``.
    """
    con = open_store(path, memory_limit)
    try:
        if seed is not None:
            publish.seed(con, seed)
        migrate(con)
        yield con
    finally:
        con.close()


@contextmanager
def temporary(memory_limit: str = "512MB", seed: Path | None = None) -> Iterator[Connection]:
    """As ``migrated``, but the store is thrown away when the block ends."""
    with (
        tempfile.TemporaryDirectory(prefix="fairaudit-") as folder,
        migrated(Path(folder) / "store.duckdb", memory_limit, seed) as con,
    ):
        yield con


def newest() -> int:
    """The number of the newest script of ``sql/schema``."""
    return max(int(file.stem.split("_")[0]) for file in resources.files("sql/schema", ".sql"))


def migrate(con: Connection) -> None:
    """Applies every script of ``sql/schema`` that the store has not seen, then renews the views.

    Each script runs in one transaction together with the record that it ran. Views hold no data:
    they are made anew each time, with their comments.

    Raises:
        StoreError: the store was made by a newer fairaudit, or a script fails (it is named).
    """
    execute(con, "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name VARCHAR)")
    done = {number for (number,) in rows(con, "SELECT number FROM migrations")}
    known: set[int] = set()
    for file in resources.files("sql/schema", ".sql"):
        number = int(file.stem.split("_")[0])
        known.add(number)
        if number not in done:
            with transaction(con):
                _run_script(con, file.name, file.read_text(encoding="utf-8"))
                execute(con, "INSERT INTO migrations VALUES (?, ?)", [number, file.name])
    if unknown := sorted(done - known):
        raise StoreError(
            f"this database has migration {unknown[-1]}, which this fairaudit does not know: "
            "it was made by a newer version; upgrade fairaudit"
        )
    with transaction(con):
        for file in resources.files("sql/views", ".sql"):
            _run_script(con, file.name, file.read_text(encoding="utf-8"))


def _run_script(con: Connection, name: str, script: str) -> None:
    for statement in statements(con, script):
        try:
            execute(con, statement)
        except StoreError as error:
            raise StoreError(f"sql {name}: {error}\n{statement.strip()}") from error
