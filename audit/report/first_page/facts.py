"""The numbers of page one, as frozen records.

Times are in s, instants epoch s, shares of 1, and *waiting* is a sum of waits. None means unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, NamedTuple

from audit.metrics.verdict import Decision
from audit.report.record.pool import Advice

Shares = Mapping[str, float]
"""Of some waiting, by key of ``causes.CAUSES``."""


class Machine(NamedTuple):
    """The capacity of the pool, and how busy it was."""

    resource: str
    capacity: int
    nodes: int | None  # None: the nodes are not known
    busy: float | None
    step: str  # month, week, day; empty: too few complete ones
    fullest: float | None  # the busiest of these, at most 1
    gpus_busy: float | None


class Strip(NamedTuple):
    """The four figures; quantiles of waits and of run times."""

    median: int
    p90: int
    p99: int
    run_median: int
    run_p90: int
    run_p99: int
    over: Mapping[int, float]  # share of jobs that waited longer, by s
    long_jobs: int  # that waited longer than 10 minutes
    minute_jobs: int  # that waited longer than a minute
    slow_queue: str | None  # one without which the typical wait is a third or less
    without_queue: int | None  # that wait


class RuleTime(NamedTuple):
    """The waiting under rules of one name."""

    name: str
    kind: str  # limit | window | overlap window
    source: str  # configured | slurm | pbs | inferred
    waiting_s: float
    free_s: float  # of it while enough was free


class RuleInForce(NamedTuple):
    """A rule that was in force, with its evidence and its waiting."""

    pool: str
    name: str
    rule: str
    source: str
    valid_from: date | None
    valid_to: date | None
    starts: int | None
    breaks: int | None
    waiting_s: int | None
    free_s: int | None


class Where(NamedTuple):
    """A class of jobs with much of the waiting that has no reason."""

    kind: str  # walltime | queue | size | user
    value: str | int
    share: float  # of this waiting
    jobs: float  # of all jobs
    of_jobs: int


class SizeClass(NamedTuple):
    """Jobs of about the same size."""

    low: int
    high: int
    gpus: bool  # whether the numbers are of GPUs
    top: bool  # whether it is the last class
    jobs: int
    waiting_s: float
    median: int
    p90: int
    causes: Shares
    largest_user: float  # share of the waiting


class QueueWait(NamedTuple):
    """A queue with its wait of one job in ten."""

    name: str
    jobs: float  # share
    waiting: float  # share of all
    p90: int


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
    low_priority: bool = False  # whether the order follows usage, and it used much


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
    tested: int
    most: tuple[Person, ...]
    compared: int
    longer: int  # of those compared
    above: int  # of those longer: in an earlier group
    longer_rows: tuple[Person, ...]
    used_less: tuple[UsedLess, ...] = ()
    with_share: int = 0
    longest: Person | None = None  # of those longer, the one with most excess


class Half(NamedTuple):
    """One of two spans that are compared."""

    median: int
    p90: int
    load: float | None
    median_without: int | None  # without the user with most waiting
    jobs: int
    p90_without: int | None = None


class Compared(NamedTuple):
    """Two spans, the earlier first."""

    before: str  # the name of the period before; empty: the halves of the log
    first: Half
    last: Half
    user: str | None  # with most waiting
    significant: bool
    whole_log: bool = True  # whether halves are those of the log, else of the period


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


class Known(NamedTuple):
    """The contents of the log: the share of the records that has each."""

    records: int
    refused: int
    announced: tuple[int, int] | None  # records of the logs, and those that headers name
    empty_days: int
    reasons: float
    walltimes: float
    queues: float
    qos: float
    nodes: float
    nodes_declared: bool
    limits: str  # source of limits that files or the configuration state; empty: none
    priorities: float
    dialects: tuple[str, ...]
    by_priority: float | None  # of the starts before an earlier job: those of higher priority
    evidence: tuple[str, ...] = ()  # kinds of samples and logs of the scheduler


@dataclass(frozen=True, slots=True)
class PoolVerdict:
    """The verdict on one pool, and the row of ``base_result`` behind it."""

    pool: str
    decision: Decision
    base: Mapping[str, Any]


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
