"""Kinds of made sites: what is submitted, on which machine, and how the true scheduler decides.

Every parameter of a site is declared here. Nothing depends on the engines of ``audit.scenario``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

HOUR: Final = 3_600
DAY: Final = 24 * HOUR
WEEK: Final = 7 * DAY
EPOCH: Final = 1_704_067_200  # Monday, 2024-01-01 00:00 UTC


@dataclass(frozen=True)
class Traffic:
    """What users submit."""

    days: int = 60
    jobs: int = 5_000
    users: int = 40
    accounts: int = 8
    skew: float = 0.8
    """Exponent by which the activity of users falls with their rank."""
    load: tuple[float, float] = (0.7, 0.9)
    """Work of all jobs ÷ (capacity × days): least and greatest."""
    session: float = 2.2
    """Mean number of jobs that a user submits at once, of equal size and similar length."""
    bursts: float = 0.06
    """Share of the sessions that are bursts."""
    burst_jobs: tuple[int, int] = (15, 40)
    running: float = 3.0
    """Greatest mean number of running jobs of a user."""
    night: float = 0.3
    """Arrivals in an hour from 19 to 8, relative to one by day; likewise ``weekend``."""
    weekend: float = 0.4
    sizes: tuple[float, ...] = (0.24, 0.14, 0.16, 0.16, 0.14, 0.1, 0.06)
    """Shares of the users whose usual size is 1, 2, 4, …"""
    spread: tuple[float, float, float] = (1.0, 0.8, 0.35)
    """Standard deviations of ln runtime: among users, sessions of a user, jobs of a session."""
    overestimates: tuple[float, ...] = (1.05, 1.3, 2.0, 4.0, 10.0)
    """Walltime ÷ runtime of a session, before it is rounded up to one of ``WALLTIMES``."""
    gives_up: float = 0.02
    """Share of the jobs that are cancelled if they wait for more than about a day."""
    partitions: tuple[tuple[str, float], ...] = (("main", 1.0),)
    """Their shares of the sessions; likewise those of each QOS."""
    qos: tuple[tuple[str, float], ...] = (("normal", 1.0),)
    exempt: float = 0.0
    """Share of the jobs to which no limit applies."""


WALLTIMES: Final = tuple(int(h * HOUR) for h in (0.25, 0.5, 1, 2, 4, 8, 12, 24, 48))
LONGEST_S: Final = 40 * HOUR
SHORTEST_S: Final = 30


@dataclass(frozen=True)
class NodeClass:
    """Nodes on which only their own jobs run; the log does not show which job is whose."""

    name: str
    share: float
    """Of the capacity, and of the sessions."""
    cpus_per_gpu: int = 0
    """0: it has no GPUs."""


@dataclass(frozen=True)
class HoldHabit:
    """Jobs that users hold; the log does not say so."""

    share: float
    """Of the sessions; of those of at least five jobs if they are released together."""
    median_s: int
    together: bool = False
    """Whether all jobs of a session are released at once."""


@dataclass(frozen=True)
class DrainPlan:
    """Nodes taken out of service, which the log does not name."""

    times: int = 6
    share: tuple[float, float] = (0.1, 0.35)
    """Least and greatest part of a class's capacity."""
    median_s: int = 14 * HOUR


@dataclass(frozen=True)
class TrueRule:
    """A limit that the true scheduler enforces, and that the log does not name."""

    level: int
    counts: Literal["jobs", "cpus", "cpu_s", "gpus"] = "jobs"
    """Amount that may run at one time; cpu_s: CPUs × remaining walltime."""
    per: Literal["user", "account", "partition", "qos"] = "user"
    within: tuple[Literal["partition", "qos", "node_class"], str] | None = None
    """Only jobs of this partition, QOS or class of nodes count, and only they wait for it."""
    only: str | None = None
    """The one entity for which it holds; None: each one."""
    days: tuple[int, int] | None = None
    """First day of the log on which it is in force, and first day after; None: always."""


