"""The records of the section *changes*."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from audit.registry.causes import Cause
from audit.report.figures import Figure


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The main figures of attempts that ended in one stretch of time; times in s."""

    label: str  # such as 1996-10, 2026-W44 or 2026-10-31
    from_time: int  # epoch s
    to_time: int
    attempts: int
    wait_mean: Figure
    miss_delivered_mean: Figure
    cause_unexplained_share: Figure


class CauseChange(NamedTuple):
    """The mean wait per job for one cause, before and in the period, s."""

    cause: Cause
    before_s: float
    now_s: float

    @property
    def difference_s(self) -> float:
        """The change."""
        return self.now_s - self.before_s


@dataclass(frozen=True, slots=True)
class Trend:
    """The main figures of a pool over time."""

    unit: str = ""  # day | week | month | quarter | year
    points: tuple[TrendPoint, ...] = ()  # the newest last; empty: nothing ended
    changes: tuple[Figure, ...] = ()
    """From the period before; if the log lacks it, from the earlier half of it to the later."""
    before: str = ""  # the period compared with, in words
    settings_changed: bool = False  # whether it was computed under other settings or policies
    passed_before: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Entities passed over in the period before, by kind; kinds without tests are missing."""
    causes: tuple[CauseChange, ...] = ()
    """Their differences add up to the change of the mean wait; empty: not known."""

    def change(self, metric: str) -> Figure | None:
        """Return the change of ``metric``; None if there is nothing to compare with."""
        return next((change for change in self.changes if change.metric == metric), None)


class Half(NamedTuple):
    """One of two spans that are compared."""

    median: int
    p90: int
    load: float | None
    median_without: int | None  # without the user with most waiting
    p90_without: int | None = None


class Compared(NamedTuple):
    """Two spans, the earlier first."""

    before: str  # the unit of the period before, as "month"; empty: the halves of the log
    first: Half
    last: Half
    user: str | None  # with most waiting
    significant: bool
    whole_log: bool = True  # whether halves are those of the log, else of the period
    growth: float = 0.0  # of the mean capacity from half to half, as a part of the first one's


class StepPoint(NamedTuple):
    """One complete step of the chart."""

    label: str
    median: int
    p90: int
    load: float | None


class RuleMark(NamedTuple):
    """A rule that begins or ends within the chart."""

    text: str
    place: float
    """In steps from the left of the chart, from 0 to their number."""
