"""An archive folder belongs to one store, wherever both are moved."""

import platform
import shutil
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.errors import AuditError, UsageError
from audit.files import lock
from audit.nightly.keeping import archiving, backup
from audit.nightly.run import run
from audit.store import archive, migrations, snapshots
from tests.nightly.months import write_months
from tests.nightly.test_run import FIGURES, NOW, month
from tests.nightly.test_run import site as plain
from tests.shared import once

A, B = "0123456789abcdef", "fedcba9876543210"


def site(folder: Path, name: str = "", root: str = "archive", **retention: int) -> config.Config:
    """One of several configurations beside each other, which share their archive folder."""
    settings = plain(folder, pools=({"name": "all", "capacity": {"cpus": 16}},))
    output = {
        "state": f"{name}state",
        "database": f"{name}audit.duckdb",
        "reports": f"{name}reports",
        "archive": root,
    }
    retention = {"archive_months": 1, **retention}
    return config.Config.model_validate(
        {**settings.model_dump(), "output": output, "retention": retention}
    )


def archived(folder: Path) -> set[str]:
    return {path.name for path in (folder / "archive").rglob("*.parquet")}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "logs-of-claims", lambda folder: write_months(folder, jobs=60))


@pytest.mark.thorough
def test_two_configurations_that_share_an_archive_are_distinct(logs: Path, tmp_path: Path) -> None:
    first, second = site(tmp_path), site(tmp_path, "other-")
    shutil.copytree(logs, tmp_path / "logs", dirs_exist_ok=True)
    assert run(Site(first, tmp_path), NOW, stages=FIGURES).failures == []
    assert archiving.examine_owner(Site(first, tmp_path)) == str(tmp_path / "archive")
    before = archived(tmp_path)
    assert len(before) == 4
    both = rf"the store in \S+:{tmp_path}/state; the store in {tmp_path}/other-state needs"
    with pytest.raises(UsageError, match=both):
        archiving.examine_owner(Site(second, tmp_path))
    with pytest.raises(UsageError, match=both):
        run(Site(second, tmp_path), NOW, stages=FIGURES)
    assert not (tmp_path / "other-audit.duckdb").exists()
    assert archived(tmp_path) == before
    away = site(tmp_path, "other-", "archive/other")
    assert run(Site(away, tmp_path), NOW, stages=FIGURES).failures == []
    assert run(Site(first, tmp_path), NOW, stages=FIGURES).failures == []
    assert len(archived(tmp_path)) == 8
    archiving.bring_back(Site(away, tmp_path), "c", date(2026, 1, 1))
    later = site(tmp_path, "other-", "archive/other", archive_months=9)
    assert run(Site(later, tmp_path), NOW, stages=FIGURES).failures == []
    assert archived(tmp_path) == before  # its own files are gone, those of the first are there


def test_nobody_claims_a_folder_who_archives_nothing(tmp_path: Path) -> None:
    settings = site(tmp_path, archive_months=0)
    (tmp_path / "logs" / "1.swf").write_text(month(0, jobs=9))
    assert run(Site(settings, tmp_path), NOW, stages=FIGURES).failures == []
    assert not (tmp_path / "archive").exists()
    assert archiving.examine_owner(Site(settings, tmp_path)).startswith("nothing is archived")
    with closing(snapshots.open_snapshot(tmp_path / "audit.duckdb")) as con:
        assert archive.identity(con) is None


def store(folder: Path, name: str = "") -> None:
    """A store that is there."""
    (folder / f"{name}state").mkdir(parents=True)
    (folder / f"{name}state" / "store.duckdb").touch()


