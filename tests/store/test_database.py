"""The only opener of DuckDB: writing, reading, and the limits of a locked reader."""

from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

from audit.errors import LockedError, StoreError, UsageError
from audit.store import database, publish, snapshots
from audit.store.database import Connection
from tests import processes, stores


def test_frames_go_in_and_come_out(store: Connection) -> None:
    database.execute(store, "CREATE TABLE t (a BIGINT, b VARCHAR, c DOUBLE)")
    rows = pl.DataFrame({"b": ["x", None], "a": [1, 2]})
    database.insert(store, "t", rows)
    database.insert(store, "t", rows.clear())
    found = database.fetch(store, "SELECT * FROM t ORDER BY a")
    assert found.rows() == [(1, "x", None), (2, None, None)]
    assert database.fetch(store, "SELECT $n AS n", {"n": 7}).item() == 7


def test_a_failed_transaction_leaves_nothing(store: Connection) -> None:
    database.execute(store, "CREATE TABLE t (a BIGINT)")

    def half() -> None:
        with database.transaction(store):
            database.execute(store, "INSERT INTO t VALUES (1)")
            database.execute(store, "INSERT INTO nowhere VALUES (1)")

    with pytest.raises(StoreError):
        half()
    assert database.fetch(store, "SELECT * FROM t").is_empty()


def test_names_and_texts_are_quoted(store: Connection, tmp_path: Path) -> None:
    name, text = 'odd "name"', "it's; DROP TABLE t --"
    database.execute(store, f"CREATE TABLE {database.quote_name(name)} (a VARCHAR)")
    database.insert(store, name, pl.DataFrame({"a": [text]}))
    assert database.fetch(store, f"SELECT {database.quote_text(text)} AS a").item() == text
    odd = tmp_path / "it's.duckdb"
    publish.publish(store, odd)
    assert stores.fetch(odd, f"SELECT a FROM {database.quote_name(name)}").item() == text


REFUSED = (
    *("SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM sniff_csv('/etc/passwd')"),
    *("SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/*')"),
    *("SELECT * FROM '/etc/passwd'", "COPY (SELECT 1) TO '/tmp/fairaudit-escape'"),
    *("ATTACH '/tmp/fairaudit-escape' AS other", "INSTALL httpfs", "LOAD httpfs"),
    *("SET threads = 1", "SET enable_external_access = true", "RESET lock_configuration"),
    *("SELECT getenv('HOME')", "INSERT INTO migrations VALUES (99, 'x')"),
    *("CREATE TABLE t (a BIGINT)", "DROP VIEW summary", "EXPORT DATABASE '/tmp/fairaudit-escape'"),
)


def test_a_snapshot_reads_itself_and_nothing_else(store: Connection, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.duckdb"
    publish.publish(store, path)
    with closing(snapshots.open_snapshot(path)) as con:
        for statement in REFUSED:
            with pytest.raises(StoreError):
                database.fetch(con, statement)
            assert database.fetch(con, "SELECT count(*) FROM summary").item() == 0, statement
    assert not Path("/tmp/fairaudit-escape").exists()


@pytest.mark.thorough
def test_a_long_query_is_interrupted(store: Connection, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.duckdb"
    publish.publish(store, path)
    endless = "SELECT count(*) FROM range(1000000) a, range(1000000) b"
    with (
        closing(snapshots.open_snapshot(path, timeout_s=1)) as con,
        pytest.raises(StoreError, match=r"(?i)interrupt|time"),
    ):
        database.fetch(con, endless)


def test_files_that_are_no_database(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such database; make one"):
        snapshots.open_snapshot(tmp_path / "none")
    text = tmp_path / "text"
    text.write_text("not a database, but long enough to look like one" * 100)
    for opening in (snapshots.open_snapshot, database.open_store):
        with pytest.raises(StoreError, match="not a DuckDB database"):
            opening(text)


def test_a_damaged_file_is_not_locked(tmp_path: Path) -> None:
    """Nothing would ever release it, so runs would wait for ever."""
    path = tmp_path / "store.duckdb"
    stores.new(path).close()
    content = bytearray(path.read_bytes())
    content[5_000] ^= 1
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"Corrupt .* restore a backup") as caught:
        database.open_store(path)
    assert not isinstance(caught.value, LockedError)


def test_a_writer_in_another_process_locks_the_file(tmp_path: Path) -> None:
    path = tmp_path / "store.duckdb"
    script = (
        "import duckdb, sys; con = duckdb.connect(sys.argv[1])\n"
        "con.execute('CREATE TABLE t (a INT)'); print('open', flush=True); sys.stdin.read()"
    )
    with processes.talking(script, path, says="open") as other:
        for opening in (snapshots.open_snapshot, database.open_store):
            with pytest.raises(LockedError, match="another run or reader") as caught:
                opening(path)
            assert caught.value.exit_code == 75
        other.communicate("")


@pytest.mark.thorough
def test_nothing_is_reported_on_stderr_when_a_process_ends() -> None:
    """DuckDB's bindings report leaks at exit where polars holds on to their types."""
    script = """
from pathlib import Path
import tempfile
from audit.store import database, migrations, snapshots
with tempfile.TemporaryDirectory() as folder:
    con = database.open_store(Path(folder) / "db")
    migrations.migrate(con)
    database.insert(con, "migrations", database.fetch(con, "SELECT 99 AS number, 'x' AS name"))
    con.close()
"""
    done = processes.python("-c", script, check=True)
    assert done.stderr == ""


def test_a_store_looks_into_another_database(tmp_path: Path) -> None:
    other = tmp_path / "other.duckdb"
    for path, number in ((tmp_path / "own.duckdb", 1), (other, 2)):
        with closing(database.open_store(path)) as con:
            database.execute(con, f"CREATE TABLE t AS SELECT {number} AS x")
    (tmp_path / "none.duckdb").write_bytes(b"no database" * 999)
    con = database.open_store(tmp_path / "own.duckdb")
    with database.looking_into(con, other):
        assert database.rows(con, "SELECT x FROM t") == [(2,)]
        with pytest.raises(StoreError, match="read-only"):
            database.execute(con, "DROP TABLE t")
    with pytest.raises(ZeroDivisionError), database.looking_into(con, other):
        raise ZeroDivisionError
    with (
        pytest.raises(StoreError, match="not a DuckDB database"),
        database.looking_into(con, tmp_path / "none.duckdb"),
    ):
        pass
    assert database.rows(con, "SELECT x FROM t") == [(1,)]
    con.close()


def test_a_full_disk_is_named_by_its_folder_also_where_that_is_the_current_one() -> None:
    said = str(database.full_disk(Path("x.duckdb"), 0))
    assert said.startswith(f"{Path.cwd()}: the disk is full: x.duckdb could not be written.")
