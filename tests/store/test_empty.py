"""The empty store that new stores begin as."""

from contextlib import closing
from pathlib import Path

import pytest

from audit.files import caches
from audit.store import catalogue, empty, migrations, queries
from audit.store.database import open_store, rows


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the empty store is kept; there is none yet."""
    folder = tmp_path / "caches"
    folder.mkdir()
    monkeypatch.setattr(caches, "folder", lambda installed, name: folder)
    monkeypatch.setattr(empty, "_content", empty._content.__wrapped__)  # type: ignore[attr-defined]
    return folder / "empty.duckdb"


def content(path: Path) -> tuple[object, ...]:
    """Everything that an empty store consists of."""
    with closing(open_store(path)) as con:
        views = rows(con, "SELECT view_name, sql FROM duckdb_views() WHERE NOT internal ORDER BY 1")
        comments = rows(con, "SELECT table_name, column_name, comment FROM duckdb_columns()")
        done = rows(con, "SELECT number, name FROM migrations ORDER BY number")
        return queries.rows(con, "catalog"), views, sorted(map(str, comments)), done


def test_it_is_what_the_scripts_make(tmp_path: Path, kept: Path) -> None:
    by_scripts = tmp_path / "scripts.duckdb"
    with closing(open_store(by_scripts)) as con:
        migrations.migrate(con, new=True)
    for name in ("first", "second"):  # makes the kept file, reads it
        assert empty.place(tmp_path / name)
        assert content(tmp_path / name) == content(by_scripts)
        assert kept.exists()


def test_a_new_store_begins_as_the_kept_one(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert empty.place(tmp_path / "one")
    monkeypatch.setattr(catalogue, "make_tables", lambda con, until: pytest.fail("made anew"))
    with migrations.migrated(tmp_path / "two") as con:
        assert rows(con, "SELECT count(*) FROM records") == [(0,)]


@pytest.mark.thorough
@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_a_damaged_one_is_made_again(damage: str, tmp_path: Path, kept: Path) -> None:
    assert empty.place(tmp_path / "one")
    good = kept.read_bytes()
    wrong = good[:-1] if damage == "cut" else good[:5000] + b"damage" + good[5006:]
    kept.write_bytes(wrong)
    assert empty.place(tmp_path / "two")
    assert content(tmp_path / "two") == content(tmp_path / "one")
    assert kept.read_bytes() != wrong


def test_one_of_other_scripts_is_not_used(
    tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr(catalogue, "digest", lambda: "of the version before")
        assert empty.place(tmp_path / "one")
    assert b"of the version before" in (tmp_path / "one").read_bytes()
    with migrations.migrated(tmp_path / "two") as con:
        ((made_of,),) = rows(con, "SELECT name FROM migrations WHERE number = 0")
    assert made_of.endswith(catalogue.digest())


def test_what_is_there_stays(tmp_path: Path, kept: Path) -> None:
    there, dangling = tmp_path / "there", tmp_path / "dangling"
    there.write_bytes(b"of another")
    dangling.symlink_to(tmp_path / "nowhere")
    of_gone = tmp_path / "gone"
    (tmp_path / "gone.wal").write_bytes(b"a journal")
    assert not any(empty.place(path) for path in (there, dangling, of_gone))
    assert there.read_bytes() == b"of another"
    assert not (tmp_path / "nowhere").exists()
    assert not of_gone.exists()


def test_duckdb_says_why_a_store_cannot_be_made(tmp_path: Path, kept: Path) -> None:
    assert not empty.place(tmp_path / "missing" / "store")
