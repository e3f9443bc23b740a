"""Everything that one report says, as a frozen record, before any HTML.

``build`` fills a :class:`Contents` from the database; ``findings`` puts it into sentences,
``charts`` draws it and ``render`` writes the page. Numbers stay numbers here, in the units of
SPEC §1 (seconds, resource-seconds, shares of 1): only ``wording`` turns them into text. None
always means unknown or not defined, never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from audit.config import Metrics, Uncertainty
from audit.model import COUNTED, FstStatus
from audit.report.advice_contents import NOTHING_TRIED, Advised
from audit.report.bounds import BOUNDS, Bounds
from audit.report.owner.who import Who
from audit.report.pictured_contents import NOTHING_PICTURED, Pictured
from audit.report.read_contents import Coverage, Input, MissingLog, Refusal
from audit.report.trend import Trend
from audit.report.usage_contents import Charge, DecayedUsage, Occupied, PenaltyChoice

SMALL_SAMPLE: Final = 30
"""Rows resting on fewer attempts than this are marked: their means say little."""

_DAY_S: Final = 86_400
ENOUGH_DAYS: Final = 7
"""A report on a longer period says nothing of it before so many of its days are covered."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a reader may choose about a report."""

    rows: int = 10
    """Users and accounts shown at each end of "treated worst and best"."""
    examples: int = 3
    """Refused lines quoted for each reason."""
    gaps: int = 5
    """Stretches of days without records that are listed."""
    bounds: Bounds = BOUNDS
    """From where on a report passes, warns and fails."""
    pages: tuple[Who, ...] = ()
    """Users and accounts of whom a page lies beside the report, which leads to it."""


DEFAULT: Final = Options()


@dataclass(frozen=True, slots=True)
class Assumed:
    """What was fitted from the log of how a pool is scheduled (SPEC §10)."""

    rules: tuple[str, ...]  # each a sentence without a full stop
    before: float | None  # part of the waiting that stays unexplained without them, held out
    after: float | None  # the same with them


@dataclass(frozen=True, slots=True)
class Settings:
    """What of config.toml was in force when the figures were computed."""

    metrics: Metrics = field(default_factory=Metrics)
    resamples: int = Uncertainty().resamples
    usage: Mapping[str, object] = field(default_factory=dict)  # empty: not known
    assumed: Mapping[str, Assumed] = field(default_factory=dict)  # by pool, where it was fitted
    known: bool = False  # whether the database says so, or these are the defaults


@dataclass(frozen=True, slots=True)
class Span:
    """The period that is reported, and what of it the data cover (epoch seconds)."""

    name: str
    from_time: int
    to_time: int
    whole_log: bool
    zone: str
    first_arrival: int | None
    last_end: int | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One number, with its 95 % interval where it has one and what it rests on."""

    metric: str
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    attempts: int | None = None


@dataclass(frozen=True, slots=True)
class Restated:
    """A figure of a whole pool that was another when it was computed before."""

    label: str
    before: Figure
    now: Figure


@dataclass(frozen=True, slots=True)
class Restatement:
    """What changed since the last time that the period's figures were computed."""

    because: str
    figures: int
    """How many of whole pools changed."""
    largest: tuple[Restated, ...]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The figures of one value of a dimension, such as the width class ``5-8``."""

    label: str
    figures: tuple[Figure, ...]

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return _find(self.figures, metric)


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


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a cumulative distribution: ``share`` of entities have at most ``nuwt``."""

    nuwt: float
    share: float


@dataclass(frozen=True, slots=True)
class Entities:
    """All users, or all accounts, of a pool, and how their NUWT is spread."""

    kind: str  # user | account
    rows: tuple[Entity, ...]  # the one that went short most comes first
    spread: tuple[Figure, ...]  # uwt, nuwt_median, nuwt_q1, …
    cdf: tuple[Step, ...]  # cut at 10
    longer: tuple[Breakdown, ...] = ()  # who waits longer than peers and may be named, most first
    floods: tuple[Breakdown, ...] = ()  # who does so in floods of its own only, likewise
    peered: int = 0  # how many were compared with their peers

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return _find(self.spread, metric)

    @property
    def named(self) -> tuple[Entity, ...]:
        """Those that the log names."""
        return tuple(row for row in self.rows if row.name is not None)


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
class Fidelity:
    """How well a replay under the modelled policy reproduces the observed starts."""

    order: str
    backfill: str
    figures: tuple[Figure, ...]  # replayed, start_error_median, wait_correlation, …
    fair_order: str = "fcfs"
    """In which order it would be fair to be served."""

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return _find(self.figures, metric)


