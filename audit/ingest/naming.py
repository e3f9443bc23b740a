"""The name of the cluster whose logs are ingested: given by the caller, or by their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from audit.errors import SeveralClustersError, UsageError
from audit.ingest.logs import Opened, clusters
from audit.ingest.people import AS_THEY_ARE, PeopleFilter

STRAY: Final = 0.05
"""At most this part of the records may name other clusters and be taken for damaged, not theirs."""


class Named(NamedTuple):
    """A cluster's name."""

    cluster: str  # here
    source: str  # who says so
    called: str | None  # in the records of logs that name several: those of others are left out
    people_filter: PeopleFilter = AS_THEY_ARE


Naming = Callable[[Sequence[str]], Named]
"""Given the clusters that the records of all logs name, in order, what theirs is called.

Raises UsageError where that must be chosen. It is asked again when later records name more.
"""


def called_by(wanted: str | None, named: Sequence[str], flag: str) -> str | None:
    """Return the name in the records of the cluster called ``wanted`` here.

    That is the same name if the records have it, else their only name. ``flag`` is the option that
    chooses a cluster.

    Raises:
        SeveralClustersError: the records name several clusters, and not that one.
    """
    if wanted in named:
        return wanted
    if len(named) > 1:
        raise SeveralClustersError(
            "the records are of several clusters",
            f": {', '.join(named)}; choose one ({flag})",
            f"; choose one ({flag})",
        )
    return named[0] if named else None


class RenamedError(Exception):
    """Records change the name under which earlier ones were inserted."""


class Names:
    """The clusters that records have named so far, and the name that follows.

    If nearly all records name one cluster, that is the name: the others are damaged (a flipped bit
    changes a name).
    """

    def __init__(self, logs: Sequence[Opened], naming: Naming) -> None:
        self.used = False  # whether anything was inserted under the name
        self.strays: frozenset[str] = frozenset()
        """Damaged names, whose records are refused."""
        self._logs = logs
        self._naming = naming
        self._names: set[str] = set()
        self._named: Named | None = None

    def now(self, more: Iterable[str] = ()) -> Named:
        """Return the name once ``more`` names are known."""
        more = set(more)
        if self._named is None or not more <= self._names:
            self._names |= more
            before, self._named = self._named, self._ask()
            if self.used and self._named != before:
                raise RenamedError
        return self._named

    def _ask(self) -> Named:
        try:
            return self._naming(sorted(self._names))
        except UsageError:
            # records that come later may settle it, and an error lists all names
            counted: Counter[str] = Counter()
            for log in self._logs:
                counted.update(clusters(log))
            self._names.update(counted)
            if main := _main(counted):
                self.strays = frozenset(self._names - {main})
                return self._naming([main])
            return self._naming(sorted(self._names))


def _main(counted: Counter[str]) -> str | None:
    """Return the cluster that nearly all records name, if any."""
    if not counted:
        return None
    ((name, most),) = counted.most_common(1)
    others = counted.total() - most
    # of a few records, one may be damaged
    return name if others <= max(STRAY * counted.total(), min(1, most // 10)) else None
