"""The records of the section *advice*."""

from dataclasses import dataclass
from typing import NamedTuple

from audit.metrics.attempts.fidelity import KNOWN
from audit.report.figures import Figure


class AdvicePart(NamedTuple):
    """A width class, walltime class or user that would wait longer or less."""

    dimension: str  # width_class | walltime_class | user
    label: str  # such as 65-128, 0-1h, or a name from the log
    wait: Figure  # change of its mean wait, s; of classes > 0
    certain: bool  # significant; else the growth is large, but may be chance


@dataclass(frozen=True, slots=True)
class Advice:
    """A change with a significant benefit in replays."""

    change: str  # options of whatif
    title: str  # an imperative without a full stop; may contain names from the log
    resource: str  # that the pool counts
    width: str | None  # width class whose mean wait decides; None: all attempts
    gain: Figure  # reduction of that wait, s, > 0; interval corrected for all changes tried
    losers: tuple[AdvicePart, ...]  # classes, largest loss first
    sql: str  # query for the effect on all classes
    today_s: int | None = None  # that mean wait in the replay of today's rules
    observed_s: int | None = None  # and in the log
    saved_s: int | None = None  # reduction of the total wait of all attempts, s
    by_user: tuple[AdvicePart, ...] = ()  # largest gain in total first


@dataclass(frozen=True, slots=True)
class Advised:
    """The advice for a pool, and its basis."""

    changes: tuple[Advice, ...] = ()  # the best first
    tried: tuple[str, ...] = ()  # titles of all replayed changes
    agreement: float | None = None  # of the replayed policy with the observed starts
    untested: str = ""  # outcome that explains why no change could be judged; empty: some could
    never_start: tuple[tuple[str, int], ...] = ()  # titles, and jobs that would never start
    part: bool = False  # whether the log is a part of the workload, so that none was tried

    def judged(self, best: float) -> float:
        """Return the best agreement of any policy; if it suffices, that of the replayed one."""
        return best if best < KNOWN or self.agreement is None else self.agreement
