"""Means over peers: a window over arrivals, moved through attempts that are alike.

Attempts stand one kind after the other (equal ``kind``), each kind by arrival.
"""

import math

import numpy as np
from numpy.typing import NDArray

from audit.kernels.arrays import Bools, Floats, Ints
from audit.kernels.compiled import inner, kernel
from audit.kernels.sums import two_sum

ROUNDING = 1e-15
"""A mean of means of whole seconds is not as small, unless it is 0."""


def mean_peer_waits(
    kind: NDArray[np.int64],
    arrival: NDArray[np.int64],
    wait: NDArray[np.int64],
    user: NDArray[np.int64],
    is_peer: NDArray[np.bool_],
    reach: int,
    least: tuple[int, int],
    out: NDArray[np.float64],
) -> None:
    """Writes the mean over peer users of their mean wait, where there are enough peers.

    Args:
        kind, arrival: see above.
        wait: in s, ≥ 0; of peers.
        user: a number ≥ 0.
        is_peer: who may be a peer of others.
        reach: how much earlier or later peers may arrive, s.
        least: how many peers, of how many users, are enough.
        out: NaN where a value is wanted; the others are left alone.
    """
    users = int(user.max(initial=-1)) + 1
    count, total = np.zeros(users, np.int64), np.zeros(users, np.int64)
    slide(kind, arrival, wait, user, is_peer, reach, *least, count, total, out)


@kernel
def slide(
    kind: Ints,
    arrival: Ints,
    wait: Ints,
    user: Ints,
    is_peer: Bools,
    reach: int,
    least_peers: int,
    least_users: int,
    count: Ints,
    total: Ints,
    out: Floats,
) -> None:
    """As ``mean_peer_waits``.

    ``count`` and ``total`` are working space, 0: how many attempts each user has in the window, and
    the sum of their waits. The sum of users' means is kept as a pair of doubles: what went into it
    comes out again.
    """
    first = 0
    last = 0
    peers = 0
    users = 0
    high = 0.0
    low = 0.0
    for i in range(len(kind)):
        if i > 0 and kind[i] != kind[i - 1]:  # nothing that was rounded there matters here
            forget(user, first, last, count, total)
            first, peers, users = last, 0, 0
            high, low = 0.0, 0.0
        while last < len(kind) and kind[last] == kind[i] and arrival[last] <= arrival[i] + reach:
            if is_peer[last]:
                before = mean_of(count, total, user[last])
                users += 1 if count[user[last]] == 0 else 0
                peers += 1
                count[user[last]] += 1
                total[user[last]] += wait[last]
                high, low = two_sum(high, low, mean_of(count, total, user[last]))
                high, low = two_sum(high, low, -before)
            last += 1
        while arrival[first] < arrival[i] - reach:
            if is_peer[first]:
                before = mean_of(count, total, user[first])
                peers -= 1
                count[user[first]] -= 1
                total[user[first]] -= wait[first]
                users -= 1 if count[user[first]] == 0 else 0
                high, low = two_sum(high, low, mean_of(count, total, user[first]))
                high, low = two_sum(high, low, -before)
            first += 1
        if math.isnan(out[i]):
            own = count[user[i]]
            others = users - (1 if own > 0 else 0)
            if peers - own >= least_peers and others >= least_users:
                mean = ((high - mean_of(count, total, user[i])) + low) / others
                out[i] = mean if mean > ROUNDING else 0.0


@inner
def forget(user: Ints, first: int, last: int, count: Ints, total: Ints) -> None:
    """Empties the window from ``first`` to below ``last``."""
    for k in range(first, last):
        count[user[k]] = 0
        total[user[k]] = 0


@inner
def mean_of(count: Ints, total: Ints, user: int) -> float:
    """A user's mean wait in the window; 0 where it has none there."""
    return total[user] / count[user] if count[user] > 0 else 0.0


@kernel
def last_gone(owner: Ints, gone: Ints, latest: Ints, before: Ints) -> None:
    """Writes when the last of those of the same owner was gone that stand before each attempt.

    ``latest`` has an element per owner: what is written where none stands before.
    """
    for k in range(len(owner)):
        before[k] = latest[owner[k]]
        latest[owner[k]] = max(latest[owner[k]], gone[k])
