"""Logs on disk: decompressed, hashed, and handed out in blocks of whole lines."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

from audit.errors import EmptyLogError, LogError, UsageError
from audit.formats.dialects import HEAD_BYTES
from audit.formats.lines import Block

BLOCK_BYTES: Final = 1 << 23
"""How much of a log is held in memory at once (a longer line is held whole)."""

_GZIP = b"\x1f\x8b"
_OTHER_COMPRESSION: Final = {
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}


class Source(NamedTuple):
    """A log on disk, looked at but not yet taken in."""

    path: Path
    size: int  # bytes, decompressed
    sha256: str  # of the decompressed bytes
    head: bytes  # its first HEAD_BYTES, decompressed


def inspect(path: Path) -> Source:
    """Reads a log once, for its hash and its head.

    Raises:
        UsageError: there is no such file, or it may not be read.
        LogError: it is empty, binary, compressed in a way that is not read, or a truncated .gz.
    """
    digest = hashlib.sha256()
    size = 0
    head = b""
    with _opened(path) as stream:
        while chunk := stream.read(1 << 22):
            if len(head) < HEAD_BYTES:
                head += chunk[: HEAD_BYTES - len(head)]
                _refuse_binary(path, head)
            digest.update(chunk)
            size += len(chunk)
    if not head.strip():
        raise EmptyLogError(f"{path}: empty: there is no record in it")
    return Source(path, size, digest.hexdigest(), head)


def blocks(
    path: Path,
    block_bytes: int = BLOCK_BYTES,
    whole: Callable[[bytes], int] = lambda data: data.rfind(b"\n") + 1,
) -> Iterator[Block]:
    """A log as consecutive blocks of whole lines; errors as ``inspect``.

    Args:
        path: the log.
        block_bytes: how much of it is read at once.
        whole: how many of the first bytes of a buffer a block may have; they end with a newline.
            0 asks for more.
    """
    offset, line, rest = 0, 1, b""
    with _opened(path) as stream:
        while chunk := stream.read(block_bytes):
            data = rest + chunk if rest else chunk
            end = whole(data)
            if end == 0:
                rest = data
                continue
            taken, rest = data[:end], data[end:]
            yield Block(taken, offset, line)
            offset += end
            line += taken.count(b"\n")
    if rest:
        yield Block(rest, offset, line)


def lines_at(path: Path, offsets: Iterable[int]) -> dict[int, str]:
    """The lines of a log that begin at some bytes, by these; errors as ``inspect``.

    Args:
        path: the log.
        offsets: in its decompressed bytes.
    """
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


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as raw:
            packed = raw.read(len(_GZIP)) == _GZIP
            raw.seek(0)
            if packed:
                with gzip.open(raw) as stream:
                    yield cast(BinaryIO, stream)
            else:
                yield raw
    except FileNotFoundError as error:
        raise UsageError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise UsageError(f"{path}: is a directory; name the logs in it") from error
    except EOFError as error:
        raise LogError(
            f"{path}: truncated: the .gz ends in the middle of its data; fetch it again"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise LogError(f"{path}: damaged .gz: {error}; fetch it again") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error


def _refuse_binary(path: Path, head: bytes) -> None:
    for magic, name in _OTHER_COMPRESSION.items():
        if head.startswith(magic):
            raise LogError(f"{path}: compressed with {name}: decompress it, or use gzip")
    if b"\0" in head:
        raise LogError(f"{path}: binary: byte {head.index(0)} is NUL; a log is text")
