"""Ad hoc SQL by analysts, over a published database."""

from __future__ import annotations

import os
import re
import resource
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

from audit.analyst import answers
from audit.config import in_bytes
from audit.errors import StoreError, UsageError
from audit.store import database, saved, selection
from audit.store.database import Connection, MemoryLimitError, TimeLimitError
from audit.words import Format

_GRACE_S: Final = 10
"""Seconds beyond its limit after which a statement that heeds no interruption is ended."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Limits:
    """What one statement may take; the keys of section [sql] of config.toml."""

    timeout_s: int
    memory_limit: str
    """As DuckDB writes it, such as ``2GB``."""


def open_database(path: Path, limits: Limits) -> Connection:
    """The published database at ``path``, locked down.

    Raises:
        UsageError: it does not exist.
        LockedError: a run is writing the file.
    """
    if not path.is_file():
        raise UsageError(f"{path}: no such database; make one with 'fairaudit audit LOG'")
    return database.open_snapshot(
        path, memory_limit=limits.memory_limit, timeout_s=limits.timeout_s
    )


@dataclass(frozen=True)
class Question:
    """One statement, and how its rows are to be written."""

    text: str
    """SQL that selects, or the name of a saved query."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Values of its parameters, as typed."""
    form: Format = Format.table
    rows: int | None = None
    """At most so many are written; None: all."""
    raw: bool = False
    """csv cells that a spreadsheet takes for formulas are left as they are."""


def answer(
    path: Path, question: Question, out: BinaryIO, limits: Limits, say: Callable[[str], None]
) -> None:
    """Answers one question about the published database at ``path``; see ``query``.

    Raises:
        UsageError: there is no such database, or as ``query``.
        LockedError: a run is writing the file.
    """
    with confined(limits, question.form), closing(open_database(path, limits)) as con:
        query(con, question, out, limits, say)


def query(
    con: Connection,
    question: Question,
    out: BinaryIO,
    limits: Limits,
    say: Callable[[str], None],
) -> None:
    """Runs one statement, or a saved query, and writes its rows.

    Args:
        con: what ``open_database`` gave.
        question: what is asked.
        out: where to write.
        limits: those of ``con``, for what is said when one of them ends the statement.
        say: told what is not part of the result, as when rows were left out.

    Raises:
        UsageError: the statement is wrong, not allowed, or beyond a limit.
    """
    text, parameters = question.text, dict[str, object](question.parameters)
    if _NAME.fullmatch(text.strip()):
        known = saved.named(text.strip())
        parameters, text = saved.arguments(con, known, question.parameters), known.sql
    try:
        with _watched(limits, say):
            asked = selection.select(con, text, parameters)
            missing = answers.write(
                con, asked, question.form, out, most=question.rows, raw=question.raw
            )
        out.flush()
    except TimeLimitError as error:
        raise UsageError(_too_long(limits)) from error
    except (MemoryLimitError, MemoryError) as error:
        raise UsageError(
            f"sql: stopped: it needs more memory than {limits.memory_limit}; narrow the query, or "
            "raise memory_limit in section [sql] of config.toml"
        ) from error
    except StoreError as error:
        raise UsageError(f"sql: {error}") from error
    for what in missing:
        say(what)


def typed_values(typed: Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` by name.

    Raises:
        UsageError: one is not of this form, or comes twice.
    """
    found: dict[str, str] = {}
    for item in typed:
        name, equals, value = item.partition("=")
        if not equals or not name.isidentifier():
            raise UsageError(f"sql: --param takes NAME=VALUE, not {item!r}")
        if name in found:
            raise UsageError(f"sql: --param {name} is given twice")
        found[name] = value
    return found


def describe_saved() -> str:
    """The saved queries, one on each line, their parameters below."""
    lines = []
    for query in saved.every().values():
        lines.append(f"{query.name}: {query.doc}")
        lines += (f"    {parameter}  {parameter.doc}" for parameter in query.parameters)
    return "\n".join(lines) + "\n"


@contextmanager
def confined(limits: Limits, form: Format) -> Iterator[None]:
    """Lets this process take no more than the limit needs, and 1 GiB for itself.

    DuckDB counts what it stores, not what a single function makes of a value
    (``repeat('x', 1000000000)``).
    """
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    copies = 2 if form is Format.parquet else 1  # its rows are gathered before they are written
    ceiling = _data_bytes() + copies * in_bytes(limits.memory_limit) + 2**30
    if before != resource.RLIM_INFINITY:
        ceiling = min(ceiling, before)
    resource.setrlimit(resource.RLIMIT_DATA, (ceiling, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


@contextmanager
def _watched(limits: Limits, say: Callable[[str], None]) -> Iterator[None]:
    """Ends the process when a statement heeds no interruption: a single long function call."""

    def end() -> None:
        say(f"fairaudit: {_too_long(limits)}")
        sys.stderr.flush()
        os._exit(UsageError.exit_code)

    timer = threading.Timer(limits.timeout_s + _GRACE_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _too_long(limits: Limits) -> str:
    return (
        f"sql: stopped after {limits.timeout_s} s; narrow the query, or raise timeout_s in section "
        "[sql] of config.toml"
    )


def _data_bytes() -> int:
    """What this process has already, as the limit counts it; 0 where the system does not say."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 2**30
    found = re.search(r"^VmData:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 if found else 2**30
