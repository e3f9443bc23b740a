"""Which attempts of a pool count towards which of its limits, and when its windows are closed.

Conventions as in ``scenario.workload``: n attempts; times in epoch seconds. What a limit counts
stands in a *counter*, one for each of whom it allows so much. A window is a counter too: each
attempt of its scope counts 1 in it, and while it is closed it is far too full.

Source: SPEC §10, *Limits*.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit import periods
from audit.metrics.attempts.reasons import any_of, in_scope
from audit.metrics.closed_hours import HOUR_S, offsets, spans_of_hours
from audit.model import Limit, Pool, Window
from audit.rules import WEEK

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WEEK_S: Final = WEEK * HOUR_S

SHUT: Final = 1 << 61
"""What a closed window adds to its counter."""
ROOM: Final = 1 << 60
"""How much that may hold: any number of attempts, but not SHUT."""
NO_END: Final = int(np.iinfo(np.int64).max)
AHEAD_S: Final = 366 * 86_400
"""So long after the last known instant windows are still reckoned by the calendar."""


class Edges(NamedTuple):
    """When windows open and close."""

    time: Ints  # ascending
    counter: Ints
    change: Ints  # SHUT: it closes; −SHUT: it opens
    cycle: int
    """How many of the last ones are repeated for ever."""
    period: int
    """After how many seconds."""


class Limits(NamedTuple):
    """What limits and windows are for n attempts, with C counters."""

    first: Ints  # [n + 1], of each attempt its first element in the next three
    counter: Ints
    amount: Ints  # > 0, what it adds while it runs
    binding: Bools  # whether it must find room; else it only counts
    most: Ints  # [C]
    edges: Edges
    exceeded: Bools  # [n], who by itself breaks one
    marks: tuple[Ints, ...]  # each [n]: all that limits and windows see of each attempt
    settings: str
    """All else that starts depend on."""

    @property
    def some(self) -> bool:
        """Whether anything is limited."""
        return len(self.first) > 0

    def of_first(self, count: int) -> Limits:
        """Those of the first ``count`` attempts."""
        return self.of_those(np.arange(len(self.exceeded)) < count)

    def of_those(self, chosen: Bools) -> Limits:
        """Those of some of the attempts."""
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
            marks=tuple(mark[chosen] for mark in self.marks),
        )


def _no_ints() -> Ints:
    return np.zeros(0, np.int64)


NO_EDGES: Final = Edges(_no_ints(), _no_ints(), _no_ints(), 0, 0)

UNLIMITED: Final = Limits(
    *(_no_ints(), _no_ints(), _no_ints(), np.zeros(0, np.bool_), _no_ints(), NO_EDGES),
    *(np.zeros(0, np.bool_), (), ""),
)
"""Nothing is limited, of however many attempts."""


class _Touch(NamedTuple):
    """Attempts that count towards one limit or window."""

    attempt: Ints
    counter: Ints
    amount: Ints
    binding: Bools


def limits_of(held: pl.DataFrame, pool: Pool, known_to: int) -> Limits:
    """What the limits and windows of ``pool`` are for its attempts.

    An attempt counts from its start to its end towards each limit whose scope it is in, and may
    start where the limit then holds, on the days on which it is in force. An attempt does not
    count towards a limit per something that is not known of it. An attempt that is too large for
    a limit by itself is ``exceeded``; so is one whose windows together are never open.

    Args:
        held: user, account, qos, partition, size, cpus, nodes, gpus, mem_bytes, walltime_s and
            occupancy (s); arrival_time and start_time, epoch s.
        known_to: the last instant that anything is known of, epoch s.
    """
    if not pool.limits and not pool.windows:
        return UNLIMITED
    exceeded = np.zeros(held.height, np.bool_)
    touches: list[_Touch] = []
    marks: list[Ints] = []
    most: list[int] = []
    in_force: list[tuple[Limit, int, int]] = []
    for limit in pool.limits:
        touch, names = _towards(held, limit, len(most))
        if limit.valid_from is None and limit.valid_to is None:
            exceeded[touch.attempt[touch.binding & (touch.amount > limit.most)]] = True
        marks += _marks(held.height, touch, names, len(most))
        if limit.per != "job":
            touches.append(touch)
            most += [limit.most] * len(names)
            in_force.append((limit, len(most) - len(names), len(most)))
    closings, combined, reach = _closings(held, pool.windows)
    for number, closing in enumerate(closings):
        binding = np.ones(len(closing.inside), np.bool_)
        counter = np.full(len(closing.inside), len(most) + number)
        touches.append(_Touch(closing.inside, counter, binding * 1, binding))
    exceeded |= _never_open(pool.windows, combined, reach)
    zone = periods.zone(pool.zone)
    since = held.select(pl.min_horizontal("arrival_time", "start_time").min()).item() or 0
    until = known_to + AHEAD_S
    return Limits(
        *_by_attempt(held.height, touches),
        np.array(most + [ROOM] * len(closings), np.int64),
        _in_order(
            window_edges(closings, zone, since, until, len(most)),
            [one for each in in_force for one in _days_of(*each, zone, since, until)],
        ),
        exceeded,
        (*marks, combined, *([reach] if any(window.overlap for window in pool.windows) else [])),
        f"{pool.limits} {pool.windows} {pool.zone}",
    )


class Closing(NamedTuple):
    """A counter of a window: that of its attempts that reach equally far."""

    window: Window
    reach: int
    """The window forbids starts from ``reach`` − 1 s before its hours begin."""
    inside: Ints
    """The attempts."""


def _closings(held: pl.DataFrame, windows: Sequence[Window]) -> tuple[list[Closing], Ints, Ints]:
    """The counters of windows; and of each attempt its windows, a bit for each, and its reach."""
    combined = np.zeros(held.height, np.int64)
    reach = np.ones(held.height, np.int64)
    closings = []
    for number, window in enumerate(windows):
        inside = np.flatnonzero(in_scope(held, window))
        combined[inside] |= 1 << number
        own = np.ones(len(inside), np.int64)
        if window.overlap:
            asked = held["walltime_s"].fill_null(held["occupancy"]).fill_null(1).to_numpy()
            own = np.clip(asked[inside].astype(np.int64), 1, WEEK_S)
            reach[inside] = own
        closings += [Closing(window, int(one), inside[own == one]) for one in np.unique(own)]
    return closings, combined, reach


def _never_open(windows: Sequence[Window], combined: Ints, reach: Ints) -> Bools:
    """Which attempts the windows that are always in force never let start, [n]."""
    always = [
        (1 << number, window)
        for number, window in enumerate(windows)
        if window.valid_from is None and window.valid_to is None
    ]
    kinds, place = np.unique(np.stack((combined, reach)), axis=1, return_inverse=True)
    shut = [
        len({h for bit, window in always if of & bit for h in _forbidden(window, own)}) == WEEK
        for of, own in kinds.T.tolist()
    ]
    found: Bools = np.array(shut, np.bool_)[place.reshape(-1)]
    return found


def _forbidden(window: Window, reach: int) -> set[int]:
    """Hours of the week in all of which a window forbids starts of attempts with a reach."""
    back = range((reach - 1) // HOUR_S + 1) if window.overlap else range(1)
    return {(hour - before) % WEEK for hour in window.hours for before in back}


def _days_of(
    limit: Limit, first: int, behind: int, zone: ZoneInfo, since: int, until: int
) -> Iterator[tuple[int, int, int]]:
    """When the counters from ``first`` on are let go, and held again: time, counter, change."""
    begin, end = _span(limit, zone, since, until)
    for counter in range(first, behind):
        if begin > since:
            yield since, counter, -SHUT
        if since < begin < until:
            yield begin, counter, SHUT
        if since < end < until:
            yield end, counter, -SHUT


def _span(rule: Limit | Window, zone: ZoneInfo, since: int, until: int) -> tuple[int, int]:
    """From when until when a rule is in force; what happens after ``until`` never does."""
    begin = periods.day_start(rule.valid_from, zone) if rule.valid_from else since
    end = periods.day_start(rule.valid_to, zone) if rule.valid_to else NO_END
    return max(begin, since) if begin <= until else NO_END, end if end <= until else NO_END


def _in_order(edges: Edges, more: list[tuple[int, int, int]]) -> Edges:
    """The edges with more of them, none after the part that is repeated begins."""
    if not more:
        return edges
    time, counter, change = np.array(more, np.int64).T
    time = np.concatenate((time, edges.time))
    order = np.argsort(time, kind="stable")
    return edges._replace(
        time=time[order],
        counter=np.concatenate((counter, edges.counter))[order],
        change=np.concatenate((change, edges.change))[order],
    )


def _towards(held: pl.DataFrame, limit: Limit, counters: int) -> tuple[_Touch, pl.Series]:
    """Who counts towards a limit, in counters from ``counters`` on; the names of these."""
    amount = np.ones(held.height, np.int64)
    if limit.resource is not None:
        amount = held[limit.resource].fill_null(0).to_numpy().astype(np.int64)
    inside = in_scope(held, limit) & (amount > 0)
    number = np.zeros(held.height, np.int64)
    names = pl.Series([""])
    if limit.per not in (None, "job"):
        whose = held[limit.per]
        names = whose.filter(pl.Series(inside)).drop_nulls().unique().sort()
        table = pl.DataFrame({limit.per: names}).with_row_index("number")
        found = whose.to_frame().join(table, on=limit.per, how="left", maintain_order="left")
        number = found["number"].cast(pl.Int64).fill_null(-1).to_numpy()
    attempt = np.flatnonzero(inside & (number >= 0))
    free = any_of(held["qos"], limit.exempt_qos)
    return _Touch(attempt, counters + number[attempt], amount[attempt], ~free[attempt]), names


def _marks(count: int, touch: _Touch, names: pl.Series, counters: int) -> list[Ints]:
    """What a limit sees of each of ``count`` attempts: whose it is, and how much."""
    told = [hashlib.sha256(name.encode()).digest()[:8] for name in names.to_list()]
    whose = np.array([int.from_bytes(each, "big", signed=True) for each in told], np.int64)
    who, much = np.zeros(count, np.int64), np.zeros(count, np.int64)
    who[touch.attempt] = whose[touch.counter - counters]
    much[touch.attempt] = np.where(touch.binding, touch.amount, -touch.amount)
    return [who, much]


def _by_attempt(count: int, touches: Sequence[_Touch]) -> tuple[Ints, Ints, Ints, Bools]:
    """The touches of ``count`` attempts one after the other, and where those of each begin."""
    attempt, counter, amount, binding = (
        np.concatenate(each) for each in zip(*touches, strict=True)
    )
    order = np.argsort(attempt, kind="stable")
    first = np.searchsorted(attempt[order], np.arange(count + 1))
    return first, counter[order], amount[order].astype(np.int64), binding[order]


def window_edges(
    closings: Sequence[Closing], zone: ZoneInfo, since: int, until: int, first: int
) -> Edges:
    """Return when windows open and close.

    By the zone's calendar up to ``until``; from then on by weeks that are all alike.

    Args:
        since: a window that is closed then closes then, epoch s.
        until: epoch s, ≥ ``since``.
        first: the counter of the first of them; the others follow.
    """
    if not closings:
        return NO_EDGES
    clock = [*offsets(zone, since, until)]
    furthest = max(closing.reach for closing in closings)
    clock.append((until, until + WEEK_S + furthest, clock[-1][2]))
    different = {closing.window.hours for closing in closings}
    spans = {hours: spans_of_hours(hours, clock) for hours in different}
    times, counters, changes = [], [], []
    for counter, closing in enumerate(closings, first):
        begins, ends = spans[closing.window.hours]
        begins = np.maximum(begins - closing.reach + 1, since)
        apart = begins[1:] > ends[:-1]
        begins, ends = begins[np.append(True, apart)], ends[np.append(apart, True)]
        valid = _span(closing.window, zone, since, until)
        begins, ends = np.clip(begins, *valid), np.clip(ends, *valid)
        some = begins < ends
        for edges, change in ((begins[some], SHUT), (ends[some], -SHUT)):
            known = edges[edges <= until + WEEK_S]
            times.append(known)
            counters.append(np.full(len(known), counter))
            changes.append(np.full(len(known), change))
    time = np.concatenate(times)
    order = np.argsort(time, kind="stable")
    time = time[order]
    return Edges(
        time,
        np.concatenate(counters)[order],
        np.concatenate(changes)[order],
        int((time > until).sum()),
        WEEK_S,
    )
