"""What a report says of one pool; see ``record.page``."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from audit.model import COUNTED, FstStatus

SMALL_SAMPLE: Final = 30
"""A figure that rests on fewer attempts says little, and is marked."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, with its 95 % interval where it has one."""

    metric: str
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    attempts: int | None = None  # what it rests on


class Figures:
    """A record that has figures."""

    __slots__ = ()
    figures: tuple[Figure, ...]

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return next((of for of in self.figures if of.metric == metric), Figure(metric))


@dataclass(frozen=True, slots=True)
class Breakdown(Figures):
    """The figures of one value of a dimension, such as the width class ``5-8``."""

    label: str
    figures: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Missed:
    """How attempts of a user or an account started, against their fair start times (FST)."""

    attempts: int  # with an FST that counts
    miss_strict_s: int  # sum of what they started later than it
    miss_relaxed_s: int
    missed_strict: int  # attempts that did so by more than the tolerance
    missed_relaxed: int
    preferred_strict_share: float  # of them that started earlier, by more than the tolerance
    preference_strict_mean: float  # what they started earlier than it, in s, over all of them

    @property
    def net_s(self) -> float:
        """Sum of what they started later than the strict FST, less what they started earlier."""
        return self.miss_strict_s - self.preference_strict_mean * self.attempts

    @property
    def missed_strict_share(self) -> float:
        """Part of them that missed the strict FST by more than the tolerance."""
        return self.missed_strict / self.attempts

    @property
    def missed_relaxed_share(self) -> float:
        """Part of them that missed the relaxed FST by more than the tolerance."""
        return self.missed_relaxed / self.attempts


@dataclass(frozen=True, slots=True)
class Entity:
    """What a user or an account got from the pool."""

    name: str | None  # None: the log names none
    jobs: int
    attempts: int
    never_started: int
    gave_up_wait_s: int | None  # None: the log does not say when they arrived
    tuwt_s: int
    tusa: float
    nuwt: float | None
    re_unfairness_positive: float | None
    re_unfairness_net: float | None
    missed: Missed | None = None  # None: no attempt has an FST that counts

    @property
    def wait_mean(self) -> float | None:
        """Mean wait of its attempts."""
        return self.tuwt_s / self.attempts if self.attempts else None


class Step(NamedTuple):
    """A step of a cumulative distribution: ``share`` of entities have at most ``nuwt``."""

    nuwt: float
    share: float


@dataclass(frozen=True, slots=True)
class Entities(Figures):
    """All users, or all accounts, of a pool, and how their NUWT is spread."""

    kind: str  # user | account
    rows: tuple[Entity, ...]  # the one with the largest shortfall first
    figures: tuple[Figure, ...]  # uwt, nuwt_median, nuwt_q1, …
    cdf: tuple[Step, ...]  # cut at 10

    @property
    def named(self) -> tuple[Entity, ...]:
        """Those that the log names."""
        return tuple(row for row in self.rows if row.name is not None)


@dataclass(frozen=True, slots=True)
class PassedOver(Figures):
    """A user, account, partition or QOS whose jobs later ones passed over."""

    kind: str  # user | account | partition | qos
    name: str
    figures: tuple[Figure, ...]  # passed_share, passed_expected, passed_s, usage_multiple, causes

    @property
    def usage(self) -> tuple[float | None, bool]:
        """Its usage as a multiple of its share; whether that is the site's, not an equal one."""
        own = self.figure("usage_multiple").value
        return (
            (own, True) if own is not None else (self.figure("equal_usage_multiple").value, False)
        )

    @property
    def intended(self) -> bool:
        """Whether it used so much more than its share that fairshare makes it wait longer."""
        multiple, _ = self.usage
        return multiple is not None and multiple > INTENDED_MULTIPLE


INTENDED_MULTIPLE: Final = 1.5


class BoundRule(NamedTuple):
    """A limit or window that kept jobs waiting."""

    name: str
    free_s: float  # of their waits, in which they would have fitted
    attempts: int


class Outage(NamedTuple):
    """A stretch in which nothing ran while a job waited that could have run; epoch s."""

    from_time: int
    to_time: int
    waited_s: int


class Unexplained(NamedTuple):
    """Attempts with much of the waiting that has no known cause."""

    kind: str  # hour (of arrival) | width_class | partition | user
    label: str
    part: float  # of such waiting of the pool


@dataclass(frozen=True, slots=True)
class ResourceUser:
    """What a user occupied of one resource of a pool, by the attempts that ended."""

    name: str | None  # None: the log names none
    pool_hours: float  # 1: the whole amount for an hour
    share: float  # of all that was used of it
    share_of_counted: float | None  # of all that was used of the pool's counted resource
    attempts: int


