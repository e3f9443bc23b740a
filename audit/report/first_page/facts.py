"""The numbers of page one, as frozen records.

Times are in s, instants epoch s, shares of 1, and *waiting* is a sum of waits. None means unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from audit.metrics.verdict import Decision
from audit.report.sections.advice.record import Advice
from audit.report.sections.causes.record import RuleTime, Shares, Where
from audit.report.sections.changes.record import Compared, RuleMark, StepPoint
from audit.report.sections.machine.record import Machine
from audit.report.sections.trust.record import Known
from audit.report.sections.waits.record import QueueWait, SizeClass, Strip
from audit.report.sections.who.record import People


@dataclass(frozen=True, slots=True)
class PageFacts:
    """All of page one, of one pool."""

    cluster: str
    pool: str
    several: bool  # whether there are other pools
    days: str
    jobs: int
    base_days: int | None  # of the verdict; None: the period
    base_waited_s: float
    base_no_reason: float | None  # share of W of the base
    base_p90: int | None
    not_judged: tuple[float | None, float | None]  # interval of its share
    tested_waiting: float | None  # W of the users tested, of W
    base_users: int
    base_ended: int
    decision: Decision
    machine: Machine
    strip: Strip | None  # None: no start is known
    waiting_s: float
    cancelled_s: float
    causes: Shares
    rules: tuple[RuleTime, ...]
    ended: frozenset[str]  # names of rules that are no longer in force
    lacked: tuple[str, float] | None  # what single nodes lacked most, and its part of that waiting
    where: Where | None
    sizes: tuple[SizeClass, ...]
    queues: tuple[QueueWait, ...]
    people: People | None
    compared: Compared | None
    log_days: float
    steps: tuple[StepPoint, ...]
    step: str
    marks: tuple[RuleMark, ...]
    known: Known
    agreement: float | None
    changes: tuple[Advice, ...]  # tested changes that saved much of the waiting
    tried: int
    reproduced: bool = True
    """Whether the replay of today's rules has about the observed waits."""
    part: bool = False
    """Whether the log is a part of the workload, which hides free capacity."""
    missing_days: int = 0
    cautions: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    long_waits: tuple[tuple[str, int, int, int], ...] = ()
    """Of a quiet pool: user, size, wait and arrival of the longest."""
