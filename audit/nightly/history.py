"""What runs did and what became of them, kept where a run cannot lose it.

In a small SQLite file beside the store: it can be read while a run writes the store, and it is
there when the store cannot be opened. A run begins its row before it does anything else. One that
was killed cannot end its row; the next one does that for it, and calls it abandoned. What a run
published holds a copy (view ``runs``).

Only the holder of the store's lock writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from audit import __version__
from audit.errors import AuditError, StoreError, UnwritableError
from audit.files import lock, state_folder
from audit.store import database
from audit.store.database import Connection

State = Literal["running", "done", "failed", "abandoned"]

WHOLE: Final = "run"
"""The stage that stands for a whole run; its id is the run's."""

_TABLE: Final = """
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
)
"""
_SETTLED: Final = """
CREATE TABLE IF NOT EXISTS settled (
    what TEXT PRIMARY KEY,      -- of which nothing is left to be done
    basis TEXT NOT NULL         -- on what that rests
)
"""
_WRONG: Final = """
SELECT count(*) FROM history WHERE (
    typeof(id) = 'integer' AND typeof(run) IN ('integer', 'null') AND typeof(stage) = 'text'
    AND typeof(cluster) IN ('text', 'null') AND typeof(period) IN ('text', 'null')
    AND state IN ('running', 'done', 'failed', 'abandoned') AND typeof(exit_code) = 'integer'
    AND typeof(started_at) = 'integer' AND typeof(ended_at) IN ('integer', 'null')
    AND typeof(error) IN ('text', 'null') AND typeof(version) = 'text'
) IS NOT TRUE
"""
"""Counts the entries that are not as ``History`` writes them."""
_COLUMNS: Final = "id, run, stage, cluster, period, state, exit_code, started_at, ended_at, error"


@dataclass(frozen=True)
class Entry:
    """A stage of a run, or the whole of it; times are epoch s."""

    id: int
    run: int
    stage: str
    cluster: str | None
    period: str | None
    state: State
    exit_code: int
    started_at: int
    ended_at: int | None
    error: str | None


def path_in(state: Path) -> Path:
    """The history's file in the folder of the store."""
    return state / state_folder.HISTORY


class History:
    """The history, open for writing."""

    def __init__(self, state: Path, clock: Callable[[], int]) -> None:
        """Opens it in the folder ``state``; ``clock`` tells the epoch second."""
        self._path = path_in(state)
        self._clock = clock
        self._con = _connect(self._path)
        self._write(_TABLE)
        self._write(_SETTLED)

    def close(self) -> None:
        """Lets go of the file."""
        self._con.close()

    def abandon(self) -> None:
        """Ends what those left behind that were killed."""
        self._write(
            "UPDATE history SET state = 'abandoned', exit_code = 4, ended_at = :now, "
            "error = 'ended without a word: killed, or the disk was full' "
            "WHERE state = 'running'",
            {"now": self._clock()},
        )

    def begin(
        self,
        stage: str,
        cluster: str | None = None,
        period: str | None = None,
        run: int | None = None,
    ) -> int:
        """Notes that a stage begins; gives its id. One without ``run`` is a run itself."""
        number = self._write(
            "INSERT INTO history (run, stage, cluster, period, state, exit_code, started_at, "
            "version) VALUES (:run, :stage, :cluster, :period, 'running', 0, :now, :version)",
            {
                "run": run,
                "stage": stage,
                "cluster": cluster,
                "period": period,
                "now": self._clock(),
                "version": __version__,
            },
        )
        if run is None:
            self._write("UPDATE history SET run = id WHERE id = :id", {"id": number})
        return number

    def end(self, number: int, state: State, exit_code: int = 0, error: str | None = None) -> None:
        """Notes what became of it."""
        self._write(
            "UPDATE history SET state = :state, exit_code = :exit_code, error = :error, "
            "ended_at = :now WHERE id = :id",
            {
                "state": state,
                "exit_code": exit_code,
                "error": error,
                "now": self._clock(),
                "id": number,
            },
        )

    @contextmanager
    def noted(
        self,
        stage: str,
        cluster: str | None,
        period: str | None,
        failures: Sequence[AuditError],
    ) -> Iterator[int]:
        """Notes a run, and what became of it by the end of the block; gives its id."""
        number = self.begin(stage, cluster, period)
        try:
            yield number
        except BaseException as error:
            self.break_off(number, error)
            raise
        self.conclude(number, failures)

    def conclude(self, number: int, failures: Sequence[AuditError]) -> None:
        """Notes that it is done, or with what failures; the exit code is the worst of theirs.

        Where a failure cannot be noted, the next run notes that this one was abandoned.
        """
        if not failures:
            self.end(number, "done")
            return
        exit_code = max(failure.exit_code for failure in failures)
        with suppress(StoreError):
            self.end(number, "failed", exit_code, "\n".join(map(str, failures)))

    def break_off(self, number: int, error: BaseException) -> None:
        """Notes what ended it from within: a request to stop, or an error, or a defect."""
        if isinstance(error, KeyboardInterrupt):
            with suppress(StoreError):
                self.end(number, "abandoned", AuditError.exit_code, "asked to stop")
        elif isinstance(error, AuditError):
            self.conclude(number, [error])
        elif isinstance(error, Exception):
            self.conclude(number, [AuditError(f"{type(error).__name__}: {error}")])

    def last(self, stage: str, cluster: str | None) -> Entry | None:
        """The newest entry of a stage."""
        entries = _select(
            self._con,
            "WHERE stage = :stage AND cluster IS :cluster ORDER BY id DESC LIMIT 1",
            {"stage": stage, "cluster": cluster},
        )
        return entries[0] if entries else None

    def settled(self, what: str) -> str | None:
        """On what it rested that nothing of ``what`` was left to be done."""
        rows = self._con.execute("SELECT basis FROM settled WHERE what = ?", [what])
        return next((basis for (basis,) in rows), None)

    def settle(self, what: str, basis: str) -> None:
        """Notes that nothing of ``what`` is left to be done, and on what that rests."""
        self._write(
            "INSERT OR REPLACE INTO settled VALUES (:what, :basis)", {"what": what, "basis": basis}
        )

    def forget(self, before: int) -> None:
        """Removes what ended before that epoch second, but for the last of each stage."""
        self._write(
            "DELETE FROM history WHERE ended_at < :before AND id NOT IN "
            "(SELECT max(id) FROM history GROUP BY stage, cluster, state) AND run NOT IN "
            "(SELECT max(run) FROM history GROUP BY stage, cluster)",
            {"before": before},
        )

    def copy(self, con: Connection) -> None:
        """Brings the store's copy up to date."""
        entries = _select(self._con, "WHERE state <> 'running' ORDER BY id", {})
        columns = _COLUMNS.split(", ")
        values = [[getattr(entry, column) for entry in entries] for column in columns]
        with database.transaction(con):
            database.execute(con, "DELETE FROM history")
            database.execute(
                con,
                f"INSERT INTO history ({_COLUMNS}, version) "
                f"SELECT {', '.join('unnest(?)' for _ in columns)}, ?",
                [*values, __version__],
            )

    def _write(self, statement: str, values: Mapping[str, object] | None = None) -> int:
        try:
            return self._con.execute(statement, dict(values or {})).lastrowid or 0
        except sqlite3.Error as error:
            raise _failed(self._path, error) from error


