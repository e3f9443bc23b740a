"""Which store an archive folder belongs to: a file in the folder names it.

Two stores in one folder would each see the other's files as leftovers. A store recognises its
folder by its identity, which a backup carries to another place, or by its own place, where an
earlier store may have been lost.
"""

from __future__ import annotations

import os
import platform
from contextlib import closing
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from audit.config import Config
from audit.config.sections import Section
from audit.errors import AuditError, UsageError
from audit.files import lock, privacy, replace, state_folder
from audit.store import archive, database
from audit.store.database import Connection

FILE: Final = ".fairaudit-store"
"""In the folder of an archive."""

_LARGEST: Final = 10_000
"""Bytes of FILE that are read."""


class Owner(Section):
    """A store, as FILE names it."""

    store: str
    """Its identity."""
    host: str
    state: str
    """Its state folder, relative to the archive's, so that both can be moved together."""


def claim(con: Connection, config: Config, folder: Path) -> None:
    """Note that the archive folder is that of the store ``con``, if the store archives anything.

    Raises:
        UsageError: it belongs to another store, or cannot be written.
        LockedError: another process is noting that it is its own.
    """
    if config.retention.archive_months or archive.months(con):
        note(config, folder, archive.identified(con))


def note(config: Config, folder: Path, store: str) -> None:
    """As ``claim``, for the store with this identity."""
    root = folder / config.output.archive
    mine = _here(config, folder, store)
    if _owner(root) == mine:
        return
    try:
        privacy.shared_folder(root, with_group=config.output.shared_with_group)
        with lock.held(root / FILE, "fairaudit", "another store takes this folder"):
            check(config, folder, store)
            replace.write(root / FILE, mine.model_dump_json().encode(), alone=True)
    except OSError as error:
        raise UsageError(f"{root}: cannot be written: {error.strerror} (output.archive)") from error


def check(config: Config, folder: Path, store: str | None) -> None:
    """Check that the archive folder belongs to no other store.

    Args:
        store: the identity of the store; None where it has none yet.

    Raises:
        UsageError: it does; the message names both.
    """
    root = folder / config.output.archive
    owner = _owner(root)
    if owner is None:
        return
    mine = _here(config, folder, store or "")
    there = Path(os.path.normpath(root.resolve() / owner.state))
    if (owner.host, owner.state) == (mine.host, mine.state):
        return
    if owner.store == store and not (owner.host == mine.host and state_folder.begun(there)):
        return  # the store was moved or restored to here
    raise UsageError(
        f"{root}: is the archive of the store in {owner.host}:{there}; the store in "
        f"{(folder / config.output.state).resolve()} needs another folder (output.archive). If the "
        f"first store is no longer used, remove {FILE} from the folder"
    )


def examine(config: Config, folder: Path) -> str:
    """Return what is to be said of the archive folder, when nothing is to be written.

    Raises:
        UsageError: as ``check``.
    """
    published = folder / config.output.database
    store = None
    if published.is_file():
        with closing(database.open_snapshot(published, tables_only=True)) as con:
            store = archive.identity(con)
    if not config.retention.archive_months and store is None:
        return "nothing is archived (retention.archive_months)"
    check(config, folder, store)
    return str(folder / config.output.archive)


def _here(config: Config, folder: Path, store: str) -> Owner:
    root = (folder / config.output.archive).resolve()
    state = (folder / config.output.state).resolve()
    return Owner(store=store, host=platform.node(), state=os.path.relpath(state, root))


def _owner(root: Path) -> Owner | None:
    """What FILE says; None where there is none.

    Raises:
        AuditError: it cannot be read.
    """
    try:
        with (root / FILE).open("rb") as file:
            return Owner.model_validate_json(file.read(_LARGEST))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(f"{root / FILE}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise AuditError(
            f"{root / FILE}: is damaged; remove it if only one store archives there"
        ) from error
