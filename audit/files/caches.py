"""Where things that take long to make are kept for the next process."""

import atexit
import ctypes
import hashlib
import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from audit.files import folders, replace

_DIGEST: Final = hashlib.sha256().digest_size


def folder(installed: Path, name: str) -> Path:
    """A folder for what was made of the sources in ``installed``: beside them, if it can be.

    Else in the user's cache, or a folder of this process alone: what lies there is executed, so a
    shared temporary path would let other users in.

    Args:
        name: what is kept; the name of the folder in the user's cache.
    """
    beside = installed / "__pycache__"
    try:
        beside.mkdir(exist_ok=True, mode=0o700)
        folders.require(beside)
        if writable(beside):
            return beside
    except OSError:  # read-only, or others can write there
        pass
    try:
        home_cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        found = Path(home_cache) / "fairaudit" / name
        folders.make(found)
    except (OSError, RuntimeError):  # RuntimeError: this user has no home
        pass
    else:
        if writable(found):
            return found
    found = Path(tempfile.mkdtemp(prefix=f"fairaudit-{name}-"))
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    folders.require(found)
    return found


def writable(place: Path) -> bool:
    """Whether a file can be made in ``place``; permission bits alone do not say so."""
    return refused(place) is None


def refused(place: Path) -> OSError | None:
    """Why no file can be made in ``place``; None where one can."""
    try:
        with tempfile.TemporaryFile(dir=place):
            return None
    except OSError as error:
        return error


def kept(place: Path, key: bytes) -> bytes | None:
    """What an earlier process kept in the file ``place``.

    Args:
        place: a file in a ``folder``.
        key: all that what is kept was made of and with.

    Returns:
        None where there is nothing, or something damaged, or made of something else.
    """
    with suppress(OSError):
        written = place.read_bytes()
        content = written[_DIGEST:]
        if written[:_DIGEST] == _digest(key, content):
            return content
    return None


def keep(place: Path, key: bytes, content: bytes) -> None:
    """Keeps ``content`` for the next process, in one step, if that can be done."""
    with suppress(OSError):
        replace.write(place, _digest(key, content) + content)


def _digest(key: bytes, content: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key).digest() + content).digest()


ALONE: Final = 1 << 20
"""Pieces of so many bytes are asked for, and given back, one by one."""
_MMAP_THRESHOLD: Final = -3  # malloc.h: M_MMAP_THRESHOLD


def give_back() -> None:
    """Asks for it; for a process that has not loaded polars yet. Elsewhere nothing happens."""
    os.environ.setdefault("_RJEM_MALLOC_CONF", "dirty_decay_ms:500,muzzy_decay_ms:0")
    if sys.platform == "linux":
        adjust = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
        if adjust is not None:
            adjust(_MMAP_THRESHOLD, ALONE)
