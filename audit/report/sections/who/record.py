"""The records of the section *who*."""

from dataclasses import dataclass
from typing import NamedTuple

from audit.report.figures import Figure, Figures
from audit.report.first_page.sentences import Sentence
from audit.report.sections.causes.record import RuleTime, Shares


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


@dataclass(frozen=True, slots=True)
class Entities(Figures):
    """All users, or all accounts, of a pool."""

    kind: str  # user | account
    rows: tuple[Entity, ...]  # largest shortfall first
    figures: tuple[Figure, ...]  # uwt, nuwt_median, nuwt_q1, …

    @property
    def named(self) -> tuple[Entity, ...]:
        """The entities that the log names."""
        return tuple(row for row in self.rows if row.name is not None)


class Person(NamedTuple):
    """A user or account in a list."""

    kind: str
    name: str
    jobs: int
    waiting: float  # share of all
    median: int | None
    compared: int | None  # jobs with similar ones; None: too few
    similar: int | None  # median wait of similar jobs
    causes: Shares
    rules: tuple[RuleTime, ...]  # most waiting first
    large: bool  # whether jobs over a quarter of the machine have half of its waiting
    hold: str | None  # kind of a release, or of starts after own ends
    named_in_rule: bool = False
    low_priority: bool = False
    """Whether a lower one is configured for it, or the order follows usage and it used much."""
    last_reason: str | None = None  # a hold or limit, of half of its waiting without a cause


class OvertakenRow(NamedTuple):
    """A user or account that later jobs overtook more often than others."""

    kind: str
    name: str
    passed_jobs: int
    jobs: int
    passed: float  # passed time as a share of W
    passed_median: int
    cause: str | None
    usage_multiple: float | None
    later: float  # share of its waiting behind later jobs


class UsedLess(NamedTuple):
    """An account that used less than its share."""

    name: str
    jobs: int
    waiting: float
    median: int
    others: int  # typical wait of all other jobs
    used: float
    share: float
    reason: Person


class People(NamedTuple):
    """Who waits."""

    kind: str
    users: int
    half: int  # number of users whose share of the waiting is closest to half
    half_waiting: float
    half_cpu: float
    overtaken: tuple[OvertakenRow, ...]
    tested: int  # users
    most: tuple[Person, ...]
    compared: int
    longer: int  # of those compared
    above: int  # of those longer: in an earlier group
    longer_rows: tuple[Person, ...]
    used_less: tuple[UsedLess, ...] = ()
    with_share: int = 0
    longest: Person | None = None  # of those longer, the one with most excess
    tested_of_kind: int = 0
    known_causes: tuple[bool, ...] = ()
    """Of each that *passed over* names, with little waiting too: whether its cause is known."""


class WhoRow(NamedTuple):
    """A user or account."""

    kind: str
    name: str
    label: str
    jobs: Sentence
    waiting: Sentence
    median: Sentence
    similar: Sentence
    reason: Sentence


class WhoGroup(NamedTuple):
    """A list of users or accounts."""

    title: Sentence
    rows: tuple[WhoRow, ...]
    heads: tuple[str, ...] = ()
    """Of its four columns of figures; empty: those of the table."""
