"""Slurm's multifactor priority at an instant, straight from its definition, slowly (SPEC §7).

Usage is booked second by second and shares are ranked by ``tests.naive.slurm``; nothing is shared
with the package.
"""

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from zoneinfo import ZoneInfo

from tests.naive import slurm

Tree = Mapping[str, tuple[str, int | None]]
"""Parent ("": the root) and share of each node; share None: fairshare=parent."""

USERS = ("ann", "bob", "cem", "dot")
"""Of the nodes of a tree these are users; all others are accounts."""


EVEN: Tree = {"ann": ("", 1), "bob": ("", 1), "cem": ("", 2), "dot": ("", 0)}


class Slurm(NamedTuple):
    """How slurmctld is configured."""

    tree: Tree = EVEN
    half_life: int = 20
    period: int = 1
    phase: int = 0
    reset: str = "none"
    age: float = 7.0
    max_age: float = 5.0
    fairshare: float = 10.0
    algorithm: str = "fair_tree"
    dampening: float = 1.0


class Ran(NamedTuple):
    """The use of an attempt that ran, or runs, until its end."""

    user: str
    start: int
    end: int
    charge: int


def tick(settings: Slurm, t: int) -> int:
    """The last recalculation at or before ``t``."""
    return t - (t - settings.phase) % settings.period


def factors(settings: Slurm, ran: Iterable[Ran], t: int) -> dict[str, float]:
    """Fairshare of each user, as of the last tick; whom the tree does not know uses root's."""
    ran = list(ran)
    at = tick(settings, t)

    def node(name: str, share: int | None) -> slurm.Node:
        below = [(child, of) for child, (parent, of) in settings.tree.items() if parent == name]
        children = [node(child, of) for child, of in below]
        mine = [r for r in ran if (r.user if r.user in settings.tree else "") == name]
        own = slurm.usage(
            [slurm.Job(r.start, r.end, r.charge) for r in mine],
            at,
            half_life=settings.half_life,
            period=settings.period,
            phase=settings.phase,
            reset=settings.reset,
            zone=ZoneInfo("UTC") if settings.reset != "none" else None,
        )
        used = own + sum(child.usage for child in children)
        below_it = None if name in USERS else children
        return slurm.Node(name, share, used, below_it)  # type: ignore[arg-type]

    root = node("", 1)
    if settings.algorithm == "classic":
        seen = slurm.classic(root, settings.dampening)
    else:
        seen = slurm.fair_tree(root, grid=True)
    return {user: seen[user].fairshare or 0.0 for user in USERS if user in seen}


def priority(settings: Slurm, fixed: float, arrival: int, factor: float, t: int) -> int:
    """As of the last tick: at least 1, at most 2³² − 1."""
    age = max(tick(settings, t) - arrival, 0)
    total = settings.age * min(age / settings.max_age, 1.0) + settings.fairshare * factor + fixed
    return math.floor(min(max(total, 1.0), 2.0**32 - 1))
