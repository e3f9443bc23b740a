"""Crafted databases have no effect in any command that takes a database."""

import io
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path

import duckdb
import pytest

from audit.analyst.sql import Reader, SqlLimits, SqlStatement, answer
from audit.config import Config
from audit.errors import AuditError
from audit.oneoff.explain.explain import explain
from audit.pipeline.opening import LogRequest, Session
from audit.pipeline.workplace import replacing
from audit.setup import doctor
from audit.store import catalogue, database, migrations, snapshots
from audit.words import ARCHIVE, Format
from tests.security.conftest import Place, published

pytestmark = pytest.mark.thorough

ENDLESS = "WITH RECURSIVE t AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM t) SELECT n FROM t"
FILES = "SELECT n::VARCHAR AS records_file, n::VARCHAR AS results_file FROM"
AS_VIEW = "DROP TABLE archived; CREATE VIEW archived AS "
LOGGING = "enable_logging(storage = 'file', storage_config = {{'path': '{folder}/escape'}})"

MONTH = "2026-01-records-0123456789abcdef-%012d.parquet"
"""A name of a file as a store would choose it."""
LINK, BEHIND, FIFO, HOLLOW, MISSING = (
    f"{ARCHIVE}/{folder}/{MONTH % number}" for number, folder in enumerate(("c", "away", *"ccc"))
)

ARCHIVED = {
    "a file of the system": "UPDATE archived SET records_file = '/etc/passwd'",
    "the file of a neighbour": "UPDATE archived SET results_file = '{folder}/other.txt'",
    "a file of the archive, by its whole path": "UPDATE archived SET records_file = '{kept}'",
    "a folder above": "UPDATE archived SET records_file = '../../etc/passwd'",
    "a way through the archive": f"UPDATE archived SET records_file = '{ARCHIVE}/../other.txt'",
    "a long way": f"UPDATE archived SET records_file = '{ARCHIVE}/c/../../other.txt'",
    "a file beside the archive": "UPDATE archived SET records_file = 'other.txt'",
    "a link": f"UPDATE archived SET records_file = '{LINK}'",
    "a file behind a link": f"UPDATE archived SET records_file = '{BEHIND}'",
    "a FIFO": f"UPDATE archived SET records_file = '{FIFO}'",
    "a folder": f"UPDATE archived SET records_file = '{HOLLOW}'",
    "a pattern": f"UPDATE archived SET records_file = '{ARCHIVE}/c/*.parquet'",
    "an address": "UPDATE archived SET records_file = 'http://127.0.0.1:9/x.parquet'",
    "nothing": "UPDATE archived SET records_file = ''",
    "a missing file": f"UPDATE archived SET records_file = '{MISSING}'",
    "a NUL": "UPDATE archived SET records_file = records_file || chr(0)",
    "one column more": "ALTER TABLE archived ADD COLUMN more VARCHAR",
    "one column less": "CREATE OR REPLACE TABLE archived AS "
    "SELECT '/etc/passwd' AS records_file, '/etc/passwd' AS results_file",
    "columns of another type": "CREATE OR REPLACE TABLE archived AS "
    "SELECT * REPLACE ([records_file] AS records_file) FROM archived",
    "a view": f"{AS_VIEW} SELECT '/etc/passwd' AS records_file, '/etc/passwd' AS results_file",
    "an endless view": f"{AS_VIEW} {FILES} ({ENDLESS})",
    "a view over itself": "DROP TABLE archived; CREATE VIEW other AS SELECT 1 AS records_file; "
    "CREATE VIEW archived AS FROM other; CREATE OR REPLACE VIEW other AS FROM archived",
    "a macro": "DROP TABLE archived; CREATE MACRO archived() AS TABLE SELECT '/etc/passwd' AS x",
}
"""Changes of ``archived``: each is refused, whatever the query."""

