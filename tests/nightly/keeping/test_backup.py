"""A backup restores everything, also if a run was at work; a damaged one is refused."""

import io
import json
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from audit.config.places import Site
from audit.errors import LockedError, StoreError, UsageError
from audit.files import lock
from audit.nightly import history
from audit.nightly.keeping import backup
from audit.nightly.run import run
from audit.nightly.stages import Night
from audit.store import database, migrations
from tests.logs import write
from tests.nightly.test_run import FIGURES, NOW, content, month, site
from tests.shared import once

STATE = "fairaudit-state"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site after its night, and its backup."""

    def make(folder: Path) -> None:
        settings = site(folder)
        write(folder / "logs" / "1.swf", month(0) + "no record\n")
        run(Site(settings, folder), NOW)
        backup.save(Site(settings, folder), folder / "b.tar", NOW)

    return once(tmp_path_factory, "backup", make)


@pytest.mark.thorough
def test_it_all_comes_back_and_nothing_is_left_to_do(place: Path) -> None:
    settings, before = site(place), content(place)
    entries = history.read(place / STATE)
    shutil.rmtree(place / STATE)
    (place / "fairaudit.duckdb").unlink()
    of = backup.restore(Site(settings, place), place / "b.tar", force=False)
    assert of.rows["records"] == 40
    assert of.rows["refused"] == 1
    assert of.failing == []
    assert of.made_at == "2033-05-18T03:33:20+00:00"
    assert history.read(place / STATE) == entries
    assert {path.name for path in (place / STATE).iterdir()} == {"store.duckdb", "history.sqlite"}
    assert run(Site(settings, place), NOW) == Night(published=True)
    assert content(place) == before


@pytest.mark.thorough
def test_it_is_made_while_a_run_is_at_work(place: Path) -> None:
    store = place / STATE / "store.duckdb"
    with lock.held(store, "fairaudit run"), migrations.migrated(store):
        past = history.RunHistory(place / STATE, lambda: NOW)
        past.begin(history.WHOLE)
        file, of = backup.save(Site(site(place), place), place, NOW)
        past.close()
        assert file.name == "fairaudit-20330518T033320Z.tar"
        assert of.rows["records"] == 40
        with pytest.raises(LockedError):
            backup.restore(Site(site(place), place), file, force=True)
    assert not list(place.glob(".fairaudit*"))


@pytest.mark.thorough
def test_a_store_is_replaced_only_by_force(place: Path) -> None:
    settings = site(place)
    write(place / "logs" / "2.swf", month(1, jobs=9))
    run(Site(settings, place), NOW, stages=FIGURES)
    later = (place / STATE / "store.duckdb").read_bytes()
    with pytest.raises(UsageError, match="already exists; --force"):
        backup.restore(Site(settings, place), place / "b.tar", force=False)
    assert (place / STATE / "store.duckdb").read_bytes() == later
    (place / STATE / "store.duckdb.wal").write_bytes(b"of the old one")
    backup.restore(Site(settings, place), place / "b.tar", force=True)
    again = run(Site(settings, place), NOW, stages=FIGURES)
    assert again.read == ["2.swf: 9 records, 0 refused"]
    assert again.failures == []


def members(file: Path) -> dict[str, bytes]:
    with tarfile.open(file) as tar:
        found = {}
        for member in tar:
            inside = tar.extractfile(member)
            assert inside is not None
            found[member.name] = inside.read()
        return found


def rewritten(file: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The backup with other members."""
    inside = members(file)
    change(inside)
    with tarfile.open(file, "w") as tar:
        for name, text in inside.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))
    return file


def flip(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(inside: dict[str, bytes]) -> None:
        text = bytearray(inside[name])
        text[len(text) // 2] ^= 1
        inside[name] = bytes(text)

    return change


def say(**values: object) -> Callable[[dict[str, bytes]], None]:
    def change(inside: dict[str, bytes]) -> None:
        manifest = {**json.loads(inside["manifest.json"]), **values}
        inside["manifest.json"] = json.dumps(manifest).encode()

    return change


def drop(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(inside: dict[str, bytes]) -> None:
        del inside[name]

    return change


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (flip("store.duckdb"), StoreError, "store.duckdb differs from the saved file"),
        (flip("history.sqlite"), StoreError, "history.sqlite differs from the saved file"),
        (drop("history.sqlite"), StoreError, "is damaged, or not a backup of fairaudit"),
        (
            say(rows={"records": 8}),
            StoreError,
            "the row counts of its tables differ from its manifest",
        ),
        (say(format=9, version="9.9.9"), UsageError, r"made by a newer fairaudit \(9.9.9\)"),
        (say(more=1), StoreError, "not a backup of fairaudit"),
    ],
)
def test_what_is_damaged_or_newer_changes_nothing(
    place: Path, change: Callable[[dict[str, bytes]], None], kind: type[Exception], said: str
) -> None:
    before = {path: path.read_bytes() for path in (place / STATE).iterdir()}
    file = rewritten(place / "b.tar", change)
    with pytest.raises(kind, match=said):
        backup.restore(Site(site(place), place), file, force=True)
    assert {path: path.read_bytes() for path in (place / STATE).iterdir()} == before


@pytest.mark.parametrize("part", [0.0, 0.9])
def test_a_file_that_was_cut_off_is_refused(place: Path, part: float) -> None:
    whole = (place / "b.tar").read_bytes()
    (place / "b.tar").write_bytes(whole[: int(len(whole) * part)])
    with pytest.raises(StoreError, match="is damaged"):
        backup.restore(Site(site(place), place), place / "b.tar", force=True)


def test_a_store_of_a_newer_fairaudit_is_refused_and_an_older_one_migrated(place: Path) -> None:
    published = place / "fairaudit.duckdb"
    published.chmod(0o600)
    con = database.open_store(published)
    database.execute(con, "INSERT INTO migrations VALUES (999, 'of_tomorrow.sql')")
    con.close()
    with pytest.raises(UsageError, match=r"migration 999, .* upgrade fairaudit"):
        backup.save(Site(site(place), place), place / "new.tar", NOW)
    assert not (place / "new.tar").exists()
