"""The file of a backup: a manifest and the files that it names, in a plain tar.

A backup may be crafted. Headers are therefore read one by one, and only those of regular files that
fairaudit writes are accepted: no links, devices, sparse files or extended headers. Unpacking writes
no more bytes than the backup has.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, BinaryIO, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from audit.config.sections import Section
from audit.errors import StoreError, UsageError
from audit.files.state_folder import HISTORY, STORE

FORMAT: Final = 2
"""Format 1 had no files of the archive."""

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


class Backup(Section):
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
        """SHA-256 of each file of the backup, by its name there."""
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
    """The name of an archive's file in a backup."""
    return f"archive-{sha256}.parquet"


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file."""
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

    Raises:
        UsageError: a newer fairaudit made it.
        StoreError: it is damaged, or no backup.
    """
    with file.open("rb") as tar:
        members = _members(tar)
        of = _manifest(tar, members.pop(_MANIFEST, _Member(0, 0)))
        if members.keys() != of.members().keys():
            raise _damaged("it does not hold the files that its manifest names")
        for name, sha256 in of.members().items():
            if _unpacked(tar, members[name], into / name) != sha256:
                raise StoreError(f"is damaged: {name} is not as it was saved")
    return of


def _members(tar: BinaryIO) -> dict[str, _Member]:
    """Where the content of each member is."""
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
            raise _damaged("it holds something that no backup holds")
        if header.name in members:
            raise _damaged(f"it holds {header.name} twice")
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


def _unpacked(tar: BinaryIO, member: _Member, to: Path) -> str:
    """Write a file of a backup to the disk; return its SHA-256."""
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
    return StoreError(f"is damaged, or no backup of fairaudit: {what}")
