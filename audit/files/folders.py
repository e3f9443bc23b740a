"""Folders that no other user can change: only there does fairaudit write, replace and remove files.

A user who may rename files in a folder can exchange an entry for a link while fairaudit works
there. So before anything is written, the folder and all folders and links that lead to it must
belong to this user or to root, and no other user may write there. Then the paths below it can be
trusted. The rule is that of ``StrictModes`` in sshd. A folder with the sticky bit, such as
``/tmp``, may be part of the path, because only the owners of its entries can exchange them.

Files are read also from folders where others may put links. A link in a folder of logs can lead to
any file, for example one that only root may read. So only links of this user and of root are
followed, as with ``fs.protected_symlinks`` in Linux.
"""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from audit.progress import printable

MOST_LINKS: Final = 40
"""Maximum number of links on one path, as in Linux."""


def require(path: Path) -> None:
    """Check that no other user can change a file or folder, or anything that leads to it.

    Missing places are not checked.

    Raises:
        PermissionError: another user can. The message names the place and the remedy.
        OSError: the path cannot be followed.
    """
    with suppress(FileNotFoundError):
        _follow(path, lambda place: None)


def make(path: Path) -> list[Path]:
    """Make a folder and those above it, private to this user, and check them as ``require`` does.

    Returns:
        The folders that did not exist, outermost first.

    Raises:
        PermissionError: as ``require``.
        OSError: a folder cannot be made.
    """
    made = []

    def make_missing(place: Path) -> None:
        if not os.path.lexists(place):
            with suppress(FileExistsError):  # another process was faster
                place.mkdir(mode=0o700)
                made.append(place)

    if not _follow(path, make_missing).is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return made


def _follow(path: Path, prepare: Callable[[Path], None]) -> Path:
    """Return the target of ``path``, without links.

    Each part of the path is checked before the next one is read, so that no other user can exchange
    what was checked. ``prepare`` is called with each place before its check.
    """
    here, links = Path("/"), 0
    names = [*reversed(path.absolute().parts[1:])]
    _check(here, path)
    while names:
        name = names.pop()
        if name == "..":
            here = here.parent
            continue
        place = here / name
        prepare(place)
        _check(place, path)
        if not place.is_symlink():
            here = place
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        target = place.readlink()
        here = Path("/") if target.is_absolute() else here
        names += [name for name in reversed(target.parts) if name != "/"]
    if _others_write(here, here.lstat()):  # the sticky bit protects only what is on the way
        raise _refused(path, f"other users can write to {here}; use a new folder in it")
    return here


def _check(place: Path, path: Path) -> None:
    seen = place.lstat()
    if seen.st_uid not in {0, os.geteuid()}:
        try:
            name = pwd.getpwuid(seen.st_uid).pw_name
        except KeyError:
            name = str(seen.st_uid)
        remedy = "run fairaudit as that user, or use a folder of your own"
        raise _refused(path, f"{place} belongs to user {name}, who can change it; {remedy}")
    is_sticky = stat.S_ISDIR(seen.st_mode) and seen.st_mode & stat.S_ISVTX
    if not stat.S_ISLNK(seen.st_mode) and not is_sticky and _others_write(place, seen):
        raise _refused(path, f"other users can change {place}; run 'chmod go-w {place}'")


def _others_write(place: Path, seen: os.stat_result) -> bool:
    """Return whether users other than the owner and root can write to ``place``.

    Many systems give each user a group of the same name without other members, and let it write.
    A member is listed in the group, or has it as the primary group.
    """
    if seen.st_mode & stat.S_IWOTH:
        return True
    if not seen.st_mode & stat.S_IWGRP:
        return False
    try:
        group, owner = grp.getgrgid(seen.st_gid), pwd.getpwuid(seen.st_uid).pw_name
    except KeyError:
        return True
    listed = "system.posix_acl_access" in os.listxattr(place, follow_symlinks=False)
    if listed or group.gr_name != owner:
        return True
    members = {entry.pw_name for entry in pwd.getpwall() if entry.pw_gid == seen.st_gid}
    return not {owner}.issuperset({*group.gr_mem, *members})


def _refused(path: Path, why: str) -> PermissionError:
    return PermissionError(errno.EPERM, why, str(path))


def readable(path: Path) -> str:
    r"""Return a path as one printable line; bytes that are not UTF-8 are escaped (`\xff`).

    Distinct paths stay distinct, except one that really has such an escape in its name.
    """
    return printable(os.fsencode(path).decode("utf-8", errors="backslashreplace"))


def opened(path: Path) -> int:
    """Open a file for reading, and return its descriptor; FIFOs do not block.

    Each part of the path is opened relative to the one before, so that no user can exchange what
    was checked.

    Raises:
        PermissionError: another user made a link on the path. The message names it.
        OSError: the file cannot be opened.
    """
    names, links = [*reversed(path.absolute().parts[1:])], 0
    here = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        while names:
            name = names.pop()
            seen = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISLNK(seen.st_mode):
                target = _target(name, here, path)
                links += 1
                if links > MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
                names += [part for part in reversed(target.parts) if part != "/"]
                if not target.is_absolute():
                    continue
                name, how = "/", os.O_PATH | os.O_DIRECTORY
            elif names:
                how = os.O_PATH | os.O_DIRECTORY
            else:
                how = os.O_RDONLY | os.O_NONBLOCK
            there = os.open(name, how | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            os.close(here)
            here = there
    except BaseException:
        os.close(here)
        raise
    return here


def _target(name: str, folder: int, path: Path) -> Path:
    """Return where a link leads, if this user or root made it."""
    link = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        seen = os.fstat(link)
        if not stat.S_ISLNK(seen.st_mode) or seen.st_uid not in {0, os.geteuid()}:
            why = f"{name} is a link of another user, which is not followed; name its target"
            raise PermissionError(errno.EPERM, why, str(path))
        return Path(os.readlink("", dir_fd=link))
    finally:
        os.close(link)
