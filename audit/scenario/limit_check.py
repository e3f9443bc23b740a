"""Which starts of a schedule limits and windows forbid; part of ``scenario.check``.

Rows are those of a schedule, each of one of the n attempts of ``limits``.
"""

from typing import Final

import numpy as np

from audit.scenario.limits import Bools, Ints, Limits

_LAST: Final = 1 << 40
"""Longer than any schedule, s."""


def beyond(limits: Limits, attempt: Ints, start: Ints, end: Ints, blocked: Bools) -> Ints:
    """Return by how much each row's start exceeds what its counters allow; 0: it does not.

    Within an instant blocked attempts come and go first, then come the starts, in unknown order: an
    attempt bound by a limit must fit beside all that runs through the instant and all others that
    are bound and start then; one without occupancy, beside what runs through it.

    Args:
        attempt: of each row, its number.
        start, end: of each row, epoch s; known.

    Returns:
        The most over all limits that bind the row; in a closed window 1 or more.
    """
    excess = np.zeros(len(attempt), np.int64)
    if not limits.some or len(attempt) == 0:
        return excess
    touched = limits.first[attempt + 1] - limits.first[attempt]
    row = np.repeat(np.arange(len(attempt)), touched)
    offset = np.arange(len(row)) - np.repeat(np.cumsum(touched) - touched, touched)
    at = limits.first[attempt[row]] + offset
    counter, amount = limits.counter[at], limits.amount[at]
    begins, ends, aside = start[row], end[row], blocked[row]
    brief = begins == ends
    binds = limits.binding[at] & ~aside

    def total(of: Bools, times: Ints, before: bool) -> Ints:
        return _totals(
            *(counter[of], times[of], np.where(brief, 0, amount)[of], counter, begins, before)
        )

    gone = total(~brief, ends, False)
    through = total(~aside, begins, True) + total(aside, begins, False) - gone
    together = through + total(binds, begins, False) - total(binds, begins, True)
    used = np.where(brief, through + amount, together)
    used = used + _closed(limits, counter, begins)
    over = np.where(binds, np.maximum(used - limits.most[counter], 0), 0)
    np.maximum.at(excess, row, over)
    return excess


def hindered(limits: Limits, attempt: Ints, runs_on: Ints) -> Bools:
    """Return whether the attempts ``runs_on``, which never end, keep each attempt from starting."""
    if not limits.some:
        return np.zeros(len(attempt), np.bool_)
    used = np.zeros(len(limits.most), np.int64)
    for k in runs_on.tolist():
        own = slice(limits.first[k], limits.first[k + 1])
        np.add.at(used, limits.counter[own], limits.amount[own])
    full = limits.binding & (used[limits.counter] + limits.amount > limits.most[limits.counter])
    so_far = np.concatenate(([0], np.cumsum(full)))
    stuck: Bools = so_far[limits.first[attempt + 1]] > so_far[limits.first[attempt]]
    return stuck


def _closed(limits: Limits, counter: Ints, until: Ints) -> Ints:
    """Return what windows add to each counter at each time."""
    edges = limits.edges
    if len(edges.time) == 0:
        return np.zeros(len(counter), np.int64)
    if edges.cycle:  # behind the known edges the last period repeats
        last = edges.time[-edges.cycle] + edges.period - 1
        until = np.where(
            until > last,
            last - (edges.period - 1) + (until - last - 1) % edges.period,
            until,
        )
    return _totals(edges.counter, edges.time, edges.change, counter, until, False)


def _totals(of: Ints, times: Ints, amounts: Ints, counter: Ints, until: Ints, before: bool) -> Ints:
    """Return the sum of the ``amounts`` of each counter before each time, or up to it."""
    if len(times) == 0:
        return np.zeros(len(counter), np.int64)
    origin = min(int(times.min()), int(until.min(initial=times.min())))
    order = np.lexsort((times, of))
    sums = np.concatenate(([0], np.cumsum(amounts[order])))
    key = of[order] * _LAST + np.minimum(times[order] - origin, _LAST - 1)
    low = np.searchsorted(key, counter * _LAST)
    high = np.searchsorted(
        key, counter * _LAST + until - origin, side="left" if before else "right"
    )
    found: Ints = sums[high] - sums[low]
    return found