@dataclass(frozen=True)
class ClosedHours:
    """Hours of the week in which some jobs do not start, or into which they may not reach."""

    hours: tuple[int, ...]
    """Counted from Monday 00:00 UTC."""
    walltime_above_s: int = 0
    size_above: int = 0
    overlap: bool = False
    """Whether the whole walltime counts, not only the start."""
    days: tuple[int, int] | None = None
    """As that of ``TrueRule``."""


@dataclass(frozen=True)
class SiteKind:
    """One kind of site; its seed decides all the rest."""

    traffic: Traffic = Traffic()
    capacity: int = 256
    withheld: int = 0
    """CPUs of the declared capacity that never run a job."""
    classes: tuple[NodeClass, ...] = (NodeClass("all", 1.0),)
    separate: bool = False
    """Whether each class is a partition with a separate queue, although the log shows one pool."""
    reservations: int | None = 1
    """Number of waiting jobs that the scheduler keeps capacity for; None: all."""
    strict: bool = False
    """Whether no job starts before one that arrived earlier."""
    interval_s: int = 0
    """Seconds between two passes; 0: at each event."""
    latency_s: tuple[int, int] = (0, 0)
    """Least and greatest time from a decision to the start."""
    fairshare: bool = False
    """Whether the queue is ordered by decayed usage (half-life of seven days)."""
    first: tuple[Literal["user", "account", "partition", "qos"], str] | None = None
    """The entity that comes before all others; ``last``: after all others."""
    last: tuple[Literal["user", "account", "partition", "qos"], str] | None = None
    chains: float = 0.0
    """Share of the users whose sessions are chains: each job waits for the end of the last."""
    arrays: float = 0.0
    """Share of the users whose sessions are arrays, of which ``throttle`` tasks run at once."""
    throttle: int = 4
    scripts: float = 0.0
    """Share of the users whose script submits a job when one of the last two has ended."""
    holds: tuple[HoldHabit, ...] = ()
    drains: DrainPlan | None = None
    rules: tuple[TrueRule, ...] = ()
    closed: tuple[ClosedHours, ...] = ()

    def shorter(self, days: int) -> "SiteKind":
        """Return the same kind with the first days alone, at the same rate of arrivals."""
        traffic = self.traffic
        jobs = traffic.jobs * days // traffic.days
        return replace(self, traffic=replace(traffic, days=days, jobs=jobs))


HELD: Final = HoldHabit(share=0.08, median_s=8 * HOUR)
RELEASED: Final = HoldHabit(share=0.25, median_s=3 * DAY, together=True)
TWO_CLASSES: Final = (NodeClass("thin", 0.75), NodeClass("fat", 0.25))

WAITING: Final[Mapping[str, SiteKind]] = {
    "EASY": SiteKind(),
    "a pass each 60 s": SiteKind(interval_s=60),
    "a pass each 120 s": SiteKind(interval_s=120),
    "a pass each 300 s": SiteKind(interval_s=300),
    "latency": SiteKind(latency_s=(20, 120)),
    "limit of jobs": SiteKind(rules=(TrueRule(6),)),
    "limit of CPUs": SiteKind(rules=(TrueRule(64, "cpus"),)),
    "chains": SiteKind(chains=0.25),
    "holds": SiteKind(holds=(HELD,)),
    "holds, some released together": SiteKind(holds=(HELD, RELEASED)),
    "drains": SiteKind(drains=DrainPlan()),
    "node classes": SiteKind(classes=TWO_CLASSES),
    "two partitions merged": SiteKind(classes=TWO_CLASSES, separate=True),
    "conservative": SiteKind(reservations=None),
    "fairshare": SiteKind(fairshare=True),
    "strict": SiteKind(strict=True, traffic=Traffic(load=(0.55, 0.65))),
    "no guarantee": SiteKind(reservations=0),
    "mixed": SiteKind(
        interval_s=60,
        latency_s=(2, 20),
        chains=0.1,
        holds=(HELD,),
        drains=DrainPlan(times=3),
        rules=(TrueRule(10),),
    ),
}
"""Kinds on which the reasons of all waiting are compared (``comparison``)."""
