"""Files that are read with this user's rights, from folders where others may put links.

A link in a folder of logs can lead to any file, for example one that only root may read. So only
links of this user and of root are followed, as with ``fs.protected_symlinks`` in Linux.
"""

import errno
import os
import stat
from pathlib import Path

from audit.files.folders import MOST_LINKS


def opened(path: Path) -> int:
    """Open a file for reading, and return its descriptor; FIFOs do not block.

    Each part of the path is opened relative to the one before, so that nobody can exchange what
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
