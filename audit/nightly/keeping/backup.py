"""A copy of all that a site's nights know, in one file, and the way back.

What is saved is the database that readers see, which holds all tables of the store (records,
figures, what was read, the ledger of mails) as it last published them, and the history of runs.
Both can be copied while a run writes the store: nothing waits, and no night is lost to a backup.
Reports are files of their own and are not in it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final

from audit import __version__
from audit.config import Config, places
from audit.errors import AuditError, StoreError, UsageError
from audit.files import lock, privacy, replace
from audit.nightly import history
from audit.nightly.stages import own_state
from audit.store import archive, catalogue, database, migrations, queries

FORMAT: Final = 2
"""1 had no files of the archive."""

_MANIFEST: Final = "manifest.json"
_STORE: Final = "store.duckdb"
_HISTORY: Final = "history.sqlite"
_PIECE: Final = 1 << 20
_LARGEST_MANIFEST: Final = 1 << 20


@dataclass(frozen=True)
class Backup:
    """What a backup says of itself."""

    format: int
    version: str
    """Of the fairaudit that made it."""
    made_at: str
    """ISO 8601, UTC."""
    migration: int
    """The newest that its store has."""
    rows: dict[str, int]
    """Of each table of the store."""
    failing: list[str]
    """Names of the checks of sql/checks that the store does not pass; it is saved nevertheless."""
    sha256: dict[str, str]
    """Of each file."""
    archive: dict[str, str] = field(default_factory=dict)
    """SHA-256 of each file of the archive, by its name relative to the published database."""


@privacy.private()
def save(config: Config, folder: Path, target: Path, now: int) -> tuple[Path, Backup]:
    """Writes a backup, and reads it again.

    Args:
        config: the configuration in force.
        folder: what its paths are relative to.
        target: the file, which is replaced in one step; or a folder, where its name says when.
        now: epoch s.

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
    with (
        tempfile.TemporaryDirectory(prefix=".fairaudit-", dir=target.parent) as place,
        replace.drafting(target) as draft,
    ):
        files = [Path(place) / _STORE, Path(place) / _HISTORY]
        shutil.copyfile(published, files[0])  # the open file stays, whoever replaces it meanwhile
        _copy_history(history.path_in(folder / config.output.state), files[1])
        migration, rows, failing = _examined(files[0])
        archived = _archived(files[0])
        of = Backup(
            FORMAT,
            __version__,
            made.isoformat(),
            migration,
            rows,
            failing,
            {file.name: _sha256(file) for file in files},
            archived,
        )
        members = {file.name: file for file in files}
        members |= {_member_of(sha): published.parent / name for name, sha in archived.items()}
        _write(draft, of, members, now)
        with _opened(draft, target):
            pass
    return target, of


