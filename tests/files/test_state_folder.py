"""Store and history are replaced together, or not at all."""

import errno
import os
import re
from pathlib import Path

import pytest

from audit.errors import LockedError
from audit.files import lock, state_folder
from audit.files.state_folder import HISTORY, STORE


def write(folder: Path, content: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name in (STORE, HISTORY):
        (folder / name).write_text(content)
    return folder


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


NEW = {STORE: "new", HISTORY: "new"}


def test_both_files_take_the_place_of_the_old_and_of_what_lay_beside_them(tmp_path: Path) -> None:
    state = write(tmp_path / "state", "old")
    for name in (f"{STORE}.wal", f"{HISTORY}-journal", f"{HISTORY}-wal", f"{HISTORY}-shm"):
        (state / name).write_text("of the old one")
    new = write(state / "new", "new")
    with state_folder.held(state, "test") as store:
        assert store == state / STORE
        state_folder.replace(state, new)
        assert content(state).items() >= NEW.items()
    assert content(state) == NEW


@pytest.mark.parametrize("done", range(4))
def test_the_next_process_finishes_what_was_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, done: int
) -> None:
    """The first rename decides; the others may fail, as may what removes the folder."""
    state = write(tmp_path / "state", "old")
    (state / f"{STORE}.wal").write_text("of the old one")
    steps: list[object] = []

    def failing(do: object) -> object:
        def step(*arguments: object, **options: object) -> object:
            steps.append(arguments)
            if len(steps) > done:
                raise OSError(28, "No space left on device")
            return do(*arguments, **options)  # type: ignore[operator]

        return step

    for name in ("rename", "replace", "rmdir"):
        monkeypatch.setattr(os, name, failing(getattr(os, name)))
    new = write(state / "new", "new")
    with pytest.raises(OSError, match="No space"):
        state_folder.replace(state, new)
    monkeypatch.undo()
    assert state_folder.begun(state)
    before = content(new) if new.exists() else None
    with state_folder.held(state, "test"):
        pass
    if done:
        assert content(state) == NEW
    else:
        assert before == NEW
        assert (state / STORE).read_text() == (state / HISTORY).read_text() == "old"
        assert (state / f"{STORE}.wal").exists()


def test_a_store_that_was_restored_to_an_empty_folder_is_there(tmp_path: Path) -> None:
    assert not state_folder.begun(tmp_path)
    new = write(tmp_path / "new", "new")
    new.rename(tmp_path / "restored")  # and the process was killed
    assert state_folder.begun(tmp_path)
    with state_folder.held(tmp_path, "test") as store:
        assert store.read_text() == "new"


def test_one_process_holds_it(tmp_path: Path) -> None:
    with (
        state_folder.held(tmp_path, "first"),
        pytest.raises(LockedError, match="first"),
        state_folder.held(tmp_path, "second"),
    ):
        pass


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_removed_whatever_happens(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="within"), state_folder.scratch(tmp_path) as place:  # noqa: PT012
        (place / "a").write_text("x")
        assert place.stat().st_mode & 0o077 == 0
        raise ValueError("within")
    assert left(tmp_path) == []
    with state_folder.scratch(tmp_path) as place:
        place.rename(tmp_path / "kept")
    assert left(tmp_path) == ["kept"]


def test_what_killed_processes_left_goes_and_nothing_else(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    others = [tmp_path / ".fairaudit-other", tmp_path / "fairaudit-scratch-x"]
    for folder in (*others, tmp_path / ".fairaudit-scratch-dead"):
        folder.mkdir()
        (folder / "store.duckdb").write_text("a copy")
    (tmp_path / ".fairaudit-scratch-dead" / ".work.lock").write_text("killed")
    (tmp_path / ".fairaudit-scratch-file").write_text("no folder")
    (tmp_path / ".fairaudit-scratch-link").symlink_to(elsewhere)
    kept = {"elsewhere", ".fairaudit-scratch-file", ".fairaudit-scratch-link"}
    kept |= {folder.name for folder in others}
    with state_folder.scratch(tmp_path) as first, state_folder.scratch(tmp_path) as second:
        state_folder.sweep_scratch(tmp_path)
        assert set(left(tmp_path)) == kept | {first.name, second.name}
    assert set(left(tmp_path)) == kept


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_stays(tmp_path: Path) -> None:
    theirs = tmp_path / ".fairaudit-scratch-theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    with state_folder.scratch(tmp_path):
        pass
    assert left(tmp_path) == [theirs.name]


def test_one_that_is_swept_before_it_is_held_is_recreated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, seen = lock.held, []

    def sweeping(path: Path, *more: str) -> object:
        seen.append(path.parent)
        if len(seen) == 1:
            path.parent.rmdir()
        return held(path, *more)

    monkeypatch.setattr(lock, "held", sweeping)
    with state_folder.scratch(tmp_path) as place:
        assert place == seen[1] != seen[0]


def test_an_error_without_a_name_gets_that_of_the_folder(tmp_path: Path) -> None:
    """As of a write to a full disk; only opening a file has its name."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(OSError, match=re.escape(str(tmp_path))), state_folder.scratch(tmp_path):
        raise full