def test_a_folder_that_moves_with_its_store_stays_its_own(tmp_path: Path) -> None:
    here = tmp_path / "here"
    store(here)
    archiving.note_owner(Site(site(here), here), A)
    there = shutil.copytree(here, tmp_path / "there")
    # both are still there, each with its own archive
    archiving.check_owner(Site(site(here), here), A)
    shared = site(tmp_path / "there", root=str(here / "archive"))
    with pytest.raises(UsageError, match=rf"{here}/state; the store in {there}/state needs"):
        archiving.note_owner(Site(shared, there), A)
    shutil.rmtree(here / "state")
    archiving.note_owner(Site(shared, there), A)  # the only one left
    store(here)
    with pytest.raises(UsageError, match=rf"{there}/state; the store in {here}/state needs"):
        archiving.note_owner(Site(site(here), here), A)


def test_a_store_that_was_lost_is_succeeded_by_one_in_its_place_alone(tmp_path: Path) -> None:
    store(tmp_path)
    archiving.note_owner(Site(site(tmp_path), tmp_path), A)
    archiving.note_owner(Site(site(tmp_path), tmp_path), B)
    shutil.rmtree(tmp_path / "state")
    for unknown in (A, None):
        with pytest.raises(UsageError, match=f"remove {archiving.CLAIM} from the folder"):
            archiving.check_owner(Site(site(tmp_path, "other-"), tmp_path), unknown)
    archiving.note_owner(Site(site(tmp_path, "other-"), tmp_path), B)


def test_the_same_place_on_another_machine_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(tmp_path)
    archiving.note_owner(Site(site(tmp_path), tmp_path), A)
    monkeypatch.setattr(platform, "node", lambda: "elsewhere")
    with pytest.raises(UsageError, match="needs another folder"):
        archiving.note_owner(Site(site(tmp_path), tmp_path), B)
    archiving.note_owner(Site(site(tmp_path), tmp_path), A)


@pytest.mark.parametrize("text", ["", "{}", "[" * 9_000, '{"store": 1, "host": "", "state": ""}'])
def test_a_damaged_note_is_reported(tmp_path: Path, text: str) -> None:
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive" / archiving.CLAIM).write_text(text)
    with pytest.raises(AuditError, match="is damaged; remove it"):
        archiving.check_owner(Site(site(tmp_path), tmp_path), A)


def test_what_cannot_be_written_or_is_being_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "archive").touch()
    with pytest.raises(UsageError, match=r"cannot be written: .* \(output.archive\)"):
        archiving.note_owner(Site(site(tmp_path), tmp_path), A)
    (tmp_path / "archive").unlink()
    (tmp_path / "archive").mkdir()
    with (
        lock.held(tmp_path / "archive" / archiving.CLAIM),
        pytest.raises(AuditError, match="another store is claiming this folder"),
    ):
        archiving.note_owner(Site(site(tmp_path), tmp_path), A)


@pytest.mark.thorough
def test_a_restore_refuses_the_archive_of_another_store(logs: Path, tmp_path: Path) -> None:
    shutil.copytree(logs, tmp_path / "logs")
    first, second = site(tmp_path), site(tmp_path, "other-")
    assert run(Site(first, tmp_path), NOW, stages=FIGURES).failures == []
    saved, _ = backup.save(Site(first, tmp_path), tmp_path / "b.tar", NOW)
    before = {path: path.read_bytes() for path in (tmp_path / "archive").rglob("*.parquet")}
    with pytest.raises(UsageError, match="needs another folder"):
        backup.restore(Site(second, tmp_path), saved, force=False)
    assert not (tmp_path / "other-state" / "store.duckdb").exists()
    shutil.rmtree(tmp_path / "state")
    backup.restore(Site(second, tmp_path), saved, force=False)  # it has moved
    assert run(Site(second, tmp_path), NOW, stages=FIGURES).failures == []
    assert {path: path.read_bytes() for path in (tmp_path / "archive").rglob("*.parquet")} == before
    with (
        migrations.migrated(tmp_path / "other-state" / "store.duckdb", base=tmp_path) as con,
        pytest.raises(UsageError, match="needs another folder"),
    ):
        archiving.claim(con, Site(first, tmp_path))
