"""Drops rights of a process that reads files of other users. They cannot be regained.

Landlock (Linux 5.13 and newer) leaves it only the files that are named, resource limits bound its
use of memory and time, and a separate network namespace leads nowhere. Landlock holds for the
calling thread and the threads that it starts: restrict a process while it has one thread.
"""

import ctypes
import os
import resource
import signal
import stat
import struct
from collections.abc import Iterable
from functools import cache
from typing import Final

from audit.errors import AuditError

# The numbers of these system calls are the same on every architecture.
_CREATE_RULESET: Final = 444
_ADD_RULE: Final = 445
_RESTRICT_SELF: Final = 446
_ASK_VERSION: Final = 1
_PATH_BENEATH: Final = 1
_READ_FILE: Final = 1 << 2
_READ_DIR: Final = 1 << 3
_RIGHTS: Final = {1: 13, 2: 14, 3: 15, 4: 15}
"""ABI of Landlock → number of rights to files; later ones have 16."""
_TCP: Final = 0b11  # to bind and to connect, from ABI 4 on
_SCOPES: Final = 0b11  # abstract sockets and signals of other processes, from ABI 6 on

_SET_PARENT_DEATH_SIGNAL: Final = 1
_SET_NO_NEW_PRIVILEGES: Final = 38
_NEW_NETWORK: Final = 0x40000000
_NEW_USER: Final = 0x10000000


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def landlock() -> int:
    """Return the version of the kernel's Landlock interface; 0: none."""
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def restrict(readable: Iterable[int]) -> int:
    """Deny this process all files but some, new TCP connections, and access to other processes.

    It can open these for reading. It can write, create, remove and execute nothing. Descriptors
    that are open stay open.

    Args:
        readable: descriptors of files, and of folders with everything below them.

    Returns:
        The version of Landlock; 0: not in the kernel, so files stay accessible.

    Raises AuditError if the kernel has Landlock but refuses.
    """
    version = landlock()
    if not version:
        return 0
    masks = [(1 << _RIGHTS.get(version, 16)) - 1]
    masks += [_TCP] * (version >= 4) + [_SCOPES] * (version >= 6)
    attributes = struct.pack(f"={len(masks)}Q", *masks)
    ruleset = _call(_CREATE_RULESET, attributes, len(attributes), 0)
    try:
        for place in readable:
            is_folder = stat.S_ISDIR(os.fstat(place).st_mode)
            allowed = _READ_FILE | _READ_DIR if is_folder else _READ_FILE
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", allowed, place), 0)
        _libc().prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return version


def _call(number: int, *arguments: int | bytes) -> int:
    done = int(_libc().syscall(number, *arguments))
    if done < 0:
        raise AuditError(f"Landlock refuses: {os.strerror(ctypes.get_errno())}")
    return done


def leave_network() -> bool:
    """Move this single-threaded process to a separate network; return whether that succeeded."""
    return _libc().unshare(_NEW_NETWORK) == 0 or (
        os.geteuid() != 0 and _libc().unshare(_NEW_USER | _NEW_NETWORK) == 0
    )


def end_with_parent() -> None:
    """Have this process killed when its parent process ends."""
    _libc().prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def write_nothing() -> None:
    """Prevent this process from writing to any file, and from leaving a core dump."""
    for limit in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE):
        resource.setrlimit(limit, (0, 0))


def limit(*, data_bytes: int, cpu_s: int) -> None:
    """Limit the further memory and processor time of this process.

    The limits are soft, as the next statement may need to raise them again. At ``cpu_s`` the kernel
    kills the process.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    for what, to in (
        (resource.RLIMIT_DATA, _data_bytes() + data_bytes),
        (resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + cpu_s),
    ):
        _, most = resource.getrlimit(what)
        resource.setrlimit(what, (to if most == resource.RLIM_INFINITY else min(to, most), most))


@cache
def status() -> int | None:
    """Open the file with this process's memory, which ``limit`` needs; call before ``restrict``."""
    try:
        return os.open("/proc/self/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None


def _data_bytes() -> int:
    """Return the memory of this process as the limit counts it; 1 GiB if unknown."""
    descriptor = status()
    lines = [] if descriptor is None else os.pread(descriptor, 8192, 0).splitlines()
    found = [int(line.split()[1]) * 1024 for line in lines if line.startswith(b"VmData:")]
    return found[0] if found else 1 << 30
