"""Logs on disk: their hashes, their dialects, and their records block by block.

Sizes, offsets and hashes refer to the decompressed text in UTF-8 (``streams``).
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.config.table import MAPPED
from audit.errors import (
    AuditError,
    ChangedLogError,
    DialectError,
    EmptyLogError,
    LogError,
    UsageError,
)
from audit.files.folders import readable
from audit.formats import dialects
from audit.formats.dialects import HEAD_BYTES, PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.lines import NEWLINE, Block
from audit.ingest import streams
from audit.model import RECORDS, REFUSALS, RefusalCode

BLOCK_BYTES: Final = 1 << 23  # size of a block in memory (a longer line is held whole)
MOST_LINES: Final = 1 << 17  # of a block, unless a record has more
LONGEST: Final = 1 << 24  # maximum length of a line, or record, in bytes
_BEGINNING: Final = 1_000  # number of bytes that are kept of a line that is too long

_TAR: Final = (257, b"ustar")
_MOSTLY: Final = 0.3
_CONTROL: Final = bytes(sorted({*range(32), 127} - set(b"\t\n\r\x1f")))
_LOOK: Final = "'fairaudit audit' of this file alone says why, and stores nothing"


class LogHead(NamedTuple):
    """The first bytes of a log."""

    size: int
    sha256: str
    reading: str | None = ""  # see ``Reading.fingerprint``; None: unknown


class LogSource(NamedTuple):
    """A log on disk that was inspected."""

    path: Path
    size: int  # bytes
    sha256: str
    head: bytes  # its first HEAD_BYTES
    known: LogHead | None = None
    """The part that was ingested before it grew: the longest earlier log that it begins with."""
    outdated: tuple[LogHead, ...] = ()
    """Earlier logs that it begins with, or is, and that were read by other columns."""
    disk_bytes: int = 0  # size of the file when it was opened

    @property
    def has_grown(self) -> bool:
        """Whether the file is larger now: what was added is not read."""
        try:
            return self.path.stat().st_size > self.disk_bytes
        except OSError:
            return False


class Opened(NamedTuple):
    """A log whose dialect is known."""

    source: LogSource
    dialect: Dialect
    header: Header
    origin: str | None = None
    """Its source in config.toml, whose new logs are judged together; None: it is judged alone."""
    reading: str = ""  # ``Reading.fingerprint``

    @property
    def where(self) -> str:
        """Its path, as text."""
        return readable(self.source.path)

    @property
    def name(self) -> str:
        """Its base name, as text."""
        return readable(Path(self.source.path.name))

    @property
    def part(self) -> str:
        """The source, or the log, that is judged as a whole."""
        return self.origin or self.where


class Unread(NamedTuple):
    """A log that cannot be ingested, and why."""

    path: Path
    error: AuditError

    @property
    def where(self) -> str:
        """Its path, as text."""
        return readable(self.path)

    @property
    def name(self) -> str:
        """Its base name, as text."""
        return readable(Path(self.path.name))

    @property
    def reason(self) -> str:
        """The reason, without the path."""
        return str(self.error).removeprefix(f"{self.where}: ").replace(self.where, self.name)

    def withheld(self) -> "Unread":
        """Return it without text from the log."""
        return self._replace(error=self.error.withheld())


def logs_in(folder: Path) -> list[Path]:
    """Return the files in a folder, sorted, without hidden ones; UsageError if there are none."""
    listed = (path for path in folder.glob("*") if not path.name.startswith("."))
    if not (files := sorted(path for path in listed if not path.is_dir())):
        raise UsageError(f"{readable(folder)}: no file in this folder; name a log")
    return files


def open_logs(
    paths: Sequence[Path], dialect: str | None = None, reading: Reading = PLAIN
) -> list[Opened]:
    """Open each log and check or detect its dialect.

    Raises errors as ``inspect``; LogError if a log is binary; DialectError if no dialect, or not
    the one named, recognises it, or its columns are unknown.
    """
    return [open_log(path, dialect, reading) for path in paths]


def open_each(
    paths: Sequence[Path],
    dialect: str | None = None,
    reading: Reading = PLAIN,
    origin: str | None = None,
    earlier: Collection[LogHead] = (),
) -> tuple[list[Opened], list[Unread]]:
    """Return the logs, without their heads (for memory), and those that cannot be opened.

    For ``origin`` see ``Opened``, for ``earlier`` ``inspect``.
    """
    opened, unread = [], []
    for path in paths:
        try:
            log = open_log(path, dialect, reading, origin, earlier)
            opened.append(log._replace(source=log.source._replace(head=b"")))
        except AuditError as error:
            unread.append(Unread(path, error))
    return opened, unread


def open_log(
    path: Path,
    dialect: str | None = None,
    reading: Reading = PLAIN,
    origin: str | None = None,
    earlier: Collection[LogHead] = (),
) -> Opened:
    """Open one log; see ``open_logs``."""
    where = readable(path)
    own = reading.fingerprint
    same = [part for part in earlier if is_same(part.reading, own)]
    others = [part for part in earlier if not is_same(part.reading, own)]
    known: list[Dialect] = []
    source = inspect(path, lambda head: known.append(_detect(head, where, reading)), same, others)
    (found,) = known
    if dialect is not None and found.name != dialect:
        if dialect not in (every := dialects.table()):
            raise DialectError(f"there is no dialect {dialect!r}; known: {', '.join(every)}")
        raise DialectError(f"{where}: looks like {found.title}, not {dialect}")
    try:
        header = found.header(source.head, reading)
    except DialectError as error:
        raise DialectError(
            f"{where}: ", str(error), f"is {found.title}, but its columns cannot be read: {_LOOK}"
        ) from error
    given = {"--columns": reading.columns, "--separator": reading.separator}
    if not found.takes_columns and (unused := [flag for flag, value in given.items() if value]):
        problem = f"{' and '.join(unused)}: not used, for the columns of {found.title} are known"
        header = replace(header, problems=(*header.problems, problem))
    return Opened(source, found, header, origin, own)


def is_same(stored: str | None, own: str) -> bool:
    """Return whether a log was read by the columns by which it is read now.

    Earlier versions did not store them (None), and knew no mappings.
    """
    return stored == own or (stored is None and not own.startswith(MAPPED))


def _detect(head: bytes, where: str, reading: Reading) -> Dialect:
    """Return the dialect that recognises a log, or report that the log is binary.

    Dialects recognise an archive of their logs, as they skip lines that they cannot read.
    """
    place, magic = _TAR
    if head[place : place + len(magic)] == magic and b"\0" in head[:place]:
        raise LogError(f"{where}: a tar archive: unpack it, and name the logs in it")
    try:
        return dialects.detect(head, where, reading)
    except DialectError as error:
        if (why := binary(head)) is not None:
            raise LogError(f"{where}: {why}") from error
        raise


def clusters(log: Opened) -> dict[str, int]:
    """Return the number of records of each cluster that a log names; reads all of it."""
    counted: dict[str, int] = {}
    if not log.dialect.names_clusters:
        return counted
    for _, parsed in parsed_blocks(log):
        for name, count in parsed.records["cluster"].drop_nulls().value_counts().iter_rows():
            counted[name] = counted.get(name, 0) + count
    return dict(sorted(counted.items()))


def parsed_blocks(log: Opened) -> Iterator[tuple[int, Parsed]]:
    """Yield each block of a log, parsed, and the position after it; without its known part.

    The known part is parsed too, as it may change the header. While the caller stores one block, a
    thread parses the next: neither holds the GIL. Lines added since the log was opened are left
    out; ChangedLogError is raised in the end if the rest has changed.
    """
    header = log.header
    known = log.source.known.size if log.source.known else 0

    def parse(block: Block) -> Parsed:
        nonlocal header
        if block.overlong:
            return _refused(block)
        parsed = log.dialect.parse(block, header)
        header = parsed.header or header
        return parsed

    with ThreadPoolExecutor(1, thread_name_prefix="fairaudit-parse") as reader:
        waiting: tuple[int, Future[Parsed]] | None = None
        for block in blocks(
            log.source.path,
            log.dialect.block_bytes,
            lambda data: log.dialect.whole(data, header),
            known,
            log.source,
        ):
            begun = (block.byte_offset + len(block.data), reader.submit(parse, block))
            if waiting is not None:
                position, parsed = waiting[0], waiting[1].result()
                if position > known:
                    yield position, parsed
            waiting = begun
        if waiting is not None:
            yield waiting[0], waiting[1].result()


def inspect(
    path: Path,
    check: Callable[[bytes], object] = lambda head: None,
    earlier: Collection[LogHead] = (),
    others: Collection[LogHead] = (),
) -> LogSource:
    """Read a log once, for its hash and its head; errors as ``streams.opened``, or EmptyLogError.

    ``check`` is called with the head as soon as it is known; what it raises ends the reading.
    ``earlier`` are whole logs that were ingested before, ``others`` those that were read by other
    columns.
    """
    digest = _Digest(earlier, others)
    head = b""
    checked = False
    with streams.opened(path) as stream:
        disk_bytes = path.stat().st_size
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
    outdated = digest.outdated()
    return LogSource(path, digest.size, digest.sha256, head, digest.known, outdated, disk_bytes)


class _Digest:
    def __init__(self, earlier: Collection[LogHead], others: Collection[LogHead] = ()) -> None:
        self.size = 0
        self.known: LogHead | None = None
        self._earlier = frozenset(part[:2] for part in earlier)
        self._others = others
        self._begun: set[tuple[int, str]] = set()
        self._ends = sorted({part.size for part in (*earlier, *others)}, reverse=True)
        self._sum = hashlib.sha256()
        self._ends_with_line = False

    @property
    def sha256(self) -> str:
        return self._sum.hexdigest()

    def outdated(self) -> tuple[LogHead, ...]:
        begun = self._begun | {(self.size, self.sha256)}
        return tuple(part for part in self._others if part[:2] in begun)

    def update(self, chunk: bytes) -> None:
        """Add bytes. An earlier log that ended within a line is not continued."""
        data = memoryview(chunk)
        while self._ends and self._ends[-1] < self.size + len(data):
            cut = self._ends.pop() - self.size
            self._add(data[:cut])
            part = LogHead(self.size, self.sha256)
            if self._ends_with_line and part[:2] in self._earlier:
                self.known = part
            self._begun.add(part[:2])
            data = data[cut:]
        self._add(data)

    def _add(self, data: memoryview) -> None:
        if data:
            self._sum.update(data)
            self.size += len(data)
            self._ends_with_line = data[-1] == NEWLINE


class _SecondReading:
    """A log that is read a second time: only what was inspected, or ChangedLogError in the end."""

    def __init__(self, stream: streams.Stream, inspected: LogSource) -> None:
        self._stream = stream
        self._inspected = inspected
        self._left = inspected.size
        self._sum = hashlib.sha256()

    def read(self, size: int, /) -> bytes:
        if self._left and (chunk := self._stream.read(size)[: self._left]):
            self._left -= len(chunk)
            self._sum.update(chunk)
            return chunk
        if self._sum.hexdigest() != self._inspected.sha256:
            where = readable(self._inspected.path)
            raise ChangedLogError(
                f"{where}: changed while it was read: nothing of it is stored; read it again when "
                "it is complete"
            )
        return b""


def binary(head: bytes) -> str | None:
    """Return why the beginning of a log is not text; None: it is.

    Not for logs that a dialect recognises: in these a NUL is a damaged byte.
    """
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
    inspected: LogSource | None = None,
) -> Iterator[Block]:
    """Yield a log as consecutive blocks of whole lines; errors as ``streams.opened``.

    Of a line that is longer than ``LONGEST`` a block holds the beginning; the rest is skipped.

    Args:
        path: the log.
        block_bytes: how much of it is read at once.
        whole: how many of the first bytes of a buffer a block may have; 0 requests more.
        cut: where a block ends in any case, if a line does.
        inspected: what the log was; nothing after its size is read.

    Raises ChangedLogError in the end if what was read is not what was ``inspected``.
    """
    offset, line, rest = 0, 1, b""
    with streams.opened(path) as opened:
        stream = opened if inspected is None else _SecondReading(opened, inspected)
        while chunk := stream.read(max(block_bytes, len(rest))):
            rest = rest + chunk if rest else chunk
            if offset < cut <= offset + len(rest) and rest[cut - offset - 1] == NEWLINE:
                part, rest = rest[: cut - offset], rest[cut - offset :]
                yield Block(part, offset, line)
                offset = cut
                line += part.count(b"\n")
            while end := _end(rest, whole):
                taken, rest = rest[:end], rest[end:]
                yield Block(taken, offset, line)
                offset += end
                line += taken.count(b"\n")
            if len(rest) > LONGEST and b"\n" not in rest:
                yield Block(rest[:_BEGINNING], offset, line, overlong=True)
                skipped, rest = _line_end(len(rest), stream)
                offset += skipped
                line += 1
    if rest:
        yield Block(rest, offset, line)


def _end(data: bytes, whole: Callable[[bytes], int]) -> int:
    """Return how many of the first bytes are a block; 0: more are needed."""
    end = whole(data)
    if end == 0 and len(data) > LONGEST:
        end = data.rfind(b"\n") + 1  # a record that is too long: its lines are refused
    if data.count(b"\n", 0, end) <= MOST_LINES:
        return end
    breaks = np.flatnonzero(np.frombuffer(data, np.uint8, count=end) == NEWLINE)
    return whole(data[: breaks[MOST_LINES] + 1]) or end


def _line_end(skipped: int, stream: streams.Stream) -> tuple[int, bytes]:
    """Skip the rest of a line; return its length, from ``skipped`` on, and what was read after."""
    while chunk := stream.read(1 << 20):
        if end := chunk.find(b"\n") + 1:
            return skipped + end, chunk[end:]
        skipped += len(chunk)
    return skipped, b""


def _refused(block: Block) -> Parsed:
    """Return the refusal of a line that is too long."""
    row = (
        block.first_line,
        block.byte_offset,
        RefusalCode.SHAPE,
        f"a line of more than {LONGEST >> 20} MB: damaged",
        block.data.decode("utf-8", errors="backslashreplace"),
    )
    refusals = pl.DataFrame([row], schema=REFUSALS, orient="row")
    return Parsed(pl.DataFrame(schema=RECORDS), refusals)


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


def head_without_names(path: Path, lines: int) -> bytes:
    """Return the first lines of a log (at most 256 KiB) without names; see ``streams.opened``."""
    from audit.formats.anonymous import without_names  # its lists of words are long

    with streams.opened(path) as stream:
        data = b""
        while len(data) < HEAD_BYTES and (more := stream.read(HEAD_BYTES - len(data))):
            data += more
    if len(data) == HEAD_BYTES:  # without the line that was cut, unless there is only one
        data = data[: data.rfind(b"\n") + 1] or data
    return without_names(b"".join(data.splitlines(keepends=True)[:lines])).encode()
