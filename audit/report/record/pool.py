"""The content of a report about one pool; see ``record.page``."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from audit.metrics.attempts.fidelity import MaySay
from audit.model import COUNTED, FstStatus
from audit.registry.causes import Cause
from audit.registry.passed import PassedWhy
from audit.report.record.predicted import Predicted
from audit.report.record.preemption import Preemption
from audit.report.record.requested import BeyondUser
from audit.report.record.stuck import Stuck

SMALL_SAMPLE: Final = 30  # figures of fewer attempts are marked as uncertain
OVERFILLED: Final = 0.01
"""Share of time over capacity above which the capacity is doubtful."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, with its 95 % interval if it has one."""

    metric: str
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    attempts: int | None = None  # that it is computed from


class Figures:
    """A record with figures."""

    __slots__ = ()
    figures: tuple[Figure, ...]

    def figure(self, metric: str) -> Figure:
        """Return the figure of ``metric``; one without a value if it was not computed."""
        return next((of for of in self.figures if of.metric == metric), Figure(metric))


@dataclass(frozen=True, slots=True)
class Breakdown(Figures):
    """The figures of one value of a dimension, such as the width class ``5-8``."""

    label: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Queue(Figures):
    """The waits of the jobs with the same partition, QOS and GPU type; ``-``: none, or unknown."""

    partition: str
    qos: str
    gpu_type: str
    share: float  # of all waiting
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Missed:
    """How late an entity's attempts started compared with their fair start times (FST)."""

    attempts: int  # with an FST on what the machine delivered
    miss_delivered_s: int  # total by that FST
    miss_cautious_s: int
    missed_delivered: int  # attempts late by more than the tolerance
    preference_delivered_mean: float  # s by which attempts started early, over all of them
    miss_strict_s: int | None = None  # total by the FST of the model; None: none counts
    miss_relaxed_s: int | None = None

    @property
    def net_s(self) -> float:
        """The total miss minus the total preference."""
        return self.miss_delivered_s - self.preference_delivered_mean * self.attempts

    @property
    def least_s(self) -> int:
        """The total miss by both readings."""
        return min(self.miss_delivered_s, self.miss_cautious_s)

    @property
    def missed_share(self) -> float:
        """The share of attempts that missed the FST by more than the tolerance."""
        return self.missed_delivered / self.attempts


@dataclass(frozen=True, slots=True)
class Entity:
    """Usage and waits of a user or an account in the pool."""

    name: str | None  # None: not named in the log
    jobs: int
    attempts: int
    never_started: int
    gave_up_wait_s: int | None  # None: arrivals unknown
    tuwt_s: int
    tusa: float
    nuwt: float | None
    re_unfairness_positive: float | None
    re_unfairness_net: float | None
    share_deficit: float | None = None
    stretch: float | None = None
    passed_why: str | None = None  # a value of PassedWhy; None: passed over, or not compared
    missed: Missed | None = None  # None: no attempt has an FST that counts

    @property
    def wait_mean(self) -> float | None:
        """The mean wait of its attempts."""
        return self.tuwt_s / self.attempts if self.attempts else None


class Step(NamedTuple):
    """A step of a cumulative distribution: ``share`` of entities have at most ``nuwt``."""

    nuwt: float
    share: float


@dataclass(frozen=True, slots=True)
class Entities(Figures):
    """All users, or all accounts, of a pool, and the distribution of their NUWT."""

    kind: str  # user | account
    rows: tuple[Entity, ...]  # largest shortfall first
    figures: tuple[Figure, ...]  # uwt, nuwt_median, nuwt_q1, …
    cdf: tuple[Step, ...]  # up to 10

    @property
    def named(self) -> tuple[Entity, ...]:
        """The entities that the log names."""
        return tuple(row for row in self.rows if row.name is not None)


@dataclass(frozen=True, slots=True)
class PassedOver(Figures):
    """A user or account that later jobs passed over; or a partition or QOS whose later jobs did."""

    kind: str  # user | account | partition | qos
    name: str
    figures: tuple[Figure, ...]  # passed_*, usage_multiple, causes


