"""SQL on a terminal: statements are edited, completed and remembered."""

import io
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from audit.analyst.sql import Reader, SqlStatement, describe_saved, typed_values, warn
from audit.errors import AuditError, UsageError
from audit.files import folders
from audit.store import database, saved, selection
from audit.words import Format

try:
    import readline

    EDITS = True
except ImportError:  # Python was built without it: no editing
    EDITS = False

PROMPT: Final = "fairaudit> "
MORE: Final = "      ...> "
REMEMBERED: Final = 1000
"""Maximum number of lines in the history."""

HELP: Final = """\
  A statement ends with a semicolon and may span lines; Tab completes, Ctrl-C discards it.
  \\d             list the views
  \\d NAME        list the columns of a view with their meaning and unit
  \\s             list the saved queries
  \\s NAME A=B …  run a saved query with parameters
  \\f FORMAT      set the output format: table, csv, json
  \\r             reopen the database, to see a newer one
  \\q             quit, as Ctrl-D does
"""

_COMMANDS: Final = ("\\?", "\\d", "\\f", "\\q", "\\r", "\\s")
_DELIMITERS: Final = " \t\n,()=<>;+-*/"
_VIEWS: Final = (
    "SELECT view_name AS view, comment FROM duckdb_views() "
    "WHERE NOT internal AND comment IS NOT NULL ORDER BY 1"
)
_DESCRIBED: Final = (
    'SELECT column_name AS "column", data_type AS type, comment FROM duckdb_columns() '
    "WHERE table_name = $name AND NOT internal ORDER BY column_index"
)
_RESERVED: Final = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
_COLUMNS: Final = (
    "SELECT view_name, list(column_name ORDER BY column_index) AS columns "
    "FROM duckdb_views() AS view JOIN duckdb_columns() AS part ON part.table_name = view.view_name "
    "WHERE NOT view.internal AND view.comment IS NOT NULL GROUP BY ALL ORDER BY ALL"
)


@dataclass(frozen=True)
class CompletionWords:
    """The words that Tab completes."""

    views: Mapping[str, tuple[str, ...]]
    """The columns of each view, quoted where SQL needs it."""
    saved: tuple[str, ...]
    keywords: tuple[str, ...]

    @classmethod
    def of(cls, opened: Reader) -> "CompletionWords":
        """Return the words of a published database."""
        reserved = {row["keyword_name"] for row in _rows(opened, _RESERVED)}
        quoted = {*reserved, "user"}  # unquoted, it is a function of SQL
        views = {
            row["view_name"]: tuple(
                database.quote_name(name) if name in quoted else name for name in row["columns"]
            )
            for row in _rows(opened, _COLUMNS)
        }
        return cls(views, tuple(saved.every()), tuple(sorted(word.upper() for word in reserved)))

    def complete(self, line: str, word: str) -> list[str]:
        """Return the completions of ``word``, the last of ``line``."""
        before = line[: len(line) - len(word)].split()
        if word.startswith("\\") and not before:
            return [command for command in _COMMANDS if command.startswith(word)]
        start = word.lower().lstrip('"')
        found = [
            name for name in self._known(line, before) if name.lower().lstrip('"').startswith(start)
        ]
        return list(dict.fromkeys(found))

    def _known(self, line: str, before: list[str]) -> Sequence[str]:
        match before:
            case ["\\d", *_]:
                return tuple(self.views)
            case ["\\s"]:
                return self.saved
            case ["\\s", name, *_]:
                query = saved.every().get(name)
                return [f"{parameter.name}=" for parameter in query.parameters] if query else []
            case ["\\f", *_]:
                return [form.value for form in Format if form is not Format.parquet]
        named = [view for view in self.views if re.search(rf"\b{view}\b", line)]
        columns = [name for view in named or self.views for name in self.views[view]]
        return [*columns, *self.views, *self.keywords]


def _rows(opened: Reader, text: str) -> list[dict[str, Any]]:
    """Return the rows of one of fairaudit's own queries."""
    written = io.BytesIO()
    opened.query(SqlStatement(text, form=Format.json), written, lambda _: None)
    found: list[dict[str, Any]] = json.loads(written.getvalue())
    return found


