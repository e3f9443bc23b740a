r"""Logs as decompressed streams of UTF-8 text with ``\n`` as line break.

Compression and encoding are detected from the first bytes of a file, not from its name.
"""

import bz2
import codecs
import errno
import gzip
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol, TypeVar, cast

from audit.errors import LogError, TruncatedLogError, UsageError
from audit.files import folders
from audit.files.folders import readable

_LOOK: Final = 1 << 12  # bytes examined for UTF-16 without a byte order mark
_LOOK_FOR_BREAK: Final = 1 << 18  # bytes examined for the line break

_MARKS: Final = (
    (codecs.BOM_UTF8, None),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

MOSTLY: Final = 0.8  # minimum share of pairs with a NUL in UTF-16 text (of ASCII characters)


class Stream(Protocol):
    """A readable stream."""

    def read(self, size: int, /) -> bytes:
        """Return about ``size`` bytes; none at the end."""
        ...


def as_utf8(stream: Stream) -> Stream:
    r"""Return a log's text as UTF-8, with ``\n`` as line break.

    - A byte order mark is dropped. Without one, UTF-16 is recognised by a NUL in every other byte.
    - Single surrogates, and half a character at the end, are escaped.
    - If a text has CR and no LF (old Macs), CR is the line break. CRLF is kept.
    - Other text is unchanged, even if it is not UTF-8.
    """
    first = _Peeked(stream)
    head = first.peek(_LOOK)
    mark, encoding = next(
        ((mark, name) for mark, name in _MARKS if head.startswith(mark)), (b"", _by_nuls(head))
    )
    first.skip(len(mark))
    text = first if encoding is None else _Peeked(_Transcoded(first, encoding))
    start = text.peek(_LOOK_FOR_BREAK)
    return _Mac(text) if b"\r" in start and b"\n" not in start else text


def _by_nuls(head: bytes) -> str | None:
    pairs = len(head) // 2
    if pairs < 4:
        return None
    low, high = head[0 : 2 * pairs : 2].count(0), head[1 : 2 * pairs : 2].count(0)
    if high >= MOSTLY * pairs and low <= (1 - MOSTLY) * pairs:
        return "utf-16-le"
    if low >= MOSTLY * pairs and high <= (1 - MOSTLY) * pairs:
        return "utf-16-be"
    return None


class _Peeked:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._held = b""

    def peek(self, size: int) -> bytes:
        """Return up to ``size`` next bytes without reading them."""
        while len(self._held) < size and (more := self._stream.read(size - len(self._held))):
            self._held += more
        return self._held[:size]

    def skip(self, size: int) -> None:
        """Skip peeked bytes."""
        self._held = self._held[size:]

    def read(self, size: int, /) -> bytes:
        if not self._held:
            return self._stream.read(size)
        found, self._held = self._held[:size], self._held[size:]
        return found


class _Transcoded:
    def __init__(self, stream: Stream, encoding: str) -> None:
        self._stream = stream
        self._encoding = encoding
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")

    def read(self, size: int, /) -> bytes:
        while chunk := self._stream.read(size):
            if text := self._decoder.decode(chunk):
                return text.encode("utf-8", errors="backslashreplace")
        half, _ = self._decoder.getstate()
        self._decoder.reset()
        return half.decode(self._encoding, errors="backslashreplace").encode(
            "utf-8", errors="backslashreplace"
        )


class _Mac:
    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        return self._stream.read(size).replace(b"\r", b"\n")


_XZ_MEMORY: Final = 1 << 29  # maximum memory for an .xz; ``xz -9`` needs an eighth of it
_ZSTD_WINDOW_LOG: Final = 29
"""Base-2 logarithm of the largest window of a .zst, in bytes: 512 MB, as for ``--long=29``."""
_STEP: Final = 1 << 16

_KINDS: Final = {
    stat.S_IFIFO: "a FIFO (named pipe): a log is read more than once, so write it to a file first",
    stat.S_IFSOCK: "a socket, not a log",
    stat.S_IFCHR: "a device, not a log",
    stat.S_IFBLK: "a device, not a log",
    stat.S_IFDIR: "is a directory; name the logs in it",
}


class UndecodableError(Exception):
    """Compressed data is damaged; becomes a LogError."""


class _Members:
    """The consecutive members of a compressed file, decompressed step by step."""

    def __init__(self, raw: BinaryIO, new: Callable[[], Any], damage: type[Exception]) -> None:
        self._raw = raw
        self._new = new
        self._damage = damage
        self._member = new()
        self._rest = b""  # read, but not decompressed yet

    def read(self, size: int) -> bytes:
        """Return about ``size`` bytes; fewer at the end.

        Raises:
            UndecodableError: a member is damaged, or followed by other data.
            EOFError: the file ends in the middle of a member.
        """
        found: list[bytes] = []
        while size > 0 and (piece := self._piece(size)):
            found.append(piece)
            size -= len(piece)
        return b"".join(found)

    def _piece(self, size: int) -> bytes:
        while True:
            while self._member.eof:
                self._rest = self._rest or self._raw.read(_STEP)
                if not self._rest:
                    return b""
                if rest := self._rest.lstrip(b"\0"):  # of padding
                    self._member = self._new()
                self._rest = rest
            data = b""
            if self._member.needs_input:
                data = self._rest or self._raw.read(_STEP)
                self._rest = b""
                if not data:
                    raise EOFError
            try:
                found: bytes = self._member.decompress(data, size)
            except self._damage as error:
                raise UndecodableError(str(error)) from error
            if self._member.eof:
                self._rest = self._member.unused_data
            if found:
                return found


def _xz(raw: BinaryIO) -> Stream:
    return _Members(raw, lambda: lzma.LZMADecompressor(memlimit=_XZ_MEMORY), lzma.LZMAError)


def _zstd(raw: BinaryIO) -> Stream:
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    options = {int(zstd.DecompressionParameter.window_log_max): _ZSTD_WINDOW_LOG}
    return _Members(raw, lambda: zstd.ZstdDecompressor(options=options), zstd.ZstdError)


def _parquet(raw: BinaryIO) -> Stream:
    from audit.ingest.parquet import Text  # an idle run loads no frames

    return Text(raw)


COMPRESSIONS: Final[Mapping[bytes, tuple[str, Callable[[BinaryIO], Stream]]]] = {
    b"\x1f\x8b": (".gz", lambda raw: cast(Stream, gzip.GzipFile(fileobj=raw))),
    b"BZh": (".bz2", lambda raw: _Members(raw, bz2.BZ2Decompressor, OSError)),
    b"\xfd7zXZ\0": (".xz", _xz),
    b"\x28\xb5\x2f\xfd": (".zst", _zstd),
    b"PAR1": ("Parquet", _parquet),
    # the skippable frames that pzstd writes first
    **{bytes([first]) + b"\x2a\x4d\x18": (".zst", _zstd) for first in range(0x50, 0x60)},
}
"""Name of each compression, and what opens it, by the first bytes of its files."""

_UNREAD: Final = {
    b"PK\x03\x04": "zip",
    b"\x1f\x9d": "compress",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf\x27\x1c": "7-Zip",
    b"\x5d\0\0": "LZMA alone",
}
"""Unsupported compressions."""

_MAGIC: Final = 6


@contextmanager
def opened(path: Path) -> Iterator[Stream]:
    """Open a log as UTF-8 text; only regular files, so nothing waits for another program.

    Raises, also within the block:
        UsageError: there is no such file, it may not be read, or it is none.
        TruncatedLogError: it is compressed, and ends in the middle of its data.
        LogError: it is damaged, or compressed in a way that is not read.
    """
    shown, name = readable(path), "file"
    try:
        with _file(path) as raw:
            magic = raw.read(_MAGIC)
            raw.seek(0)
            name, reader = _by_magic(COMPRESSIONS, magic) or (name, lambda raw: cast(Stream, raw))
            if (unread := _by_magic(_UNREAD, magic)) is not None:
                raise LogError(
                    f"{shown}: compressed with {unread}: decompress it, or use gzip, bzip2, xz "
                    "or zstd"
                )
            yield as_utf8(reader(raw))
    except EOFError as error:
        raise TruncatedLogError(
            f"{shown}: truncated: the {name} ends in the middle of its data; fetch it again"
        ) from error
    except (UndecodableError, gzip.BadGzipFile, zlib.error) as error:
        raise LogError(f"{shown}: damaged {name}: {error}; fetch it again") from error
    except OSError as error:
        raise UsageError(f"{shown}: cannot be read: {error.strerror or error}") from error


@contextmanager
def _file(path: Path) -> Iterator[BinaryIO]:
    check_is_file(path)
    descriptor = folders.opened(path)  # it may have been replaced since the check
    with os.fdopen(descriptor, "rb") as raw:
        _check_kind(path, os.fstat(descriptor))
        yield raw


def check_is_file(path: Path) -> os.stat_result:
    """Return the status of a file without opening it, or raise UsageError or OSError."""
    try:
        look = path.stat()
    except FileNotFoundError as error:
        what = "no such file"
        if path.is_symlink():
            what = f"a link to {readable(path.readlink())}, where nothing is"
        raise UsageError(f"{readable(path)}: {what}") from error
    if stat.S_ISDIR(look.st_mode) and path.is_symlink():
        raise UsageError(f"{readable(path)}: a link to a folder: name the folder that it leads to")
    if stat.S_ISDIR(look.st_mode) and not os.access(path, os.R_OK | os.X_OK):
        raise UsageError(f"{readable(path)}: cannot be read: {os.strerror(errno.EACCES)}")
    _check_kind(path, look)
    return look


def _check_kind(path: Path, look: os.stat_result) -> None:
    if not stat.S_ISREG(look.st_mode):
        kind = _KINDS.get(stat.S_IFMT(look.st_mode), "not a file")
        raise UsageError(f"{readable(path)}: {kind}")


Found = TypeVar("Found")


def ends_with_line(path: Path) -> bool:
    """Return whether a log ends with a line end; True for compressed and empty logs."""
    with _file(path) as raw:
        magic = raw.read(_MAGIC)
        if not magic or _by_magic(COMPRESSIONS, magic) is not None:
            return True
        raw.seek(-min(2, len(magic)), os.SEEK_END)
        return raw.read().endswith((b"\n", b"\r", b"\n\0", b"\r\0"))  # the latter in UTF-16


def _by_magic(table: Mapping[bytes, Found], first: bytes) -> Found | None:
    return next((found for magic, found in table.items() if first.startswith(magic)), None)
