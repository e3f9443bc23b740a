"""The use of each resource of a pool that has several."""

from dataclasses import dataclass
from typing import NamedTuple


class ResourceUser(NamedTuple):
    """A user's use of one resource of a pool, by ended attempts."""

    name: str | None  # None: not named in the log
    pool_hours: float  # 1: the whole resource for an hour
    share: float  # of all usage of the resource
    share_of_counted: float | None  # of all usage of the pool's counted resource
    attempts: int


class ResourceUse(NamedTuple):
    """One resource of a pool that has several."""

    resource: str  # cpus | nodes | gpus | mem_bytes
    utilization: float | None
    used: float  # pool-hours, by all users
    users: tuple[ResourceUser, ...]  # those with the largest usage
    left_out: int  # other users with usage


@dataclass(frozen=True, slots=True)
class Resources:
    """The use of a pool that has several resources."""

    uses: tuple[ResourceUse, ...] = ()  # empty: it has only one
