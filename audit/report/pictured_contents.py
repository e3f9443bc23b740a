"""What pictures of a report show and no table has, as records."""

from dataclasses import dataclass
from typing import Final, NamedTuple


@dataclass(frozen=True, slots=True)
class Walltimes:
    """How much of their walltimes attempts used that ended in the period."""

    attempts: int  # whose walltime is known
    tenths: tuple[int, ...]  # up to each tenth of it; the eleventh: more than all of it
    median: float  # part of the walltime


class Flood(NamedTuple):
    """Many attempts of one user on one day (``model.FLOOD_WORK``)."""

    day: str  # ISO date
    user: str
    attempts: int
    work_s: float  # of the whole pool


@dataclass(frozen=True, slots=True)
class Pictured:
    """What pictures of a pool show and no table has."""

    waiting_work: tuple[tuple[str, float], ...] = ()  # ISO day, s of the whole pool in the mean
    floods: tuple[Flood, ...] = ()  # the largest first
    walltimes: Walltimes | None = None  # None: no walltime is known


NOTHING_PICTURED: Final = Pictured()
