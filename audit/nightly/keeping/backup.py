"""A copy of all that a site's nights know, in one file, and the way back.

What is saved is the database that readers see, which holds all tables of the store (records,
figures, what was read, the ledger of mails) as it last published them, and the history of runs.
Both can be copied while a run writes the store: nothing waits, and no night is lost to a backup.
Reports are files of their own and are not in it.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from audit import __version__
from audit.config import Config, places
from audit.errors import AuditError, StoreError, UsageError
from audit.files import folders, privacy, replace, state_folder
from audit.files.state_folder import HISTORY, STORE
from audit.nightly import history
from audit.nightly.keeping import archiving, pack
from audit.nightly.keeping.pack import Backup
from audit.nightly.stages import own_state
from audit.store import archive, catalogue, database, queries

_CATALOG_S: Final = 60
"""Longest time to look at the tables of a store that may have been crafted."""


def save(config: Config, folder: Path, target: Path, now: int) -> tuple[Path, Backup]:
    """Writes a backup, and reads it again.

    Args:
        target: the file, which is replaced in one step; or a folder, where its name says when.

    Raises:
        UsageError: nothing was published yet.
        StoreError: what is to be copied cannot be read, or not be written as it was read.
        OSError: the file cannot be written.
    """
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder")
    published = folder / config.output.database
    if not published.is_file():
        raise UsageError(f"{published}: nothing is published yet; 'fairaudit run' does so")
    made = datetime.fromtimestamp(now, UTC)
    if target.is_dir():
        target /= f"fairaudit-{made:%Y%m%dT%H%M%SZ}.tar"
    folders.require(target.parent)
    with state_folder.scratch(target.parent) as place:
        store, past = place / STORE, place / HISTORY
        shutil.copyfile(published, store)  # the open file stays, whoever replaces it meanwhile
        _copy_history(history.path_in(folder / config.output.state), past)
        migration, rows, failing = _examined(store, checks=True)
        archived = _archived(store)
        of = Backup(
            format=pack.FORMAT,
            version=__version__,
            made_at=made.isoformat(),
            migration=migration,
            rows=rows,
            failing=failing,
            sha256={file.name: pack.sha256_of(file) for file in (store, past)},
            archive=archived,
        )
        files = {file.name: file for file in (store, past)}
        files |= {pack.member_of(sha): published.parent / name for name, sha in archived.items()}
        draft = place / "backup.tar"
        pack.write(draft, of, files, now)
        again = place / "again"
        again.mkdir()
        _unpacked(draft, target, again)
        draft.replace(target)
    return target, of


def restore(config: Config, folder: Path, file: Path, *, force: bool) -> Backup:
    """Puts the store and the history of a backup in the place of what is there.

    All of it is examined before anything is replaced.

    Raises:
        UsageError: there is a store, and ``force`` does not allow to replace it; ``file`` is no
            backup, or one of a newer fairaudit; the state folder cannot be written to.
        LockedError: a run is at work.
        StoreError: the backup is damaged.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    state = own_state(config, folder)
    with (
        state_folder.held(state, "fairaudit restore") as store,
        state_folder.scratch(state) as place,
    ):
        known = [path for path in (store, history.path_in(state)) if path.exists()]
        if known and not force:
            raise UsageError(
                f"{known[0]}: is there already; --force replaces it by what the backup holds"
            )
        of = _unpacked(file, file, place)
        identity = _checked_archive(config, folder, file, of, place)
        if of.archive:
            archiving.check_owner(config, folder, identity)
            _put_back_archive(config, folder, of, place)
        new = place / "new"
        new.mkdir()
        for name in (STORE, HISTORY):
            (place / name).rename(new / name)
        state_folder.replace(state, new)
        if of.archive and identity is not None:
            archiving.note_owner(config, folder, identity)
    return of


def _checked_archive(
    config: Config, folder: Path, named: Path, of: Backup, place: Path
) -> str | None:
    """The identity of a store that was unpacked in ``place``; its archive's names are checked."""
    root, base = folder / config.output.archive, places.published_folder(config, folder)
    try:
        if _archived(place / STORE) != of.archive:
            raise StoreError("is damaged: its store names other files of the archive")
        for name in of.archive:
            catalogue.path_in(root, base, name)
        with closing(database.open_snapshot(place / STORE, tables_only=True)) as con:
            return archive.identity(con)
    except AuditError as error:
        raise type(error)(f"{named}: {error}") from error


def _put_back_archive(config: Config, folder: Path, of: Backup, place: Path) -> None:
    """Puts the files of the archive where the store looks for them.

    A name tells the content, so one that is there with another content is damaged, and replaced.
    """
    shared = config.output.shared_with_group
    base = places.published_folder(config, folder)
    for name, sha256 in of.archive.items():
        target = base / name
        if target.is_file() and pack.sha256_of(target) == sha256:
            continue
        privacy.shared_folder(target.parent, with_group=shared)
        with replace.drafting(target, alone=True) as draft:
            shutil.copyfile(place / pack.member_of(sha256), draft)
            replace.sync(draft)
            privacy.seal(draft, with_group=shared)
        replace.sync(target.parent)


def _copy_history(path: Path, to: Path) -> None:
    """A copy in one piece, also while a run writes it; an empty one where there is none."""
    try:
        with closing(sqlite3.connect(to)) as copy:
            if path.exists():
                with closing(sqlite3.connect(path, timeout=10)) as con:
                    con.backup(copy)
            else:
                copy.execute("VACUUM")  # an empty database, and not an empty file
            history.check(copy)
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error
    except sqlite3.Error as error:
        raise history.failed(path, "the history of runs", error) from error


def _unpacked(file: Path, named: Path, place: Path) -> Backup:
    """Unpacks a backup into an empty folder, examines it and gives its manifest.

    Args:
        named: what it is called in messages.
    """
    try:
        of = pack.unpack(file, place)
        found = _examined(place / STORE, checks=False)
        if found[:2] != (of.migration, of.rows):
            raise StoreError("is damaged: its tables are not as long as they were")
        history.examine(place / HISTORY)
    except AuditError as error:
        raise type(error)(f"{named}: {error}") from error
    return of


def _examined(path: Path, *, checks: bool) -> tuple[int, dict[str, int], list[str]]:
    """The newest migration of a store, the rows of each table, and the checks that fail."""
    with closing(database.open_snapshot(path, timeout_s=_CATALOG_S, tables_only=True)) as con:
        newest = catalogue.check_tables(con)
    with closing(database.open_snapshot(path, tables_only=True)) as con:
        tables = database.rows(
            con, "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
        )
        rows = {}
        for (table,) in tables:
            name = database.quote_name(table)
            # every column, and so every block, is read
            ((rows[table], _),) = database.rows(
                con,
                f"SELECT count(*), bit_xor(hash(of)) FROM {name} AS of",  # noqa: S608
            )
        failing = []
        if checks and newest == catalogue.newest():
            catalogue.check(con, database.SNAPSHOT, catalogue.archived(con, database.SNAPSHOT))
            failing = sorted(queries.failed_checks(con))
    return newest, rows, failing


def _archived(store: Path) -> dict[str, str]:
    """SHA-256 of each file of the archive that a store names."""
    with closing(database.open_snapshot(store, tables_only=True)) as con:
        return {
            name: sha256
            for month in archive.months(con)
            for name, sha256 in zip(month.files, month.sha256, strict=True)
        }
