"""The history of runs, which survives a run that fails or is killed.

A small SQLite file beside the store, which can be read while a run writes the store, and when the
store cannot be opened. A run adds its row before it does anything else, and marks the rows of
killed runs as abandoned. The published database holds a copy (view ``runs``). Only the holder of
the store's lock writes, except for ``plan``, which the service calls under its own lock.
"""

import errno
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from audit import __version__
from audit.errors import AuditError, StoreError, UnwritableError, refusals
from audit.files import lock, state_folder
from audit.json_answers import Instant
from audit.store import database
from audit.store.database import Connection

State = Literal["running", "done", "failed", "abandoned"]

WHOLE: Final = "run"
"""The stage of a whole run; its id is the run's."""

_TABLES: Final = (
    """
CREATE TABLE IF NOT EXISTS history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run INTEGER,                -- id of the row of the whole run
    stage TEXT NOT NULL,
    cluster TEXT,               -- null: of all
    period TEXT,                -- null: of all
    state TEXT NOT NULL,        -- running, done, failed, abandoned
    exit_code INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    error TEXT,
    version TEXT NOT NULL
)""",
    """
CREATE TABLE IF NOT EXISTS settled (
    what TEXT PRIMARY KEY,      -- work of which nothing is left to be done
    basis TEXT NOT NULL         -- digest of what that rests on
)""",
    """
CREATE TABLE IF NOT EXISTS planned (
    cluster TEXT PRIMARY KEY,
    instant INTEGER NOT NULL    -- when its first run is due, epoch s
)""",
)
_TYPES: Final = {
    **dict.fromkeys(("id", "exit_code", "started_at"), "'integer'"),
    **dict.fromkeys(("run", "ended_at"), "'integer', 'null'"),
    **dict.fromkeys(("stage", "version"), "'text'"),
    **dict.fromkeys(("cluster", "period", "error"), "'text', 'null'"),
}
"""SQLite's types of what ``RunHistory`` writes; ``state`` is checked separately."""
_COLUMNS: Final = "id, run, stage, cluster, period, state, exit_code, started_at, ended_at, error"


@dataclass(frozen=True)
class Entry:
    """A stage of a run, or the whole of it."""

    id: int
    run: int
    stage: str
    cluster: str | None
    period: str | None
    state: State
    exit_code: int
    started_at: Instant
    ended_at: Instant | None
    error: str | None


def path_in(state: Path) -> Path:
    """Return the history's file in the folder of the store."""
    return state / state_folder.HISTORY


