"""Everything that the page of one user or account says, as a frozen record, before any HTML.

It knows the attempts of the user or account, and of everybody else only figures of published blocks
of weeks (``audit.metrics.disclosure``): what a record does not hold, no page can show. None means
not known, or not published.
"""

from dataclasses import dataclass
from typing import NamedTuple

from audit.registry.causes import Cause
from audit.report.judgement.page_one import Trust
from audit.report.record.page import Options, Provenance, Span, Who
from audit.report.record.pool import Figure, PassedOver, Trend


class Ground(NamedTuple):
    """The pool in which the jobs waited."""

    name: str
    resource: str  # cpus | nodes | gpus


class Everybody(NamedTuple):
    """What all jobs of the period's published blocks waited and used, the reader's included."""

    blocks: int
    wait_mean: float  # s, mean over blocks
    consumed: float  # resource-seconds


@dataclass(frozen=True, slots=True)
class WaitPart:
    """One part of the waiting in published blocks."""

    cause: Cause
    share: float
    of_all: float  # the same share of everybody's waiting


@dataclass(frozen=True, slots=True)
class LongWait:
    """One of the longest waits; times in epoch s, durations in s."""

    job_id: str | None  # None: of an account, whose members are not told of
    arrival: int
    start: int
    wait_s: int
    size: int | None
    walltime_s: int | None
    similar_wait_s: float | None  # mean of everybody's similar jobs in its block
    held: float  # what other jobs of the same user or account held meanwhile, mean


@dataclass(frozen=True, slots=True)
class Way:
    """Another choice with which everybody's similar jobs waited less."""

    lever: str  # width | walltime
    mine: str  # class in which the jobs waited most in all
    better: str
    width: str  # what else was the same; empty where that is the lever
    walltime: str
    gain: Figure  # mean difference over blocks, s
    shorter: int  # blocks in which they waited less
    blocks: int
    fitting: float | None  # part of the reader's own jobs of ``mine`` that ran short enough


@dataclass(frozen=True, slots=True)
class Target:
    """What a user or account is promised of all usage, by one method."""

    method: str
    parent: str | None
    partition: str | None
    share: float


@dataclass(frozen=True, slots=True)
class OwnerPart:
    """What the page says of one pool."""

    pool: Ground
    wait_mean: Figure  # interval over days
    attempts: int
    jobs: int
    never_started: int
    gave_up_wait_s: int | None
    waited_s: int
    everybody: Everybody | None  # None: no week is published
    ratio: Figure  # Σ wait / Σ mean wait of everybody's similar jobs in the same block
    excess: Figure  # Σ (wait − that), s
    contested: Figure  # the same ratio of contested waits
    passed: PassedOver | None  # None: not named
    used_share: float | None  # part of what all jobs in published blocks consumed
    parts: tuple[WaitPart, ...]
    trend: Trend | None
    longest: tuple[LongWait, ...]
    ways: tuple[Way, ...]
    tried: int  # how many choices were compared

    @property
    def longer(self) -> bool:
        """Whether the jobs waited significantly longer than similar jobs."""
        return self.ratio.lower is not None and self.ratio.lower > 1

    @property
    def shorter(self) -> bool:
        """Whether they waited significantly less."""
        return self.ratio.upper is not None and self.ratio.upper < 1


@dataclass(frozen=True, slots=True)
class OwnerContents:
    """The whole page."""

    who: Who
    cluster: str
    span: Span  # of a whole log the days of the jobs, for its end is that of somebody's job
    parts: tuple[OwnerPart, ...]  # the pool with the longest waits comes first
    targets: tuple[Target, ...]
    provenance: Provenance
    options: Options  # of the report; it names no page of anybody else
    seen: str  # digest of the attempts and published figures that it is made of
    records: Trust  # whether records are complete
    brief: bool = False  # whether too few days of the period are covered to speak of it