class BoundRule(NamedTuple):
    """A limit or window that kept jobs waiting."""

    name: str
    free_s: float  # of waiting while enough was free
    attempts: int


class Scattered(NamedTuple):
    """Waiting while enough was free on all nodes together, but single nodes lacked a resource."""

    lack: str  # key of ``registry.causes.LACKS``
    lacked_s: float
    attempts: int
    nodes: int  # of the request with most of this waiting
    amount: int | None  # that it requests of each node
    part: float  # of this waiting, by attempts with that request


class Outage(NamedTuple):
    """A time in which nothing ran although a job could have; epoch s."""

    from_time: int
    to_time: int
    waited_s: int


class Unexplained(NamedTuple):
    """Attempts with much of the waiting that has no known cause."""

    kind: str  # hour (of arrival) | width_class | partition | user
    label: str
    part: float  # of such waiting of the pool


class ResourceUser(NamedTuple):
    """A user's use of one resource of a pool, by ended attempts."""

    name: str | None  # None: not named in the log
    pool_hours: float  # 1: the whole resource for an hour
    share: float  # of all usage of the resource
    share_of_counted: float | None  # of all usage of the pool's counted resource
    attempts: int


class ResourceUse(NamedTuple):
    """One resource of a pool that has several."""

    resource: str  # cpus | nodes | gpus | mem_bytes
    utilization: float | None
    used: float  # pool-hours, by all users
    users: tuple[ResourceUser, ...]  # those with the largest usage
    left_out: int  # other users with usage


class RuleFit(NamedTuple):
    """How far a rule agrees with the observed starts."""

    order: str  # fidelity.KEPT_ORDER: that of the observed starts
    backfill: str
    own_peak: bool  # whether no user may run more jobs than it ever had running
    agreement: float | None  # A; None: nothing was compared


@dataclass(frozen=True, slots=True)
class Fidelity(Figures):
    """How well rules agree with the observed starts, and a replay reproduces them."""

    order: str  # of the modelled policy
    backfill: str
    figures: tuple[Figure, ...]  # of that policy: replayed, start_error_median, …
    fair_order: str = "fcfs"  # the order that counts as fair in the model
    rules: tuple[RuleFit, ...] = ()  # the best first
    used: RuleFit | None = None  # by which fair starts were found; None: not known

    @property
    def best(self) -> float | None:
        """The best agreement of all rules."""
        return self.rules[0].agreement if self.rules else None

    @property
    def may_say(self) -> MaySay:
        """Permitted uses of fair starts on the delivered capacity."""
        return MaySay.at(self.best)

    @property
    def of_policy(self) -> float | None:
        """The agreement of the modelled policy, by sums or by free nodes; None: not known."""
        policy = (self.order, self.backfill, False)
        plain = (rule.agreement for rule in self.rules if rule[:3] == policy)
        known = [next(plain, None), self.figure("agreement_nodes").value]
        return max((one for one in known if one is not None), default=None)


class StatusCount(NamedTuple):
    """The number of attempts whose fair start time has one status."""

    status: str  # model.FstStatus
    attempts: int


@dataclass(frozen=True, slots=True)
class Delayed:
    """An attempt that later arrivals delayed; times in s."""

    job_id: str
    attempt: int
    user: str | None
    size: int | None
    wait_s: int
    parts: tuple[float | None, ...]  # in the order of ``registry.causes.CAUSES``
    miss_delivered_s: int
    miss_cautious_s: int


