"""Chains: attempts that arrive before their user's previous one ends, and start right after it.

A dependency, or a script that submits the next job when one ends, makes chains: the attempt starts
within ``WITHIN_S`` of the end of the attempt of its user that arrived before it, though it would
have fitted long before.
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
"""Least share of links among a user's attempts that could start before the previous one ends."""


class Chain(NamedTuple):
    """A user whose attempts wait for each other."""

    user: str
    links: int
    others: int
    """Attempts that could have started before the previous one ended, and are no links."""
    explained: int
    """Seconds from when the links could have started to the ends for which they waited."""


def previous(observed: Observed) -> Ints:
    """Return the attempt of its user that arrived before each, [n]; −1: none."""
    user = numbered(observed, "user")
    order = np.argsort(user, kind="stable")
    before = np.full(len(user), -1)
    same = (user[order[1:]] == user[order[:-1]]) & (user[order[1:]] != NO_ENTITY)
    before[order[1:][same]] = order[:-1][same]
    return before


def chains(observed: Observed, ready: Ints, among: Bools) -> list[Chain]:
    """Return the users whose attempts wait for each other, those with most explained first.

    Args:
        ready: when each attempt could have started, [n]; NEVER: not before it did.
        among: the attempts that count, [n].
    """
    work, user, before = observed.work, numbered(observed, "user"), previous(observed)
    end = np.where(before >= 0, work.end[np.maximum(before, 0)], -1)
    could = among & observed.judged & (before >= 0) & (ready != NEVER) & (end - ready > WITHIN_S)
    linked = could & (work.start >= end) & (work.start - end <= WITHIN_S)
    names = observed.frame["user"]
    found = []
    for number in np.unique(user[linked]):
        which = np.flatnonzero(linked & (user == number))
        count, tried = len(which), int((could & (user == number)).sum())
        if count >= max(LEAST_LINKS, LEAST_SHARE * tried):
            explained = int((end[which] - ready[which]).sum())
            found.append(Chain(names[int(which[0])], count, tried - count, explained))
    return sorted(found, key=lambda one: (-one.explained, one.user))


def held_until(observed: Observed, users: Bools) -> tuple[Ints, Bools]:
    """Return when the attempts of users with chains are released: on arrival, or as a link.

    Args:
        users: [n], whether the attempt is of such a user.

    Returns:
        [n] each: the instant of release, at most the start; and whether the attempt started before
        the previous one of its user ended.
    """
    work, before = observed.work, previous(observed)
    end = np.where(users & (before >= 0), work.end[np.maximum(before, 0)], 0)
    return np.clip(end, work.arrival, work.start), end > work.start
