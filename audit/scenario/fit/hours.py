"""Windows: hours of the week in which a class of attempts does not start, though it would fit.

A table of each class by hour of the week proposes hours. Neighbours are the attempts outside the
class, such as shorter or narrower ones, in the same hours. An overlap window also forbids a start
before its hours if the walltime reaches into them.

Source: SPEC §11, *Rules that may be used*.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from audit import periods
from audit.metrics.closed_hours import HOUR_S
from audit.model import Scope, Window
from audit.rules import DAY, WEEK
from audit.scenario.fit.evidence import (
    DAY_S,
    KEPT,
    LEAST,
    RAW,
    Booked,
    Days,
    Events,
    grouped,
    on_days,
)
from audit.scenario.fit.levels import numbered
from audit.scenario.fit.observed import Floats, Observed
from audit.scenario.fit.occasions import Seen, Tried, hour_of_week
from audit.scenario.limits import Closing, window_edges
from audit.scenario.workload import Bools, Ints

LEAST_DAYS: Final = 21
"""Hours of the week do not show in shorter logs."""
BOUNDS: Final = 32
"""Walltimes and widths that may bound a class: the most frequent ones."""
DAYS: Final = ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4), (5, 6))
"""Days on which the same hours may be closed, Monday first."""
BLOCKS: Final = 4
"""Parts of the log in whose runs a window may hold."""
WIDER: Final = 1.25
"""The part of a class up to this multiple of its bound must keep the window, too."""
REACHES: Final = (*range(25), 28, 32, 36, 42, 48, 60, 72, 96, 168)
"""Walltimes in the table, in hours; each counts as the next one above."""


class Class(NamedTuple):
    """Attempts that a window may be about, and their neighbours."""

    scope: Scope
    inside: Bools  # [n]
    outside: Bools  # [n]
    near: Bools | None
    """[n], which attempts ask for at most ``WIDER`` times its bound; None: it has none."""


class Candidate(NamedTuple):
    """A window that passes the table."""

    window: Window
    of: Class
    seconds: float
    """An estimate of the most waiting that would be booked to it."""


def clocks(zone: str, first: int, last: int) -> list[str]:
    """Return the clocks that a site's rules may go by: its zone, and the same without summer time.

    Some logs were written by a clock without summer time.
    """
    known = ZoneInfo(zone)
    months = range(first, last + 1, 30 * DAY_S)
    offsets = {datetime.fromtimestamp(at, known).utcoffset() for at in months}
    seconds = {int(offset.total_seconds()) for offset in offsets if offset is not None}
    standard = min(seconds, default=0)
    if len(seconds) < 2 or standard % HOUR_S:
        return [zone]
    hours = standard // HOUR_S
    # the sign of these names is that of the way back to UTC
    return [zone, f"Etc/GMT{-hours:+d}" if hours else "UTC"]


# --- what a window forbids -----------------------------------------------------------------------


def forbidden_from(window: Window, begin: Ints, reach: Ints) -> Ints:
    """Return the time from which a window forbids starts until the hour ends, s on the clock.

    Args:
        begin: instants, s on the clock.
        reach: of an attempt at each, s.
    """
    closed = np.isin(np.arange(2 * WEEK) % WEEK, window.hours)
    ahead = np.where(closed, np.arange(2 * WEEK), 2 * WEEK)
    to_next = np.minimum.accumulate(ahead[::-1])[::-1][:WEEK] - np.arange(WEEK)
    closes = (begin // HOUR_S + to_next[hour_of_week(begin)]) * HOUR_S
    since: Ints = np.maximum(begin, closes - (reach if window.overlap else 1) + 1)
    return since


def tried(seen: Seen, one: Candidate) -> Tried:
    """Return a window to be judged by a walk."""
    zone = periods.zone(seen.zone)
    first, last = seen.observed.first, seen.observed.last
    nobody = np.zeros(0, np.int64)
    edges = window_edges([Closing(one.window, 1, nobody)], zone, first, last, 0)
    count = len(edges.time) // 2
    reach = seen.observed.reach if one.window.overlap else np.ones_like(seen.observed.reach)
    return Tried(
        np.where(one.of.inside, 0, -1),
        np.zeros_like(reach),
        reach=reach,
        closes=np.ascontiguousarray(edges.time[: 2 * count : 2]),
        opens=np.ascontiguousarray(edges.time[1 : 2 * count : 2]),
    )


class Forbidden(NamedTuple):
    """The claims, by hour, and then the starts that a window would forbid."""

    job: Ints
    at: Ints  # s on the clock
    hour: Ints  # since 1970
    stretch: Ints  # of starts −1
    broken: Bools  # whether it is a start

    def of(self, chosen: Bools) -> Forbidden:
        """Return the chosen ones."""
        return Forbidden(
            self.job[chosen],
            self.at[chosen],
            self.hour[chosen],
            self.stretch[chosen],
            self.broken[chosen],
        )

    def events(self, seen: Seen) -> Events:
        """Return them as events."""
        user = numbered(seen.observed, "user")[self.job]
        return Events(user, user, self.at, self.broken)


def forbidden(seen: Seen, window: Window) -> Forbidden:
    """Return what a window would forbid to all attempts."""
    parts, reach = seen.parts, seen.observed.reach
    since = forbidden_from(window, parts.begin, reach[parts.job])
    inside = np.flatnonzero((since < parts.begin + parts.seconds) & parts.claims)
    begin = seen.start_local
    starts = np.flatnonzero(forbidden_from(window, begin, reach[seen.started]) <= begin)
    at = np.concatenate((since[inside], begin[starts]))
    return Forbidden(
        np.concatenate((parts.job[inside], seen.started[starts])),
        at,
        at // HOUR_S,
        np.concatenate((parts.stretch[inside], np.full(len(starts), -1))),
        np.arange(len(at)) >= len(inside),
    )


def events(seen: Seen, one: Candidate) -> tuple[Events, Events]:
    """Return the events of a window and of its neighbours."""
    found = forbidden(seen, one.window)
    found = found.of(found.broken | (np.diff(found.stretch, prepend=-1) != 0))
    mine, others = (found.of(about[found.job]) for about in (one.of.inside, one.of.outside))
    return mine.events(seen), others.events(seen)


def booked(seen: Seen, one: Candidate) -> Booked:
    """Return the waiting time with free capacity that a window would book."""
    parts = seen.parts
    about = np.flatnonzero(one.of.inside[parts.job])
    begin = parts.begin[about]
    since = forbidden_from(one.window, begin, seen.observed.reach[parts.job[about]])
    return Booked(since, np.maximum(begin + parts.seconds[about] - since, 0))


class Slices(NamedTuple):
    """Slices of a window that are not kept."""

    hours: tuple[int, ...] = ()  # of the day
    weekdays: tuple[int, ...] = ()
    near: bool = False
    """The part of the class that is nearest to its bound."""
    edges: tuple[int, ...] = ()
    """Of an overlap window: what its first (0) and its last hour (1) alone forbid."""

    @property
    def some(self) -> bool:
        """Whether any is not kept."""
        return bool(self.hours or self.weekdays or self.near or self.edges)


def broken_slices(seen: Seen, one: Candidate, days: Days | None) -> Slices:
    """Return the slices in which a window is not kept: condition (a), by attempt and hour.

    Args:
        days: in which the window holds; None: the whole log.
    """
    found = forbidden(seen, one.window)
    again = (np.diff(found.job, prepend=-1) == 0) & (np.diff(found.hour, prepend=-1) == 0)
    kept = ~again | found.broken
    if days is not None:
        kept &= on_days(found.at, days)
    found = found.of(kept)
    mine, others = (found.of(about[found.job]) for about in (one.of.inside, one.of.outside))
    every = _means(seen, others, np.zeros(len(others.job), np.int64), 1)[0]
    overall = 0.0 if np.isnan(every) else float(every)

    def high(count: int, of_mine: Ints, of_others: Ints) -> tuple[int, ...]:
        chance = _means(seen, others, of_others, count)
        most = KEPT * np.where(np.isnan(chance), overall, chance)
        return tuple(np.flatnonzero(_means(seen, mine, of_mine, count) > most).tolist())

    hour = [hour_of_week(side.hour * HOUR_S) for side in (mine, others)]
    near = one.of.near is not None and bool(
        _means(seen, mine, (~one.of.near[mine.job]).astype(np.int64), 2)[0] > KEPT * overall
    )
    edges = []
    if one.window.overlap:
        for number, left in enumerate(without_edges(one.window)):
            beside = [_also(seen, side, left).astype(np.int64) for side in (mine, others)]
            edges += [number] if 0 in high(2, *beside) else []
    return Slices(
        high(DAY, *(of % DAY for of in hour)),
        high(7, *(of // DAY for of in hour)),
        near,
        tuple(edges),
    )


def _means(seen: Seen, found: Forbidden, slice_: Ints, count: int) -> Floats:
    """Return the mean broken share of each slice; nan: it has too few events or units."""
    users = int(numbered(seen.observed, "user").max(initial=0)) + 2
    day = found.at // DAY_S
    first = int(day.min(initial=0))
    days = int(day.max(initial=0)) - first + 1
    user = numbered(seen.observed, "user")[found.job] + 1
    key, breaks, counts = grouped((slice_ * days + day - first) * users + user, found.broken)
    of = key // (days * users)
    number = np.bincount(of, minlength=count)
    enough = (np.bincount(of, counts, count) >= LEAST) & (number >= LEAST)
    sums = np.bincount(of, breaks / counts, count)
    means: Floats = np.where(enough, sums / np.maximum(number, 1), np.nan)
    return means


def _also(seen: Seen, found: Forbidden, left: Window) -> Bools:
    """Return whether ``left`` of a window forbids each, too."""
    if not left.hours:
        return np.zeros(len(found.job), np.bool_)
    forbids: Bools = forbidden_from(left, found.at, seen.observed.reach[found.job]) <= found.at
    return forbids


def narrower(one: Candidate, slices: Slices) -> Iterator[Candidate]:
    """Yield a window without the weekdays, and without the hours, in which it is not kept.

    Those kept must follow each other. An overlap window, which forbids starts at other hours than
    its own, loses its first or last hour instead.
    """
    hours = set(one.window.hours)
    of_day = {hour % DAY for hour in hours} - set(slices.hours)
    weekdays = {hour // DAY for hour in hours} - set(slices.weekdays)
    kept = [
        {hour for hour in hours if hour // DAY in weekdays} if _runs(weekdays, 7) == 1 else set(),
        {hour for hour in hours if hour % DAY in of_day} if _runs(of_day, DAY) == 1 else set(),
    ]
    if one.window.overlap:
        kept = [set(without_edges(one.window)[edge].hours) for edge in slices.edges]
    for left in kept:
        if left and left != hours:
            yield one._replace(window=one.window.but(hours=tuple(sorted(left))))


def wider(one: Candidate) -> Iterator[Candidate]:
    """Yield an overlap window with one more hour before, and behind its hours."""
    hours = set(one.window.hours)
    for step in (-1, 1):
        more = hours | {(hour + step) % WEEK for hour in hours}
        if one.window.overlap and len(more) < WEEK:
            yield one._replace(window=one.window.but(hours=tuple(sorted(more))))


def without_edges(window: Window) -> list[Window]:
    """Return a window without the first, and without the last hour of each of its stretches."""
    hours = set(window.hours)
    kept = [{hour for hour in hours if (hour + step) % WEEK in hours} for step in (-1, 1)]
    return [window.but(hours=tuple(sorted(left))) for left in kept]


def _runs(numbers: set[int], size: int) -> int:
    """Return how many runs numbers make on a circle; all of the circle is one."""
    begins = sum((number - 1) % size not in numbers for number in numbers)
    return begins or bool(numbers)


# --- what the table proposes ---------------------------------------------------------------------


class _Sorted(NamedTuple):
    """A property that tells classes apart."""

    name: str  # a condition of ``Scope``
    values: list[Any]
    bins: Ints  # [n], in how many classes of ``values`` an attempt is, or which; −1: unknown

    @property
    def bounded(self) -> bool:
        """Whether a class is all attempts above a value."""
        return self.name in ("walltime_above_s", "size_above")


def _sorted(observed: Observed) -> Iterator[_Sorted]:
    """Yield what classes may be told apart by."""
    frame = observed.frame
    if frame["walltime_s"].null_count() < frame.height:
        yield _bounded(observed, "walltime_above_s", observed.reach)
    yield _bounded(observed, "size_above", observed.size)
    for name in ("partition", "qos"):
        names = frame[name].drop_nulls().unique().sort().to_list()
        if len(names) > 1:
            yield _Sorted(name, names, numbered(observed, name))


def _bounded(observed: Observed, name: str, amount: Ints) -> _Sorted:
    values, counts = np.unique(amount[observed.judged], return_counts=True)
    often = np.sort(np.argsort(-counts[:-1], kind="stable")[:BOUNDS])
    bounds = values[:-1][often]
    return _Sorted(name, bounds.tolist(), np.searchsorted(bounds, amount))


def candidates(seen: Seen) -> list[Candidate]:
    """Return the windows whose broken share, over some part of the log, is low enough to judge."""
    if seen.days < LEAST_DAYS:
        return []
    return [
        Candidate(Window(hours=hours, overlap=overlap, **of.scope.conditions), of, seconds)
        for by in _sorted(seen.observed)
        for overlap in ((False, True) if by.name != "qos" else (False,))
        for number, hours, seconds in _proposed(
            _table(seen, by, overlap=overlap), by, overlap=overlap
        )
        for of in [_class(seen, by, number)]
    ]


def _class(seen: Seen, by: _Sorted, number: int) -> Class:
    value = by.values[number]

    def make() -> Class:
        own = by.bins > number if by.bounded else by.bins == number
        amount = seen.observed.reach if by.name == "walltime_above_s" else seen.observed.size
        return Class(
            Scope().but(**{by.name: value if by.bounded else (value,)}),
            own,
            ~own & (by.bins >= 0),
            amount <= WIDER * value if by.bounded else None,
        )

    made: Class = seen.once((by.name, value), make)
    return made


WITHHELD, BROKEN, SECONDS = range(3)


def _table(seen: Seen, by: _Sorted, *, overlap: bool) -> Floats:
    """Return occasions, starts and seconds by hour of the week, reach, class, and block.

    Occasions are those of each attempt and hour. Without ``overlap`` all reach equally far. The
    shape is [hours, reaches, 3, classes, blocks]; a class of a bounded property is all above it.
    """
    parts, starts = seen.parts, seen.started
    job, begin = (
        np.concatenate((parts.job, starts)),
        np.concatenate((parts.begin, seen.start_local)),
    )
    known = np.flatnonzero(by.bins[job] >= 0)
    job, begin = job[known], begin[known]
    since, until = seen.observed.first, seen.observed.last_arrival + 1
    block = np.clip((begin - since) * BLOCKS // max(until - since, 1), 0, BLOCKS - 1)
    reach, reaches = np.zeros(len(job), np.int64), 1
    if overlap:
        reach = np.searchsorted(REACHES, seen.observed.reach[job] / HOUR_S)
        reaches = len(REACHES)
    claims = np.concatenate((parts.claims, starts < 0))[known]
    of_claims = np.flatnonzero(claims)
    again = (np.diff(job[of_claims], prepend=-1) == 0) & (
        np.diff(begin[of_claims] // HOUR_S, prepend=-1) == 0
    )
    claims[of_claims[again]] = False
    seconds = np.concatenate((parts.seconds, np.zeros(len(starts), np.int64)))[known]
    shape = (WEEK, reaches, int(by.bins.max()) + 1, BLOCKS)
    place = np.ravel_multi_index((hour_of_week(begin), reach, by.bins[job], block), shape)
    size = int(np.prod(shape))
    sums = [
        np.bincount(place, weight, size) for weight in (claims, known >= len(parts.job), seconds)
    ]
    table: Floats = np.stack([one.reshape(shape) for one in sums], 2)
    return table


def _proposed(
    table: Floats, by: _Sorted, *, overlap: bool
) -> Iterator[tuple[int, tuple[int, ...], float]]:
    """Yield classes, hours of the week in which each is hardly started, and the seconds in them.

    Of each circle of hours, those of the greatest score, over any run of blocks: what the rule
    would be worth by condition (d).
    """
    from audit.kernels import fitting

    whole = table.sum(3, keepdims=True)
    if by.bounded:
        table = whole - table.cumsum(3)[:, :, :, :-1]
    sums, total = table.sum((0, 1)), whole.sum((0, 1))
    of_class, of_all = sums[:SECONDS].sum((0, 2)), total[:SECONDS].sum()
    enough = (of_class >= LEAST) & (of_all - of_class >= LEAST) & (sums[WITHHELD].sum(1) > 0)
    likely = np.flatnonzero(enough).tolist()
    chances = [KEPT * _shares_of_runs(total[:, 0] - sums[:, number]) for number in likely]
    # [reaches + 1, hours, …], what reaches at least so far
    tail = np.zeros((table.shape[1] + 1, WEEK, 3, len(likely) + 1, BLOCKS))
    for reach in reversed(range(table.shape[1])):
        tail[reach, :, :, :-1] = tail[reach + 1, :, :, :-1] + table[:, reach][:, :, likely]
        tail[reach, :, :, -1:] = tail[reach + 1, :, :, -1:] + whole[:, reach]
    for circle in _circles(overlap=overlap):
        base, hours = _added(circle, tail, overlap=overlap)
        for place, number in enumerate(likely):
            begin, extent, score, seconds = fitting.best_stretch(
                base, hours, place, chances[place], LEAST, RAW
            )
            if score > 0:
                closed = circle[:, (begin + np.arange(extent + 1)) % circle.shape[1]]
                yield number, tuple(np.unique(closed).tolist()), seconds


def _shares_of_runs(of_blocks: Floats) -> Floats:
    """Return the share of starts of a table, [3, blocks], in each run [first, behind) of blocks."""
    sums = np.concatenate((np.zeros((3, 1)), of_blocks.cumsum(1)), 1)
    withheld, broken = (sums[row, None, :] - sums[row, :-1, None] for row in (WITHHELD, BROKEN))
    shares: Floats = broken / np.maximum(withheld + broken, 1)
    return np.ascontiguousarray(np.maximum(shares, 0.0))


def _circles(*, overlap: bool) -> list[Ints]:
    """Return the hours of the week that are alike, a row for each day."""
    days = [np.array(days)[:, None] * DAY + np.arange(DAY) for days in DAYS]
    return days if overlap else [*days, np.arange(WEEK)[None, :]]


def _added(circle: Ints, tail: Floats, *, overlap: bool) -> tuple[Floats, Floats]:
    """Return what of a table stretches of a circle of hours forbid.

    Args:
        circle: see ``_circles``.
        tail: sums by the least reach and the hour of the week, [reaches + 1, hours, …].
        overlap: whether hours forbid starts before them.

    Returns:
        What a stretch from each hour on forbids before its first hour, [begin, …]; and what each
        further hour adds, [begin, hours, …]; without ``overlap`` the same for each, [1, hours, …].
    """
    size, every = circle.shape[1], tail[0]
    if not overlap:
        return np.zeros((size, *every.shape[1:])), every[circle].sum(0)[None]
    base, hours = [], []
    for begin in range(size):
        before = tail[np.searchsorted(REACHES, _hours_to(circle[:, begin])), np.arange(WEEK)]
        base.append(before.sum(0))
        hours.append((every - before)[circle[:, (begin + np.arange(size - 1)) % size]].sum(0))
    return np.stack(base), np.stack(hours)


def _hours_to(closings: Ints) -> Ints:
    """Return how many hours each hour of the week is before the next of ``closings``, [168]."""
    hours: Ints = ((closings[None, :] - np.arange(WEEK)[:, None]) % WEEK).min(1)
    return hours