@dataclass(frozen=True, slots=True)
class StatusCount:
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
    room_share: float | None  # of its wait, in which there was room for it
    cause: str | None
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
class PoolPart:
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
    stuck: Stuck | None = None  # None: nobody is
    advised: Advised = NOTHING_TRIED
    trend: Trend | None = None  # None: nothing ended
    pictured: Pictured = NOTHING_PICTURED
    elsewhere: Elsewhere | None = None  # None: nothing started

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return _find(self.figures, metric)

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period: what every metric speaks of."""
        return int(self.figure("attempts").value or 0)

    @property
    def has_fair_starts(self) -> bool:
        """Whether any attempt has a fair start time that counts."""
        return self.figure("miss_strict_mean").value is not None


@dataclass(frozen=True, slots=True)
class Example:
    """A definition at work on a few attempts; every cell was computed when the report was built."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    result: str


@dataclass(frozen=True, slots=True)
class Definition:
    """What a figure means."""

    key: str  # part of an address inside the page
    term: str
    meaning: str
    formula: str
    source: str
    example: Example | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """From what, and by what, the report was made."""

    version: str
    config_hash: str
    input_hash: str
    run_id: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The whole report."""

    cluster: str
    span: Span
    pools: tuple[PoolPart, ...]
    usages: tuple[DecayedUsage, ...]  # by method; empty where none was computed
    coverage: Coverage
    notes: tuple[str, ...]  # what was inferred about the cluster, and from what
    warnings: tuple[str, ...]  # what was found wrong with the log, such as a header that lies
    inputs: tuple[Input, ...]
    superseded: int  # earlier versions of a record, and summaries whose bursts are attempts
    refusals: tuple[Refusal, ...]
    definitions: tuple[Definition, ...]
    provenance: Provenance
    options: Options
    occupied: Occupied | None = None  # None: one resource alone is known
    choice: PenaltyChoice | None = None  # None: the same
    charges: tuple[Charge, ...] = ()
    settings: Settings = field(default_factory=Settings)
    missing: tuple[MissingLog, ...] = ()
    restatement: Restatement | None = None  # None: nothing changed, or there was nothing before
    silent_since: int | None = None
    """From when on (epoch s) no record is of any time before the period; None: of no such time."""

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period, over all pools."""
        return sum(pool.attempts for pool in self.pools)

    @property
    def empty(self) -> bool:
        """Whether the period holds nothing that could be measured."""
        return self.attempts + self.undated == 0

    @property
    def brief(self) -> bool:
        """Whether so few days of a longer period are covered that no figure may speak of it."""
        longer = self.span.to_time - self.span.from_time > (ENOUGH_DAYS + 1) * _DAY_S
        return longer and not self.span.whole_log and 0 < self.covered_s < ENOUGH_DAYS * _DAY_S

    @property
    def covered_s(self) -> float:
        """How much of the period the log covered when its figures were computed; 0: not known."""
        return max((pool.figure("covered_time").value or 0.0 for pool in self.pools), default=0.0)

    @property
    def covered_days(self) -> int:
        """The same in days."""
        return max(round(self.covered_s / _DAY_S), 1)

    @property
    def undated(self) -> int:
        """Attempts of which the log does not say when they arrived, over all pools."""
        return sum(int(pool.figure("arrival_unknown").value or 0) for pool in self.pools)

    @property
    def records(self) -> int:
        """Records read, refused ones included."""
        return sum(log.records for log in self.inputs)

    @property
    def refused(self) -> int:
        """Lines refused."""
        return sum(log.refused for log in self.inputs)


def _find(figures: tuple[Figure, ...], metric: str) -> Figure:
    for figure in figures:
        if figure.metric == metric:
            return figure
    return Figure(metric)
