"""Results kept for the next process: returned as they were made, or made anew."""

import os
import sys
from pathlib import Path

import pytest

from audit.files import caches
from tests import processes


def test_what_was_kept_is_given_back_to_who_makes_it_of_the_same(tmp_path: Path) -> None:
    place = tmp_path / "made"
    assert caches.kept(place, b"source") is None
    caches.keep(place, b"source", b"what was made")
    assert caches.kept(place, b"source") == b"what was made"
    assert caches.kept(place, b"another source") is None
    caches.keep(place, b"another source", b"other")
    assert caches.kept(place, b"source") is None
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


@pytest.mark.parametrize("damaged", [b"", b"half", b"\0" * 32 + b"what was made"])
def test_what_is_damaged_is_nothing(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "made").write_bytes(damaged)
    assert caches.kept(tmp_path / "made", b"source") is None


def test_a_file_cut_off_is_nothing(tmp_path: Path) -> None:
    caches.keep(tmp_path / "made", b"source", b"what was made")
    written = (tmp_path / "made").read_bytes()
    for length in range(len(written)):
        (tmp_path / "made").write_bytes(written[:length])
        assert caches.kept(tmp_path / "made", b"source") is None


def test_where_nothing_can_be_kept_nothing_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches.keep(tmp_path / "absent" / "made", b"source", b"what was made")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    caches.keep(tmp_path / "made", b"source", b"what was made")
    assert not list(tmp_path.iterdir())


def test_the_cache_of_a_read_only_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert caches.folder(tmp_path, "charts") == tmp_path / "__pycache__"
    (tmp_path / "file").touch()
    read_only = tmp_path / "file"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caches.folder(read_only, "charts") == tmp_path / "fairaudit" / "charts"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    private = caches.folder(read_only, "charts")
    assert private.stat().st_mode & 0o777 == 0o700
    assert not caches.writable(tmp_path / "file" / "below")


def test_nothing_is_taken_from_where_others_can_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed, home = tmp_path / "installed", tmp_path / "home" / "cache"
    installed.mkdir()
    (installed / "__pycache__").mkdir()
    (installed / "__pycache__").chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    before = os.umask(0)
    try:
        found = caches.folder(installed, "charts")
    finally:
        os.umask(before)
    assert found == home / "fairaudit" / "charts"
    assert [path.stat().st_mode & 0o777 for path in (found, home, home.parent)] == [0o700] * 3
    found.chmod(0o777)
    assert caches.folder(installed, "charts") not in {found, installed / "__pycache__"}


def test_what_was_requested_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_RJEM_MALLOC_CONF", "mine")
    caches.give_back()
    assert os.environ["_RJEM_MALLOC_CONF"] == "mine"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_freed_arrays_are_given_back() -> None:
    script = """
import ctypes
from audit.files import caches
caches.give_back()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def piece():
    at = libc.malloc(ctypes.c_size_t(8 << 20))
    ctypes.memset(at, 1, 8 << 20)
    return at
libc.free(piece())  # what makes glibc keep pieces of this size
before = held()
pieces = [piece() for _ in range(8)]
for at in pieces[:-1]:  # the last would keep those before it from being given back
    libc.free(at)
print(held() - before)
"""
    ended = processes.python("-c", script, check=True, text=False)
    assert int(ended.stdout) < 2 * (8 << 20)


def test_frames_spill_into_a_folder_that_is_removed(tmp_path: Path) -> None:
    script = """
import tempfile
from pathlib import Path
from audit.files import caches
caches.spill_privately()
import polars as pl
frame = pl.LazyFrame({"n": range(400_000)}).sort("n", descending=True)
frame.collect(engine="streaming")
print(len([*Path(tempfile.gettempdir()).glob("fairaudit-spill-*/*")]))
"""
    spills = {"TMPDIR": str(tmp_path), "POLARS_OOC_MEMORY_BUDGET_MB": "1"}
    ended = processes.python("-c", script, env=os.environ | spills, check=True, text=False)
    assert int(ended.stdout) == 1
    assert [*tmp_path.iterdir()] == []
