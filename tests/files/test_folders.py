"""Which folders other users can change, by whatever way they are named."""

import os
import pwd
import stat
import struct
from pathlib import Path

import pytest

from audit.files import folders

NOBODY = 65534
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to other users")


def modes(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def below(tmp_path: Path) -> Path:
    """A folder in a folder."""
    path = tmp_path / "above" / "below"
    path.mkdir(parents=True)
    return path


def test_new_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    made = []
    for umask in (0, 0o022, 0o077):
        before = os.umask(umask)
        try:
            made += folders.make(tmp_path / f"{umask:o}" / "a" / "b")
        finally:
            os.umask(before)
    assert [str(path.relative_to(tmp_path)) for path in made[:3]] == ["0", "0/a", "0/a/b"]
    assert [modes(path) for path in made] == [0o700] * 9
    assert folders.make(tmp_path / "0" / "a" / "b") == []


def test_what_is_no_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(NotADirectoryError):
            folders.make(path)


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o702])
def test_others_may_not_write_to_it_or_above_it(below: Path, mode: int) -> None:
    for changed in (below, below.parent):
        changed.chmod(mode)
        for check in (folders.require, folders.make):
            with pytest.raises(PermissionError, match=f"run 'chmod go-w {changed}'"):
                check(below)
        changed.chmod(0o755)
        folders.require(below)


def test_a_sticky_folder_may_lie_above_it_only(below: Path) -> None:
    below.parent.chmod(0o1777)
    folders.require(below)
    folders.require(below.parent / "missing" / "x")
    with pytest.raises(PermissionError, match="use a new folder in it"):
        folders.require(below.parent)


def test_a_file_is_checked_like_a_folder(below: Path) -> None:
    path = below / "config.toml"
    folders.require(path)  # it does not exist yet
    path.touch(mode=0o600)
    folders.require(path)
    path.chmod(0o1666)
    with pytest.raises(PermissionError, match="chmod go-w"):
        folders.require(path)


@AS_ROOT
def test_a_group_may_write_if_it_is_its_users_alone(below: Path) -> None:
    below.chmod(0o770)
    os.chown(below, -1, 0)
    folders.require(below)  # the group root of root
    os.chown(below, -1, NOBODY)
    with pytest.raises(PermissionError, match="other users can change"):
        folders.require(below)
    os.chown(below, -1, 4_000_000_000)  # of no name
    with pytest.raises(PermissionError, match="other users can change"):
        folders.require(below)
    below.chmod(0o750)
    folders.require(below)


@AS_ROOT
def test_a_group_that_is_somebody_elses_primary_group_is_not_its_users_alone(
    below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    below.chmod(0o770)
    os.chown(below, -1, 0)
    other = ("mallory", "x", 1234, 0, "", "/", "/bin/sh")
    known = pwd.getpwall()
    monkeypatch.setattr(pwd, "getpwall", lambda: [*known, pwd.struct_passwd(other)])
    with pytest.raises(PermissionError, match="other users can change"):
        folders.require(below)


@AS_ROOT
def test_an_access_control_list_that_names_another_user_counts(below: Path) -> None:
    nobody_writes = [(1, 7, -1), (2, 7, NOBODY), (4, 0, -1), (16, 7, -1), (32, 0, -1)]
    packed = b"".join(struct.pack("<HHi", *entry) for entry in nobody_writes)
    try:
        os.setxattr(below, "system.posix_acl_access", struct.pack("<I", 2) + packed)
    except OSError:
        pytest.skip("this file system keeps no access control lists: not tried")
    os.chown(below, -1, 0)
    with pytest.raises(PermissionError, match="other users can change"):
        folders.require(below)


@AS_ROOT
def test_another_users_folder_or_link_is_refused(below: Path, tmp_path: Path) -> None:
    for changed in (below, below.parent):
        os.chown(changed, NOBODY, -1)
        with pytest.raises(PermissionError, match=f"{changed} belongs to user nobody"):
            folders.require(below)
        os.chown(changed, 0, -1)
    link = tmp_path / "link"
    link.symlink_to(below)
    folders.require(link)
    os.chown(link, NOBODY, -1, follow_symlinks=False)
    for path in (link, link / "x"):
        with pytest.raises(PermissionError, match=f"{link} belongs to user nobody"):
            folders.require(path)
    assert list(below.iterdir()) == []


def test_links_are_followed_as_the_system_does(below: Path, tmp_path: Path) -> None:
    (tmp_path / "to").symlink_to("above")
    (tmp_path / "back").symlink_to("to/below/..")
    (tmp_path / "root").symlink_to("/")
    (tmp_path / "loop").symlink_to("loop")
    below.parent.chmod(0o777)
    for path in ("to/below", "back", "to/below/../../above", "back/below"):
        with pytest.raises(PermissionError, match=f"chmod go-w {below.parent}'"):
            folders.require(tmp_path / path)
    folders.require(tmp_path / "root")
    with pytest.raises(OSError, match="symbolic links"):
        folders.require(tmp_path / "loop")


def test_a_relative_path_is_checked_from_the_root(
    below: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(below)
    folders.require(Path())
    below.parent.chmod(0o777)
    for path in (Path(), Path("x"), Path("../below")):
        with pytest.raises(PermissionError, match="other users"):
            folders.require(path)
