"""Whether it is getting better: the main figures of one stretch of time after another."""

from dataclasses import dataclass

from audit.report.contents import Figure


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The main figures of one stretch of time, of attempts that ended in it."""

    label: str  # such as 1996-10, 2026-W44 or 2026-10-31
    from_time: int  # epoch s
    to_time: int
    attempts: int
    wait_mean: Figure
    overtaken_time_mean: Figure
    wait_room_share: Figure


@dataclass(frozen=True, slots=True)
class Change:
    """How a figure differs from what it was before, and the 95 % interval of the difference."""

    metric: str
    before: float
    difference: float
    lower: float | None
    upper: float | None

    @property
    def beyond_chance(self) -> bool:
        """Whether the interval leaves out no difference at all."""
        return (
            self.lower is not None and self.upper is not None and not self.lower <= 0 <= self.upper
        )


@dataclass(frozen=True, slots=True)
class Trend:
    """The stretches of time of a pool in their order, the last of them the newest."""

    unit: str  # day | week | month | quarter | year
    points: tuple[TrendPoint, ...]
    changes: tuple[Change, ...] = ()
    """Of the period against the one before; of a whole log, of its later half against the earlier."""
    since: str = ""
    """What the changes are against, in words."""
