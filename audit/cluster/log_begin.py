"""The instant at which a cluster's log begins (SPEC §11, *Constants*: T0).

A log that is selected by end has no job that ended before its first one, although its own jobs were
submitted and started earlier. Of the time before, it does not say what the machine did.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from audit.formats.dialects import Selection, table
from audit.store import queries
from audit.store.database import Connection


class LogBegin(NamedTuple):
    """The begin of a log, and how it was found."""

    instant: int  # epoch s
    source: str  # in words, as the source of a ``Fact``
    by_end: bool = False  # whether the log is selected by the end of jobs


def log_begin(
    con: Connection, cluster: str, windows: Mapping[str, int] | None = None
) -> LogBegin | None:
    """Return the begin of the log of a cluster in the store, the earliest of its sources.

    Without an end, it is the first start, else the first submission. None: there are no times.

    Args:
        windows: the begin of known windows, epoch s, by source.
    """
    known, found = windows or {}, []
    for source, dialect, *firsts in queries.rows(con, "log_begin", cluster=cluster):
        of_end, *others, of_stamp = zip(firsts, _SOURCES, strict=True)
        by_stamp = dialect in table() and table()[dialect].selection is Selection.BY_STAMP
        best = of_stamp if by_stamp else of_end
        if source in known:
            best = (known[source], "clusters.sources.since")
        found += [(rank, *one) for rank, one in enumerate((best, *others)) if one[0] is not None]
    if not found:
        return None
    _, instant, origin = min(found)
    return LogBegin(instant, origin, by_end=origin == _SOURCES[0])


_SOURCES: Final = (
    "the first end of a job",
    "the first start of a job: none has ended",
    "the first submission: no job has started",
    "the first record",
)
"""Where a begin is from, in the order of the query's columns."""
