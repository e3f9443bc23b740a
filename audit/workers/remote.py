"""Runs on a worker: opens a parcel, does a part of the work, and packs the result."""

from __future__ import annotations

import hashlib
import json
import platform
import signal
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final

from audit.errors import WorkersError
from audit.workers.parcels import Opener, Packer

WORK: Final = "work.pickle"
"""The file with what all parts of a piece of work have in common."""

_KEPT: Final = 2  # pieces of work that a worker keeps, because one may begin while another ends


class _Prepared:
    """A piece of work, opened when its first part arrives."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._make: Callable[[Any], Any] | None = None
        self.opener = Opener(folder)

    def made(self, part: bytes) -> Any:
        with self._lock:
            if self._make is None:
                prepare, shared = self.opener.opened((self._folder / WORK).read_bytes())
                self._make = prepare(shared)
        return self._make(self.opener.opened(part))


_at_hand: Final[dict[str, _Prepared]] = {}
_lock: Final = Lock()


def dask_setup(_worker: object) -> None:
    """Ignore Ctrl-C, which is for the client; called by Dask when a worker here begins."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(folder: str, ours: Mapping[str, str], part: bytes) -> bytes:
    """Do a part of a piece of work in ``folder``, which has the same name everywhere.

    ``ours`` is the client's ``identity``.

    Returns:
        The result, as a parcel whose files are in ``folder``.

    Raises WorkersError if this worker has other software, or cannot use the folder.
    """
    if differs := difference(ours, identity()):
        raise WorkersError(f"a worker on {platform.node()} has {differs}")
    with _lock:
        prepared = _at_hand.pop(folder, None) or _Prepared(Path(folder))
        _at_hand[folder] = prepared
        for other in list(_at_hand)[:-_KEPT]:
            del _at_hand[other]
    try:
        return Packer(Path(folder)).packed(prepared.made(part))
    except OSError as error:
        raise WorkersError(
            f"a worker on {platform.node()} cannot use {folder} ({error.strerror or error}): "
            "compute.folder must be a folder that this machine and all workers share"
        ) from error


PACKAGE: Final = Path(__file__).parent.parent


def identity() -> dict[str, str]:
    """Return the versions of the software of this process, by name."""
    import numpy as np
    import polars as pl

    from audit import __version__

    return {
        "fairaudit": __version__,
        "sources": program()[:12],
        "kernels": kernels()[:12],
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "polars": pl.__version__,
        "processor": platform.machine(),
    }


def difference(ours: Mapping[str, str], theirs: Mapping[str, str]) -> str | None:
    """Return the differences, such as ``fairaudit 0.2.0, here 0.1.0``; None without any."""
    differs = (
        f"{name} {theirs.get(name, 'unknown')}, here {value}"
        for name, value in ours.items()
        if theirs.get(name) != value
    )
    return "; ".join(differs) or None


@cache
def kernels() -> str:
    """Return a fingerprint of the sources from which the kernels were compiled."""
    built = PACKAGE / "kernels" / "built.json"
    return hashlib.sha256(built.read_bytes()).hexdigest() if built.exists() else "not compiled"


@cache
def program() -> str:
    """Return a fingerprint of fairaudit's own code."""
    from audit import __version__

    files = sorted(PACKAGE.rglob("*.py"))
    parts = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return hashlib.sha256(json.dumps([__version__, *parts]).encode()).hexdigest()
