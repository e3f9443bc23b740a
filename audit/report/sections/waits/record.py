"""The records of the section *waits*."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from audit.report.figures import Figure, Figures
from audit.report.first_page.sentences import Sentence
from audit.report.sections.causes.record import Segment, Shares


@dataclass(frozen=True, slots=True)
class Queue(Figures):
    """The waits of the jobs with the same partition, QOS and GPU type; ``-``: none, or unknown."""

    partition: str
    qos: str
    gpu_type: str
    share: float  # of all waiting
    figures: tuple[Figure, ...]


class Walltimes(NamedTuple):
    """The used parts of the walltimes of attempts that ended in the period."""

    attempts: int  # with a known walltime
    tenths: tuple[int, ...]  # attempts by tenth of the walltime; the eleventh: more than all
    median: float  # part of the walltime


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of queues, and used walltimes, of a pool."""

    queues: tuple[Queue, ...] = ()  # most waiting first; empty if there is only one
    walltimes: Walltimes | None = None  # None: no walltime is known


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
    hour_jobs: int  # than an hour
    hiding_queue: str | None  # one without which the typical wait is three times as long
    without_queue: int | None  # that wait


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
    p90: int


class Cell(NamedTuple):
    """One of the four figures."""

    big: Sentence
    what: Sentence
    than: Sentence


class SizeRow(NamedTuple):
    """A class of sizes."""

    label: str
    bar: tuple[Segment, ...]
    jobs: Sentence
    waiting: Sentence
    median: Sentence
    p90: Sentence


class LongestWait(NamedTuple):
    """One of the long waits of a quiet pool."""

    user: str
    size: int
    wait_s: int
    arrival: int
    cause: str  # the largest


class LongWaitRow(NamedTuple):
    """The same in words."""

    user: str
    label: str
    size: Sentence
    wait: Sentence
    submitted: str
    reason: str
