"""The content of a report about one pool; see ``record.page``."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from audit.registry.passed import PassedWhy
from audit.report.figures import Breakdown, Figure, Figures
from audit.report.sections.advice.record import Advised
from audit.report.sections.causes.record import Scattered, Unexplained
from audit.report.sections.changes.record import Trend
from audit.report.sections.definitions.record import Elsewhere
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.machine.record import Outage, Pictured
from audit.report.sections.passed_over.record import PassedOver, Stuck
from audit.report.sections.predicted.record import Predicted
from audit.report.sections.preemption.record import Preemption
from audit.report.sections.resources.record import ResourceUse
from audit.report.sections.rules.record import BoundRule
from audit.report.sections.sharing.record import AccountShare, BeyondUser
from audit.report.sections.waits.record import Queue
from audit.report.sections.who.record import Entities

OVERFILLED: Final = 0.01
"""Share of time over capacity above which the capacity is doubtful."""


@dataclass(frozen=True, slots=True)
class PoolPart(Figures):
    """One pool in the report."""

    name: str
    resource: str  # cpus | nodes | gpus
    capacity: int
    figures: tuple[Figure, ...]
    widths: tuple[Breakdown, ...]
    hours: tuple[Breakdown, ...]  # label "0" … "167": hour of the week, Monday 00 = 0
    days: tuple[Breakdown, ...]  # label an ISO date
    users: Entities
    accounts: Entities
    resources: tuple[ResourceUse, ...]  # empty if the pool has only one
    fair_start: FairStart
    passed: tuple[PassedOver, ...] = ()  # users and accounts, longest passed time first
    used_more: tuple[PassedOver, ...] = ()  # those that recent usage keeps from being named
    ahead: tuple[PassedOver, ...] = ()  # partitions and QOS whose later jobs started first
    tested: Mapping[str, int] = field(default_factory=dict)  # entities tested, by kind
    rules: tuple[BoundRule, ...] = ()  # most waiting first
    scattered: tuple[Scattered, ...] = ()  # most waiting first
    outages: tuple[Outage, ...] = ()  # longest first
    preemption: Preemption | None = None  # None: no attempt was preempted, requeued or suspended
    beyond: tuple[BeyondUser, ...] = ()  # most first
    shares: tuple[AccountShare, ...] = ()  # largest deficit first; empty with one account
    unexplained: tuple[Unexplained, ...] = ()  # by kind; empty where little is unexplained
    queues: tuple[Queue, ...] = ()  # most waiting first; empty if there is only one
    stuck: Stuck | None = None
    predicted: tuple[Predicted, ...] = ()
    advised: Advised = field(default_factory=Advised)
    trend: Trend | None = None  # None: nothing ended
    pictured: Pictured = field(default_factory=Pictured)
    elsewhere: Elsewhere | None = None  # None: nothing started
    part: str = ""  # why the log is a part of the workload; empty: it is not (SPEC §14)

    @property
    def passed_why(self) -> Mapping[PassedWhy, int]:
        """The users and accounts that are not passed over, or cannot be tested, by the reason."""
        rows = (*self.users.named, *self.accounts.named)
        return Counter(PassedWhy(row.passed_why) for row in rows if row.passed_why)

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period."""
        return int(self.figure("attempts").value or 0)

    @property
    def undated(self) -> int:
        """Attempts of unknown arrival."""
        return int(self.figure("arrival_unknown").value or 0)

    @property
    def unplaced(self) -> int:
        """Attempts that ran at an unknown time."""
        return int(self.figure("start_unknown").value or 0)

    @property
    def concentration(self) -> float | None:
        """The share of all waiting time of the five users with the most of it."""
        waits = sorted((row.tuwt_s for row in self.users.named), reverse=True)
        total = sum(row.tuwt_s for row in self.users.rows)
        return sum(waits[:5]) / total if len(waits) > 5 and total else None

    @property
    def overfilled(self) -> bool:
        """Whether more than the capacity was in use so long that the capacity is doubtful."""
        return (self.figure("over_capacity_time").value or 0.0) > OVERFILLED

    @property
    def has_fair_starts(self) -> bool:
        """Whether any attempt has a fair start time."""
        return self.figure("miss_delivered_mean").value is not None
