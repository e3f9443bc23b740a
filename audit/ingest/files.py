"""Logs on disk: their hashes, and their blocks of whole lines.

Sizes, offsets and hashes refer to the decompressed text in UTF-8 (``streams``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from audit.errors import EmptyLogError, LogError
from audit.files.folders import readable
from audit.formats.dialects import HEAD_BYTES
from audit.formats.lines import NEWLINE, Block
from audit.ingest import streams

BLOCK_BYTES: Final = 1 << 23
"""Size of a block in memory (a longer line is held whole)."""
LONGEST: Final = 1 << 28
"""Maximum length of a line, or record."""

_TAR: Final = (257, b"ustar")
_MOSTLY: Final = 0.3
_CONTROL: Final = bytes(sorted({*range(32), 127} - set(b"\t\n\r\x1f")))


class Part(NamedTuple):
    """The first bytes of a log."""

    size: int
    sha256: str


class Source(NamedTuple):
    """A log on disk that was inspected."""

    path: Path
    size: int  # bytes
    sha256: str
    head: bytes  # its first HEAD_BYTES
    known: Part | None = None
    """The part that was ingested before it grew: the longest earlier log that it begins with."""


def inspect(
    path: Path, check: Callable[[bytes], None] = lambda head: None, earlier: Collection[Part] = ()
) -> Source:
    """Read a log once, for its hash and its head.

    Args:
        path: the log.
        check: called with the head as soon as it is known; what it raises ends the reading.
        earlier: whole logs that were taken in before.

    Raises:
        EmptyLogError: nothing but blanks is in it; otherwise as ``streams.opened``.
    """
    digest = _Digest(earlier)
    head = b""
    checked = False
    with streams.opened(path) as stream:
        while chunk := stream.read(1 << 22):
            if len(head) < HEAD_BYTES:
                head += chunk[: HEAD_BYTES - len(head)]
            elif not checked:
                check(head)
                checked = True
            digest.update(chunk)
    if not head.strip():
        raise EmptyLogError(f"{readable(path)}: empty: there is no record in it")
    if not checked:
        check(head)
    return Source(path, digest.size, digest.sha256, head, digest.known)


class _Digest:
    """The hash of a log, and the earlier log that it continues."""

    def __init__(self, earlier: Collection[Part]) -> None:
        self.size = 0
        self.known: Part | None = None
        self._earlier = frozenset(earlier)
        self._ends = sorted({part.size for part in earlier}, reverse=True)
        self._sum = hashlib.sha256()
        self._ends_with_line = False

    @property
    def sha256(self) -> str:
        return self._sum.hexdigest()

    def update(self, chunk: bytes) -> None:
        """Add bytes. An earlier log that ended within a line is not continued."""
        data = memoryview(chunk)
        while self._ends and self._ends[-1] < self.size + len(data):
            cut = self._ends.pop() - self.size
            self._add(data[:cut])
            part = Part(self.size, self.sha256)
            if self._ends_with_line and part in self._earlier:
                self.known = part
            data = data[cut:]
        self._add(data)

    def _add(self, data: memoryview) -> None:
        if data:
            self._sum.update(data)
            self.size += len(data)
            self._ends_with_line = data[-1] == NEWLINE


def binary(head: bytes) -> str | None:
    """Return why the beginning of a log is no text; None: it is.

    Not for logs that a dialect recognises: in these a NUL is a damaged byte.
    """
    place, magic = _TAR
    if head[place : place + len(magic)] == magic:
        return "a tar archive: unpack it, and name the logs in it"
    if b"\0" in head:
        return f"binary: byte {head.index(0)} is NUL; a log is text"
    if len(head) - len(head.translate(None, _CONTROL)) > _MOSTLY * len(head):
        return "binary: much of it are control characters; a log is text"
    return None


def blocks(
    path: Path,
    block_bytes: int = BLOCK_BYTES,
    whole: Callable[[bytes], int] = lambda data: data.rfind(b"\n") + 1,
    cut: int = 0,
) -> Iterator[Block]:
    """Yield a log as consecutive blocks of whole lines; errors as ``streams.opened``.

    Args:
        path: the log.
        block_bytes: how much of it is read at once.
        whole: how many of the first bytes of a buffer a block may have; 0 asks for more.
        cut: where a block ends at any rate, if a line does.

    Raises:
        LogError: also where a line (or record) is longer than ``LONGEST``.
    """
    offset, line, rest = 0, 1, b""
    with streams.opened(path) as stream:
        while chunk := stream.read(max(block_bytes, len(rest))):
            data = rest + chunk if rest else chunk
            if offset < cut <= offset + len(data) and data[cut - offset - 1] == NEWLINE:
                part, data = data[: cut - offset], data[cut - offset :]
                yield Block(part, offset, line)
                offset = cut
                line += part.count(b"\n")
            end = whole(data)
            if end == 0:
                if len(data) > LONGEST:
                    raise LogError(
                        f"{readable(path)}:{line}: a line of more than {LONGEST >> 20} MB: damaged"
                    )
                rest = data
                continue
            taken, rest = data[:end], data[end:]
            yield Block(taken, offset, line)
            offset += end
            line += taken.count(b"\n")
    if rest:
        yield Block(rest, offset, line)


def lines_at(path: Path, offsets: Iterable[int]) -> dict[int, str]:
    """Return the lines of a log at some byte offsets; errors as ``blocks``."""
    wanted = sorted(offsets)
    found: dict[int, str] = {}
    for block in blocks(path):
        end = block.byte_offset + len(block.data)
        while wanted and wanted[0] < end:
            begin = wanted.pop(0)
            at = begin - block.byte_offset
            until = block.data.find(b"\n", at)
            line = block.data[at : until if until >= 0 else None].rstrip(b"\r")
            found[begin] = line.decode("utf-8", errors="backslashreplace")
        if not wanted:
            break
    return found
