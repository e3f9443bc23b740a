"""Whether it is getting better: the main figures of one stretch of time after another."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class Estimate(NamedTuple):
    """A figure with its 95 % interval; None: not known."""

    value: float | None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The main figures of one stretch of time, of attempts that ended in it; times in s."""

    label: str  # such as 1996-10, 2026-W44 or 2026-10-31
    from_time: int  # epoch s
    to_time: int
    attempts: int
    wait_mean: Estimate
    overtaken_time_mean: Estimate
    wait_room_share: Estimate


@dataclass(frozen=True, slots=True)
class Change:
    """By how much a figure differs from what it was before, in its own unit."""

    metric: str
    before: float
    difference: Estimate

    @property
    def beyond_chance(self) -> bool:
        """Whether its interval leaves out that nothing changed."""
        _, lower, upper = self.difference
        return lower is not None and upper is not None and not lower <= 0 <= upper


@dataclass(frozen=True, slots=True)
class Trend:
    """The stretches of time of a pool in their order, the last of them the newest."""

    unit: str  # day | week | month | quarter | year
    points: tuple[TrendPoint, ...]
    changes: tuple[Change, ...] = ()
    """Of the period against the one before; of a whole log, of its later half against its
    earlier."""
    before: str = ""
    """What the changes are against, in words."""
    settings_changed: bool = False
    """Whether that was computed under another configuration or policy."""
    longer_before: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Who waited longer than peers in the period before, by kind (user, account); a kind is missing
    where nobody could be compared."""

    def change(self, metric: str) -> Change | None:
        """The change of ``metric``; None where there is nothing to compare with."""
        return next((change for change in self.changes if change.metric == metric), None)
