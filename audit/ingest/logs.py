"""Logs whose dialect is known, and their records, block by block."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from audit.errors import AuditError, DialectError, LogError
from audit.files.folders import readable
from audit.formats import dialects
from audit.formats.dialects import PLAIN, Dialect, Header, Parsed, Reading
from audit.formats.lines import Block
from audit.ingest import files
from audit.ingest.files import Part, Source

_LOOK: Final = "'fairaudit audit' of this file alone says why, and stores nothing"


class Opened(NamedTuple):
    """A log whose dialect is known."""

    source: Source
    dialect: Dialect
    header: Header
    origin: str | None = None
    """Its source in config.toml, whose new logs are judged together; None: it is judged alone."""

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

    def withheld(self) -> Unread:
        """Return it without text from the log."""
        return self._replace(error=self.error.withheld())


def open_logs(
    paths: Sequence[Path], dialect: str | None = None, reading: Reading = PLAIN
) -> list[Opened]:
    """Open each log and check or detect its dialect.

    Raises:
        UsageError, LogError: as ``files.inspect``; or it is binary.
        DialectError: no dialect, or not the one named, recognises a log; or its columns
            are unknown.
    """
    return [open_log(path, dialect, reading) for path in paths]


def open_each(
    paths: Sequence[Path],
    dialect: str | None = None,
    reading: Reading = PLAIN,
    origin: str | None = None,
    earlier: Collection[Part] = (),
) -> tuple[list[Opened], list[Unread]]:
    """Return the logs, without their heads (for memory), and those that cannot be opened.

    For ``origin`` see ``Opened``, for ``earlier`` ``files.inspect``.
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
    earlier: Collection[Part] = (),
) -> Opened:
    """Open one log; see ``open_logs``."""
    where = readable(path)
    source = files.inspect(path, lambda head: _check_known(head, where, reading), earlier)
    found = dialects.detect(source.head, where, reading)
    if dialect is not None and found.name != dialect:
        if dialect not in (known := dialects.table()):
            raise DialectError(f"there is no dialect {dialect!r}; known: {', '.join(known)}")
        raise DialectError(f"{where}: looks like {found.title}, not {dialect}")
    try:
        header = found.header(source.head, reading)
    except DialectError as error:
        raise DialectError(
            f"{where}: ", str(error), f"is {found.title}, but its columns cannot be read: {_LOOK}"
        ) from error
    return Opened(source, found, header, origin)


def _check_known(head: bytes, where: str, reading: Reading) -> None:
    """Check that a dialect recognises a log, or report that it is binary."""
    try:
        dialects.detect(head, where, reading)
    except DialectError as error:
        if (why := files.binary(head)) is not None:
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
    thread parses the next: neither holds the GIL.
    """
    header = log.header
    known = log.source.known.size if log.source.known else 0

    def parse(block: Block) -> Parsed:
        nonlocal header
        parsed = log.dialect.parse(block, header)
        header = parsed.header or header
        return parsed

    with ThreadPoolExecutor(1, thread_name_prefix="fairaudit-parse") as reader:
        waiting: tuple[int, Future[Parsed]] | None = None
        for block in files.blocks(
            log.source.path,
            log.dialect.block_bytes,
            lambda data: log.dialect.whole(data, header),
            known,
        ):
            begun = (block.byte_offset + len(block.data), reader.submit(parse, block))
            if waiting is not None:
                position, parsed = waiting[0], waiting[1].result()
                if position > known:
                    yield position, parsed
            waiting = begun
        if waiting is not None:
            yield waiting[0], waiting[1].result()
