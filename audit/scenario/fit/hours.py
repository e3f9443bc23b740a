"""Windows: hours of the week in which a class of attempts does not start, though it would fit.

A table of each class by hour of the week proposes hours. Neighbours are the attempts outside of the
class, such as shorter or narrower ones, in the same hours. An overlap window forbids a start at t
too if the walltime reaches from t into the hours.

Source: SPEC §11, *Rules that may be used*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from audit import periods
from audit.metrics.closed_hours import HOUR_S
from audit.model import Scope, Window
from audit.rules import DAY, WEEK
from audit.scenario.fit.evidence import DAY_S, KEPT, LEAST, RAW, Booked, Events, units
from audit.scenario.fit.levels import numbered
from audit.scenario.fit.observed import Floats, Observed
from audit.scenario.fit.occasions import Parts, Seen, Tried, hour_of_week
from audit.scenario.limits import Closing, window_edges
from audit.scenario.workload import Bools, Ints

LEAST_DAYS: Final = 21
"""Shorter logs do not show hours of the week."""
BOUNDS: Final = 32
"""Walltimes and widths that may bound a class: those that most attempts ask for."""
DAYS: Final = ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4), (5, 6))
"""Days on which the same hours may be closed, Monday first."""
BLOCKS: Final = 4
"""Parts of the log in whose runs a window may hold."""
WIDER: Final = 1.25
"""The part of a class up to this multiple of its bound must keep the window, too."""
REACHES: Final = (*range(25), 28, 32, 36, 42, 48, 60, 72, 96, 168)
"""Walltimes that the table tells apart, in hours; those between count as the next one above."""


class Class(NamedTuple):
    """Attempts that a window may be about."""

    scope: Scope
    inside: Bools
    """[n]."""
    outside: Bools
    """[n], its neighbours."""
    near: Bools | None
    """[n], which attempts ask for at most ``WIDER`` times its bound; None: it has none."""


class Candidate(NamedTuple):
    """A window that passes the table."""

    window: Window
    of: Class
    seconds: float
    """At most this much waiting would be booked to it, about."""


def clocks(zone: str, first: int, last: int) -> list[str]:
    """Return the clocks that a site's rules may go by: its zone, and the same without summer time.

    The times of some logs were written by a clock that knows no summer time.
    """
    known = ZoneInfo(zone)
    months = range(first, last + 1, 30 * DAY_S)
    offsets = {datetime.fromtimestamp(at, known).utcoffset() for at in months}
    seconds = {int(offset.total_seconds()) for offset in offsets if offset is not None}
    standard = min(seconds, default=0)
    if len(seconds) < 2 or standard % HOUR_S:
        return [zone]
    hours = standard // HOUR_S
    # in these names, as POSIX has it, the sign is that of the way back to UTC
    return [zone, f"Etc/GMT{-hours:+d}" if hours else "UTC"]


# --- what a window forbids -----------------------------------------------------------------------


def forbidden_from(window: Window, begin: Ints, reach: Ints) -> Ints:
    """Return from when on a window forbids starts, s on the clock; it does until the hour ends.

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


def events(seen: Seen, one: Candidate) -> tuple[Events, Events]:
    """Return the events of a window and of its neighbours."""
    return _events(seen, one.window, one.of.inside), _events(seen, one.window, one.of.outside)


def _events(seen: Seen, window: Window, about: Bools) -> Events:
    claims = np.flatnonzero(about[seen.claims.job])
    starts = np.flatnonzero(about[seen.started])
    jobs = seen.claims.job[claims], seen.started[starts]
    begins = seen.claims_begin[claims], seen.start_local[starts]
    lasts = np.maximum(seen.claims.seconds[claims], 1), np.ones(len(starts), np.int64)
    reach, user = seen.observed.reach, numbered(seen.observed, "user")
    since = [
        forbidden_from(window, begin, reach[job]) for begin, job in zip(begins, jobs, strict=True)
    ]
    kept = [np.flatnonzero(since[k] < begins[k] + lasts[k]) for k in range(2)]
    _, once = np.unique(seen.claims.stretch[claims[kept[0]]], return_index=True)
    kept[0] = kept[0][once]
    job = np.concatenate([jobs[k][kept[k]] for k in range(2)])
    at = np.concatenate([since[k][kept[k]] for k in range(2)])
    return Events(user[job], user[job], at, np.arange(len(job)) >= len(once))


class Forbidden(NamedTuple):
    """The parts of spans and the starts of some attempts that a window forbids."""

    parts: Parts
    since: Ints  # s on the clock
    seconds: Ints


