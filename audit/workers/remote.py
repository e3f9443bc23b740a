"""Runs on a worker: opens a parcel, does a part of the work, and packs the result."""

import hashlib
import json
import platform
import signal
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any, Final, NamedTuple

from audit.errors import AuditError
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
    """Ignore Ctrl-C and SIGTERM, which are for the client; called by Dask when a worker begins.

    Both may be sent to the whole process group. The client ends its workers, and they end by
    themselves if it is killed.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


class Failure(NamedTuple):
    """The reason why a worker could not do a part, which another worker or process may do."""

    why: str
    machine: str


def run(folder: str, ours: Mapping[str, str], part: bytes) -> bytes | Failure:
    """Do a part of a piece of work in ``folder``, which has the same name everywhere.

    ``ours`` is the client's ``identity``.

    Returns:
        The result, as a parcel whose files are in ``folder``; or the reason for a failure.

    Raises AuditError if the part itself is wrong, wherever it is done.
    """
    if differs := difference(ours, identity()):
        return Failure(differs, platform.node())
    try:
        with _lock:
            prepared = _at_hand.pop(folder, None) or _Prepared(Path(folder))
            _at_hand[folder] = prepared
            for other in list(_at_hand)[:-_KEPT]:
                del _at_hand[other]
        return Packer(Path(folder)).packed(prepared.made(part))
    except AuditError:
        raise
    except MemoryError:
        why = "it has too little memory"
    except OSError as error:
        why = _unusable(folder, error)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    return Failure(why, platform.node())


def unfit(folder: str, ours: Mapping[str, str]) -> str:
    """Return why this worker cannot do parts for a client; empty: it can.

    Args:
        folder: of the client's run.
        ours: the client's ``identity``.
    """
    if differs := difference(ours, identity()):
        return f"it has {differs}; figures might differ: install the same there"
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"fairaudit")
    except OSError as error:
        return _unusable(folder, error)
    return ""


def _unusable(folder: str, error: OSError) -> str:
    shared = "compute.folder must be a folder that this machine and all workers share"
    return f"it cannot use {folder} ({error.strerror or error}); {shared}"


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
