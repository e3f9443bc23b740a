"""The records of the section *machine*."""

from dataclasses import dataclass
from typing import NamedTuple


class Burst(NamedTuple):
    """A burst of one user's attempts (SPEC §11)."""

    first: str  # ISO date of the first arrival
    last: str  # of the last arrival
    user: str


@dataclass(frozen=True, slots=True)
class MachineOverTime:
    """What the use of a pool and its queue over time was affected by."""

    outages: tuple[tuple[int, int], ...] = ()
    """Begin and end of times in which nothing ran although a job could, epoch s, longest first."""
    waiting_work: tuple[tuple[str, float], ...] = ()  # ISO day, mean s of the whole pool
    bursts: tuple[Burst, ...] = ()  # most work first


class Machine(NamedTuple):
    """The capacity of the pool, and how busy it was."""

    resource: str
    capacity: int
    nodes: int | None  # None: the nodes are not known
    busy: float | None
    step: str  # month, week, day; empty: too few complete ones
    fullest: float | None  # the busiest of these, at most 1
    gpus_busy: float | None
    whole: int | None = None  # the capacity with all nodes, if some are gone at the end
