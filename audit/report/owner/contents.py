"""Everything that the page of one user or account says, as a frozen record, before any HTML.

Of others it holds sums over five users or more, and no name of anybody else: what a record does not
hold, no page can show. None means not known, or too few others to be told.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from audit.report.contents import Figure, Options, Provenance, Span
from audit.report.judgement.page_one import Trust
from audit.report.owner.who import Who
from audit.report.trend import Estimate, Trend

PARTS: Final = ("room", "shared", "own", "earlier", "later", "down")
"""Of a wait (SPEC §10)."""
FEWEST: Final = 5
"""Others are told of only in sums over so many users, or more."""


class Ground(NamedTuple):
    """The pool in which the owner waited."""

    name: str
    resource: str  # cpus | nodes | gpus
    wait_mean: float | None  # of everybody, s


@dataclass(frozen=True, slots=True)
class WaitPart:
    """One part of all the waiting of the owner."""

    key: str  # of ``PARTS``
    share: float
    wait_s: float
    of_all: float | None  # the same share of everybody's waiting


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the owner's mean wait stands among those of others with enough attempts."""

    longer: Estimate  # share of the others whose mean wait is shorter than the owner's
    others: int


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What ran while one attempt waited: means over its wait, as parts of the pool's capacity."""

    own: float
    others: float | None
    users: int | None  # how many others had something running
    earlier: float | None  # of ``others``: what had arrived before the attempt
    later: float | None


@dataclass(frozen=True, slots=True)
class LongWait:
    """One of the owner's longest waits; times in epoch s, durations in s."""

    job_id: str | None  # None: of an account, whose members are not told of
    arrival: int
    start: int
    wait_s: int
    size: int | None
    walltime_s: int | None
    parts: Mapping[str, float]  # s of the wait, by ``PARTS``; empty where it was not taken apart
    peer_wait_s: float | None
    overtaken_s: int | None  # None also where the model fits too poorly
    meanwhile: Meanwhile


@dataclass(frozen=True, slots=True)
class Way:
    """Another choice that others' attempts alike waited less with, beyond chance."""

    lever: str  # width | walltime | hours
    mine: str  # class in which the owner's attempts waited most in all
    better: str
    width: str  # what else was alike; empty where that is the lever, or nothing is held alike
    walltime: str
    gain: Figure  # difference of medians, s; its interval is fair to the pick
    users: int
    fitting: float | None  # part of the owner's own attempts of ``mine`` that ran short enough


@dataclass(frozen=True, slots=True)
class Target:
    """The owner's usage against its target, by one way of reckoning; parts of all usage."""

    method: str
    parent: str | None
    partition: str | None
    share: float
    mean: float
    now: float
    days: int


@dataclass(frozen=True, slots=True)
class OwnerPart:
    """What the page says of one pool."""

    pool: Ground
    figures: tuple[Figure, ...]
    wait_mean: Figure  # interval over days
    attempts: int
    jobs: int
    never_started: int
    gave_up_wait_s: int | None
    waited_s: int
    beyond_equal: float | None  # resource-seconds held beyond an equal share; < 0: short of it
    parts: tuple[WaitPart, ...]  # empty where no wait was taken apart
    placed: Placed | None
    peers_told: bool  # whether those compared with are enough users to be told of
    trend: Trend | None
    longest: tuple[LongWait, ...]
    ways: tuple[Way, ...]
    tried: int  # how many choices were compared
    trust: tuple[Trust, ...]  # empty with too few others: how busy a pool is tells of them

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return next((of for of in self.figures if of.metric == metric), Figure(metric))

    @property
    def named(self) -> bool:
        """Whether the owner waits longer than peers, beyond chance."""
        return bool(self.figure("peer_named").value)

    @property
    def flood(self) -> bool:
        """Whether the owner does so in floods of its own only."""
        return bool(self.figure("peer_flood").value)


@dataclass(frozen=True, slots=True)
class OwnerContents:
    """The whole page."""

    who: Who
    cluster: str
    span: Span
    parts: tuple[OwnerPart, ...]  # where the owner waited most comes first
    targets: tuple[Target, ...]
    provenance: Provenance
    options: Options  # of the report; it names no page of anybody else
    seen: int  # attempts that the database knows to have come before the end of the period
    covered_days: int | None = None  # of a longer period, where too few to speak of it