@privacy.private()
def restore(config: Config, folder: Path, file: Path, *, force: bool) -> Backup:
    """Puts the store and the history of a backup in the place of what is there.

    All of it is examined before anything is replaced.

    Args:
        config: the configuration in force.
        folder: what its paths are relative to.
        file: the backup.
        force: whether a store that is there may be replaced.

    Raises:
        UsageError: there is a store, and ``force`` does not allow to replace it; ``file`` is no
            backup, or one of a newer fairaudit; the state folder cannot be written to.
        LockedError: a run is at work.
        StoreError: the backup is damaged.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    state = own_state(config, folder)
    store = state / _STORE
    with lock.held(store, "fairaudit restore"), _opened(file, file, state) as (of, place):
        known = [path for path in (store, history.path_in(state)) if path.exists()]
        if known and not force:
            raise UsageError(
                f"{known[0]}: is there already; --force replaces it by what the backup holds"
            )
        _put_back_archive(config, folder, of, place)
        for name in (_STORE, _HISTORY):
            for ending in (".wal", "-wal", "-journal", "-shm"):  # of what is replaced
                (state / f"{name}{ending}").unlink(missing_ok=True)
            (place / name).replace(state / name)
    return of


def _put_back_archive(config: Config, folder: Path, of: Backup, place: Path) -> None:
    """Puts the files of the archive where the store looks for them.

    Raises:
        UsageError: that is not where config.toml says that the archive is.
    """
    base = places.published_folder(config, folder)
    root = (folder / config.output.archive).resolve()
    targets = {name: (base / name).resolve() for name in of.archive}
    for name, target in targets.items():
        if not target.is_relative_to(root):
            raise UsageError(
                f"the backup's archive lies in {Path(name).parent.parent}, config.toml's in "
                f"{config.output.archive} (output.archive): let it be as it was"
            )
    for name, sha256 in of.archive.items():
        privacy.shared_folder(targets[name].parent, with_group=config.output.shared_with_group)
        shutil.copyfile(place / _member_of(sha256), targets[name])
        privacy.share(targets[name], with_group=config.output.shared_with_group)


def _copy_history(path: Path, to: Path) -> None:
    """A copy in one piece, also while a run writes it; an empty one where there is none."""
    try:
        with closing(sqlite3.connect(to)) as copy:
            if path.exists():
                with closing(sqlite3.connect(path, timeout=10)) as con:
                    con.backup(copy)
            else:
                copy.execute("VACUUM")  # an empty database, and not an empty file
            _check_history(copy, path)
    except sqlite3.Error as error:
        raise history.failed(path, "the history of runs", error) from error


def _check_history(con: sqlite3.Connection, path: Path) -> None:
    (said,) = con.execute("PRAGMA integrity_check(1)").fetchone()
    if said != "ok":
        raise StoreError(f"{path}: is damaged: {said}")


def _examined(path: Path) -> tuple[int, dict[str, int], list[str]]:
    """The newest migration of a store, the rows of each table, and the checks that fail."""
    with closing(database.open_snapshot(path, tables_only=True)) as con:
        try:
            ((newest,),) = database.rows(con, "SELECT max(number) FROM migrations")
        except StoreError as error:
            raise StoreError(f"{path.name}: a database, but not one of fairaudit") from error
        if newest > (known := migrations.newest()):
            raise UsageError(
                f"the backup's store has migration {newest}, this fairaudit knows {known}: it was "
                "made by a newer version; upgrade fairaudit"
            )
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
        if newest == known:
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


def _member_of(sha256: str) -> str:
    """What a file of the archive is called in a backup."""
    return f"archive-{sha256}.parquet"


def _write(path: Path, of: Backup, files: Mapping[str, Path], now: int) -> None:
    manifest = json.dumps(asdict(of), indent=2, sort_keys=True).encode()
    with path.open("wb") as out:
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
            tar.addfile(_member(_MANIFEST, len(manifest), now), io.BytesIO(manifest))
            for name, file in files.items():
                with file.open("rb") as content:
                    tar.addfile(_member(name, file.stat().st_size, now), content)
        out.flush()
        os.fsync(out.fileno())


def _member(name: str, size: int, now: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = size, now, 0o600
    return member


@contextmanager
def _opened(file: Path, named: Path, beside: Path | None = None) -> Iterator[tuple[Backup, Path]]:
    """A backup whose files are unpacked in a folder of their own, examined and as they were made.

    Args:
        file: the backup.
        named: what it is called in messages.
        beside: in which folder to unpack; without it, beside the file.

    Raises:
        UsageError, StoreError: as ``restore``.
    """
    with tempfile.TemporaryDirectory(prefix=".fairaudit-", dir=beside or file.parent) as made:
        place = Path(made)
        try:
            with tarfile.open(file, "r:") as tar:
                of = _manifest(tar, named)
                archived = {_member_of(sha256): sha256 for sha256 in of.archive.values()}
                for name in (_STORE, _HISTORY, *archived):
                    member = tar.getmember(name)
                    content = tar.extractfile(member) if member.isreg() else None
                    expected = of.sha256.get(name, archived.get(name))
                    if content is None or _unpack(content, place / name) != expected:
                        raise StoreError(f"{named}: is damaged: {name} is not as it was saved")
        except (tarfile.TarError, KeyError, EOFError) as error:
            raise StoreError(f"{named}: is damaged, or no backup of fairaudit: {error}") from error
        try:
            found = _examined(place / _STORE)
            with closing(sqlite3.connect(place / _HISTORY)) as con:
                _check_history(con, place / _HISTORY)
        except sqlite3.Error as error:
            raise StoreError(f"{named}: is damaged: {error}") from error
        except AuditError as error:
            raise type(error)(f"{named}: {error}") from error
        if found[:2] != (of.migration, of.rows):
            raise StoreError(f"{named}: is damaged: its tables are not as long as they were")
        yield of, place


def _manifest(tar: tarfile.TarFile, named: Path) -> Backup:
    member = tar.getmember(_MANIFEST)
    content = tar.extractfile(member) if member.isreg() else None
    said: dict[str, Any] = {}
    with suppress(ValueError):
        said = json.loads(content.read(_LARGEST_MANIFEST)) if content is not None else {}
    if isinstance(said, dict) and isinstance(said.get("format"), int) and said["format"] > FORMAT:
        raise UsageError(
            f"{named}: made by a newer fairaudit ({said.get('version')}); upgrade fairaudit"
        )
    try:
        return Backup(**said)
    except TypeError as error:
        raise StoreError(f"{named}: is damaged, or no backup of fairaudit") from error


def _unpack(content: IO[bytes], to: Path) -> str:
    """Writes a file of a backup; gives its SHA-256."""
    digest = hashlib.sha256()
    with to.open("wb") as out:
        while piece := content.read(_PIECE):
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
