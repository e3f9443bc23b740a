"""Who may read what is written: its user alone, unless the site shares it with a group."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from audit.files import folders

_OTHERS: Final = 0o077


def keep_private() -> None:
    """Make all that this process and its children write their user's alone, whatever the umask."""
    os.umask(_OTHERS)


def share(path: Path, *, with_group: bool) -> None:
    """Lets the group read a file or a folder that was just made, where the site wants that."""
    if with_group:
        path.chmod(0o750 if path.is_dir() else 0o640)


def seal(path: Path, *, with_group: bool) -> None:
    """Make a finished file read-only; another one may still be renamed over it."""
    path.chmod(0o440 if with_group else 0o400)


def own_folder(path: Path) -> None:
    """Makes the folder where there is none, and takes it from everybody else.

    Raises:
        OSError: it cannot be made, or another user can change it or what leads to it.
    """
    folders.make(path)
    if path.stat().st_mode & _OTHERS:
        path.chmod(0o700)


def shared_folder(path: Path, *, with_group: bool) -> None:
    """Makes the folder and those above it; those that are new may be shared with the group.

    Raises:
        OSError: it cannot be made, or another user can change it or what leads to it.
    """
    for folder in folders.make(path):
        share(folder, with_group=with_group)
