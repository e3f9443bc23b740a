"""Which starts of a schedule limits and windows did not allow; part of ``scenario.check``.

Conventions as there; rows are those of a schedule, each of one of the n attempts of ``limits``.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from audit.scenario.limits import Limits

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_LAST: Final = 1 << 40
"""Later than any instant of a schedule, counted from its first."""


def beyond(limits: Limits, attempt: Ints, start: Ints, end: Ints, blocked: Bools) -> Ints:
    """By how much each row's start leaves more in a counter than there may be; 0: it does not.

    At an instant, what is blocked comes and goes first, then come the starts, in an order that
    nobody knows: who is bound by a limit must find room beside all that runs through this instant
    and all others who are bound and start then. Who takes no time, beside what runs through it.

    Args:
        attempt: of each row, its number.
        start, end: of each row, epoch s; a start is known, an end may be far away.

    Returns:
        The most over all limits that the row is bound by; in a closed window 1 or more.
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
        """Of what is in each touch's counter, what begins or ends before (until) it starts."""
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
    """Whether what runs for ever, the attempts ``runs_on``, keeps each attempt from starting."""
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


def _closed(limits: Limits, counter: Ints, instants: Ints) -> Ints:
    """What windows add to each counter at each instant."""
    edges = limits.edges
    if len(edges.time) == 0:
        return np.zeros(len(counter), np.int64)
    if edges.cycle:  # instants behind the known edges are as those a number of periods before
        last = edges.time[-edges.cycle] + edges.period - 1
        instants = np.where(
            instants > last,
            last - (edges.period - 1) + (instants - last - 1) % edges.period,
            instants,
        )
    return _totals(edges.counter, edges.time, edges.change, counter, instants, False)


def _totals(
    of: Ints, times: Ints, amounts: Ints, counter: Ints, instants: Ints, before: bool
) -> Ints:
    """Σ of the ``amounts`` of each counter at times before each instant, or up to it."""
    if len(times) == 0:
        return np.zeros(len(counter), np.int64)
    origin = min(int(times.min()), int(instants.min(initial=times.min())))
    order = np.lexsort((times, of))
    sums = np.concatenate(([0], np.cumsum(amounts[order])))
    key = of[order] * _LAST + np.minimum(times[order] - origin, _LAST - 1)
    low = np.searchsorted(key, counter * _LAST)
    high = np.searchsorted(
        key, counter * _LAST + instants - origin, side="left" if before else "right"
    )
    found: Ints = sums[high] - sums[low]
    return found
