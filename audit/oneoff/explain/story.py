"""The story of one attempt's wait: a frozen record, before any wording."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import InstanceOf, PlainSerializer

from audit.model import Pool
from audit.report.sections.causes.record import Reservations
from audit.scenario.releases.chains import OwnEnd


@dataclass(frozen=True, slots=True)
class PoolOfJob:
    """The pool in which it waited, for programs."""

    name: str
    resource: str  # that it counts
    capacity: int
    policy: str


def _ground(pool: Pool) -> PoolOfJob:
    return PoolOfJob(pool.name, pool.resource.value, pool.capacity, pool.policy.name)


@dataclass(frozen=True, slots=True)
class ExplainedAttempt:
    """The attempt that is explained, as the log has it; times in epoch s, durations in s."""

    cluster: str
    zone: str
    pool: Annotated[InstanceOf[Pool], PlainSerializer(_ground)]
    job_id: str
    attempt: int
    user: str | None
    account: str | None
    partition: str | None
    qos: str | None
    state: str | None
    reason: str | None
    standing: str
    size: int | None  # amount of the pool's counted resource
    walltime_s: int | None
    arrival: int
    start: int | None
    end: int | None
    until: int  # end of the wait: its start; else when it left the queue; else now

    @property
    def wait_s(self) -> int:
        """Length of the wait, ≥ 0."""
        return max(self.until - self.arrival, 0)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Attempts at one instant."""

    attempts: int
    size: int  # of the counted resource, used or requested
    own: int  # attempts of the same user


@dataclass(frozen=True, slots=True)
class Passer:
    """An attempt that arrived later and started earlier."""

    job_id: str
    user: str | None
    arrival: int
    start: int
    size: int
    walltime_s: int | None


@dataclass(frozen=True, slots=True)
class Use:
    """Use of the counted resource in a stretch of the wait."""

    begin: int
    end: int
    own: int
    earlier: int
    later: int
    capacity: int


@dataclass(frozen=True, slots=True)
class LineCause:
    """One cause within a line of the timeline."""

    cause: str  # key of ``registry.causes.CAUSES``
    by: str | None  # see ``account.Account.traced``
    seconds: int
    jobs: int  # others, or its user's, that it was behind


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """A line of the timeline, with its causes; the longest cause comes first."""

    begin: int
    end: int
    parts: tuple[LineCause, ...]


@dataclass(frozen=True, slots=True)
class Idling:
    """The end of a wait, from which on enough was free."""

    begin: int  # epoch s
    first: bool  # whether nothing ahead of it was about to start


@dataclass(frozen=True, slots=True)
class WaitCauses:
    """The causes of the wait (SPEC §11), and the waits of similar jobs; s."""

    causes: Mapping[str, float]  # by column of each cause; empty: it has no account
    rule_free_s: float  # of the time under rules, while enough was free
    timeline: tuple[TimelineLine, ...]
    similar_wait_s: int | None  # their median; None: too few
    idling: Idling | None  # None: something else kept it waiting to the end
    reservations: Reservations


@dataclass(frozen=True, slots=True)
class Crossing:
    """A planned reduction of the capacity that a pending attempt's walltime would cross."""

    begin: int
    end: int | None
    capacity: int  # meanwhile, of the counted resource


@dataclass(frozen=True, slots=True)
class Cost:
    """The delay by one user's later arrivals; such delays do not add up."""

    user: str | None
    delay_s: int


@dataclass(frozen=True, slots=True)
class Delay:
    """The delay by later arrivals, on what the machine delivered (SPEC §10)."""

    fair: int  # its start without later arrivals, epoch s
    miss_s: int  # by which it started later, s ≥ 0
    cautious_s: int  # the same by the cautious reading
    costs: tuple[Cost, ...]  # the users whose later arrivals delayed it most
    rule: str  # by which the start was found
    agreement: float | None  # of the best rule with the observed starts; None: not known


@dataclass(frozen=True, slots=True)
class Story:
    """All that is known of one wait."""

    subject: ExplainedAttempt
    running: Crowd  # at its arrival
    queued: Crowd  # ahead of it, at its arrival
    account: WaitCauses
    passers: tuple[Passer, ...]  # those that used most, most first
    passed_by: int  # how many there are
    uses: tuple[Use, ...]  # over the whole wait; ascending, without gaps
    crossing: Crossing | None
    delay: Delay | None
    undelayed: str  # why there is none; empty where there is one
    part: str = ""  # why the log is a part of the workload; empty: it is not
    own_end: OwnEnd | None = None  # after which it started, if the log shows that it was held
