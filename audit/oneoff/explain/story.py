"""What can be said of one attempt's wait: a frozen record, before any wording."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from audit.model import Pool


@dataclass(frozen=True, slots=True)
class Subject:
    """The attempt that is explained, as the log has it; times in epoch s, durations in s."""

    cluster: str
    zone: str
    pool: Pool
    job_id: str
    attempt: int
    user: str | None
    account: str | None
    partition: str | None
    qos: str | None
    state: str | None
    reason: str | None
    standing: str
    size: int | None
    """Amount of the pool's counted resource."""
    walltime_s: int | None
    arrival: int
    start: int | None
    end: int | None
    until: int
    """When its wait ended: its start; where it never started when it left the queue; else now."""

    @property
    def wait_s(self) -> int:
        """How long it waited, ≥ 0."""
        return max(self.until - self.arrival, 0)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Attempts at one instant."""

    attempts: int
    size: int
    """What they use, or ask for, of the counted resource."""
    work: int
    """What they may still use, by their walltimes: resource-seconds."""
    own: int
    """How many of them are of the same user."""


@dataclass(frozen=True, slots=True)
class Passer:
    """An attempt that arrived later and started earlier."""

    job_id: str
    user: str | None
    arrival: int
    start: int
    size: int
    estimate_s: int
    occupancy_s: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What one user's later arrivals cost under the modelled policy."""

    user: str | None
    arrivals: int
    """How many of them came while the attempt would have waited."""
    cost_s: int
    """How much earlier it would have started without them; < 0: later."""


@dataclass(frozen=True, slots=True)
class Starts:
    """When it would have started under the modelled policy; epoch s, None: never, or not known."""

    alone: int | None
    """With an empty queue: beside what ran when it came."""
    strict: int | None
    """With those that came before it and nobody later: its fair start time."""
    relaxed: int | None
    modelled: int | None
    """With everybody who came later as well."""
    ready: int | None
    """The first instant at which the policy would have started it on what was observed."""
    own_s: int | None
    """How much of what later arrivals cost is by its own user's."""


@dataclass(frozen=True, slots=True)
class Trust:
    """How far the model explains this pool; None: not known."""

    agreement: float | None
    """Of attempts that waited, the share that the model starts when the site did."""
    correlation: float | None
    """Rank correlation of waits from forward starts with those observed."""
    judged: int
    """Attempts that these two rest on."""


@dataclass(frozen=True, slots=True)
class Use:
    """What was in use in a stretch of the wait, of the counted resource."""

    begin: int
    end: int
    own: int
    earlier: int
    later: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Story:
    """All that is known of one wait."""

    subject: Subject
    running: Crowd
    """What ran when it came."""
    queued: Crowd
    """What waited before it then."""
    parts: Mapping[str, float]
    """Its wait taken apart, s; by column of each cause, empty where it cannot be."""
    peer_wait_s: float | None
    passers: tuple[Passer, ...]
    """By what they used, most first; the first of them all."""
    passed_by: int
    """How many there are."""
    starts: Starts | None
    """None where the model says nothing of it."""
    unmodelled: str
    """Why it says nothing; empty where it does."""
    costs: tuple[Cost, ...]
    """The users whose later arrivals cost it most."""
    trust: Trust | None
    uses: tuple[Use, ...]
    """What was in use from its arrival to the end of its wait; ascending, without gaps."""
