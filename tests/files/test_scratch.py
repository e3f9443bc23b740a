"""Working folders: gone when they are done with, or with the next one."""

import os
from pathlib import Path

import pytest

from audit.files import lock, scratch


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_is_removed_whatever_happens(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="within"), scratch.folder(tmp_path) as place:  # noqa: PT012
        (place / "a").write_text("x")
        assert place.stat().st_mode & 0o077 == 0
        raise ValueError("within")
    assert left(tmp_path) == []
    with scratch.folder(tmp_path) as place:
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
    with scratch.folder(tmp_path) as first, scratch.folder(tmp_path) as second:
        scratch.sweep(tmp_path)
        assert set(left(tmp_path)) == kept | {first.name, second.name}
    assert set(left(tmp_path)) == kept


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_stays(tmp_path: Path) -> None:
    theirs = tmp_path / ".fairaudit-scratch-theirs"
    theirs.mkdir()
    os.chown(theirs, 65534, 65534)
    with scratch.folder(tmp_path):
        pass
    assert left(tmp_path) == [theirs.name]


def test_one_that_is_swept_before_it_is_held_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held, seen = lock.held, []

    def sweeping(path: Path, *more: str) -> object:
        seen.append(path.parent)
        if len(seen) == 1:
            path.parent.rmdir()
        return held(path, *more)

    monkeypatch.setattr(lock, "held", sweeping)
    with scratch.folder(tmp_path) as place:
        assert place == seen[1] != seen[0]