def forbidden(seen: Seen, window: Window, about: Bools) -> Forbidden:
    """Return what a window forbids to the attempts that it is ``about``, [n]."""
    parts = seen.parts.of(np.flatnonzero(about[seen.parts.job]))
    since = forbidden_from(window, parts.begin, seen.observed.reach[parts.job])
    inside = np.flatnonzero(since < parts.begin + np.maximum(parts.seconds, 1))
    parts, since = parts.of(inside), since[inside]
    return Forbidden(parts, since, np.maximum(parts.begin + parts.seconds - since, 0))


def booked(seen: Seen, one: Candidate) -> Booked:
    """Return the waiting time with free capacity that a window would book."""
    found = forbidden(seen, one.window, one.of.inside)
    return Booked(found.since, found.seconds)


def broken_slices(seen: Seen, one: Candidate, days: tuple[int, int] | None) -> Slices:
    """Return in which slices a window is not kept: condition (a), by attempt and hour.

    Args:
        days: [from, to), in which the window holds; None: the whole log.
    """
    mine, others = (
        _once_an_hour(seen, forbidden(seen, one.window, about), days)
        for about in (one.of.inside, one.of.outside)
    )
    overall = units(others.events, DAY_S).mean
    near = False
    if one.of.near is not None:
        part = mine.of(one.of.near[mine.job])
        near = _is_high(part, overall)

    edges: tuple[int, ...] = ()
    if one.window.overlap:
        edges = tuple(
            number
            for number, left in enumerate(without_edges(one.window))
            if _is_high(_only(mine, seen, left), _chance(_only(others, seen, left), overall))
        )

    def high(count: int, slice_of: Callable[[Ints], Ints]) -> tuple[int, ...]:
        of_mine, of_others = slice_of(mine.hour), slice_of(others.hour)
        return tuple(
            place
            for place in range(count)
            if _is_high(mine.of(of_mine == place), _chance(others.of(of_others == place), overall))
        )

    return Slices(
        high(DAY, lambda hour: hour % DAY), high(7, lambda hour: hour // DAY), near, edges
    )


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


def narrower(one: Candidate, slices: Slices) -> Iterator[Candidate]:
    """Yield a window without the weekdays, and without the hours, in which it is not kept.

    Those kept must follow each other. An overlap window forbids starts at other hours than its
    own: it loses its first or last hour instead.
    """
    hours = set(one.window.hours)
    of_day = {hour % DAY for hour in hours} - set(slices.hours)
    weekdays = {hour // DAY for hour in hours} - set(slices.weekdays)
    kept = [
        {hour for hour in hours if hour // DAY in weekdays} if _runs(weekdays, 7) == 1 else set(),
        {hour for hour in hours if hour % DAY in of_day} if _runs(of_day, DAY) == 1 else set(),
    ]
    if one.window.overlap:
        kept = [set(left.hours) for left in without_edges(one.window)]
    for left in kept:
        if left and left != hours:
            yield one._replace(window=one.window.but(hours=tuple(sorted(left))))


def without_edges(window: Window) -> list[Window]:
    """Return a window without the first, and without the last hour of each of its stretches."""
    hours = set(window.hours)
    kept = [{hour for hour in hours if (hour + step) % WEEK in hours} for step in (-1, 1)]
    return [window.but(hours=tuple(sorted(left))) for left in kept]


def _only(hourly: _Hourly, seen: Seen, left: Window) -> _Hourly:
    """Return what a window forbids and ``left`` of it does not."""
    if not left.hours:
        return hourly
    reach = seen.observed.reach[hourly.job]
    return hourly.of(forbidden_from(left, hourly.events.at, reach) > hourly.events.at)


def _runs(numbers: set[int], size: int) -> int:
    """Return how many runs numbers make on a circle; all of the circle is one."""
    begins = sum((number - 1) % size not in numbers for number in numbers)
    return begins or bool(numbers)


def wider(one: Candidate) -> Iterator[Candidate]:
    """Yield an overlap window with an hour before its hours, and behind them."""
    hours = set(one.window.hours)
    for more in ({(hour - 1) % WEEK for hour in hours}, {(hour + 1) % WEEK for hour in hours}):
        if one.window.overlap and len(hours | more) < WEEK:
            yield one._replace(window=one.window.but(hours=tuple(sorted(hours | more))))


class _Hourly(NamedTuple):
    """Starts, and one claim for each attempt and hour."""

    job: Ints
    hour: Ints  # of the week
    events: Events

    def of(self, chosen: Bools) -> _Hourly:
        """The chosen ones."""
        return _Hourly(self.job[chosen], self.hour[chosen], self.events.of(chosen))


def _once_an_hour(seen: Seen, found: Forbidden, days: tuple[int, int] | None) -> _Hourly:
    kept = found.parts.broken | found.parts.claims
    if days is not None:
        kept &= (found.since >= days[0] * DAY_S) & (found.since < days[1] * DAY_S)
    parts = found.parts.of(kept)
    hour = parts.begin // HOUR_S
    again = (np.diff(parts.job, prepend=-1) == 0) & (np.diff(hour, prepend=-1) == 0)
    parts = parts.of(~again | parts.broken)
    user = numbered(seen.observed, "user")[parts.job]
    return _Hourly(parts.job, parts.hour, Events(user, user, parts.begin, parts.broken))


def _chance(others: _Hourly, overall: float) -> float:
    """Return the neighbours' share in a slice; ``overall`` where it has too few of them."""
    if len(others.job) < LEAST:
        return overall
    known = units(others.events, DAY_S)
    return known.mean if len(known.at) >= LEAST else overall


def _is_high(slice_: _Hourly, chance: float) -> bool:
    """Return whether the mean share of a slice is too high; too small ones are left out."""
    if len(slice_.job) < LEAST or not slice_.events.broken.any():
        return False
    known = units(slice_.events, DAY_S)
    return len(known.at) >= LEAST and known.mean > KEPT * chance


# --- what the table proposes ---------------------------------------------------------------------


class _Sorted(NamedTuple):
    """A property by which classes are told apart."""

    name: str  # a condition of ``Scope``
    values: list[Any]
    bins: Ints  # [n], in how many classes of ``values`` an attempt is, or which; −1: unknown


def _sorted(observed: Observed) -> Iterator[_Sorted]:
    """Yield what classes may be told apart by."""
    frame = observed.frame
    if frame["walltime_s"].null_count() < frame.height:
        yield _bounded(observed, "walltime_above_s", observed.reach)
    yield _bounded(observed, "size_above", observed.size)
    for name in ("partition", "qos"):
        number = numbered(observed, name)
        names = frame[name].drop_nulls().unique().sort().to_list()
        if len(names) > 1:
            yield _Sorted(name, names, number)


def _bounded(observed: Observed, name: str, amount: Ints) -> _Sorted:
    values, counts = np.unique(amount[observed.judged], return_counts=True)
    often = np.sort(np.argsort(-counts[:-1], kind="stable")[:BOUNDS])
    bounds = values[:-1][often]
    return _Sorted(name, bounds.tolist(), np.searchsorted(bounds, amount))


def candidates(seen: Seen) -> list[Candidate]:
    """Return the windows whose broken share, over some part of the log, is low enough to judge."""
    if seen.days < LEAST_DAYS:
        return []
    found: dict[str, Candidate] = {}
    for by in _sorted(seen.observed):
        for overlap in (False, True) if by.name != "qos" else (False,):
            table = _table(seen, by, overlap=overlap)
            for number, value in enumerate(by.values):
                sides = _sides(table, by, number)
                if sides is None:
                    continue
                for hours, seconds in _proposed(sides, overlap=overlap):
                    of = _class(seen, by, number, value)
                    window = Window(hours=hours, overlap=overlap, **of.scope.conditions)
                    found.setdefault(repr(window), Candidate(window, of, seconds))
    return list(found.values())


def _class(seen: Seen, by: _Sorted, number: int, value: Any) -> Class:
    def make() -> Class:
        bounded = by.name in ("walltime_above_s", "size_above")
        own = by.bins > number if bounded else by.bins == number
        amount = seen.observed.reach if by.name == "walltime_above_s" else seen.observed.size
        return Class(
            Scope().but(**{by.name: value if bounded else (value,)}),
            own,
            ~own & (by.bins >= 0),
            amount <= WIDER * value if bounded else None,
        )

    made: Class = seen.once((by.name, value), make)
    return made


WITHHELD, BROKEN, SECONDS = range(3)


def _table(seen: Seen, by: _Sorted, *, overlap: bool) -> Floats:
    """Return occasions, starts and seconds by bin, block, hour of the week and reach.

    Occasions are those of each attempt and hour. Without ``overlap`` all reach equally far.
    """
    parts = seen.parts
    known = np.flatnonzero(by.bins[parts.job] >= 0)
    job, hour = parts.job[known], parts.hour[known]
    since, until = seen.observed.first, seen.observed.last_arrival + 1
    block = (parts.begin[known] - since) * BLOCKS // max(until - since, 1)
    reach, reaches = np.zeros(len(known), np.int64), 1
    if overlap:
        reach = np.searchsorted(REACHES, seen.observed.reach[job] / HOUR_S)
        reaches = len(REACHES)
    shape = (int(by.bins.max()) + 1, BLOCKS, WEEK, reaches)
    place = np.ravel_multi_index((by.bins[job], np.clip(block, 0, BLOCKS - 1), hour, reach), shape)
    counted = parts.claims[known]
    clock = parts.begin[known] // HOUR_S
    of_claims = np.flatnonzero(counted)
    again = np.diff(job[of_claims], prepend=-1) == 0
    again &= np.diff(clock[of_claims], prepend=-1) == 0
    counted[of_claims[again]] = False
    size = int(np.prod(shape))
    weights = (counted, parts.broken[known], parts.seconds[known])
    sums = [np.bincount(place, weight, size).reshape(shape) for weight in weights]
    return np.stack(sums)


class _Sides(NamedTuple):
    """Tables of a class and of its neighbours, [3, blocks, hours, reaches] each."""

    mine: Floats
    others: Floats


def _sides(table: Floats, by: _Sorted, number: int) -> _Sides | None:
    if by.name in ("walltime_above_s", "size_above"):
        mine, others = table[:, number + 1 :].sum(1), table[:, : number + 1].sum(1)
    else:
        mine, others = table[:, number], table.sum(1) - table[:, number]
    enough = all(side[[WITHHELD, BROKEN]].sum() >= LEAST for side in (mine, others))
    return _Sides(mine, others) if enough and mine[WITHHELD].sum() else None


def _proposed(sides: _Sides, *, overlap: bool) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield hours of the week in which a class is hardly started, and the seconds in them.

    Of each circle of hours, those of the greatest score, over any run of blocks: what the rule
    would be worth by condition (d).
    """
    from audit.kernels import fitting

    counts = np.concatenate((sides.mine[:SECONDS], sides.others[:SECONDS]))
    chance = KEPT * _shares_of_runs(sides.others.sum((2, 3)))
    for circle in _circles(overlap=overlap):
        base, hours = _added(circle, counts, overlap=overlap)
        begin, extent, score = fitting.best_stretch(base, hours, chance, LEAST, RAW)
        if score > 0:
            base, hours = _added(circle, sides.mine[SECONDS:], overlap=overlap)
            seconds = base[begin].sum() + hours[begin, : extent + 1].sum()
            closed = circle[:, (begin + np.arange(extent + 1)) % circle.shape[1]]
            yield tuple(np.unique(closed).tolist()), float(seconds)


def _shares_of_runs(of_blocks: Floats) -> Floats:
    """Return the share of starts of a table, [3, blocks], in each run [first, behind) of blocks."""
    sums = np.concatenate((np.zeros((3, 1)), of_blocks.cumsum(1)), 1)
    withheld, broken = (sums[row, None, :] - sums[row, :-1, None] for row in (WITHHELD, BROKEN))
    shares: Floats = broken / np.maximum(withheld + broken, 1)
    return np.ascontiguousarray(np.maximum(shares, 0.0))


def _circles(*, overlap: bool) -> list[Ints]:
    """The hours of the week that are alike, a row for each day: of kinds of days, and the week."""
    days = [np.array(days)[:, None] * DAY + np.arange(DAY) for days in DAYS]
    return days if overlap else [*days, np.arange(WEEK)[None, :]]


def _added(circle: Ints, table: Floats, *, overlap: bool) -> tuple[Floats, Floats]:
    """Return what of a table, [rows, blocks, hours, reaches], stretches of a circle forbid.

    Returns:
        What a stretch from each hour on forbids before its first hour, [begin, rows, blocks]; and
        what each further hour adds, [begin, hours, rows, blocks].
    """
    size = circle.shape[1]
    every = np.moveaxis(table.sum(3), 2, 0)
    if not overlap:
        of_hours = every[circle].sum(0)
        doubled = np.concatenate((of_hours, of_hours))
        windows = np.lib.stride_tricks.sliding_window_view(doubled, size - 1, axis=0)[:size]
        return np.zeros((size, *every.shape[1:])), np.moveaxis(windows, -1, 1)
    tail = np.moveaxis(table[..., ::-1].cumsum(3)[..., ::-1], 2, 0)
    tail = np.concatenate((tail, np.zeros_like(tail[..., :1])), -1)
    base, hours = [], []
    for begin in range(size):
        ahead = _hours_to(circle[:, begin])
        before = tail[np.arange(WEEK), ..., np.searchsorted(REACHES, ahead)]
        base.append(before.sum(0))
        hours.append((every - before)[circle[:, (begin + np.arange(size - 1)) % size]].sum(0))
    return np.ascontiguousarray(np.stack(base)), np.stack(hours)


def _hours_to(closings: Ints) -> Ints:
    """Return how many hours each hour of the week is before the next of ``closings``, [168]."""
    hours: Ints = ((closings[None, :] - np.arange(WEEK)[:, None]) % WEEK).min(1)
    return hours
