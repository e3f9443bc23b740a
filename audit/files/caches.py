"""Caches of results that take long to compute, for the next process."""

import atexit
import ctypes
import hashlib
import os
import secrets
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from audit.files import folders, replace

_DIGEST: Final = hashlib.sha256().digest_size


def folder(installed: Path, name: str) -> Path:
    """Return the cache for results derived from files in ``installed``: beside them, if possible.

    Otherwise it is ``name`` in the user's cache, or a private folder of this process. The content
    is executed, so a shared temporary path would let other users run code.
    """
    beside = installed / "__pycache__"
    with suppress(OSError):  # read-only, or others can write there
        beside.mkdir(exist_ok=True, mode=0o700)
        folders.require(beside)
        if writable(beside):
            return beside
    with suppress(OSError, RuntimeError):  # RuntimeError: this user has no home
        home_cache = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
        found = Path(home_cache) / "fairaudit" / name
        folders.make(found)
        if writable(found):
            return found
    found = Path(tempfile.mkdtemp(prefix=f"fairaudit-{name}-"))
    atexit.register(shutil.rmtree, found, ignore_errors=True)
    folders.require(found)
    return found


def writable(place: Path) -> bool:
    """Return whether a file can be made in ``place``, which permission bits alone do not say."""
    return refused(place) is None


def refused(place: Path) -> OSError | None:
    """Return why no file can be made in ``place``; None if one can."""
    try:
        with tempfile.TemporaryFile(dir=place):
            return None
    except OSError as error:
        return error


def kept(place: Path, key: bytes) -> bytes | None:
    """Return the content that an earlier process kept in the file ``place`` for the same ``key``.

    The key identifies everything that the content depends on. None if there is no such file, or it
    is damaged or has another key.
    """
    with suppress(OSError):
        written = place.read_bytes()
        content = written[_DIGEST:]
        if written[:_DIGEST] == _digest(key, content):
            return content
    return None


def keep(place: Path, key: bytes, content: bytes) -> None:
    """Keep ``content`` for the next process, in one step, if possible."""
    with suppress(OSError):
        replace.write(place, _digest(key, content) + content)


def _digest(key: bytes, content: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(key).digest() + content).digest()


ALONE: Final = 2 << 20
"""Minimum bytes of an allocation that is returned to the system when it is freed.

At 1 MiB, the faults of new pages took a quarter of the CPU time of an audit of LANL-CM5.
"""
UNUSED: Final = 32 << 20
"""Maximum bytes that are kept for later allocations; each page that is returned costs a fault."""
GROWTH: Final = 16 << 20
"""Bytes by which the heap grows at a time: it saves 2 % of an audit of KTH-SP2."""
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3  # malloc.h
_OF_POLARS: Final = "background_thread:true,dirty_decay_ms:200,muzzy_decay_ms:0"
"""Options of jemalloc. Without its thread, an idle arena keeps what was freed in it."""


def give_back() -> None:
    """Make this process return freed memory; call it before polars is loaded. Linux only."""
    os.environ.setdefault("_RJEM_MALLOC_CONF", _OF_POLARS)
    if sys.platform == "linux":
        adjust = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's
        if adjust is not None:
            adjust(_MMAP_THRESHOLD, ALONE)
            adjust(_TRIM_THRESHOLD, UNUSED)
            adjust(_TOP_PAD, GROWTH)


def trim() -> None:
    """Return what is free between allocations to the system, for a stage that needs other sizes."""
    release = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if release is not None:
        release(0)


def spill_privately() -> None:
    """Name the folder where polars puts frames if memory is short; call it before loading polars.

    Its own choice is below /var/tmp, which TMPDIR does not move and a container may not have. The
    folder is made when it is needed, and removed at exit.
    """
    with suppress(OSError):  # no temporary folder is writable: the choice stays with polars
        place = Path(tempfile.gettempdir(), f"fairaudit-spill-{secrets.token_hex(8)}")
        if os.environ.setdefault("POLARS_OOC_SPILL_DIR", str(place)) == str(place):
            atexit.register(shutil.rmtree, place, ignore_errors=True)