class RunHistory:
    """The history, open for writing."""

    def __init__(self, state: Path, clock: Callable[[], int]) -> None:
        """Open it in the folder ``state``, and mark entries of killed runs as abandoned.

        ``clock`` returns the epoch second.
        """
        self._path = path_in(state)
        self._clock = clock
        self._con = _connect(self._path)
        for table in _TABLES:
            self._write(table)
        self._write(
            "UPDATE history SET state = 'abandoned', exit_code = 4, ended_at = ?, error = ? "
            "WHERE state = 'running'",
            clock(),
            "ended without a message: killed, or the disk was full",
        )

    def close(self) -> None:
        """Close the file."""
        self._con.close()

    def begin(
        self,
        stage: str,
        cluster: str | None = None,
        period: str | None = None,
        run: int | None = None,
    ) -> int:
        """Record that a stage begins; return its id. A stage without ``run`` is a run itself."""
        number = self._write(
            "INSERT INTO history (run, stage, cluster, period, state, exit_code, started_at, "
            "version) VALUES (?, ?, ?, ?, 'running', 0, ?, ?)",
            *(run, stage, cluster, period, self._clock(), __version__),
        )
        if run is None:
            self._write("UPDATE history SET run = id WHERE id = ?", number)
        return number

    def end(self, number: int, state: State, exit_code: int = 0, error: str | None = None) -> None:
        """Record the outcome of a stage."""
        self._write(
            "UPDATE history SET state = ?, exit_code = ?, error = ?, ended_at = ? WHERE id = ?",
            *(state, exit_code, error, self._clock(), number),
        )

    @contextmanager
    def noted(
        self, stage: str, cluster: str | None, period: str | None, failures: Sequence[AuditError]
    ) -> Iterator[int]:
        """Record a run and, when the block ends, its outcome; yield its id."""
        number = self.begin(stage, cluster, period)
        with self.ending(number, failures):
            yield number

    def resume(self, number: int) -> None:
        """Let a run go on after this history was opened again, which marked it as abandoned."""
        self._write(
            "UPDATE history SET state = 'running', exit_code = 0, error = NULL, ended_at = NULL "
            "WHERE id = ?",
            number,
        )

    @contextmanager
    def ending(self, number: int, failures: Sequence[AuditError]) -> Iterator[None]:
        """Record the outcome of a run that has begun when the block ends."""
        try:
            yield
        except BaseException as error:
            self.break_off(number, error)
            raise
        self.conclude(number, failures)

    def conclude(
        self, number: int, failures: Sequence[AuditError], notes: Sequence[str] = ()
    ) -> None:
        """Record that a stage is done, with notes, or its failures; the exit code is the worst one.

        If a failure cannot be recorded, the next run marks this one as abandoned.
        """
        if not failures:
            self.end(number, "done", error="\n".join(notes) or None)
            return
        exit_code = max(failure.exit_code for failure in failures)
        with suppress(StoreError):
            self.end(number, "failed", exit_code, "\n".join(map(str, failures)))

    def break_off(self, number: int, error: BaseException) -> None:
        """Record what ended a stage from within: a request to stop, an error, or a defect."""
        if isinstance(error, KeyboardInterrupt):
            with suppress(StoreError):
                self.end(number, "abandoned", AuditError.exit_code, "stopped on request")
        elif isinstance(error, Exception):
            defect = AuditError(f"{type(error).__name__}: {error}")
            self.conclude(number, [error if isinstance(error, AuditError) else defect])

    def settled(self, what: str) -> str | None:
        """Return the basis on which no work of ``what`` was left."""
        with _described(self._path):
            rows = self._con.execute("SELECT basis FROM settled WHERE what = ?", [what])
            return next((basis for (basis,) in rows), None)

    def settle(self, what: str, basis: str) -> None:
        """Record that no work of ``what`` is left on this basis."""
        self._write("INSERT OR REPLACE INTO settled VALUES (?, ?)", what, basis)

    def forget(self, before: int) -> None:
        """Remove entries that ended before an epoch second, except the last of each stage."""
        self._write(
            "DELETE FROM history WHERE ended_at < ? AND id NOT IN "
            "(SELECT max(id) FROM history GROUP BY stage, cluster, state) AND run NOT IN "
            "(SELECT max(run) FROM history GROUP BY stage, cluster)",
            before,
        )

    def copy(self, con: Connection) -> None:
        """Update the copy in the store."""
        with _described(self._path):
            entries = _select(self._con, "WHERE state <> 'running' ORDER BY id")
        columns = _COLUMNS.split(", ")
        values = [[getattr(entry, column) for entry in entries] for column in columns]
        unnested = ", ".join(["unnest(?)"] * len(columns))
        insert = f"INSERT INTO history ({_COLUMNS}, version) SELECT {unnested}, ?"
        with database.transaction(con):
            database.execute(con, "DELETE FROM history")
            database.execute(con, insert, [*values, __version__])

    def _write(self, statement: str, *values: object) -> int:
        with _described(self._path):
            return self._con.execute(statement, values).lastrowid or 0


def planned(state: Path) -> dict[str, int]:
    """Return when the first run of each cluster is or was due (epoch s), as ``plan`` recorded it.

    Raises StoreError if the file cannot be read.
    """
    path = path_in(state)
    if not path.exists():
        return {}
    with _described(path), closing(_connect(path)) as con:
        tables = "SELECT name FROM sqlite_master WHERE name = 'planned'"
        if not con.execute(tables).fetchall():  # written by an earlier version
            return {}
        return dict(con.execute("SELECT cluster, instant FROM planned").fetchall())


def plan(state: Path, first: Mapping[str, int]) -> None:
    """Record when the first run of each of these clusters is due (epoch s).

    Without it, a run that an outage prevents would leave no trace. Raises StoreError if the file
    cannot be written.
    """
    path = path_in(state)
    with _described(path), closing(_connect(path)) as con:
        for table in _TABLES:
            con.execute(table)
        con.executemany("INSERT OR REPLACE INTO planned VALUES (?, ?)", first.items())


def copy_to(path: Path, to: Path, change: Callable[[str], str] | None = None) -> None:
    """Copy the history at ``path`` to a new file, with its errors changed, also during a run.

    Makes an empty one if it is missing. No page of the copy contains an older text. Raises
    StoreError if one cannot be read or written, or is damaged.
    """
    with _described(path), closing(sqlite3.connect(to, isolation_level=None)) as copy:
        if path.exists():
            with closing(_connect(path)) as con:
                con.backup(copy)
            if change is not None:
                copy.create_function("changed", 1, change, deterministic=True)
                copy.execute("UPDATE history SET error = changed(error) WHERE error IS NOT NULL")
        copy.execute("VACUUM")
        check(copy, f"{path}: ")


