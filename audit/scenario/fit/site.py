"""A site as the search assumes it: a pool with its rules, and what the rules do not express.

An element is one change of a site that the search tries.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal, NamedTuple

from audit.model import Order, Policy, Pool, Window
from audit.scenario.fit.days import Ceiling


class Kind(StrEnum):
    """The kinds of elements."""

    policy = "policy"
    interval = "interval"
    window = "window"
    capacity = "capacity in force"
    nodes = "whole nodes"
    queue = "queue priority"


RULES: Final = (Kind.policy, Kind.interval, Kind.window)
"""Elements by which a scheduler decides."""


class Evidence(NamedTuple):
    """The evidence of the log for an element, before any simulation."""

    explained: int = 0
    """Seconds of waiting during which only this element forbids the start."""
    failed: int = 0
    """Occasions withheld."""
    served: int = 0
    """Observed starts that the element forbids."""
    starts: int = 0
    """All starts of the attempts to which the element applies."""
    units: int = 0
    """Users and days with such occasions or starts."""
    bound: float | None = None
    """Upper bound of the share of forbidden starts, over units; None: the element is no rule."""
    by_chance: float | None = None
    """The share of such starts that is expected without the rule: that of its neighbours."""
    gain: float | None = None
    """``explained`` as a share of all waiting."""


class Ahead(NamedTuple):
    """Jobs that the queue serves before all others; each group by arrival."""

    by: Literal["partition", "qos"]
    names: tuple[str, ...]
    """Of the partitions or QOS of these jobs, ascending."""


class Element(NamedTuple):
    """A change of a site. Fields that are None or empty change nothing."""

    kind: Kind
    evidence: Evidence = Evidence()
    policy: Policy | None = None
    window: Window | None = None
    zone: str | None = None
    """The clock of all windows."""
    ceilings: tuple[Ceiling, ...] = ()
    nodes: int | None = None
    """Number of nodes, each given to one attempt at a time."""
    ahead: Ahead | None = None


class Site(NamedTuple):
    """The assumptions about a site."""

    pool: Pool
    """With its policy, limits and windows."""
    ceilings: tuple[Ceiling, ...] = ()
    """When less of the counted resource was in force."""
    ahead: Ahead | None = None

    @property
    def policy(self) -> Policy:
        """The policy of its pool; by rank if some jobs are served before the others."""
        policy = self.pool.policy
        return policy if self.ahead is None else policy.changed(order=Order.recorded)


def applied(site: Site, element: Element) -> Site:
    """Return the site with an element."""
    pool = site.pool
    if element.policy is not None:
        pool = pool._replace(policy=element.policy)
    if element.zone is not None:
        pool = pool._replace(zone=element.zone)
    if element.window is not None:
        pool = pool._replace(windows=(*pool.windows, element.window))
    if element.nodes is not None:
        amounts = tuple((name, amount) for name, amount in pool.amounts if name != "nodes")
        pool = pool._replace(exclusive_nodes=True, amounts=(*amounts, ("nodes", element.nodes)))
    return Site(
        pool,
        element.ceilings or site.ceilings,
        element.ahead or site.ahead,
    )
