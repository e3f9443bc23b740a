"""Store and history are replaced together, or not at all."""

import os
from pathlib import Path

import pytest

from audit.errors import LockedError
from audit.files import state_folder
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
