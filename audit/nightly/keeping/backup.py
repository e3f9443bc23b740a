"""Backups: the store, the history and the archive in one file, and how they are restored.

A backup holds the history of runs and the published database, which has all tables of the store as
last published. Both can be copied while a run writes the store, so neither waits for the other.
Reports are not in it.

The file is a plain tar of a manifest and the files that it names. A backup may be crafted. Headers
are therefore read one by one, and only those of regular files that fairaudit writes are accepted:
no links, devices, sparse files or extended headers. Unpacking writes no more bytes than the backup
has.
"""

import hashlib
import io
import os
import re
import shutil
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, BinaryIO, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from audit import __version__
from audit.config.places import Site
from audit.config.sections import ConfigSection
from audit.errors import AuditError, StoreError, UsageError, unpublished
from audit.files import folders, privacy, replace, state_folder
from audit.files.state_folder import HISTORY, STORE
from audit.nightly import history
from audit.nightly.keeping import archiving
from audit.nightly.stages import own_state
from audit.store import archive, catalogue, database, queries, snapshots

FORMAT: Final = 2
"""Format 1 contained no files of the archive."""

_MANIFEST: Final = "manifest.json"
_LARGEST_MANIFEST: Final = 16 << 20
_BLOCK: Final = 512  # bytes of a header, and the unit to which contents are padded
_PIECE: Final = 1 << 20
_NAMES: Final = "|".join(
    [*map(re.escape, (_MANIFEST, STORE, HISTORY)), r"archive-[0-9a-f]{64}\.parquet"]
)

_Sha256 = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
_Count = Annotated[int, Field(ge=0)]
_Version = Annotated[str, StringConstraints(pattern="^[0-9A-Za-z.+-]{1,64}$")]


class Backup(ConfigSection):
    """The manifest of a backup."""

    format: Annotated[int, Field(ge=1)]
    version: _Version  # of the fairaudit that made it
    made_at: Annotated[str, StringConstraints(pattern="^[0-9T:.+-]{1,40}$")]  # ISO 8601, UTC
    migration: _Count  # the newest of its store
    rows: dict[str, _Count]  # of each table of the store
    failing: list[Annotated[str, StringConstraints(pattern="^[0-9A-Za-z_]{1,100}$")]]
    """The checks of sql/checks that the store does not pass; it is saved nevertheless."""
    sha256: dict[str, _Sha256]  # of the store and of the history
    archive: dict[str, _Sha256] = Field(default_factory=dict)
    """Of each file of the archive, by its name relative to the published database."""

    def members(self) -> dict[str, str]:
        """Return the SHA-256 of each file of the backup, by its name there."""
        return {**self.sha256, **{member_of(sha256): sha256 for sha256 in self.archive.values()}}


class _Head(BaseModel):
    """The fields of every format of a manifest."""

    model_config = ConfigDict(strict=True)

    format: int
    version: _Version = "unknown"


class _Member(NamedTuple):
    """Where the content of a member is, in bytes."""

    begin: int
    size: int


def member_of(sha256: str) -> str:
    """Return the name of an archive's file in a backup."""
    return f"archive-{sha256}.parquet"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write(path: Path, of: Backup, files: Mapping[str, Path], now: int) -> None:
    """Write a backup to the disk."""
    manifest = of.model_dump_json(indent=2).encode()
    with path.open("wb") as out:
        with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
            tar.addfile(_header(_MANIFEST, len(manifest), now), io.BytesIO(manifest))
            for name, file in files.items():
                with file.open("rb") as content:
                    tar.addfile(_header(name, os.fstat(content.fileno()).st_size, now), content)
        out.flush()
        os.fsync(out.fileno())


