"""The parts of a database of fairaudit: making them, and checking those of an untrusted database.

Anyone who hands over a database or a backup may have crafted it. Tables are data, but a column may
be computed when it is read; views and macros are programs, and a macro may replace a function of
DuckDB. So a published database is only read if it has no macro (``refuse_programs``) and each view
is the one that this version makes (``check``). A store is only restored if its tables are those
that ``sql/schema`` and the registry of columns make (``check_tables``). Of the archive, only files
with names that a store gives are opened or written (``path_in``, ``open_files``). DuckDB's own
functions have their full names here, so that nothing in the database replaces them.
"""

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Final

from audit import resources
from audit.errors import OtherVersionError, StoreError, UsageError
from audit.registry import columns, gone
from audit.store import archive, queries
from audit.store.database import (
    SNAPSHOT,
    STORE,
    Connection,
    execute,
    open_store,
    quote_name,
    quote_text,
    rows,
    statements,
    transaction,
)

ARCHIVED: Final = {
    **dict.fromkeys(("cluster", "records_file", "results_file"), "VARCHAR"),
    **dict.fromkeys(("records_sha256", "results_sha256"), "VARCHAR"),
    **dict.fromkeys(("from_time", "to_time", "first_arrival", "records", "results"), "BIGINT"),
}
"""The columns of the table ``archived``, and their types."""

_VIEW: Final = re.compile(r"CREATE OR REPLACE VIEW (\w+) AS\s", re.IGNORECASE)
_VIEWS: Final = 0
"""The row of ``migrations`` that identifies the scripts of the views. DuckDB would take longer to
find a comment than for the rest of opening a store."""

_made: dict[str, str] = {}


# Made -----------------------------------------------------------------------------------------


def newest() -> int:
    """Return the number of the newest script of ``sql/schema``."""
    return max(map(_number, _scripts("sql/schema")))


def make_tables(con: Connection, until: int) -> dict[int, str]:
    """Apply the scripts up to a number; return the previous rows of ``migrations``.

    Each script runs in one transaction together with the record that it ran; in a new store, all
    of them do. Raises StoreError if a script fails; it is named.
    """
    execute(con, "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, name VARCHAR)")
    done: dict[int, str] = dict(rows(con, "SELECT number, name FROM migrations"))
    missing = [one for one in _scripts("sql/schema") if _number(one) <= until]
    missing = [one for one in missing if _number(one) not in done]
    for together in [[one] for one in missing] if done else [missing]:
        with transaction(con):
            for file in together:
                _run_script(con, file.name, file.read_text(encoding="utf-8"))
                record = [_number(file), file.name]
                execute(con, "INSERT INTO migrations VALUES (?, ?)", record)
    return done


def make_views(con: Connection, done: dict[int, str]) -> None:
    """Recreate the views of a store, unless they are those of these scripts.

    Raises StoreError if a script fails; it is named.
    """
    made_of = f"views made of scripts {digest()}"
    strange = strange_views(con, STORE, archived(con, STORE))
    if done.get(_VIEWS) == made_of and not strange:
        return
    with transaction(con):
        for schema, view in strange:
            execute(con, f"DROP VIEW {quote_name(schema)}.{quote_name(view)}")
        tables = columns.tables()
        add_columns(con, [(table, name) for table, of in tables.items() for name in of])
        archive.renew_views(con)
        for name, script in _view_scripts():
            _run_script(con, name, script)
        execute(con, "INSERT OR REPLACE INTO migrations VALUES (?, ?)", [_VIEWS, made_of])


def digest() -> str:
    """Return what identifies the scripts of this version and the registry of columns."""
    tables = [(file.name, file.read_text(encoding="utf-8")) for file in _scripts("sql/schema")]
    made_of = repr((_view_scripts(), tables, columns.tables()))
    return hashlib.sha256(made_of.encode()).hexdigest()


def declared_columns(
    con: Connection, database: str, script: int | None = None
) -> list[tuple[str, str]]:
    """Table and name of a database's columns that the registry declares, in its order.

    With the number of its newest ``script``, also of those that later scripts drop.
    """
    declared = _declared(script)
    which = "schema_name = 'main' ORDER BY table_name, column_index"
    found = _listed(con, database, "columns", "table_name, column_name", which)
    return [(table, name) for table, name in found if name in declared.get(table, ())]


def _declared(script: int | None) -> dict[str, dict[str, str]]:
    """Return the types of the registry's columns by table, at the time of a script."""
    before = {} if script is None else gone.columns_before(script)
    return {table: {**of, **before.get(table, {})} for table, of in columns.tables().items()}


