"""Snapshots for readers: whole, compact, atomic."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from audit.errors import StoreError
from audit.store import database, migrations, publish, snapshots
from audit.store.database import Connection, execute, fetch
from tests import processes
from tests.places import ROOT


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def number(con: Connection) -> int:
    return int(fetch(con, "SELECT max(a) FROM t").item())


@pytest.mark.thorough
def test_readers_keep_their_snapshot_through_ten_publishes(
    store: Connection, tmp_path: Path
) -> None:
    path = tmp_path / "snapshot.duckdb"
    execute(store, "CREATE TABLE t AS SELECT 0::BIGINT AS a")
    publish.publish(store, path)
    first = snapshots.open_snapshot(path)
    script = (
        "import sys; from pathlib import Path; from audit.store import database, snapshots\n"
        "con = snapshots.open_snapshot(Path(sys.argv[1]))\n"
        "print(database.fetch(con, 'SELECT max(a) FROM t').item()); con.close()"
    )
    for step in range(1, 11):
        execute(store, "INSERT INTO t VALUES (?)", [step])
        publish.publish(store, path)
        assert number(first) == 0
    new = processes.python("-c", script, path, check=True)
    assert new.stdout == "10\n"
    first.close()
    assert names(tmp_path) == ["private", "snapshot.duckdb"]


def test_comments_and_views_are_published(store: Connection, tmp_path: Path) -> None:
    path = tmp_path / "snapshot.duckdb"
    publish.publish(store, path)
    con = snapshots.open_snapshot(path)
    views = fetch(
        con,
        "SELECT comment FROM duckdb_views() "
        "WHERE NOT internal AND view_name NOT IN ('all_records', 'all_results')",
    )
    assert views.height > 0
    assert views["comment"].null_count() == 0
    con.close()


def test_a_failure_leaves_the_old_file_and_nothing_else(store: Connection, tmp_path: Path) -> None:
    taken = tmp_path / "folder-in-the-way"
    (taken / "full").mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be written"):
        publish.publish(store, taken)
    assert names(tmp_path) == ["folder-in-the-way", "private"]
    with pytest.raises(StoreError):
        publish.publish(store, tmp_path / "nowhere" / "snapshot.duckdb")


def test_a_store_that_is_handed_over_becomes_the_published_file(tmp_path: Path) -> None:
    path, store = tmp_path / "audit.duckdb", tmp_path / "store.duckdb"
    for value in (7, 8):
        with migrations.migrated(store) as con:
            execute(con, "CREATE TABLE t (a BIGINT)")
            execute(con, "INSERT INTO t VALUES (?)", [value])
        publish.hand_over(store, path, with_group=True)
        with closing(snapshots.open_snapshot(path)) as reader:
            assert number(reader) == value
        assert names(tmp_path) == ["audit.duckdb"]
        assert path.stat().st_mode & 0o777 == 0o440


@pytest.mark.parametrize("shared", [False, True])
def test_a_published_file_is_read_only_and_replaced(
    store: Connection, tmp_path: Path, shared: bool
) -> None:
    path, log = tmp_path / "audit.duckdb", tmp_path / "audit.duckdb.wal"
    publish.publish(store, path)
    with closing(database.open_store(path)) as con:  # as root may
        execute(con, "PRAGMA disable_checkpoint_on_shutdown")
        execute(con, "CREATE TABLE t (a BIGINT)")
    assert log.exists()
    publish.publish(store, path, with_group=shared)
    assert path.stat().st_mode & 0o777 == (0o440 if shared else 0o400)
    assert names(tmp_path) == ["audit.duckdb", "private"]
    with closing(snapshots.open_snapshot(path)) as reader, pytest.raises(StoreError):
        fetch(reader, "FROM t")


UNPRIVILEGED = ["setpriv", "--bounding-set=-all"] if os.geteuid() == 0 else []
"""Makes root an owner that file modes restrict."""

OWNER = """
import sys
from contextlib import closing
from pathlib import Path
from audit.store import archive, database, migrations, publish, snapshots
from tests.store.test_archive import fill, record
folder = Path(sys.argv[1])
target, store = folder / "audit.duckdb", folder / "store.duckdb"
with migrations.migrated(store, base=folder) as con:
    for number in range(2):
        fill(con, record("a", 50))
        archive.move(con, "c", (0, 100), folder, "fairaudit-archive/c")
        publish.publish(con, target)
        with database.transaction(con):
            archive.bring_back(con, "c", 0)
        database.execute(con, "DELETE FROM records")
        database.execute(con, "DELETE FROM job_result")
        drafted = f".1970-01-records-{archive.identity(con)}.draft"
        draft = folder / "fairaudit-archive" / "c" / drafted
        draft.touch(0o400)
    fill(con, record("a", 50))
    archive.move(con, "c", (0, 100), folder, "fairaudit-archive/c")
    archive.tidy(con, folder, "fairaudit-archive/c")
    named = {name for month in archive.months(con) for name in month.files}
store.unlink()
for _ in range(2):
    with migrations.migrated(store, seed=target if target.exists() else None) as con:
        pass
    publish.hand_over(store, target)
try:
    database.open_store(target)
except database.StoreError as error:
    print(error)
with closing(snapshots.open_snapshot(target)) as con:
    print(database.rows(con, "SELECT count(*) FROM migrations"))
files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
print(files - named, len(named))
"""


@pytest.mark.thorough
def test_an_owner_without_privileges_replaces_read_only_files(tmp_path: Path) -> None:
    done = subprocess.run(
        [*UNPRIVILEGED, sys.executable, "-c", OWNER, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refusal, count, left = done.stdout.splitlines()
    assert "Permission denied" in refusal
    assert count != "[(0,)]"
    assert left == "{'audit.duckdb'} 2"


def test_a_store_that_cannot_be_handed_over_stays(tmp_path: Path) -> None:
    store = tmp_path / "store.duckdb"
    with migrations.migrated(store):
        pass
    with pytest.raises(StoreError, match="cannot be written"):
        publish.hand_over(store, tmp_path / "nowhere" / "audit.duckdb")
    (tmp_path / "store.duckdb.wal").touch()
    with pytest.raises(StoreError, match="database is incomplete"):
        publish.hand_over(store, tmp_path / "audit.duckdb")
    assert names(tmp_path) == ["store.duckdb", "store.duckdb.wal"]
