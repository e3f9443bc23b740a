"""Chains: attempts that arrive before, and start right after the end of, their user's previous one.

A dependency, or a script that lets the next one go when one is done, shows so: again and again an
attempt starts within ``WITHIN_S`` of the end of the attempt of its user that arrived before it,
though it had room long before. A limit has the same effect. The other jobs that the user had
queued or running distinguish the two: a limit holds all of them, a chain only the next link.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from audit.scenario.fit.levels import NO_ENTITY, numbered
from audit.scenario.fit.observed import Observed
from audit.scenario.workload import NEVER, Bools, Ints

WITHIN_S: Final = 120
LEAST_LINKS: Final = 10
LEAST_SHARE: Final = 0.5
"""Of a user's attempts that arrive before the previous one ends, and could start before that."""


class Chain(NamedTuple):
    """A user whose attempts wait for each other."""

    user: str
    links: int
    """Attempts that start right after the previous one, though they could have started before."""
    others: int
    """Attempts that arrive before the previous one ends, but do not wait for it."""
    beside: int
    """Attempts of the user that started while another of them ran: what no limit of one allows."""
    explained: int
    """Seconds between when the links could have started and the ends that they waited for."""


def previous(observed: Observed) -> Ints:
    """The attempt of its user that arrived before each, [n]; −1: none."""
    user = numbered(observed, "user")
    order = np.argsort(user, kind="stable")
    before = np.full(len(user), -1)
    same = (user[order[1:]] == user[order[:-1]]) & (user[order[1:]] != NO_ENTITY)
    before[order[1:][same]] = order[:-1][same]
    return before


def links(observed: Observed, ready: Ints) -> tuple[Bools, Bools]:
    """Find attempts that could start before their user's previous one ended, and those that waited.

    Args:
        ready: when each could have started, [n]; NEVER: not before it did.

    Returns:
        [n] each: could have; and is a link.
    """
    work = observed.work
    before = previous(observed)
    end = np.where(before >= 0, work.end[np.maximum(before, 0)], -1)
    could = observed.judged & (before >= 0) & (ready != NEVER) & (end - ready > WITHIN_S)
    gap = work.start - end
    return could, could & (gap >= 0) & (gap <= WITHIN_S)


def chains(observed: Observed, ready: Ints, among: Bools) -> list[Chain]:
    """The users whose attempts wait for each other; most explained first."""
    could, linked = links(observed, ready)
    could, linked = could & among, linked & among
    user = numbered(observed, "user")
    names = observed.frame["user"].to_list()
    work, before = observed.work, previous(observed)
    found = []
    for number in np.unique(user[linked]):
        own = user == number
        count, tried = int((own & linked).sum()), int((own & could).sum())
        if count < LEAST_LINKS or count < LEAST_SHARE * tried:
            continue
        which = np.flatnonzero(own & linked)
        explained = int((work.end[before[which]] - ready[which]).sum())
        beside = _beside(observed, np.flatnonzero(own & observed.judged))
        found.append(Chain(names[which[0]], count, tried - count, beside, explained))
    return sorted(found, key=lambda one: (-one.explained, one.user))


def _beside(observed: Observed, own: Ints) -> int:
    """How many of a user's attempts started while another of them ran."""
    start, end = observed.work.start[own], observed.work.end[own]
    running = np.searchsorted(np.sort(start), start) - np.searchsorted(np.sort(end), start, "right")
    return int((running > 0).sum())


def held_until(observed: Observed, users: Bools) -> tuple[Ints, Bools]:
    """When each attempt of these users is let go: at its arrival, or when the previous one ends.

    Args:
        users: [n], whether the attempt is of such a user.

    Returns:
        [n] each: the instant, at most the start; and whether it started before it was released.
    """
    work = observed.work
    before = previous(observed)
    end = np.where(users & (before >= 0), work.end[np.maximum(before, 0)], 0)
    broken = end > work.start
    return np.clip(end, work.arrival, work.start), broken