def _header(name: str, size: int, now: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mtime, member.mode = size, now, 0o600
    return member


def unpack(file: Path, into: Path) -> Backup:
    """Unpack the files of a backup into a folder, and return its manifest.

    Raises UsageError if a newer fairaudit made it, StoreError if it is damaged or not a backup.
    """
    with file.open("rb") as tar:
        members = _members(tar)
        of = _manifest(tar, members.pop(_MANIFEST, _Member(0, 0)))
        if members.keys() != of.members().keys():
            raise _damaged("it does not contain the files that its manifest names")
        for name, sha256 in of.members().items():
            if _extract(tar, members[name], into / name) != sha256:
                raise StoreError(f"is damaged: {name} differs from the saved file")
    return of


def _members(tar: BinaryIO) -> dict[str, _Member]:
    """Return where the content of each member is."""
    end = tar.seek(0, os.SEEK_END)
    members: dict[str, _Member] = {}
    at = 0
    while True:
        tar.seek(at)
        block = tar.read(_BLOCK)
        if block == tarfile.NUL * _BLOCK:  # the end
            return members
        try:
            header = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        except (tarfile.HeaderError, ValueError) as error:
            raise _damaged("a header cannot be read") from error
        begin = at + _BLOCK
        if header.type != tarfile.REGTYPE or not re.fullmatch(_NAMES, header.name):
            raise _damaged("it contains a file that no backup contains")
        if header.name in members:
            raise _damaged(f"it contains {header.name} twice")
        if not 0 <= header.size <= end - begin:
            raise _damaged(f"{header.name} is cut off")
        members[header.name] = _Member(begin, header.size)
        at = begin + -(-header.size // _BLOCK) * _BLOCK


def _manifest(tar: BinaryIO, member: _Member) -> Backup:
    if not 0 < member.size <= _LARGEST_MANIFEST:
        raise _damaged(f"it has no {_MANIFEST}")
    tar.seek(member.begin)
    text = tar.read(member.size)
    try:
        head = _Head.model_validate_json(text)
        if head.format > FORMAT:
            raise UsageError(f"made by a newer fairaudit ({head.version}); upgrade fairaudit")
        of = Backup.model_validate_json(text)
    except ValidationError as error:
        place = error.errors(include_input=False)[0]["loc"][:1]
        known = "".join(f" ({key})" for key in place if key in Backup.model_fields)
        raise _damaged(f"{_MANIFEST} is not as fairaudit writes it{known}") from error
    if of.sha256.keys() != {STORE, HISTORY}:
        raise _damaged(f"{_MANIFEST} does not name the store and the history")
    return of


def _extract(tar: BinaryIO, member: _Member, to: Path) -> str:
    digest, left = hashlib.sha256(), member.size
    tar.seek(member.begin)
    with to.open("wb") as out:
        while piece := tar.read(min(_PIECE, left)):
            left -= len(piece)
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _damaged(what: str) -> StoreError:
    return StoreError(f"is damaged, or not a backup of fairaudit: {what}")


_CATALOG_S: Final = 60  # maximum time for looking at the tables of a store that may be crafted


def save(site: Site, where: str | Path, now: int) -> tuple[Path, Backup]:
    """Write a backup, and read it again; return its path.

    ``where`` names the file, which ends in .tar and is replaced in one step, or a folder; the file
    is then named after the time. A name with a slash at its end is a folder; a missing one is made.

    Raises:
        UsageError: nothing is published yet, or a file would have another name.
        StoreError: something cannot be read, or was not written as it was read.
        OSError: the file cannot be written.
    """
    target = Path(where)
    if str(where).endswith("/"):
        folders.make(target)
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder")
    if not target.is_dir() and target.suffix != ".tar":
        raise UsageError(f"{target}: a backup's name ends in .tar, and a new folder's in a slash")
    published = site.database
    if not published.is_file():
        raise unpublished(published)
    made = datetime.fromtimestamp(now, UTC)
    if target.is_dir():
        target /= f"fairaudit-{made:%Y%m%dT%H%M%SZ}.tar"
    folders.require(target.parent)
    with state_folder.scratch(target.parent) as place:
        store, past = place / STORE, place / HISTORY
        shutil.copyfile(published, store)  # the open file stays, even if it is replaced meanwhile
        history.copy_to(history.path_in(site.state), past)
        migration, rows, failing = _examined(store, checks=True)
        archived = _archived(store)
        of = Backup(
            format=FORMAT,
            version=__version__,
            made_at=made.isoformat(),
            migration=migration,
            rows=rows,
            failing=failing,
            sha256={file.name: sha256_of(file) for file in (store, past)},
            archive=archived,
        )
        files = {STORE: store, HISTORY: past}
        files |= {member_of(sha): published.parent / name for name, sha in archived.items()}
        draft, again = place / "backup.tar", place / "again"
        write(draft, of, files, now)
        again.mkdir()
        _unpacked(draft, target, again)
        draft.replace(target)
    return target, of


def restore(site: Site, file: Path, *, force: bool) -> Backup:
    """Replace the store and the history by those of a backup, all of which is examined first.

    Raises:
        UsageError: there is a store and no ``force``; ``file`` is not a backup, or one of a newer
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
                remedy = "--force replaces it with the backup"
                raise UsageError(f"{known}: already exists; {remedy}")
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
    with closing(snapshots.open_snapshot(place / STORE, tables_only=True)) as con:
        return archive.identity(con)


def _put_back_archive(site: Site, of: Backup, place: Path) -> None:
    """Put the files of the archive where the store looks for them.

    A name identifies the content, so a file with other content is damaged, and is replaced.
    """
    for name, sha256 in of.archive.items():
        target = site.database.parent / name
        if target.is_file() and sha256_of(target) == sha256:
            continue
        privacy.shared_folder(target.parent, with_group=site.shared)
        with replace.drafting(target, alone=True) as draft:
            shutil.copyfile(place / member_of(sha256), draft)
            replace.sync(draft)
            privacy.seal(draft, with_group=site.shared)
        replace.sync(target.parent)


def _unpacked(file: Path, named: Path, place: Path) -> Backup:
    """Unpack a backup into an empty folder and examine it; messages call it ``named``."""
    with _naming(named):
        of = unpack(file, place)
        if _examined(place / STORE, checks=False)[:2] != (of.migration, of.rows):
            raise StoreError("is damaged: the row counts of its tables differ from its manifest")
        history.examine(place / HISTORY)
    return of


def _examined(path: Path, *, checks: bool) -> tuple[int, dict[str, int], list[str]]:
    """Return the newest migration of a store, the rows of each table, and the checks that fail."""
    with closing(snapshots.open_snapshot(path, timeout_s=_CATALOG_S, tables_only=True)) as con:
        newest = catalogue.check_tables(con)
    tables = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY table_name"
    with closing(snapshots.open_snapshot(path, tables_only=True)) as con:
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
    with closing(snapshots.open_snapshot(store, tables_only=True)) as con:
        months = archive.months(con)
    return {file: sha for of in months for file, sha in zip(of.files, of.sha256, strict=True)}