def history_file() -> Path:
    """Return the file of the history, in the user's state folder."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "fairaudit" / "sql_history"


def converse(
    path: Path,
    form: Format,
    *,
    rows: int,
    history: Path | None,
    say: Callable[[str], None],
    opening: Callable[[], Reader],
    read: Callable[[str], str] = input,
) -> None:
    """Read and answer statements until the user quits; errors are printed.

    Args:
        path: the published database, which stays the same even if another one is published.
        rows: maximum number of rows of a result.
        history: a file for the history, if any.
        opening: opens the database, at the beginning and again on request.
        read: returns the next line, given a prompt.

    Raises:
        UsageError: there is no such database.
        LockedError: a run is writing the file.
    """
    session = _OpenDatabase(opening, form, rows, say)
    try:
        session.open()
        _edit(session, history, say)
        say(f"{path}, read-only. \\? shows help, \\q quits.")
        _talk(session, say, read)
    finally:
        session.close()
        _keep(history, say)


def _talk(session: "_OpenDatabase", say: Callable[[str], None], read: Callable[[str], str]) -> None:
    pending: list[str] = []
    while True:
        try:
            pending.append(read(MORE if pending else PROMPT))
            text = "\n".join(pending).strip()
            is_command = len(pending) == 1 and text.startswith("\\")
            if text and not is_command and not selection.is_complete("\n".join(pending)):
                continue
            pending = []
            if text:
                _remember(text)
            if text and not session.answer(text):
                return
        except KeyboardInterrupt:
            pending = []
            print()
        except EOFError:
            print()
            return
        except AuditError as error:
            say(str(error))


class _OpenDatabase:
    """An open database, and the output format."""

    def __init__(
        self, opening: Callable[[], Reader], form: Format, rows: int, say: Callable[[str], None]
    ) -> None:
        self._opening = opening
        self._form: Format = form if form is not Format.parquet else Format.table
        self._rows = rows
        self._say = say
        self._opened: Reader | None = None
        self.words = CompletionWords({}, (), ())

    def open(self) -> None:
        """Open or reopen the database."""
        later = self._opening()
        if self._opened is None:
            warn(later, self._say)
        self.close()
        self._opened = later
        self.words = CompletionWords.of(later)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def answer(self, text: str) -> bool:
        """Answer a statement or command; return False to quit."""
        if not text.startswith("\\"):
            self._query(text, {}, self._rows)
            return True
        try:
            command = shlex.split(text.replace("\\", "\\\\").rstrip(";"))
        except ValueError as error:
            raise UsageError(f"{text}: {error}") from error
        match command:
            case ["\\q"]:
                return False
            case ["\\?"]:
                print(HELP, end="")
            case ["\\d"]:
                self._query(_VIEWS, {}, rows=None)
            case ["\\d", name]:
                if name not in self.words.views:
                    raise UsageError(f"no view {name!r}; \\d lists them")
                self._query(_DESCRIBED, {"name": name}, rows=None)
            case ["\\s"]:
                print(describe_saved(), end="")
            case ["\\s", name, *values]:
                self._query(saved.named(name).name, typed_values(values), self._rows)
            case ["\\f", name] if name in ("table", "csv", "json"):
                self._form = Format(name)
            case ["\\r"]:
                self.open()
            case _:
                raise UsageError(f"{text}: no such command; \\? lists them")
        return True

    def _query(self, text: str, parameters: Mapping[str, str], rows: int | None) -> None:
        assert self._opened is not None
        in_table = self._form is Format.table  # which contains the remarks
        say = (lambda _: None) if in_table else self._say
        self._opened.query(SqlStatement(text, parameters, self._form, rows), sys.stdout.buffer, say)


def _edit(session: _OpenDatabase, history: Path | None, say: Callable[[str], None]) -> None:
    if not EDITS:
        return
    found: list[str] = []

    def complete(word: str, number: int) -> str | None:
        nonlocal found
        if number == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            found = session.words.complete(line, word)
        if number >= len(found):
            return None
        return found[number] + ("" if found[number].endswith("=") else " ")

    readline.set_completer(complete)
    readline.set_completer_delims(_DELIMITERS)
    readline.parse_and_bind("tab: complete")
    readline.set_auto_history(False)
    readline.clear_history()
    if history is not None and history.exists():
        try:
            readline.read_history_file(history)
        except OSError as error:
            say(f"{history}: cannot be read: {error.strerror}")


def _remember(text: str) -> None:
    if EDITS:
        for line in text.splitlines() if "--" in text else [" ".join(text.split("\n"))]:
            readline.add_history(line)


def _keep(history: Path | None, say: Callable[[str], None]) -> None:
    """Write the history, readable by the user only."""
    if not EDITS or history is None:
        return
    try:
        folders.make(history.parent)
        readline.set_history_length(REMEMBERED)
        history.touch(mode=0o600)
        history.chmod(0o600)
        readline.write_history_file(history)
    except OSError as error:
        say(f"{history}: cannot write the history: {error.strerror}")
    finally:
        readline.clear_history()