@dataclass(frozen=True, slots=True)
class ResourceUse:
    """One resource of a pool that has several."""

    resource: str  # cpus | nodes | gpus | mem_bytes
    utilization: float | None
    used: float  # pool-hours, by everyone
    users: tuple[ResourceUser, ...]  # those who used most of it
    left_out: int  # users who used some of it and are not among ``users``


@dataclass(frozen=True, slots=True)
class Fidelity(Figures):
    """How well a replay under the modelled policy reproduces the observed starts."""

    order: str
    backfill: str
    figures: tuple[Figure, ...]  # replayed, start_error_median, wait_correlation, …
    fair_order: str = "fcfs"  # in which it would be fair to be served


class StatusCount(NamedTuple):
    """How many attempts have a fair start time of one status."""

    status: str  # model.FstStatus
    attempts: int


@dataclass(frozen=True, slots=True)
class Overtaken:
    """An attempt that later arrivals delayed under the modelled policy; times in s."""

    job_id: str
    attempt: int
    user: str | None
    size: int | None
    wait_s: int
    parts: tuple[float | None, ...]  # in the order of ``registry.causes.CAUSES``
    overtaken_s: int
    own_s: int | None  # of it by later arrivals of the same user
    unmodelled_s: int


@dataclass(frozen=True, slots=True)
class FairStart:
    """What is known of the fair start times (FST) of a pool, beside their figures."""

    statuses: tuple[StatusCount, ...]  # empty: no FST was computed
    partitions: tuple[Breakdown, ...]  # empty where the pool has only one; most missed comes first
    fidelity: Fidelity | None  # None: not known
    tolerance_s: int | None  # None: not known
    overtaken: tuple[Overtaken, ...] = ()  # the most delayed, most first

    @property
    def subjects(self) -> int:
        """Attempts of any status."""
        return sum(row.attempts for row in self.statuses)

    @property
    def counted(self) -> int:
        """Attempts whose FST is part of every figure."""
        return sum(row.attempts for row in self.statuses if row.status in COUNTED)

    @property
    def not_sampled(self) -> int:
        """Attempts that others stand for, drawn by chance."""
        left_out = FstStatus.NOT_SAMPLED
        return sum(row.attempts for row in self.statuses if row.status == left_out)


@dataclass(frozen=True, slots=True)
class StuckAttempt:
    """An attempt that waits, or gave up, longer than 95 % of its peers waited; times in s."""

    job_id: str
    attempt: int
    user: str | None
    size: int | None
    waiting: bool  # else it left the queue without having started
    waited_s: int
    peer_p95_s: int
    unexplained_share: float | None  # of its wait
    cause: str | None
    rule: str | None
    held_by: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Stuck:
    """All such attempts of a pool."""

    waiting: int
    gave_up: int
    rows: tuple[StuckAttempt, ...]  # those that still wait first, furthest beyond peers first


class Elsewhere(NamedTuple):
    """What other tools count of a pool and the report's period; None: nothing to count."""

    wait_from_submission_s: float | None  # mean, of the attempts that ended in it
    wait_of_started_s: float | None  # mean, of those that started in it, from submission
    repeated: int  # attempts of a job beyond its last, of those that ended in it
    held: float | None  # resource·s inside it
    held_running: float | None  # resource·s inside it without suspended time


@dataclass(frozen=True, slots=True)
class Loser:
    """A width or walltime class that would wait longer."""

    dimension: str  # width_class | walltime_class
    label: str  # such as 65-128, or 0-1h
    wait: Figure  # > 0, of its mean wait, s
    attempts: int
    certain: bool  # significant; else it is a tenth of the wait or more, and may be chance


@dataclass(frozen=True, slots=True)
class Advice:
    """A change with a significant benefit, in replays."""

    change: str  # options of whatif
    title: str  # an imperative without a full stop; it may hold names as the log has them
    resource: str  # what the pool counts
    width: str | None  # the width class whose mean wait it is judged by; None: all attempts
    gain: Figure  # how much less these wait, s, > 0; interval corrected for all that was tried
    losers: tuple[Loser, ...]  # who loses most first
    sql: str  # gives the evidence: what the change does to all, and to each width class
    today_s: int | None = None  # their mean wait in the replay of today
    observed_s: int | None = None  # in the log


