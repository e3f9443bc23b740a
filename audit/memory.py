"""The memory that fairaudit needs, the memory that it may use, and whether that has run out.

A process that lacks memory fails in many ways, and some of them cannot be handled in it: a library
aborts, or the kernel kills the process. So each command first checks that its limits suffice to
load the libraries.
"""

import errno
import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

from audit.errors import AuditError

BASE_BYTES: Final = 400 << 20
"""Memory at the peak of a run of few jobs: Python, the libraries, and charts."""
BYTES_PER_ATTEMPT: Final = 1_600
"""Further memory for each attempt that is computed at once, in deep queues (docs/scale.md)."""

_LEAST_BYTES: Final = 256 << 20
_LEAST_ADDRESSES: Final = 1_800_000_000
"""Address space (``ulimit -v``) below which libraries crash while they read a small log."""
_NEAR: Final = 0.9
"""Share of the limit of address space above which an error is attributed to it."""

_GROUPS: Final = Path("/sys/fs/cgroup")
_REMEDY: Final = "give it more, or audit fewer logs at once"
_ESTIMATE: Final = "'fairaudit doctor' estimates the need"


def needed(attempts: int) -> int:
    """Return the bytes that a run needs to compute this number of attempts at once."""
    return BASE_BYTES + BYTES_PER_ATTEMPT * attempts


def available() -> int:
    """Return the bytes that this process may use: of the machine, or of its control group."""
    machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([machine, *_limits(resource.RLIMIT_DATA), *_of_groups()])


def require() -> None:
    """Raise AuditError if this process may not use enough memory to load the libraries."""
    for name, have, least in (
        ("memory", available(), _LEAST_BYTES),
        *(
            ("address space (ulimit -v)", limit, _LEAST_ADDRESSES)
            for limit in _limits(resource.RLIMIT_AS)
        ),
    ):
        if have < least:
            amounts = f"{have >> 20:,} MiB of {name}; at least {least >> 20:,} MiB are needed"
            raise AuditError(f"too little memory: this process may use {amounts}")


def explain_aborts() -> None:
    """Write a sentence to stderr if a library ends this process, which no exception shows."""
    try:
        from audit.kernels.ending import say_if_ended
    except ImportError:
        return  # the command itself, or doctor, says that kernels are not compiled

    why = "a library ended this process, usually because memory ran out"
    say_if_ended(f"fairaudit: {why}: {_REMEDY}; {_ESTIMATE}\n".encode("ascii"))


def shortage(error: Exception) -> AuditError | None:
    """Return what to report if ``error`` means that memory has run out; None if it does not.

    Without address space, libraries fail in ways of their own: modules lack names, or "binaries are
    missing".
    """
    (limit,) = _limits(resource.RLIMIT_AS) or (0,)
    if isinstance(error, OSError):
        short = error.errno == errno.ENOMEM
    else:
        short = isinstance(error, MemoryError) or 0 < limit * _NEAR < _peak()
    if short:
        return AuditError(f"too little memory: {_REMEDY}; {_ESTIMATE}")
    return None


def _limits(what: int) -> list[int]:
    """Return the soft limit of a resource; none if it is unlimited."""
    soft, _ = resource.getrlimit(what)
    return [] if soft == resource.RLIM_INFINITY else [soft]


def _peak() -> int:
    """Return the most address space that this process has had, in bytes; 0 if unknown."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text("utf-8").splitlines():
            if line.startswith("VmPeak:"):
                return int(line.split()[1]) * 1024
    return 0


def _of_groups() -> list[int]:
    """Return the limits of this process's control group (version 2) and of those above it."""
    limits = []
    with suppress(OSError):
        group = _GROUPS / Path("/proc/self/cgroup").read_text("utf-8").rpartition("::/")[2].strip()
        for place in (group, *group.parents):
            with suppress(OSError, ValueError):  # "max"; the root has no file
                limits.append(int((place / "memory.max").read_text("ascii")))
    return limits
