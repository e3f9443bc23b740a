"""A copy of everything that a site's nights know, in one file, and the way back.

A backup holds the history of runs and the published database, which has all tables of the store
(records, figures, the list of inputs, the ledger of mails) as last published. Both can be copied
while a run writes the store, so neither waits for the other. Reports are not in it.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from audit import __version__
from audit.config.places import Site
from audit.errors import AuditError, StoreError, UsageError
from audit.files import folders, privacy, replace, state_folder
from audit.files.state_folder import HISTORY, STORE
from audit.nightly import history
from audit.nightly.keeping import archiving, pack
from audit.nightly.keeping.pack import Backup
from audit.nightly.stages import own_state
from audit.store import archive, catalogue, database, queries

_CATALOG_S: Final = 60  # maximum time for looking at the tables of a store that may be crafted


def save(site: Site, target: Path, now: int) -> tuple[Path, Backup]:
    """Write a backup, and read it again; return its path.

    ``target`` is the file, which is replaced in one step, or a folder; the file is then named after
    the time.

    Raises:
        UsageError: nothing is published yet.
        StoreError: something cannot be read, or was not written as it was read.
        OSError: the file cannot be written.
    """
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder")
    published = site.database
    if not published.is_file():
        raise UsageError(f"{published}: nothing is published yet; 'fairaudit run' does so")
    made = datetime.fromtimestamp(now, UTC)
    if target.is_dir():
        target /= f"fairaudit-{made:%Y%m%dT%H%M%SZ}.tar"
    folders.require(target.parent)
    with state_folder.scratch(target.parent) as place:
        store, past = place / STORE, place / HISTORY
        shutil.copyfile(published, store)  # the open file stays, even if it is replaced meanwhile
        _copy_history(history.path_in(site.state), past)
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
        files = {STORE: store, HISTORY: past}
        files |= {pack.member_of(sha): published.parent / name for name, sha in archived.items()}
        draft, again = place / "backup.tar", place / "again"
        pack.write(draft, of, files, now)
        again.mkdir()
        _unpacked(draft, target, again)
        draft.replace(target)
    return target, of


def restore(site: Site, file: Path, *, force: bool) -> Backup:
    """Replace the store and the history by those of a backup, all of which is examined first.

    Raises:
        UsageError: there is a store and no ``force``; ``file`` is no backup, or one of a newer
            fairaudit; the state folder cannot be written to.
        LockedError: a run is at work.
        StoreError: the backup is damaged.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    state = own_state(site)
    with (
        state_folder.held(state, "fairaudit restore") as store,
        state_folder.scratch(state) as place,
    ):
        for known in (store, history.path_in(state)):
            if known.exists() and not force:
                remedy = "--force replaces it by what the backup holds"
                raise UsageError(f"{known}: is there already; {remedy}")
        of = _unpacked(file, file, place)
        with _naming(file):
            identity = _checked_archive(site, of, place)
        if of.archive:
            archiving.check_owner(site, identity)
            _put_back_archive(site, of, place)
        new = place / "new"
        new.mkdir()
        for name in (STORE, HISTORY):
            (place / name).rename(new / name)
        state_folder.replace(state, new)
        if of.archive and identity is not None:
            archiving.note_owner(site, identity)
    return of


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Put the name of a file before the message of an error."""
    try:
        yield
    except AuditError as error:
        raise type(error)(f"{file}: {error}") from error


def _checked_archive(site: Site, of: Backup, place: Path) -> str | None:
    """Check the names of an unpacked store's archive; return the store's identity."""
    if _archived(place / STORE) != of.archive:
        raise StoreError("is damaged: its store names other files of the archive")
    for name in of.archive:
        catalogue.path_in(site.archive, site.database.parent, name)
    with closing(database.open_snapshot(place / STORE, tables_only=True)) as con:
        return archive.identity(con)


def _put_back_archive(site: Site, of: Backup, place: Path) -> None:
    """Put the files of the archive where the store looks for them.

    A name identifies the content, so a file with other content is damaged, and is replaced.
    """
    for name, sha256 in of.archive.items():
        target = site.database.parent / name
        if target.is_file() and pack.sha256_of(target) == sha256:
            continue
        privacy.shared_folder(target.parent, with_group=site.shared)
        with replace.drafting(target, alone=True) as draft:
            shutil.copyfile(place / pack.member_of(sha256), draft)
            replace.sync(draft)
            privacy.seal(draft, with_group=site.shared)
        replace.sync(target.parent)


def _copy_history(path: Path, to: Path) -> None:
    """Copy the history in one piece, also during a run; make an empty one if it is missing."""
    try:
        with _naming(path), closing(sqlite3.connect(to)) as copy:
            if path.exists():
                with closing(sqlite3.connect(path, timeout=10)) as con:
                    con.backup(copy)
            else:
                copy.execute("VACUUM")  # makes an empty database, not an empty file
            history.check(copy)
    except sqlite3.Error as error:
        raise history.failed(path, error) from error


def _unpacked(file: Path, named: Path, place: Path) -> Backup:
    """Unpack a backup into an empty folder, examine it and return its manifest.

    Messages call it ``named``.
    """
    with _naming(named):
        of = pack.unpack(file, place)
        if _examined(place / STORE, checks=False)[:2] != (of.migration, of.rows):
            raise StoreError("is damaged: its tables are not as long as they were")
        history.examine(place / HISTORY)
    return of


def _examined(path: Path, *, checks: bool) -> tuple[int, dict[str, int], list[str]]:
    """The newest migration of a store, the rows of each table, and the checks that fail."""
    with closing(database.open_snapshot(path, timeout_s=_CATALOG_S, tables_only=True)) as con:
        newest = catalogue.check_tables(con)
    tables = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
    with closing(database.open_snapshot(path, tables_only=True)) as con:
        rows = {}
        for (table,) in database.rows(con, tables):
            # the hash reads every column, and so every block
            counted = f"SELECT count(*), bit_xor(hash(of)) FROM {database.quote_name(table)} AS of"  # noqa: S608
            ((rows[table], _),) = database.rows(con, counted)
        failing = []
        if checks and newest == catalogue.newest():
            catalogue.check(con, database.SNAPSHOT, catalogue.archived(con, database.SNAPSHOT))
            failing = sorted(queries.failed_checks(con))
    return newest, rows, failing


def _archived(store: Path) -> dict[str, str]:
    """SHA-256 of each file of the archive that a store names."""
    with closing(database.open_snapshot(store, tables_only=True)) as con:
        months = archive.months(con)
    return {file: sha for of in months for file, sha in zip(of.files, of.sha256, strict=True)}
