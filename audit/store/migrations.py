"""Numbered scripts that bring a store's tables up to this version, and the views on top."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from audit.config.places import Site
from audit.errors import AuditError, StoreError
from audit.files import folders, state_folder
from audit.store import archive, catalogue, empty
from audit.store.database import LONGEST_S, STORE, Connection, attach, execute, open_store, rows
from audit.words import ARCHIVE


@contextmanager
def migrated(
    path: Path, memory_limit: str = "512MB", seed: Path | None = None, base: Path | None = None
) -> Iterator[Connection]:
    """Make the store at ``path`` or bring it up to date, and open it while the block runs.

    Args:
        seed: a published database, whose content a new store begins with.
        base: the folder of the published database, to which names in its archive are relative.

    Errors as of ``database.open_store`` and ``migrate``.
    """
    new = not path.exists()
    complete = seed is None and empty.place(path)
    with closing(open_store(path, memory_limit)) as con:
        if base is not None:
            archive.reach(con, base)
        if seed is not None:
            archive.reach(con, seed.parent)
            _begin_with(con, seed)
        if not complete:
            migrate(con, new=new)
        yield con


@contextmanager
def of_site(site: Site, who: str) -> Iterator[Connection]:
    """Hold and open a site's store while the block runs, for the command ``who``.

    Raises LockedError if another process holds it. Others as of ``migrated``.
    """
    limit, base = site.config.store.memory_limit, site.database.parent
    with (
        state_folder.held(site.state, f"fairaudit {who}") as store,
        migrated(store, limit, base=base) as con,
    ):
        yield con


@contextmanager
def temporary(memory_limit: str = "512MB", seed: Path | None = None) -> Iterator[Connection]:
    """As ``migrated``, but the store is removed when the block ends."""
    with tempfile.TemporaryDirectory(prefix="fairaudit-") as name:
        folders.require(folder := Path(name))
        with migrated(folder / "store.duckdb", memory_limit, seed) as con:
            yield con


def migrate(con: Connection, *, new: bool = False) -> None:
    """Bring a store's tables up to this version, then renew its views if they differ.

    A ``new`` store is not searched for macros.

    Views contain no data: they are recreated, with their comments, when a script, an entry in the
    registry of columns, or a view itself has changed. Missing columns of the registry are then
    added to tables.

    Raises:
        UsageError: the store was made by a newer fairaudit.
        StoreError: a script fails (it is named), or the store has macros.
    """
    if not new:
        catalogue.refuse_programs(con, STORE)
    done = catalogue.make_tables(con, catalogue.newest())
    catalogue.refuse_newer(max(done, default=0))
    catalogue.make_views(con, done)


def _begin_with(con: Connection, path: Path) -> None:
    """Fill the empty store of ``con`` with the rows of the tables that were published at ``path``.

    Nothing else is copied, because the database is not trusted.
    """
    attach(con, path, "published", read_only=True)
    execute(con, f"SET max_execution_time = {LONGEST_S * 1000}")
    try:
        catalogue.refuse_programs(con, "published")
        files = [file for pair in catalogue.archived(con, "published") for file in pair]
        catalogue.close(catalogue.open_files(path.parent / ARCHIVE, path.parent, files))
        ((of,),) = rows(con, "SELECT max(number)::BIGINT FROM published.main.migrations")
        if of is None:
            raise StoreError("it has no migration")
        catalogue.refuse_newer(of)
        catalogue.make_tables(con, of)
        catalogue.add_columns(con, catalogue.declared_columns(con, "published", of), of)
        tables = rows(
            con,
            "SELECT table_name, string_agg('\"' || column_name || '\"', ', ') "
            "FROM system.main.duckdb_columns() "
            "WHERE database_name = $store AND table_name <> 'migrations' GROUP BY ALL",
            {"store": STORE},
        )
        for table, columns in tables:
            taken = f"SELECT {columns} FROM published.main.{table}"  # noqa: S608
            execute(con, f"INSERT INTO {STORE}.main.{table} ({columns}) {taken}")
    except AuditError as error:
        raise type(error)(f"{path}: not a database of fairaudit: {error}") from error
    finally:
        execute(con, "RESET max_execution_time")
        execute(con, "DETACH published")
