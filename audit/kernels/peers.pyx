"""Compare attempts with similar ones of other users that arrived at about the same time.

Attempts come kind by kind (equal numbers in ``kind``), and each kind by arrival. Times are in s.
"""

from libc.math cimport isnan
from libc.stdint cimport int64_t, uint8_t

import numpy as np

from audit.kernels.sums cimport Sum, plus

cdef double ROUNDING = 1e-15  # a mean of means of whole seconds is greater, unless it is 0


cdef struct Window:
    # The attempts that arrived close enough to the current one: first, …, last − 1.
    Py_ssize_t first
    Py_ssize_t last
    int64_t peers
    int64_t users
    Sum means  # sum over the users of their mean waits


def mean_peer_waits(
    const int64_t[::1] kind, const int64_t[::1] arrival, const int64_t[::1] wait,
    const int64_t[::1] user, const uint8_t[::1] is_peer, int64_t reach, int64_t least_peers,
    int64_t least_users, double[::1] out
):
    """Write the mean over peer users of their mean wait.

    Args:
        wait: ≥ 0; only that of peers counts.
        user: a number ≥ 0.
        is_peer: 1: the attempt may be a peer of others.
        reach: how much earlier or later peers may arrive.
        least_peers, least_users: minimum numbers of peers and of their users.
        out: NaN: to be computed, and stays NaN with too few peers; other elements are left alone.
    """
    cdef int64_t users = int(np.max(user, initial=-1)) + 1
    cdef int64_t[::1] count = np.zeros(users, np.int64)  # peers of each user in the window,
    cdef int64_t[::1] total = np.zeros(users, np.int64)  # and the sum of their waits
    cdef Window window = Window(0, 0, 0, 0, Sum(0.0, 0.0))
    cdef int64_t own, others
    cdef double mean
    cdef Py_ssize_t i, k
    with nogil:
        for i in range(kind.shape[0]):
            if i > 0 and kind[i] != kind[i - 1]:  # start afresh: rounding errors do not carry over
                for k in range(window.first, window.last):
                    count[user[k]] = total[user[k]] = 0
                window = Window(window.last, window.last, 0, 0, Sum(0.0, 0.0))
            while (
                window.last < kind.shape[0]
                and kind[window.last] == kind[i]
                and arrival[window.last] <= arrival[i] + reach
            ):
                if is_peer[window.last]:
                    _change(&window, user[window.last], 1, wait[window.last], count, total)
                window.last += 1
            while arrival[window.first] < arrival[i] - reach:
                if is_peer[window.first]:
                    _change(&window, user[window.first], -1, -wait[window.first], count, total)
                window.first += 1
            if isnan(out[i]):
                own = count[user[i]]
                others = window.users - (own > 0)
                if window.peers - own >= least_peers and others >= least_users:
                    mean = (window.means.high - _mean(count, total, user[i])) + window.means.low
                    mean /= others
                    out[i] = mean if mean > ROUNDING else 0.0


cdef inline void _change(
    Window *window, int64_t user, int64_t number, int64_t wait, int64_t[::1] count,
    int64_t[::1] total
) noexcept nogil:
    """Add a peer to the window (``number`` = 1), or remove one (−1, its wait negated)."""
    cdef int64_t before = count[user]
    cdef double mean = _mean(count, total, user)
    window.peers += number
    count[user] = before + number
    total[user] += wait
    if before == 0 or before + number == 0:
        window.users += number
    window.means = plus(window.means, _mean(count, total, user))
    window.means = plus(window.means, -mean)


cdef inline double _mean(
    const int64_t[::1] count, const int64_t[::1] total, int64_t user
) noexcept nogil:
    """Return the mean wait of a user in the window; 0 without attempts there."""
    return <double> total[user] / count[user] if count[user] > 0 else 0.0


def last_gone(
    const int64_t[::1] owner, const int64_t[::1] gone, int64_t[::1] latest, int64_t[::1] before
):
    """Write when the last earlier attempt of the same owner was gone.

    Args:
        owner, gone: of each attempt, in order of arrival.
        latest: per owner, the value for its first attempt; overwritten.
        before: written, one element per attempt.
    """
    cdef Py_ssize_t k
    with nogil:
        for k in range(owner.shape[0]):
            before[k] = latest[owner[k]]
            latest[owner[k]] = max(latest[owner[k]], gone[k])
