"""Modes of files: they are private to the user, unless the site shares them with a group."""

import os
from pathlib import Path
from typing import Final

from audit.files import folders

_OTHERS: Final = 0o077


def keep_private() -> None:
    """Make everything that this process and its children write private to the user."""
    os.umask(_OTHERS)


def share(path: Path, *, with_group: bool) -> None:
    """Let the group read a file or a folder that was just made, if the site wants that."""
    if with_group:
        path.chmod(0o750 if path.is_dir() else 0o640)


def seal(path: Path, *, with_group: bool) -> None:
    """Make a finished file read-only; another one may still be renamed over it."""
    path.chmod(0o440 if with_group else 0o400)


def own_folder(path: Path) -> None:
    """Make the folder if it does not exist, and make it private; errors as of ``folders.make``."""
    folders.make(path)
    if path.stat().st_mode & _OTHERS:
        path.chmod(0o700)


def shared_folder(path: Path, *, with_group: bool) -> None:
    """Make the folder and those above it; new ones may be shared. Errors as of ``folders.make``."""
    for folder in folders.make(path):
        share(folder, with_group=with_group)
