"""The logs of a cluster that could not be taken in: which, why, and since when."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from audit.errors import (
    AuditError,
    DialectError,
    EmptyLogError,
    LogError,
    RefusedError,
    SeveralClustersError,
)
from audit.files.folders import readable
from audit.store import database, queries
from audit.store.database import Connection
from audit.words import SetAsideCode

if TYPE_CHECKING:
    from audit.ingest.logs import Unread
    from audit.model import Period

_DAY_S: Final = 86_400

_CODES: Final = (
    (EmptyLogError, SetAsideCode.EMPTY),
    (DialectError, SetAsideCode.UNKNOWN),
    (RefusedError, SetAsideCode.LIMIT),
    (SeveralClustersError, SetAsideCode.CLUSTERS),
    (LogError, SetAsideCode.DAMAGED),
    (AuditError, SetAsideCode.UNREADABLE),
)
"""Kinds of error, the narrower first, and what they are called in the store."""


def note(con: Connection, cluster: str, source: str, log: Unread, now: int) -> None:
    """Notes a log that was not taken in; since when stays as it was noted first."""
    path = log.where
    since = dict(queries.rows(con, "set_aside_since", cluster=cluster)).get(path, now)
    with database.transaction(con):
        _delete(con, cluster, [path])
        database.execute(
            con,
            "INSERT INTO set_aside VALUES (?, ?, ?, ?, ?, ?, ?)",
            [cluster, source, path, log.name, _code(log.error), log.reason, since],
        )


def forget(con: Connection, cluster: str, paths: Collection[Path]) -> None:
    """Forgets logs that were taken in after all."""
    noted = {path for path, _ in queries.rows(con, "set_aside_since", cluster=cluster)}
    if gone := noted.intersection(map(readable, paths)):
        _delete(con, cluster, sorted(gone))


def forget_others(con: Connection, cluster: str, there: Collection[str]) -> None:
    """Forgets logs that are no longer where the sources look."""
    noted = {path for path, _ in queries.rows(con, "set_aside_since", cluster=cluster)}
    if gone := noted.difference(there):
        _delete(con, cluster, sorted(gone))


def by_period(
    con: Connection, cluster: str, periods: Sequence[Period]
) -> dict[Period, dict[str, object]]:
    """Which logs of a cluster are missing from which periods, for reports to say.

    Nobody can tell what would be in them. What was found in a night is most likely of the day
    before or of that day: it is missing from the periods that these are in; from the last period,
    where that has ended before.

    Args:
        periods: all that there are, in order.

    Returns:
        Of each period with any, ``missing``: name and reason of each log.
    """
    found: dict[Period, list[list[str]]] = {}
    for file, reason, since in queries.rows(con, "missing", cluster=cluster):
        near = [one for one in periods if one.from_time <= since < one.to_time + _DAY_S]
        for period in near or periods[-1:]:
            found.setdefault(period, []).append([file, reason])
    return {period: {"missing": logs} for period, logs in found.items()}


def _code(error: AuditError) -> str:
    return next(code.value for kind, code in _CODES if isinstance(error, kind))


def _delete(con: Connection, cluster: str, paths: Collection[str]) -> None:
    database.execute(
        con,
        "DELETE FROM set_aside WHERE cluster = ? AND path IN (SELECT unnest(?))",
        [cluster, list(paths)],
    )