PROGRAMS = {
    "migrations is a view": "ALTER TABLE migrations RENAME TO m; CREATE VIEW migrations AS FROM m",
    "an endless view": f"CREATE OR REPLACE VIEW job_fairness AS {ENDLESS}",
    "an endless view over results": f"CREATE OR REPLACE VIEW all_results AS {ENDLESS}",
    "a view of another file": "CREATE OR REPLACE VIEW stuck AS FROM '{folder}/plain.csv'",
    "a view that reads /etc/passwd": "CREATE OR REPLACE VIEW all_records AS "
    "FROM read_csv('{folder}/plain.csv')",
    "a view instead of a table": "ALTER TABLE clusters RENAME TO c; CREATE VIEW clusters AS FROM c",
    "a macro for a function": "CREATE MACRO count(x) AS 'root:'",
    "a macro for one of DuckDB's tables": "CREATE MACRO duckdb_views() AS TABLE SELECT 1 AS x",
    "a generated column": "DROP TABLE clusters; CREATE TABLE clusters (cluster VARCHAR, zone "
    "VARCHAR GENERATED ALWAYS AS (repeat(cluster, 1000000000)))",
    "a generated column beside others": "CREATE TABLE more (a INT, b INT GENERATED ALWAYS AS "
    "(a + 1))",
    "a computed default": "ALTER TABLE clusters ADD COLUMN more VARCHAR DEFAULT (repeat('x', 9))",
    "a check": "CREATE TABLE more (a INT CHECK (a > length(repeat('x', 10))))",
    "a view in another schema": "CREATE SCHEMA s; CREATE VIEW s.v AS SELECT 1",
}
"""Programs in a database: none runs in a process with any rights."""


def crafted(place: Place, script: str) -> Path:
    """Return the database of a place after an attack."""
    (place.folder / LINK).symlink_to("/etc/passwd")
    (place.folder / ARCHIVE / "away").symlink_to(place.folder / "elsewhere")
    (place.folder / "elsewhere").mkdir()
    shutil.copyfile(place.kept, place.folder / "elsewhere" / Path(BEHIND).name)
    os.mkfifo(place.folder / FIFO)
    (place.folder / HOLLOW).mkdir()
    (place.folder / "plain.csv").write_text("a\n1\n")
    with duckdb.connect(str(place.database)) as con:
        con.execute(place.fill(script))
    return place.database


def sql(path: Path) -> None:
    """Read what an attacker wants to be read."""
    out = io.BytesIO()
    with closing(Reader(path, SqlLimits(1, "200MB"))) as reader:
        for text in (
            "SELECT count(*) FROM all_records",
            "FROM all_records",
            "stuck",
            "SHOW TABLES",
        ):
            try:
                reader.query(SqlStatement(text, form=Format.csv), out, print)
            finally:
                assert b"root:" not in out.getvalue()


def explained(path: Path) -> None:
    explain(Session(LogRequest(logs=()), Config(), database=path), "old 0")


def examined(path: Path) -> None:
    (found,) = (each for each in doctor.examine(None, path) if each.what == f"database {path}")
    if not found.ok:
        raise AuditError(found.found)


def opened(path: Path) -> None:
    """Open it as ``verify``, ``report``, ``sshare`` and the pages of users do."""
    with closing(snapshots.open_snapshot(path)):
        pass


def replaced(path: Path) -> None:
    """Open it as ``audit --db`` does before it reads a log."""
    with replacing(path):
        pass
    begun(path)


def begun(path: Path) -> None:
    with migrations.temporary(seed=path) as con:
        for view, columns in database.rows(
            con, "SELECT view_name, column_count FROM duckdb_views() WHERE NOT internal"
        ):
            assert columns > 1, view
        assert catalogue.strange_views(con, "store", catalogue.archived(con, "store")) == []


READERS: tuple[Callable[[Path], None], ...] = (explained, opened)


