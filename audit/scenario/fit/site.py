"""How a site decides, as far as it is known: a pool with its rules, and what is no rule of a pool.

Elements are what can be found out about a site. Each changes one thing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, NamedTuple

from audit.model import Limit, Policy, Pool, Window
from audit.scenario.fit.days import Ceiling


class Kind(StrEnum):
    """The subject of an element."""

    policy = "policy"
    interval = "interval"
    window = "window"
    limit = "limit"
    capacity = "capacity in force"
    nodes = "whole nodes"
    chain = "chains"


FORBIDS: Final = (Kind.window, Kind.limit, Kind.capacity, Kind.chain)
"""Elements that forbid starts and change nothing else."""


RULES: Final = (Kind.policy, Kind.interval, Kind.window, Kind.limit)
"""Elements that describe decisions; the others describe attempts and the pool."""


class Evidence(NamedTuple):
    """The evidence for an element in the log, without a simulation."""

    explained: int = 0
    """Seconds in which attempts waited that it forbids to start, and could have otherwise."""
    failed: int = 0
    """Occasions to start that it withheld."""
    served: int = 0
    """Starts that it forbids, and that were observed."""
    starts: int = 0
    """All starts of the attempts that it is about."""
    units: int = 0
    """Users and days with such occasions or starts."""
    bound: float | None = None
    """Upper bound of the share of forbidden starts, over units; None: it is no rule."""
    by_chance: float | None = None
    """The share of such starts that is expected without the rule: that of its neighbours."""
    gain: float | None = None
    """Explained share of all waiting."""


class Element(NamedTuple):
    """A possible property of a site. Fields that are None or empty change nothing."""

    kind: Kind
    evidence: Evidence = Evidence()
    policy: Policy | None = None
    window: Window | None = None
    zone: str | None = None
    """The clock of all windows."""
    limit: Limit | None = None
    ceilings: tuple[Ceiling, ...] = ()
    users: tuple[str, ...] = ()
    """Users whose attempts wait for each other."""
    nodes: int | None = None
    """Number of nodes, each allocated to one attempt at a time."""


class Site(NamedTuple):
    """An assumed site."""

    pool: Pool
    """As it is known, with policy, limits and windows."""
    ceilings: tuple[Ceiling, ...] = ()
    """When less of the counted resource was in force."""
    users: tuple[str, ...] = ()
    """Those whose attempts wait for each other."""


def applied(site: Site, element: Element) -> Site:
    """The site with an element."""
    pool = site.pool
    if element.policy is not None:
        pool = pool._replace(policy=element.policy)
    if element.zone is not None:
        pool = pool._replace(zone=element.zone)
    if element.window is not None:
        pool = pool._replace(windows=(*pool.windows, element.window))
    if element.limit is not None:
        pool = pool._replace(limits=(*pool.limits, element.limit))
    if element.nodes is not None:
        amounts = tuple((name, amount) for name, amount in pool.amounts if name != "nodes")
        pool = pool._replace(exclusive_nodes=True, amounts=(*amounts, ("nodes", element.nodes)))
    return Site(pool, element.ceilings or site.ceilings, element.users or site.users)
