"""One run at a time, whatever becomes of the other."""

import os
from pathlib import Path

import pytest

from audit.errors import LockedError, UsageError
from audit.files import lock
from tests import processes

HOLDER = """
import sys
from pathlib import Path
from audit.files import lock
with lock.held(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_holds_it_until_it_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "audit.duckdb"
    with processes.talking(HOLDER, path, says="held") as other:
        with pytest.raises(LockedError) as caught, lock.held(path):
            pass
        assert caught.value.exit_code == 75
        other.kill()
        other.wait()
    with lock.held(path):
        assert [path.name for path in tmp_path.iterdir()] == [".audit.duckdb.lock"]
    assert list(tmp_path.iterdir()) == []


def test_it_is_let_go_when_the_block_fails(tmp_path: Path) -> None:
    path = tmp_path / "audit.duckdb"
    with pytest.raises(RuntimeError), lock.held(path):
        raise RuntimeError
    with lock.held(path):
        pass


@pytest.mark.parametrize("planted", ["link", "link to nothing", "second name", "pipe", "theirs"])
def test_what_is_not_its_own_lock_is_left_as_it_is(tmp_path: Path, planted: str) -> None:
    secret = tmp_path / "secret"
    secret.write_text("precious")
    secret.chmod(0o600)
    path, lock_file = tmp_path / "audit.duckdb", tmp_path / ".audit.duckdb.lock"
    if planted == "link":
        lock_file.symlink_to(secret)
    elif planted == "link to nothing":
        lock_file.symlink_to(tmp_path / "new")
    elif planted == "second name":
        lock_file.hardlink_to(secret)
    elif planted == "pipe":
        os.mkfifo(lock_file)
    elif os.geteuid() != 0:
        pytest.skip("only root can give files to other users")
    else:
        lock_file.write_text("precious")
        os.chown(lock_file, 65534, -1)
    before = lock_file.lstat()
    with pytest.raises(PermissionError, match="remove it"), lock.held(path):
        pass
    assert secret.read_text() == "precious"
    assert lock_file.lstat() == before
    assert not (tmp_path / "new").exists()
    if "link" in planted:
        with pytest.raises(OSError, match="symbolic links"):
            lock.holder(path)


def test_a_folder_that_others_can_change_gets_no_lock(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(PermissionError, match="chmod go-w"), lock.held(tmp_path / "audit.duckdb"):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "/", "folder"])
def test_a_folder_is_no_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="is a folder: name a file"), lock.held(Path(name)):
        pass
