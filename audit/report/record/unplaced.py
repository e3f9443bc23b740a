"""The attempts of a pool that ran at an unknown time, as far as they can be measured."""

from dataclasses import dataclass
from typing import NamedTuple


class UnplacedOf(NamedTuple):
    """Such attempts of one user or account."""

    name: str | None  # None: not named in the log
    jobs: int
    consumed: float  # size × run time, resource-seconds


@dataclass(frozen=True, slots=True)
class Unplaced:
    """All such attempts of a pool."""

    pool: str
    resource: str  # cpus | nodes | gpus
    jobs: int
    measured: int  # with a known size and run time
    consumed: float  # size × run time, resource-seconds
    users: tuple[UnplacedOf, ...]  # largest first
    accounts: tuple[UnplacedOf, ...]