def _listed(
    con: Connection, database: str, kind: str, what: str, which: str = "true"
) -> list[tuple[Any, ...]]:
    """Return the columns, functions or views of a database."""
    listed = f"SELECT {what} FROM system.main.duckdb_{kind}() WHERE database_name = $name"  # noqa: S608
    return rows(con, f"{listed} AND {which}", {"name": database})


def add_columns(
    con: Connection, wanted: Iterable[tuple[str, str]], script: int | None = None
) -> None:
    """Add columns of the registry, each of a table, that the tables of a store lack.

    With the number of its newest ``script``, also those that later scripts drop.
    """
    declared, present = _declared(script), set(declared_columns(con, STORE, script))
    for table, name in wanted:
        if (table, name) not in present:
            kind = declared[table][name]
            execute(con, f"ALTER TABLE {STORE}.main.{table} ADD COLUMN {quote_name(name)} {kind}")


def refuse_newer(number: int) -> None:
    """Raise UsageError if a newer version made a store with migration ``number``."""
    if number > newest():
        raise UsageError(
            f"this database has migration {number}, which this fairaudit does not know: "
            "it was made by a newer version; upgrade fairaudit"
        )


def _view_scripts() -> list[tuple[str, str]]:
    """Return the scripts of all views: those of the registry, then those of ``sql/views``."""
    files = ((file.name, file.read_text(encoding="utf-8")) for file in _scripts("sql/views"))
    return [*((view.name, view.script) for view in columns.views()), *files]


def _scripts(folder: str) -> list[Path]:
    return resources.files(folder, ".sql")


def _number(script: Path) -> int:
    return int(script.stem.split("_")[0])


def _run_script(con: Connection, name: str, script: str) -> None:
    try:
        execute(con, script)
    except StoreError as error:
        raise StoreError(f"sql {name}: {error}") from error


# Checked --------------------------------------------------------------------------------------


def archived(con: Connection, name: str) -> list[tuple[str, str]]:
    """Return the files in the table ``archived`` of the database ``name``: records and results.

    None if there is no such table, as in a database of an older version. Raises StoreError if the
    table has other columns.
    """
    which = "table_name = 'archived' AND schema_name = 'main'"
    found = _listed(con, name, "columns", "column_name, data_type", which)
    if not found:
        return []
    if sorted(found) != sorted(ARCHIVED.items()):
        raise StoreError("'archived' is not the table that fairaudit makes; it is not read")
    files = f"SELECT records_file, results_file FROM {name}.main.archived"  # noqa: S608
    return rows(con, f"{files} ORDER BY cluster, to_time")


def check(con: Connection, name: str, files: Sequence[tuple[str, str]]) -> None:
    """Raise OtherVersionError if the database ``name`` has a view that is not of this version.

    Call ``refuse_programs`` first.
    """
    if strange := strange_views(con, name, files):
        raise OtherVersionError(
            f"the view {strange[0][1]!r} is not the one that this version of fairaudit makes: "
            "another version made the database, or it was changed. Audit the logs again, or "
            "let 'fairaudit run' publish it again; 'fairaudit sql' reads it as it is"
        )


_PLAIN_DEFAULT: Final = "-?[0-9]+|'[a-z]*'"
_PLAIN_CHECK: Final = r"CHECK\(\(\w+ IN \(('[a-z]+'(, )?)+\)\)\)"


def refuse_programs(con: Connection, name: str) -> None:
    """Raise StoreError if the database ``name`` has anything that computes when it is read.

    That is a macro, a view in place of a table, a generated column, or a default or check that is
    more than constants.
    """
    plain, plain_check = quote_text(_PLAIN_DEFAULT), quote_text(_PLAIN_CHECK)
    default = f"is_generated OR NOT regexp_full_match(coalesce(column_default, '0'), {plain})"
    check = f"constraint_type = 'CHECK' AND NOT regexp_full_match(constraint_text, {plain_check})"
    for kind, what, which in (
        ("functions", "'macro', function_name", "true"),
        ("views", "'view', view_name", "view_name IN ('archived', 'migrations')"),
        ("columns", "'computed column', column_name", default),
        ("constraints", "'check of table', table_name", check),
    ):
        for called, thing in _listed(con, name, kind, what, which):
            raise StoreError(
                f"the {called} {thing!r} does not belong to fairaudit; the database is not read"
            )


