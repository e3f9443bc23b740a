"""Windows: hours of the week in which a class of attempts does not start, though it would fit.

A table of each class by hour of the week proposes hours. Neighbours are the attempts outside of the
class, such as shorter or narrower ones, in the same hours. An overlap window forbids a start at t
too if the walltime reaches from t into the hours.

Source: SPEC §11, *Rules that may be used*.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache
from itertools import combinations
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from audit.model import Scope, Window
from audit.rules import DAY, WEEK
from audit.scenario.fit.evidence import DAY_S, KEPT, LEAST, RAW, Booked, Events
from audit.scenario.fit.levels import numbered
from audit.scenario.fit.observed import Floats, Observed
from audit.scenario.fit.occasions import Parts, Seen, hour_of_week
from audit.scenario.limits import HOUR_S
from audit.scenario.workload import Bools, Ints

LEAST_DAYS: Final = 21
"""Shorter logs do not show hours of the week."""
BOUNDS: Final = 40
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
    inside: Ints
    """Its parts, as indices into ``Seen.parts``."""
    outside: Ints
    """Those of its neighbours."""
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
    return np.maximum(begin, closes - (reach if window.overlap else 1) + 1)


class _Forbidden(NamedTuple):
    """The parts of one side that a window forbids."""

    parts: Parts
    since: Ints
    seconds: Ints


def _forbidden(seen: Seen, window: Window, which: Ints) -> _Forbidden:
    parts = seen.parts.of(which)
    since = forbidden_from(window, parts.begin, seen.observed.reach[parts.job])
    inside = np.flatnonzero(since < parts.begin + np.maximum(parts.seconds, 1))
    parts, since = parts.of(inside), since[inside]
    return _Forbidden(parts, since, np.maximum(parts.begin + parts.seconds - since, 0))


class Judged(NamedTuple):
    """What a window forbids, and its neighbours do in the same hours."""

    rule: Events
    neighbours: Events
    booked: Booked
    of_class: _Forbidden
    of_others: _Forbidden


def events(seen: Seen, one: Candidate) -> Judged:
    """Return the events of a window and of its neighbours."""
    of_class = _forbidden(seen, one.window, one.of.inside)
    of_others = _forbidden(seen, one.window, one.of.outside)
    return Judged(
        _events(seen, of_class),
        _events(seen, of_others),
        Booked(of_class.since, of_class.seconds),
        of_class,
        of_others,
    )


def _events(seen: Seen, forbidden: _Forbidden) -> Events:
    parts = forbidden.parts
    claims = np.flatnonzero(parts.claims)
    _, once = np.unique(parts.stretch[claims], return_index=True)
    which = np.concatenate((claims[once], np.flatnonzero(parts.broken)))
    user = numbered(seen.observed, "user")[parts.job[which]]
    return Events(user, user, forbidden.since[which], parts.broken[which])


def broken_slices(judged: Judged, one: Candidate, days: tuple[int, int] | None) -> Slices:
    """Return in which slices a window is not kept: condition (a), by attempt and hour.

    Args:
        days: [from, to), in which the window holds; None: the whole log.
    """
    mine, others = (_by_hour(side, days) for side in (judged.of_class, judged.of_others))
    overall = _share(others)
    hours = _high(mine, others, lambda side: side.hour % DAY, DAY, overall)
    weekdays = _high(mine, others, lambda side: side.hour // DAY, WEEK // DAY, overall)
    near = False
    if one.of.near is not None:
        part = mine.of(one.of.near[mine.job])
        near = len(part.job) >= LEAST and part.broken.mean() > KEPT * overall
    return Slices(hours, weekdays, bool(near))


class Slices(NamedTuple):
    """Slices of a window that are not kept."""

    hours: tuple[int, ...]  # of the day
    weekdays: tuple[int, ...]
    near: bool
    """The part of the class that is nearest to its bound."""

    @property
    def some(self) -> bool:
        """Whether any is not kept."""
        return bool(self.hours or self.weekdays or self.near)


def without(seen: Seen, one: Candidate, slices: Slices) -> Candidate | None:
    """Return a window without the hours and weekdays in which it is not kept; None: it has none."""
    hours = tuple(
        hour
        for hour in one.window.hours
        if hour % DAY not in slices.hours and hour // DAY not in slices.weekdays
    )
    if not hours or hours == one.window.hours or one.window.overlap:
        return None
    window = one.window.but(hours=hours)
    forbidden = _forbidden(seen, window, one.of.inside)
    return Candidate(window, one.of, float(forbidden.seconds.sum()))


def _by_hour(side: _Forbidden, days: tuple[int, int] | None) -> Parts:
    """Return the starts, and one claim for each attempt and hour."""
    kept = side.parts.broken | side.parts.claims
    if days is not None:
        kept &= (side.since >= days[0] * DAY_S) & (side.since < days[1] * DAY_S)
    parts = side.parts.of(kept)
    hour = parts.begin // HOUR_S
    again = (np.diff(parts.job, prepend=-1) == 0) & (np.diff(hour, prepend=-1) == 0)
    return parts.of(~again | parts.broken)


def _share(parts: Parts) -> float:
    return float(parts.broken.mean()) if len(parts.job) else 0.0


def _high(mine: Parts, others: Parts, key: Any, count: int, overall: float) -> tuple[int, ...]:
    """Return the slices whose broken share is too high for their neighbours' share."""
    of_mine, of_others = key(mine), key(others)
    number, broken = np.bincount(of_mine, minlength=count), np.bincount(of_mine, mine.broken, count)
    beside = np.bincount(of_others, minlength=count)
    served = np.bincount(of_others, others.broken, count)
    chance = np.where(beside >= LEAST, served / np.maximum(beside, 1), overall)
    high = (number >= LEAST) & (broken > KEPT * chance * number)
    return tuple(np.flatnonzero(high).tolist())


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
        job = seen.parts.job
        return Class(
            Scope().but(**{by.name: value if bounded else (value,)}),
            np.flatnonzero(own[job]),
            np.flatnonzero((~own & (by.bins >= 0))[job]),
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
    place = np.ravel_multi_index(
        (by.bins[job], np.clip(block, 0, BLOCKS - 1), hour, reach), shape
    )
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
    """Yield hours of the week in which a class is hardly started, and the seconds in them."""
    for circle in _circles(overlap=overlap):
        shut = _inside(circle, sides.mine, overlap=overlap)
        beside = _inside(circle, sides.others, overlap=overlap)
        for first, behind in combinations(range(BLOCKS + 1), 2):
            w, b, _ = (one[first:behind].sum(0) for one in shut)
            i, s, _ = (one[first:behind].sum(0) for one in beside)
            all_i, all_s, _ = sides.others[:, first:behind].sum((1, 2, 3))
            chance = KEPT * all_s / max(all_i + all_s, 1)
            allowed = (w + b >= LEAST) & (i + s >= LEAST) & (b * (i + s) <= RAW * s * (w + b))
            score = np.where(allowed, chance * (w + b) - b, 0.0)
            for begin, extent in _best(score, near=overlap):
                hours = circle[:, (begin + np.arange(extent + 1)) % circle.shape[1]]
                seconds = float(shut[SECONDS, :, begin, extent].sum())
                yield tuple(np.unique(hours).tolist()), seconds


def _best(score: Floats, *, near: bool) -> list[tuple[int, int]]:
    """Return the stretch of the greatest score, the shortest of several; and those ``near`` it."""
    top = float(score.max(initial=0.0))
    if top <= 0:
        return []
    alike = np.argwhere(score >= top - 1e-9)
    begin, extent = alike[alike[:, 1].argmin()].tolist()
    if not near:
        return [(begin, extent)]
    size = score.shape[0]
    around = {
        ((begin + first) % size, extent - first + last) for first in (-1, 0, 1) for last in (-1, 0, 1)
    }
    return sorted(
        (one, long) for one, long in around if 0 <= long < score.shape[1] and score[one, long] > 0
    )


def _circles(*, overlap: bool) -> list[Ints]:
    """The hours of the week that are alike, a row for each day: of kinds of days, and the week."""
    days = [np.array(days)[:, None] * DAY + np.arange(DAY) for days in DAYS]
    return days if overlap else [*days, np.arange(WEEK)[None, :]]


def _inside(circle: Ints, table: Floats, *, overlap: bool) -> Floats:
    """Return what of a table each stretch of a circle forbids: [3, blocks, begin, hours − 1]."""
    size = circle.shape[1]
    if overlap:
        masks = _masks(tuple((circle[:, 0] // DAY).tolist()))
        flat = table.reshape(-1, table.shape[2] * table.shape[3]).astype(np.float32)
        sums = flat @ masks.T
        return sums.astype(np.float64).reshape(*table.shape[:2], size, size - 1)
    of_hours = table[:, :, circle, 0].sum(2)
    doubled = np.concatenate((of_hours, of_hours), -1).cumsum(-1)
    before = np.concatenate((np.zeros_like(doubled[..., :1]), doubled), -1)
    first, length = np.meshgrid(np.arange(size), np.arange(1, size), indexing="ij")
    within: Floats = before[..., first + length] - before[..., first]
    return within


@lru_cache(maxsize=len(DAYS))
def _masks(days: tuple[int, ...]) -> NDArray[np.float32]:
    """Return which (hour, reach) each stretch of hours on these days forbids, [stretches, cells]."""
    ahead = np.array(REACHES)
    hour = np.arange(WEEK)[:, None]
    rows = []
    for begin in range(DAY):
        for length in range(1, DAY):
            closed = np.zeros((WEEK // DAY, DAY), np.int64)
            closed[np.ix_(days, (begin + np.arange(length)) % DAY)] = 1
            sums = np.concatenate(([0], np.cumsum(np.tile(closed.ravel(), 3))))
            rows.append((sums[hour + ahead + 1] - sums[hour]) > 0)
    return np.stack(rows).reshape(len(rows), -1).astype(np.float32)