@dataclass(frozen=True, slots=True)
class Advised:
    """What is advised of a pool, and on what that rests."""

    changes: tuple[Advice, ...] = ()  # the best first
    tried: tuple[str, ...] = ()  # the titles of all that was replayed
    not_tried: tuple[str, ...] = ()  # the titles of what there was no budget for
    agreement: float | None = None  # share of those that waited that the model starts as observed
    believed: bool = False  # whether the model decides and ranks waits as the site did (SPEC §10)
    reproduced: bool = True  # whether the replay of today has the observed mean wait (SPEC §11)
    never_start: tuple[tuple[str, int], ...] = ()  # titles of changes, jobs that would never start


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The main figures of one stretch of time, of attempts that ended in it; times in s."""

    label: str  # such as 1996-10, 2026-W44 or 2026-10-31
    from_time: int  # epoch s
    to_time: int
    attempts: int
    wait_mean: Figure
    overtaken_time_mean: Figure
    cause_unexplained_share: Figure


@dataclass(frozen=True, slots=True)
class Change:
    """By how much a figure differs from what it was before, in its own unit."""

    metric: str
    before: float
    difference: Figure

    @property
    def beyond_chance(self) -> bool:
        """Whether the difference is significant."""
        lower, upper = self.difference.lower, self.difference.upper
        return lower is not None and upper is not None and not lower <= 0 <= upper


@dataclass(frozen=True, slots=True)
class Trend:
    """The stretches of time of a pool in their order, the last of them the newest."""

    unit: str  # day | week | month | quarter | year
    points: tuple[TrendPoint, ...]
    changes: tuple[Change, ...] = ()
    """Of the period against the one before; of a whole log, of its later half against its
    earlier."""
    before: str = ""  # what the changes are against, in words
    settings_changed: bool = False  # that was computed under another configuration or policy
    passed_before: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Who was passed over in the period before, by kind; kinds without tests are missing."""

    def change(self, metric: str) -> Change | None:
        """The change of ``metric``; None where there is nothing to compare with."""
        return next((change for change in self.changes if change.metric == metric), None)


class Walltimes(NamedTuple):
    """How much of their walltimes attempts used that ended in the period."""

    attempts: int  # whose walltime is known
    tenths: tuple[int, ...]  # up to each tenth of it; the eleventh: more than all of it
    median: float  # part of the walltime


class Flood(NamedTuple):
    """Many attempts of one user on one day (``model.FLOOD_WORK``)."""

    day: str  # ISO date
    user: str
    attempts: int
    work_s: float  # of the whole pool


@dataclass(frozen=True, slots=True)
class Pictured:
    """What charts of a pool show and no table has."""

    waiting_work: tuple[tuple[str, float], ...] = ()  # ISO day, s of the whole pool in the mean
    floods: tuple[Flood, ...] = ()  # the largest first
    walltimes: Walltimes | None = None  # None: no walltime is known


@dataclass(frozen=True, slots=True)
class PoolPart(Figures):
    """What the report says of one pool."""

    name: str
    resource: str  # cpus | nodes | gpus
    capacity: int
    figures: tuple[Figure, ...]
    widths: tuple[Breakdown, ...]
    hours: tuple[Breakdown, ...]  # label "0" … "167": hour of the week, Monday 00 = 0
    days: tuple[Breakdown, ...]  # label an ISO date
    users: Entities
    accounts: Entities
    resources: tuple[ResourceUse, ...]  # empty where the pool has only one
    fair_start: FairStart
    passed: tuple[PassedOver, ...] = ()  # most passed time first; users of an account after it
    tested: Mapping[str, int] = field(default_factory=dict)  # how many of each kind could be named
    untested: int = 0  # how many could not
    rules: tuple[BoundRule, ...] = ()  # that held the most waiting first
    outages: tuple[Outage, ...] = ()  # the longest first
    unexplained: tuple[Unexplained, ...] = ()  # by kind; empty where little is unexplained
    queues: Mapping[str, tuple[Breakdown, ...]] = field(default_factory=dict)
    """By partition and by qos, the one with most waiting first; empty where there is only one."""
    stuck: Stuck | None = None  # None: nobody is
    advised: Advised = Advised()
    trend: Trend | None = None  # None: nothing ended
    pictured: Pictured = Pictured()
    elsewhere: Elsewhere | None = None  # None: nothing started

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period: what every metric speaks of."""
        return int(self.figure("attempts").value or 0)

    @property
    def concentration(self) -> float | None:
        """The part of all waiting time that the five users with most of it account for."""
        waits = sorted((row.tuwt_s for row in self.users.named), reverse=True)
        total = sum(row.tuwt_s for row in self.users.rows)
        return sum(waits[:5]) / total if len(waits) > 5 and total else None

    @property
    def has_fair_starts(self) -> bool:
        """Whether any attempt has a fair start time that counts."""
        return self.figure("miss_strict_mean").value is not None