@pytest.fixture(autouse=True)
def _ends() -> Iterator[None]:
    """End a test that a FIFO or an endless view blocks."""
    signal.alarm(120)
    yield
    signal.alarm(0)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("original")).folder


@pytest.fixture
def place(original: Path, tmp_path: Path) -> Place:
    return Place(Path(shutil.copytree(original, tmp_path / "site")))


def test_the_columns_of_the_archives_table_are_those_of_its_script(original: Path) -> None:
    with closing(snapshots.open_snapshot(original / "fairaudit.duckdb")) as con:
        found = database.rows(
            con,
            "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'archived'",
        )
        assert dict(found) == catalogue.ARCHIVED
        assert database.rows(con, "SELECT count(*) FROM all_records") == [(4,)]


@pytest.mark.parametrize("what", ARCHIVED)
def test_an_archive_that_is_not_one_is_refused(place: Place, what: str) -> None:
    path = crafted(place, ARCHIVED[what])
    before = place.state()
    for command in (sql, begun, *READERS):
        with pytest.raises(AuditError):
            command(path)
    assert place.state() == before


@pytest.mark.parametrize("what", PROGRAMS)
def test_no_program_of_a_database_runs_with_rights(place: Place, what: str) -> None:
    path = crafted(place, PROGRAMS[what])
    before = place.state()
    for command in READERS:
        with pytest.raises(AuditError, match=r"is not the one|does not belong to fairaudit"):
            command(path)
    for command in (sql, replaced):  # the first is confined, the second reads only tables
        with suppress(AuditError):
            command(path)
    assert place.state() == before


def test_a_database_that_is_replaced_while_it_is_opened_is_checked_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = place.database.with_suffix(".other")
    shutil.copyfile(place.database, other)
    with duckdb.connect(str(other)) as con:
        con.execute(PROGRAMS["a macro for a function"])
    open_files = catalogue.open_files

    def replacing_it(folder: Path, base: Path, names: Sequence[str]) -> list[int]:
        other.replace(place.database)
        return open_files(folder, base, names)

    monkeypatch.setattr(catalogue, "open_files", replacing_it)
    with pytest.raises(AuditError, match="the macro 'count' does not belong to fairaudit"):
        opened(place.database)


def test_doctor_reports_it(place: Place) -> None:
    examined(place.database)
    crafted(place, ARCHIVED["a file of the system"])
    with pytest.raises(AuditError, match="'/etc/passwd', which is not in the archive"):
        examined(place.database)


def test_logging_cannot_be_switched_on(place: Place) -> None:
    """A view may contain the call: views can be made without a lock."""
    with duckdb.connect(str(place.database)) as con:
        con.execute(place.fill(f"CREATE OR REPLACE VIEW job_fairness AS FROM {LOGGING}"))
    shutil.rmtree(place.folder / "escape", ignore_errors=True)
    before = place.state()
    with pytest.raises(AuditError):
        opened(place.database)
    with pytest.raises(AuditError):
        answer(
            place.database,
            SqlStatement("FROM job_fairness"),
            io.BytesIO(),
            SqlLimits(5, "1GB"),
            print,
        )
    assert place.state() == before


def test_an_archive_elsewhere_is_read_if_the_configuration_says_so(
    place: Place, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (place.folder / ARCHIVE).rename(elsewhere)
    with duckdb.connect(str(place.database)) as con:
        con.execute(
            "UPDATE archived SET records_file = replace(records_file, $old, $new), "
            "results_file = replace(results_file, $old, $new)",
            {"old": ARCHIVE, "new": "../elsewhere"},
        )
    with pytest.raises(AuditError, match="not in the archive"):
        snapshots.open_snapshot(place.database)
    out = io.BytesIO()
    question = SqlStatement("SELECT count(*) AS n FROM job_result", form=Format.csv)
    answer(place.database, question, out, SqlLimits(9, "200MB"), print, elsewhere)
    assert out.getvalue() == b"n\n1\n"
