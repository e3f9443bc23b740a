"""SQL by analysts over a published database."""

import os
import re
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from audit.analyst import reader
from audit.analyst.reader import EndedError, FailedError, Process
from audit.config import in_bytes
from audit.errors import LockedError, StoreError, UnwritableError, UsageError, failed, no_database
from audit.words import ARCHIVE, Format

GRACE_S: Final = 10
"""Seconds after its limit when a statement that ignores the interruption is killed."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class SqlLimits:
    """Limits of one statement; the keys of section [sql] of config.toml."""

    timeout_s: int
    memory_limit: str
    """As in DuckDB, such as ``2GB``."""


@dataclass(frozen=True)
class SqlStatement:
    """One statement, and how to write its rows."""

    text: str
    """A SELECT, or the name of a saved query."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    form: Format = Format.table
    rows: int | None = None
    """Maximum number of rows."""
    raw: bool = False
    """Leave csv cells unchanged that a spreadsheet would run as formulas."""


class Reader:
    """A published database, read by a separate process.

    It keeps reading the file that was opened, even if another one is published in its place.
    """

    def __init__(
        self,
        path: Path,
        limits: SqlLimits,
        archive: Path | None = None,
        *,
        frames: bool = False,
        tables: Mapping[str, Path] | None = None,
    ) -> None:
        """Open the database; ``frames`` allows results in Parquet.

        The rows of ``tables``, CSV files with a header, become temporary tables of texts.

        Raises:
            UsageError: it does not exist or may not be read.
            LockedError: a run is writing the file.
            StoreError: it is not a database of fairaudit.
        """
        if not path.is_file():
            raise no_database(path)
        self._path = path
        self._limits = limits
        self._archive = archive or path.parent / ARCHIVE
        self._tables = {name: _rows_of(name, file) for name, file in (tables or {}).items()}
        self._frames = frames or bool(tables)
        self._process: Process | None = None
        try:
            self._source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise failed(str(path), error) from error
        try:
            self._process = self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> Process:
        process = reader.taken()
        request = {
            "do": "open",
            "path": str(self._path),
            "base": str(self._path.parent.absolute()),
            "archive": str(self._archive.absolute()),
            "memory_limit": self._limits.memory_limit,
            "timeout_s": self._limits.timeout_s,
            "frames": self._frames,
        }
        longest = self._limits.timeout_s + GRACE_S
        try:
            opened = process.ask(request, longest, (self._source,))
            for name, rows in self._tables.items():
                process.ask({"do": "table", "name": name}, longest, (rows,))
        except FailedError as error:
            process.end()
            kinds = {"LockedError": LockedError, "UnwritableError": UnwritableError}
            raise kinds.get(error.kind, StoreError)(str(error)) from error
        except EndedError as error:
            raise self._why(error) from error
        self.landlock = bool(opened["landlock"])
        return process

    def close(self) -> None:
        """End the process and close the database."""
        self._stop()
        for descriptor in (self._source, *self._tables.values()):
            os.close(descriptor)

    def _stop(self) -> None:
        if self._process is not None:
            self._process.end()
        self._process = None

    def query(self, question: SqlStatement, out: BinaryIO, say: Callable[[str], None]) -> None:
        """Write the rows of a statement or saved query to ``out``, and remarks to ``say``.

        Raises UsageError if the statement is wrong, not allowed, or exceeds a limit.
        """
        if question.form is Format.parquet and out.isatty():
            raise UsageError("sql: parquet is binary: redirect it to a file")
        text = question.text.strip()
        request = {
            "do": "query",
            "saved": _NAME.fullmatch(text) is not None,
            "text": text,
            "parameters": dict(question.parameters),
            "form": question.form.value,
            "rows": question.rows,
            "raw": question.raw,
            "on_terminal": out.isatty(),
            "memory_bytes": in_bytes(self._limits.memory_limit),
            "cpu_s": (self._limits.timeout_s + GRACE_S) * (os.cpu_count() or 1),
        }
        try:
            self._process = self._process or self._start()
            remarks = self._process.ask(request, self._limits.timeout_s + GRACE_S, out=out.write)
        except FailedError as error:
            if error.kind == "TimeLimitError":
                raise self._too_long() from error
            if error.kind in ("MemoryLimitError", "MemoryError"):
                raise self._too_much() from error
            prefix = "" if error.kind == "UsageError" else "sql: "
            raise UsageError(f"{prefix}{error}") from error
        except EndedError as error:
            self._process = None
            raise self._why(error) from error
        except BaseException:
            self._stop()
            raise
        out.flush()
        for remark in remarks:
            say(remark)

    def _why(self, error: EndedError) -> UsageError:
        if error.overdue or error.signal_number == signal.SIGXCPU:
            return self._too_long()
        if error.signal_number in (signal.SIGKILL, signal.SIGABRT):
            return self._too_much()
        return UsageError(f"sql: {error}")

    def _too_long(self) -> UsageError:
        return UsageError(
            f"sql: stopped after {self._limits.timeout_s} s; narrow the query, or raise timeout_s "
            "in section [sql] of config.toml"
        )

    def _too_much(self) -> UsageError:
        return UsageError(
            f"sql: stopped: it needs more memory than {self._limits.memory_limit}; narrow the "
            "query, or raise memory_limit in section [sql] of config.toml"
        )


def _rows_of(name: str, file: Path) -> int:
    """Return a descriptor of the rows of a CSV file with a header, as texts in Arrow's format.

    It is read here because the process that answers can open no file.
    """
    import polars as pl

    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"sql: --csv expects NAME=FILE, and a NAME of a-z, 0-9 and _, not {name!r}"
        )
    try:
        rows = pl.read_csv(file, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(f"{file}: cannot be read as CSV: {error}") from error
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as written:
        rows.write_ipc(written)
    return descriptor


def answer(
    path: Path,
    question: SqlStatement,
    out: BinaryIO,
    limits: SqlLimits,
    say: Callable[[str], None],
    archive: Path | None = None,
    tables: Mapping[str, Path] | None = None,
) -> None:
    """Answer one question about a published database; errors as in ``Reader``."""
    frames = question.form is Format.parquet
    with closing(Reader(path, limits, archive, frames=frames, tables=tables)) as opened:
        warn(opened, say)
        opened.query(question, out, say)


def warn(opened: Reader, say: Callable[[str], None]) -> None:
    """Warn if the kernel does not restrict the process that reads."""
    if not opened.landlock:
        say(
            "sql: this kernel has no Landlock, so only fairaudit and DuckDB keep statements from "
            "other files (docs/security.md)"
        )


def typed_values(
    typed: Sequence[str], option: str = "--param", form: str = "NAME=VALUE"
) -> dict[str, str]:
    """Return the values of ``NAME=VALUE`` by name, or raise UsageError."""
    found: dict[str, str] = {}
    for item in typed:
        name, equals, value = item.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"sql: {option} expects {form}, not {item!r}")
        if name in found:
            raise UsageError(f"sql: {option} {name} is given twice")
        found[name] = value
    return found


def describe_saved() -> str:
    """Return the saved queries and their parameters, one per line."""
    from audit.store import saved

    return "".join(
        f"{query.name}: {query.doc}\n"
        + "".join(f"    {parameter}  {parameter.doc}\n" for parameter in query.parameters)
        for query in saved.every().values()
    )
