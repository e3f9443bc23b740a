"""How a site decides, as far as it is known: a pool with its rules, and what is no rule of a pool.

Elements are what can be found out about a site. Each changes one thing.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, NamedTuple

from audit.model import Limit, Policy, Pool, Window
from audit.scenario.fit.days import Ceiling


class Kind(StrEnum):
    """What an element is about."""

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
"""Elements by which a scheduler decides; the others tell what it decides about."""


class Evidence(NamedTuple):
    """What the trials say of an element, before anything is simulated."""

    explained: int = 0
    """Seconds in which attempts waited that it forbids to start, and could have otherwise."""
    failed: int = 0
    """Trials that it forbids, and that failed."""
    served: int = 0
    """Starts that it forbids, and that were observed."""


class Element(NamedTuple):
    """Something that may be so at a site. What is None or empty stays as it is."""

    kind: Kind
    evidence: Evidence = Evidence()
    policy: Policy | None = None
    window: Window | None = None
    zone: str | None = None
    """The clock of all windows."""
    limit: Limit | None = None
    ceilings: tuple[Ceiling, ...] = ()
    users: tuple[str, ...] = ()
    """Whose attempts wait for each other."""
    nodes: int | None = None
    """So many nodes, each given to one attempt at a time."""


class Site(NamedTuple):
    """What is assumed of a site."""

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
        pool = pool._replace(windows=_with(pool.windows, element.window))
    if element.limit is not None:
        pool = pool._replace(limits=(*pool.limits, element.limit))
    if element.nodes is not None:
        amounts = tuple((name, amount) for name, amount in pool.amounts if name != "nodes")
        pool = pool._replace(exclusive_nodes=True, amounts=(*amounts, ("nodes", element.nodes)))
    return Site(pool, element.ceilings or site.ceilings, element.users or site.users)


def _with(windows: tuple[Window, ...], added: Window) -> tuple[Window, ...]:
    """The windows with one more; hours of the same scope stand in one."""
    same = [one for one in windows if one.conditions == added.conditions]
    hours = sorted({*added.hours, *(hour for one in same for hour in one.hours)})
    return (*(one for one in windows if one not in same), added.but(hours=tuple(hours)))


def widened(element: Element) -> list[Element]:
    """The same rule on wider scopes, the widest first."""
    kind = "limit" if element.window is None else "window"
    rule: Any = getattr(element, kind)
    if rule is None:
        return []
    given = [name for name, value in rule.conditions.items() if value is not None]
    dropped = [given] if len(given) > 1 else []
    dropped += [[name] for name in given]
    return [element._replace(**{kind: rule.but(**dict.fromkeys(names))}) for names in dropped]
