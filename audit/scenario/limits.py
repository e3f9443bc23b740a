"""Which attempts of a pool count towards which of its limits, and when its windows are closed.

Conventions as in ``scenario.workload``: n attempts; times in epoch seconds. The use of a limit is
kept in a *counter*, one for each entity that the limit counts separately. A window is a counter
too: each attempt of its scope counts 1 in it, and while the window is closed the counter is far
above its bound.

Source: SPEC §10, *Limits*.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit import periods
from audit.array_types import Bools, Ints
from audit.metrics.attempts.contention import ints
from audit.metrics.attempts.reasons import any_of, in_scope, names_throttles, throttle
from audit.metrics.closed_hours import HOUR_S, offsets, spans_of_hours
from audit.metrics.waits.queue import validity
from audit.model import Limit, Pool, Window
from audit.rules import WEEK

WEEK_S: Final = WEEK * HOUR_S

SHUT: Final = 1 << 61  # added to the counter of a window while it is closed
ROOM: Final = 1 << 60  # bound of a window's counter: any number of attempts, but not SHUT
NO_END: Final = int(np.iinfo(np.int64).max)
AHEAD_S: Final = 366 * 86_400
"""Time after the last known instant until which windows follow the calendar."""


class WindowEdges(NamedTuple):
    """When windows open and close."""

    time: Ints  # ascending
    counter: Ints
    change: Ints  # SHUT: it closes; −SHUT: it opens
    cycle: int  # number of the last ones that are repeated for ever
    period: int  # length of that cycle, s


class AttemptLimits(NamedTuple):
    """Limits and windows of n attempts, with C counters."""

    first: Ints  # [n + 1], of each attempt its first element in the next three
    counter: Ints
    amount: Ints  # > 0, what it adds while it runs
    binding: Bools  # whether it waits for the counter; else it only counts
    most: Ints  # [C]
    late: Bools  # [C], whether it counts a resource, not attempts
    remaining: Bools  # [C], whether it counts the remaining amount × time
    edges: WindowEdges
    exceeded: Bools  # [n], whether the attempt alone exceeds a limit

    @property
    def some(self) -> bool:
        """Whether anything is limited."""
        return len(self.first) > 0

    def of_those(self, chosen: Bools) -> "AttemptLimits":
        """Return those of the ``chosen`` attempts."""
        if not self.some:
            return self
        touched = np.diff(self.first)
        kept = np.repeat(chosen, touched)
        return self._replace(
            first=np.concatenate(([0], np.cumsum(touched[chosen]))),
            counter=self.counter[kept],
            amount=self.amount[kept],
            binding=self.binding[kept],
            exceeded=self.exceeded[chosen],
        )


_NONE: Final[Ints] = np.zeros(0, np.int64)
_NOBODY: Final[Bools] = np.zeros(0, np.bool_)
NO_EDGES: Final = WindowEdges(_NONE, _NONE, _NONE, 0, 0)
UNLIMITED: Final = AttemptLimits(
    _NONE, _NONE, _NONE, _NOBODY, _NONE, _NOBODY, _NOBODY, NO_EDGES, _NOBODY
)
"""No limits, for any number of attempts."""


class _Touch(NamedTuple):
    """Attempts that count towards one limit or window."""

    attempt: Ints
    counter: Ints
    amount: Ints
    binding: Bools


_NO_TOUCH: Final = _Touch(*(np.empty(0, np.int64),) * 3, np.empty(0, np.bool_))


def limits_of(queue: pl.DataFrame, pool: Pool, known_to: int) -> AttemptLimits:
    """Return the limits and windows of ``pool`` for its attempts, and the throttles of arrays.

    An attempt counts from its start to its end towards each limit whose scope it is in, and may
    start where the limit then allows it, on the days on which the limit is in force. It does not
    count towards a limit per something that is unknown of it. ``exceeded`` are attempts that are
    too large for a limit by themselves, and those whose windows together are never open.

    Args:
        queue: user, account, qos, partition, size, cpus, nodes, gpus, mem_bytes, walltime_s and
            occupancy (s); arrival_time and start_time, epoch s; job_number and array_throttle.
        known_to: the last instant of the log, epoch s.
    """
    throttled = names_throttles(queue) and queue.select(throttle().is_not_null().any()).item()
    if queue.is_empty() or not (pool.limits or pool.windows or throttled):
        return UNLIMITED
    zone = periods.zone(pool.zone)
    since = queue.select(pl.min_horizontal("arrival_time", "start_time").min()).item() or 0
    until = known_to + AHEAD_S
    exceeded = np.zeros(queue.height, np.bool_)
    touches: list[_Touch] = []
    counters: list[tuple[int, bool, bool]] = []  # most, late and remaining
    changes: list[tuple[int, int, int]] = []
    for limit in pool.limits:
        touch, count = _towards(queue, limit, len(counters))
        if limit.valid_from is None and limit.valid_to is None:
            alone = touch.amount * (_asked(queue)[touch.attempt] if limit.remaining else 1)
            exceeded[touch.attempt[touch.binding & (alone > limit.most)]] = True
        if limit.per != "job":
            touches.append(touch)
            own = range(len(counters), len(counters) + count)
            changes += _days_of(limit, own, zone, since, until)
            counters += [(limit.most, limit.resource is not None, limit.remaining)] * count
    if throttled:
        touch, allowed = _in_arrays(queue, len(counters))
        touches.append(touch)
        counters += [(most, False, False) for most in allowed]
    first = len(counters)
    closings, combined, reach = _closings(queue, pool.windows)
    counters += [(ROOM, False, False)] * len(closings)
    for counter, closing in enumerate(closings, first):
        ones = np.ones(len(closing.inside), np.int64)
        touches.append(_Touch(closing.inside, ones * counter, ones, ones > 0))
    exceeded |= _never_open(pool.windows, combined, reach)
    most, late, remaining = zip(*counters, strict=True) if counters else ((), (), ())
    return AttemptLimits(
        *_by_attempt(queue.height, touches),
        *(np.array(most, np.int64), np.array(late, np.bool_), np.array(remaining, np.bool_)),
        _in_order(window_edges(closings, zone, since, until, first), changes),
        exceeded,
    )


class Closing(NamedTuple):
    """A counter of a window: that of its attempts with the same reach."""

    window: Window
    reach: int  # the window forbids starts from ``reach`` − 1 s before its hours begin
    inside: Ints  # the attempts


def _closings(queue: pl.DataFrame, windows: Sequence[Window]) -> tuple[list[Closing], Ints, Ints]:
    """Return the counters of windows; and of each attempt a bit for each window, and its reach."""
    combined = np.zeros(queue.height, np.int64)
    reach = np.ones(queue.height, np.int64)
    closings = []
    for number, window in enumerate(windows):
        inside = np.flatnonzero(in_scope(queue, window))
        combined[inside] |= 1 << number
        own = np.ones(len(inside), np.int64)
        if window.overlap:
            own = np.minimum(_asked(queue)[inside], WEEK_S)
            reach[inside] = own
        order = np.argsort(own, kind="stable")
        reaches, first = np.unique(own[order], return_index=True)
        parts = np.split(inside[order], first[1:])
        closings += [Closing(window, *one) for one in zip(reaches.tolist(), parts, strict=False)]
    return closings, combined, reach


def _never_open(windows: Sequence[Window], combined: Ints, reach: Ints) -> Bools:
    """Return whether the windows that are always in force never let each attempt start, [n]."""
    always = [
        (1 << number, window)
        for number, window in enumerate(windows)
        if window.valid_from is None and window.valid_to is None
    ]
    furthest = int(reach.max(initial=1))
    if len({hour for _, window in always for hour in _forbidden(window, furthest)}) < WEEK:
        return np.zeros(len(reach), np.bool_)
    kinds, place = np.unique(np.stack((combined, reach)), axis=1, return_inverse=True)
    shut = [
        len({h for bit, window in always if of & bit for h in _forbidden(window, own)}) == WEEK
        for of, own in kinds.T.tolist()
    ]
    return np.array(shut, np.bool_)[place.reshape(-1)]


def _forbidden(window: Window, reach: int) -> set[int]:
    """Return the hours of the week in all of which a window forbids starts."""
    back = range((reach - 1) // HOUR_S + 1) if window.overlap else range(1)
    return {(hour - before) % WEEK for hour in window.hours for before in back}


def _days_of(
    limit: Limit, counters: range, zone: ZoneInfo, since: int, until: int
) -> Iterator[tuple[int, int, int]]:
    """Yield time, counter and change where a limit comes into force or ceases to be."""
    begin, end = _span(limit, zone, since, until)
    for counter in counters:
        if begin > since or end <= since:
            yield since, counter, -SHUT
        if since < begin < until and begin < end:
            yield begin, counter, SHUT
        if since < end < until:
            yield end, counter, -SHUT


def _span(rule: Limit | Window, zone: ZoneInfo, since: int, until: int) -> tuple[int, int]:
    """Return when a rule begins and ceases to be in force; after ``until`` nothing changes."""
    begin, end = validity(rule, zone)
    return max(begin, since) if begin <= until else NO_END, end if end <= until else NO_END


def _in_order(edges: WindowEdges, more: list[tuple[int, int, int]]) -> WindowEdges:
    """Return the edges with more of them, all before the part that is repeated."""
    if not more:
        return edges
    time, counter, change = (
        np.concatenate((added, own))
        for added, own in zip(np.array(more, np.int64).T, edges[:3], strict=True)
    )
    order = np.argsort(time, kind="stable")
    return edges._replace(time=time[order], counter=counter[order], change=change[order])


def _towards(queue: pl.DataFrame, limit: Limit, counters: int) -> tuple[_Touch, int]:
    """Return the attempts that count towards a limit, and the number of its counters.

    ``counters`` is the number of its first counter.
    """
    amount = np.ones(queue.height, np.int64)
    if limit.resource is not None:
        amount = queue[limit.resource].fill_null(0).to_numpy().astype(np.int64)
    inside = in_scope(queue, limit) & (amount > 0)
    number = np.zeros(queue.height, np.int64)
    count = 1
    if limit.per not in (None, "job"):
        entity = queue[limit.per]
        names = entity.filter(pl.Series(inside)).drop_nulls().unique().sort()
        table = pl.DataFrame({limit.per: names}).with_row_index("number")
        count = len(names)
        found = entity.to_frame().join(table, on=limit.per, how="left", maintain_order="left")
        number = found["number"].cast(pl.Int64).fill_null(-1).to_numpy()
    attempt = np.flatnonzero(inside & (number >= 0))
    free = any_of(queue["qos"], limit.exempt_qos)
    return _Touch(attempt, counters + number[attempt], amount[attempt], ~free[attempt]), count


def _asked(queue: pl.DataFrame) -> Ints:
    """Return the walltime of each attempt, else its occupancy, s; at least 1."""
    return np.maximum(ints(pl.Series(queue["walltime_s"].fill_null(queue["occupancy"]))), 1)


def _in_arrays(queue: pl.DataFrame, counters: int) -> tuple[_Touch, list[int]]:
    """Return the tasks of arrays with a throttle, and the throttles."""
    tasks = queue.select("job_number", most=throttle()).with_row_index("attempt").drop_nulls()
    arrays = tasks.group_by("job_number").agg(pl.col("most").first()).sort("job_number")
    number = tasks["job_number"].rank("dense").cast(pl.Int64).to_numpy() - 1
    ones = np.ones(tasks.height, np.int64)
    touch = _Touch(ints(tasks["attempt"]), counters + number, ones, ones > 0)
    return touch, arrays["most"].to_list()


def _by_attempt(count: int, touches: Sequence[_Touch]) -> tuple[Ints, Ints, Ints, Bools]:
    """Return the touches attempt by attempt, and where those of each begin."""
    attempt, counter, amount, binding = (
        np.concatenate(each) for each in zip(_NO_TOUCH, *touches, strict=True)
    )
    order = np.argsort(attempt, kind="stable")
    first = np.searchsorted(attempt[order], np.arange(count + 1))
    return first, counter[order], amount[order].astype(np.int64), binding[order]


def window_edges(
    closings: Sequence[Closing], zone: ZoneInfo, since: int, until: int, first: int
) -> WindowEdges:
    """Return when windows open and close: by the calendar up to ``until``, then week by week.

    Args:
        since: a window that is closed then closes then, epoch s.
        until: epoch s, ≥ ``since``.
        first: the first counter; the others follow.
    """
    if not closings:
        return NO_EDGES
    clock = list(offsets(zone, since, until))
    furthest = max(closing.reach for closing in closings)
    clock.append((until, until + WEEK_S + furthest, clock[-1][2]))
    found: list[tuple[Ints, Ints, Ints]] = []
    different = {closing.window.hours for closing in closings}
    spans = {hours: spans_of_hours(hours, clock) for hours in different}
    for window, group in groupby(enumerate(closings, first), key=lambda one: one[1].window):
        numbers, reaches = np.array([(number, one.reach) for number, one in group]).T
        begins, ends = spans[window.hours]
        begins = np.maximum(begins - reaches[:, None] + 1, since)  # closings × spans
        apart = begins[:, 1:] > ends[:-1]
        edge = np.ones((len(reaches), 1), np.bool_)
        begun, ended = np.hstack((edge, apart)), np.hstack((apart, edge))
        counter = np.broadcast_to(numbers[:, None], begins.shape)[begun]
        valid = _span(window, zone, since, until)
        begins = np.clip(begins[begun], *valid)
        ends = np.clip(np.broadcast_to(ends, ended.shape)[ended], *valid)
        some = begins < ends
        for edges, change in ((begins, SHUT), (ends, -SHUT)):
            known = some & (edges <= until + WEEK_S)
            found.append((edges[known], counter[known], np.full(int(known.sum()), change)))
    time, counters, changes = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.argsort(time, kind="stable")
    cycle = int((time > until).sum())
    return WindowEdges(time[order], counters[order], changes[order], cycle, WEEK_S)