def read(state: Path) -> list[Entry]:
    """Return all entries, newest first; none if no run ever began. A run may be at work.

    Entries with the state "running" are returned as abandoned unless the store is locked. Raises
    StoreError if the file cannot be read.
    """
    path = path_in(state)
    if not path.exists():
        return []
    holder = lock.holder(state / state_folder.STORE)
    with _described(path), closing(_connect(path)) as con:
        entries = _select(con, "ORDER BY id DESC")
    newest = max((entry.run or 0 for entry in entries), default=0)
    return [
        entry
        if entry.state != "running" or (holder is not None and entry.run == newest)
        else replace(entry, state="abandoned", exit_code=4)
        for entry in entries
    ]


def examine(path: Path) -> None:
    """Raise StoreError unless an untrusted file is a sound history without triggers or code."""
    typed = " AND ".join(f"typeof({name}) IN ({kinds})" for name, kinds in _TYPES.items())
    states = "state IN ('running', 'done', 'failed', 'abandoned')"
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as con:
            check(con)
            tables = con.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE %'"
            ).fetchall()
            ((rest,),) = con.execute(
                "SELECT count(*) FROM sqlite_master WHERE type NOT IN ('table', 'index')"
                " OR (type = 'index' AND sql IS NOT NULL) OR sql LIKE 'CREATE VIRTUAL%'"
            )
            known = {"history", "planned", "settled", "sqlite_sequence"}
            if rest or not {name for (name,) in tables} <= known:
                raise StoreError("contains more than a history of runs")
            if tables:
                wrong = f"SELECT count(*) FROM history WHERE ({states} AND {typed}) IS NOT TRUE"  # noqa: S608
                ((count,),) = con.execute(wrong)
                con.execute("SELECT what, basis FROM settled").fetchall()
                if count:
                    raise StoreError("contains entries that no run wrote")
                if ("planned",) in tables:
                    plans = con.execute("SELECT cluster, instant FROM planned").fetchall()
                    for cluster, instant in plans:
                        if type(cluster) is not str or type(instant) is not int:
                            raise StoreError("contains plans that no service wrote")
                _select(con, "")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise StoreError(f"is damaged: {error}") from error


def inspected(state: Path) -> str:
    """Examine the history in the folder of the store without changing it, and describe it.

    Raises StoreError if it is missing beside a store, damaged, of a newer version, or cannot be
    written.
    """
    path = path_in(state)
    if not path.exists():
        if state_folder.begun(state):
            raise StoreError(f"{path}: is missing; the next run begins a new history")
        return "no run has begun yet"
    entries = read(state)
    with _described(path), closing(_connect(path)) as con:
        versions = [text for (text,) in con.execute("SELECT DISTINCT version FROM history")]
    if newer := [text for text in versions if _release(text) > _release(__version__)]:
        newest = max(newer, key=_release)
        why = f"fairaudit {newest} wrote it, and this is {__version__}; use the newer one"
        raise StoreError(f"{path}: {why}")
    with refusals(UnwritableError, path, "cannot be written to", "output.state"):
        if not all(os.access(place, os.W_OK) for place in (path, state)):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    try:
        examine(path)
    except StoreError as error:
        raise StoreError(f"{path}: {error}") from error
    return f"{len(entries):,} entries"


def _release(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def check(con: sqlite3.Connection, where: str = "") -> None:
    """Read a whole file; raise StoreError if it is damaged, sqlite3.Error if it is not SQLite's."""
    try:
        ((result,),) = con.execute("PRAGMA integrity_check(1)").fetchall()
    except UnicodeDecodeError as error:  # it quotes a damaged name
        raise StoreError(f"{where}is damaged: {error}") from error
    if result != "ok":
        raise StoreError(f"{where}is damaged: {result}")


def _connect(path: Path) -> sqlite3.Connection:
    with _described(path):
        return sqlite3.connect(path, timeout=10, isolation_level=None)


@contextmanager
def _described(path: Path) -> Iterator[None]:
    """Raise SQLite's errors in the block as ``failed`` describes them."""
    try:
        yield
    except sqlite3.Error as error:
        raise failed(path, error) from error
    except UnicodeDecodeError as error:  # SQLite's message quotes a damaged name
        raise failed(path, sqlite3.DatabaseError(f"malformed: {error}")) from error


def _select(con: sqlite3.Connection, rest: str, *values: object) -> list[Entry]:
    rows = con.execute(f"SELECT {_COLUMNS} FROM history {rest}", values)  # noqa: S608
    return [Entry(*row) for row in rows]


def failed(path: Path, error: sqlite3.Error) -> StoreError:
    """Describe SQLite's error with a remedy: for the place, the disk, or the file."""
    text = f"{path}: the history of runs cannot be read or written: {error}"
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        remedy = "change the permissions there, or choose another place (output.state)"
        return UnwritableError(f"{text}; {remedy}")
    if kind == sqlite3.SQLITE_FULL:
        store = path.parent / state_folder.STORE
        return database.full_disk(path, store.stat().st_size if store.exists() else 0)
    return StoreError(f"{text}; if the file is damaged, remove it: the next run makes a new one")
