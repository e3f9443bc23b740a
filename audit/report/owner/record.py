"""The content of the page of one user or account, as frozen records.

They hold the attempts of the user or account, and only published figures of all users
(``audit.metrics.disclosure``), so that no page can disclose more. None means unknown or not
published.
"""

from dataclasses import dataclass
from typing import NamedTuple

from audit.registry.causes import Cause
from audit.report.contents import Options, Provenance, Span, Who
from audit.report.figures import Figure
from audit.report.sections.changes.record import Trend
from audit.scenario.releases.chains import OwnEnd


class WaitPool(NamedTuple):
    """The pool in which the jobs waited."""

    name: str
    resource: str  # cpus | nodes | gpus
    part: bool = False  # whether its log is a part of the workload


class AllJobs(NamedTuple):
    """Waits and usage of all jobs in the period's published blocks, the reader's included."""

    wait_mean: float  # s, mean over blocks
    consumed: float  # resource-seconds


class Typical(NamedTuple):
    """Typical waits, medians in s."""

    own: int  # of the jobs compared; where they are too few, of all
    similar: float | None  # median of their classes' published medians; None: too few compared
    compared: int  # jobs


class WaitPart(NamedTuple):
    """One cause of the waiting in published blocks."""

    cause: Cause
    share: float
    of_all: float  # the same share of all users' waiting


@dataclass(frozen=True, slots=True)
class LongWait:
    """One of the longest waits; times in epoch s, durations in s."""

    job_id: str | None  # None: of an account, whose page does not identify members
    arrival: int
    wait_s: int
    size: int | None
    walltime_s: int | None
    similar_wait_s: float | None  # mean of all users' similar jobs in its block
    held: float  # mean use by other jobs of the same user or account during the wait
    own_end: OwnEnd | None = None  # after which it started, if the log shows that it was held


@dataclass(frozen=True, slots=True)
class ShorterClass:
    """A width or walltime class in which all users' similar jobs waited less."""

    lever: str  # width | walltime
    mine: str  # class in which the reader's jobs waited most in total
    better: str
    width: str  # the class that stays the same; empty if it is the lever
    walltime: str
    gain: Figure  # mean difference over blocks, s
    shorter: int  # blocks in which they waited less
    blocks: int
    fitting: float | None  # part of the reader's jobs of class ``mine`` that ran short enough


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a user or account by one method."""

    method: str
    parent: str | None
    partition: str | None
    share: float


class Beyond(NamedTuple):
    """CPU time that jobs were allocated beyond what they requested."""

    share: float  # of their CPU time
    reason: str  # key of ``registry.requested.BEYONDS``: that of most of it


@dataclass(frozen=True, slots=True)
class FairshareCourse:
    """A user's own usage, and FairShare as Slurm computes it; ``*_as_of`` are ends of days."""

    account: str | None
    partition: str | None
    first_as_of: int  # epoch s
    last_as_of: int
    first_usage: float  # decayed, penalty-seconds
    last_usage: float
    first: float  # FairShare, 0 to 1
    last: float
    lowest: float
    lowest_as_of: int


@dataclass(frozen=True, slots=True)
class OwnerPart:
    """One pool on the page of a user or account."""

    pool: WaitPool
    typical: Typical | None  # None: no wait is known
    wait_mean: Figure  # interval over days
    attempts: int
    jobs: int
    never_started: int
    gave_up_wait_s: int | None
    waited_s: int
    everybody: AllJobs | None  # None: no block is published
    ratio: Figure  # Σ wait / Σ mean wait of all users' similar jobs in the same block
    excess: Figure  # Σ (wait − that mean), s
    passed: bool
    passed_why: str | None  # a value of PassedWhy; None: passed over, or not compared
    beyond: Beyond | None  # CPU time beyond requests; None: little, or none
    used_share: float | None  # part of the consumption in published blocks
    parts: tuple[WaitPart, ...]
    trend: Trend
    longest: tuple[LongWait, ...]
    ways: tuple[ShorterClass, ...]
    tried: int  # number of classes compared

    @property
    def longer(self) -> bool:
        """Whether the jobs waited significantly longer than similar jobs."""
        return self.ratio.lower is not None and self.ratio.lower > 1

    @property
    def shorter(self) -> bool:
        """Whether they waited significantly less."""
        return self.ratio.upper is not None and self.ratio.upper < 1


class Start(NamedTuple):
    """The predicted start of a pending job, epoch s."""

    job_id: str
    made_at: int
    p10: int
    p50: int
    p90: int


@dataclass(frozen=True, slots=True)
class OwnerContents:
    """The whole page of a user or account."""

    who: Who
    cluster: str
    span: Span  # of a whole log, the span of the jobs: its end is that of another user's job
    parts: tuple[OwnerPart, ...]  # longest total wait first
    targets: tuple[Target, ...]
    provenance: Provenance
    options: Options  # of the report, without its pages
    seen: str  # digest of the attempts and published figures used
    records: str  # whether records are complete
    brief: bool = False  # whether too few days are covered for figures
    starts: tuple[Start, ...] = ()  # of pending jobs, the earliest first
    fairshare: tuple[FairshareCourse, ...] = ()  # one for each association of a user