@contextmanager
def opened(state: Path, clock: Callable[[], int]) -> Iterator[History]:
    """The history for as long as the block runs; what was left running is abandoned first."""
    with closing(History(state, clock)) as past:
        past.abandon()
        yield past


def read(state: Path) -> list[Entry]:
    """All entries, newest first, at any time; none where no run ever began.

    What is noted as running is abandoned, if nobody holds the store.

    Raises:
        StoreError: the file cannot be read.
    """
    path = path_in(state)
    if not path.exists():
        return []
    holder = lock.holder(state / state_folder.STORE)
    with closing(_connect(path)) as con:
        try:
            entries = _select(con, "ORDER BY id DESC", {})
        except sqlite3.Error as error:
            raise _failed(path, error) from error
    newest = max((entry.run or 0 for entry in entries), default=0)
    return [
        entry
        if entry.state != "running" or (holder is not None and entry.run == newest)
        else Entry(**{**vars(entry), "state": "abandoned", "exit_code": 4})
        for entry in entries
    ]


def examine(path: Path) -> None:
    """Check a history that comes from elsewhere: it holds entries, and nothing that acts.

    Raises:
        StoreError: it is damaged, or no history.
    """
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
            known = {"history", "settled", "sqlite_sequence"}
            if rest or not {name for (name,) in tables} <= known:
                raise StoreError("holds more than a history of runs")
            if tables:
                ((wrong,),) = con.execute(_WRONG)
                con.execute("SELECT what, basis FROM settled").fetchall()
                if wrong:
                    raise StoreError("holds entries that no run wrote")
                _select(con, "", {})
    except sqlite3.Error as error:
        raise StoreError(f"is damaged: {error}") from error


def check(con: sqlite3.Connection) -> None:
    """Read a whole SQLite file.

    Raises:
        StoreError: it is damaged.
        sqlite3.Error: it is none.
    """
    ((said,),) = con.execute("PRAGMA integrity_check(1)").fetchall()
    if said != "ok":
        raise StoreError(f"is damaged: {said}")


def _connect(path: Path) -> sqlite3.Connection:
    try:
        return sqlite3.connect(path, timeout=10, isolation_level=None)
    except sqlite3.Error as error:
        raise _failed(path, error) from error


def _select(con: sqlite3.Connection, rest: str, values: Mapping[str, object]) -> list[Entry]:
    rows = con.execute(f"SELECT {_COLUMNS} FROM history {rest}", dict(values))  # noqa: S608
    return [Entry(*row) for row in rows]


def failed(path: Path, what: str, error: sqlite3.Error) -> StoreError:
    """What SQLite refused, and the remedy: of the place, of the disk, or of the file."""
    text = f"{path}: {what} cannot be read or written: {error}"
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return UnwritableError(
            f"{text}; change the permissions there, or choose another place (output.state)"
        )
    if kind == sqlite3.SQLITE_FULL:
        return StoreError(f"{text}; free some space there")
    return StoreError(f"{text}; a damaged file may be removed: a new one is begun")


def _failed(path: Path, error: sqlite3.Error) -> StoreError:
    return failed(path, "the history of runs", error)
