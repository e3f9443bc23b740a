"""What the cluster is called whose logs are taken in: by whoever knows, or by their records."""

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
    """What a cluster is called."""

    cluster: str  # here
    source: str  # who says so
    called: str | None  # in the records of logs that name several: those of others are left out
    people_filter: PeopleFilter = AS_THEY_ARE


Naming = Callable[[Sequence[str]], Named]
"""Given the clusters that the records of all logs name, in order, what theirs is called.

Raises UsageError where that must be chosen. It is asked again when later records name more.
"""


def called_by(wanted: str | None, named: Sequence[str], flag: str) -> str | None:
    """What the records of logs call the cluster that is named ``wanted`` here.

    That is this name, where the records name it, else their only name. None takes the only cluster
    that there is; ``flag`` is where a cluster is chosen.

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
    """Records give the cluster another name than that under which some went in."""


class Names:
    """The clusters that records have named so far, and what follows for the name.

    Where the name would have to be chosen, but nearly all records name one cluster, that is the
    one: a few that name others are damaged (a bit that flipped makes another name).
    """

    def __init__(self, logs: Sequence[Opened], naming: Naming) -> None:
        self.used = False  # whether anything has gone in under the name
        self.strays: frozenset[str] = frozenset()
        """Names that damage made: their records are refused."""
        self._logs = logs
        self._naming = naming
        self._names: set[str] = set()
        self._named: Named | None = None

    def now(self, more: Iterable[str] = ()) -> Named:
        """What the cluster is called once ``more`` names are known, too."""
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
    """The cluster that nearly all records name; None where there is none."""
    if not counted:
        return None
    ((name, most),) = counted.most_common(1)
    others = counted.total() - most
    # of a few records, one may be damaged
    return name if others <= max(STRAY * counted.total(), min(1, most // 10)) else None
