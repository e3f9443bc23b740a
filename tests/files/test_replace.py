"""A file is replaced whole, or left as it was."""

import os
from pathlib import Path

import pytest

from audit.files import replace

ALONE = pytest.mark.parametrize("alone", [False, True])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@ALONE
def test_what_is_written_takes_the_place_of_what_was_there(tmp_path: Path, alone: bool) -> None:
    target = tmp_path / "a.html"
    for content in (b"first", b"second"):
        replace.write(target, content, alone=alone)
        assert target.read_bytes() == content
    assert names(tmp_path) == ["a.html"]


@ALONE
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_error_leaves_what_was_there_and_nothing_beside_it(
    tmp_path: Path, error: BaseException, alone: bool
) -> None:
    target = tmp_path / "a.db"
    target.write_bytes(b"before")

    def fail() -> None:
        with replace.drafting(target, alone=alone, also=(".wal",)) as draft:
            draft.write_bytes(b"half")
            draft.with_name(draft.name + ".wal").write_bytes(b"its log")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert target.read_bytes() == b"before"
    assert names(tmp_path) == ["a.db"]


def test_the_reader_of_the_old_file_keeps_it(tmp_path: Path) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with target.open("rb") as reader:
        replace.write(target, b"new")
        assert reader.read() == b"old"


def test_what_a_killed_process_left_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / ".a.draft").write_bytes(b"much more than what is written now")
    (tmp_path / ".a.draft.wal").write_bytes(b"a log that fits nothing")
    with replace.drafting(tmp_path / "a", alone=True, also=(".wal",)) as draft:
        assert names(tmp_path) == []
        draft.write_bytes(b"new")
    assert names(tmp_path) == ["a"]


def test_two_processes_have_drafts_of_their_own(tmp_path: Path) -> None:
    with replace.drafting(tmp_path / "a") as draft:
        assert draft.name == f".a.{os.getpid()}"
        draft.touch()


def test_a_draft_is_as_private_as_all_that_is_written(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        replace.write(tmp_path / "a", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace.write(tmp_path / "none" / "a", b"")


def test_nothing_is_written_where_others_can_exchange_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(PermissionError, match="chmod go-w"):
        replace.write(tmp_path / "a", b"")
    assert names(tmp_path) == []


@ALONE
def test_a_draft_that_somebody_laid_there_is_not_followed(tmp_path: Path, alone: bool) -> None:
    (tmp_path / "secret").write_bytes(b"precious")
    (tmp_path / f".a.{'draft' if alone else os.getpid()}").symlink_to("secret")
    replace.write(tmp_path / "a", b"new", alone=alone)
    assert (tmp_path / "secret").read_bytes() == b"precious"
    assert (tmp_path / "a").read_bytes() == b"new"