def strange_views(
    con: Connection, name: str, files: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Schema and name of the views of a database that this version would make otherwise."""
    found = _listed(con, name, "views", "schema_name, view_name, sql")
    if not found:  # a new store
        return []
    expected = dict(_views(con))
    for position, (view, table) in enumerate(archive.OVER_ARCHIVE.items()):
        body = archive.over_archive(table, [pair[position] for pair in files])
        expected[view] = _normal(con, view, body)
    return [
        (schema, view)
        for schema, view, sql in found
        if schema != "main" or expected.get(view) != sql
    ]


def check_tables(con: Connection) -> int:
    """Check that a database holds exactly the tables of a store; return its newest script's number.

    It may lack columns that the registry declares, which a store gets when it is opened. Views are
    not checked: ``migrations.migrate`` replaces foreign ones.

    Raises:
        UsageError: the store was made by a newer fairaudit.
        StoreError: it contains anything else.
    """
    foreign = StoreError("a database, but not one of fairaudit")
    try:
        ((number,),) = rows(con, "SELECT max(number) FROM migrations")
    except StoreError as error:
        raise foreign from error
    if not isinstance(number, int):
        raise foreign
    refuse_newer(number)
    present = declared_columns(con, SNAPSHOT, number)
    if queries.rows(con, "catalog") != _tables(number, tuple(present)):
        raise foreign
    return number


@cache
def _tables(until: int, present: tuple[tuple[str, str], ...]) -> list[tuple[Any, ...]]:
    """Return the query ``catalog``'s result for a store of some scripts and declared columns."""
    with (
        tempfile.TemporaryDirectory(prefix="fairaudit-") as folder,
        closing(open_store(Path(folder) / "store.duckdb")) as con,
    ):
        make_tables(con, until)
        add_columns(con, present, until)
        return queries.rows(con, "catalog")


def open_files(folder: Path, base: Path, names: Sequence[str]) -> list[int]:
    """Open files of an archive for reading; return their descriptors, which the caller closes.

    A file that does not exist is skipped, so only a query that reads its month fails. ``names``,
    as in ``archived``, are relative to ``base``, the folder of the published database. Raises
    StoreError if a name leads elsewhere, or not to a regular file. Symbolic links are not followed.
    """
    opened: list[int] = []
    try:
        for name in names:
            parts = path_in(folder, base, name)
            try:
                opened.append(_open_below(folder, parts))
            except FileNotFoundError:
                continue
            except OSError as error:
                raise StoreError(
                    f"the archive's file {name!r} cannot be read in {folder} (output.archive): "
                    f"{error.strerror}; restore it, or name the archive with --config"
                ) from error
    except BaseException:
        close(opened)
        raise
    return opened


def close(descriptors: Sequence[int]) -> None:
    """Close what ``open_files`` opened."""
    for descriptor in descriptors:
        os.close(descriptor)


def path_in(folder: Path, base: Path, name: str | None) -> tuple[str, ...]:
    """Return the path from an archive to one of its files, by its name in ``archived``.

    The name is relative to ``base``, the folder of the published database. Raises StoreError if it
    is not the name of a file that a store writes to this archive.
    """
    parts = Path(os.path.relpath(base / name, folder)).parts if name and "\0" not in name else ()
    if archive.FILE.fullmatch("/".join(parts)) and name == os.path.relpath(
        folder.joinpath(*parts), base
    ):
        return parts
    raise StoreError(
        f"'archived' names {name!r}, which is not in the archive {folder}: set output.archive "
        "as it was when the database was made"
    )


def _open_below(folder: Path, parts: Sequence[str]) -> int:
    """Open a regular file below a folder without following links or waiting for a FIFO."""
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for position, part in enumerate(parts):
        kind = os.O_NONBLOCK if position == len(parts) - 1 else os.O_DIRECTORY
        try:
            inner = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | kind, dir_fd=at)
        finally:
            os.close(at)
        at = inner
    if not stat.S_ISREG(os.fstat(at).st_mode):
        os.close(at)
        raise OSError(0, "it is not a regular file")
    return at


def _views(con: Connection) -> dict[str, str]:
    """Return the views of ``sql/views`` in DuckDB's own form: name → statement."""
    if not _made:
        for _, script in _view_scripts():
            for part in statements(con, script):
                if head := _VIEW.search(part):
                    _made[head[1]] = _normal(con, head[1], part[head.end() :])
    return _made


def _normal(con: Connection, view: str, query: str) -> str:
    """Return the statement that makes a view, in DuckDB's own form."""
    normal = "SELECT system.main.json_deserialize_sql(system.main.json_serialize_sql($query))"
    ((text,),) = rows(con, normal, {"query": query})
    return f"CREATE VIEW {view} AS {text};"