@dataclass(frozen=True, slots=True)
class FairStart:
    """Statuses, fidelity and delayed attempts behind a pool's fair start times (FST)."""

    statuses: tuple[StatusCount, ...]  # of the FST of the model; empty: none was computed
    partitions: tuple[Breakdown, ...]  # largest total miss first; empty if there is only one
    fidelity: Fidelity | None  # None: not known
    tolerance_s: int | None  # None: not known
    delayed: tuple[Delayed, ...] = ()  # most delayed first

    @property
    def subjects(self) -> int:
        """Attempts of any status."""
        return sum(row.attempts for row in self.statuses)

    @property
    def counted(self) -> int:
        """Attempts whose FST counts in figures."""
        return sum(row.attempts for row in self.statuses if row.status in COUNTED)

    @property
    def not_sampled(self) -> int:
        """Attempts that a random sample represents."""
        left_out = FstStatus.NOT_SAMPLED
        return sum(row.attempts for row in self.statuses if row.status == left_out)


class Elsewhere(NamedTuple):
    """The figures of other tools on the same pool and period; None: nothing to count."""

    wait_from_submission_s: float | None  # mean, of attempts that ended in the period
    wait_of_started_s: float | None  # mean, of attempts that started in it
    repeated: int  # ended attempts that are not the last of their job
    held: float | None  # resource·s inside the period
    held_running: float | None  # the same without suspended time


class AdvicePart(NamedTuple):
    """A width class, walltime class or user that would wait longer or less."""

    dimension: str  # width_class | walltime_class | user
    label: str  # such as 65-128, 0-1h, or a name from the log
    wait: Figure  # change of its mean wait, s; of classes > 0
    attempts: int
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
    not_tried: tuple[str, ...] = ()  # titles of changes beyond the budget
    agreement: float | None = None  # of the replayed policy with the observed starts
    agrees: bool = True  # whether it suffices (SPEC §11); else nothing is replayed
    reproduced: bool = True  # whether the replay of today has the observed mean wait (SPEC §11)
    never_start: tuple[tuple[str, int], ...] = ()  # titles, and jobs that would never start
    part: bool = False  # whether the log is a part of the workload, so that none was tried


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


class Change(NamedTuple):
    """The change of a figure, in its own unit."""

    metric: str
    before: float
    difference: Figure

    @property
    def significant(self) -> bool:
        """Whether the interval of the difference excludes 0."""
        lower, upper = self.difference.lower, self.difference.upper
        return lower is not None and upper is not None and not lower <= 0 <= upper


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

    unit: str  # day | week | month | quarter | year
    points: tuple[TrendPoint, ...]  # the newest last
    changes: tuple[Change, ...] = ()
    """Against the period before; for a whole log, of its later half against its earlier half."""
    before: str = ""  # the period compared with, in words
    settings_changed: bool = False  # whether it was computed under other settings or policies
    passed_before: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Entities passed over in the period before, by kind; kinds without tests are missing."""
    causes: tuple[CauseChange, ...] = ()
    """Their differences add up to the change of the mean wait; empty: not known."""

    def change(self, metric: str) -> Change | None:
        """Return the change of ``metric``; None if there is nothing to compare with."""
        return next((change for change in self.changes if change.metric == metric), None)


class Walltimes(NamedTuple):
    """The used parts of the walltimes of attempts that ended in the period."""

    attempts: int  # with a known walltime
    tenths: tuple[int, ...]  # attempts by tenth of the walltime; the eleventh: more than all
    median: float  # part of the walltime


class Burst(NamedTuple):
    """A burst of one user's attempts (SPEC §11)."""

    first: str  # ISO date of the first arrival
    last: str  # of the last arrival
    user: str
    attempts: int
    work_s: float  # of the whole pool


@dataclass(frozen=True, slots=True)
class Pictured:
    """Data of charts that is in no table."""

    waiting_work: tuple[tuple[str, float], ...] = ()  # ISO day, mean s of the whole pool
    bursts: tuple[Burst, ...] = ()  # most work first
    walltimes: Walltimes | None = None  # None: no walltime is known


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
    unexplained: tuple[Unexplained, ...] = ()  # by kind; empty where little is unexplained
    queues: tuple[Queue, ...] = ()  # most waiting first; empty if there is only one
    stuck: Stuck | None = None
    predicted: tuple[Predicted, ...] = ()
    advised: Advised = Advised()
    trend: Trend | None = None  # None: nothing ended
    pictured: Pictured = Pictured()
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
