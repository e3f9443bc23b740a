"""Windows: hours of the week in which no attempt of a class starts, though it would fit.

A table of each class by hour of the week proposes hours. Neighbours are the attempts outside the
class, such as shorter or narrower ones, in the same hours. An overlap window also forbids a start
before its hours if the walltime reaches into them.

Source: SPEC §11, *Windows and overlap windows*.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from audit.array_types import Bools, Floats, Ints
from audit.kernels import closed_hours as kernels
from audit.kernels.closed_hours import Side
from audit.kernels.growing import GrowingTable
from audit.kernels.hours_table import add_tails, best_stretches
from audit.metrics.closed_hours import DAY_S, HOUR_S, hour_of_week
from audit.model import Window
from audit.rules import DAY, WEEK
from audit.scenario.windows.evidence import (
    KEPT,
    LEAST,
    RAW,
    Days,
    UnitEvents,
    Units,
    counted,
    on_days,
)
from audit.scenario.windows.observed import ObservedJobs, Seen
from audit.scenario.workload import distinct_of_ordered

LEAST_DAYS: Final = 21
"""Least length of a log in which hours of the week show."""
BOUNDS: Final = 32
"""Number of walltimes or widths that may bound a class: the most frequent ones."""
DAYS: Final = ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4), (5, 6))
"""Sets of days on which the same hours may be closed; 0 is Monday."""
EVENINGS: Final = ((0, 1, 2, 3, 4), (6, 0, 1, 2, 3))
"""Sets of days whose evenings may be closed, and the mornings after them."""
CIRCLES: Final = (
    *(np.array(days)[:, None] * DAY + np.arange(DAY) for days in DAYS),
    *((np.array(days)[:, None] * DAY + DAY // 2 + np.arange(DAY)) % WEEK for days in EVENINGS),
    np.arange(WEEK)[None, :],
)
"""Circles of hours that may be closed alike, with a row for each day."""
BLOCKS: Final = 4
"""Parts of the log in whose runs a window may hold."""
WIDER: Final = 1.25
"""Multiple of a class's bound up to which the attempts must keep the window by themselves."""
REACHES: Final = (*range(25), 28, 32, 36, 42, 48, 60, 72, 96, 168)
"""Walltimes in the table, in hours; each counts as the next one above."""


def clocks(zone: str, first: int, last: int) -> list[str]:
    """Return the clocks that a site's rules may follow: its zone, with and without summer time."""
    known = ZoneInfo(zone)
    months = range(first, last + 1, 30 * DAY_S)
    offsets = {datetime.fromtimestamp(at, known).utcoffset() for at in months}
    seconds = {int(offset.total_seconds()) for offset in offsets if offset is not None}
    standard = min(seconds, default=0)
    if len(seconds) < 2 or standard % HOUR_S:
        return [zone]
    hours = standard // HOUR_S
    # these names have the sign of the difference from local time to UTC
    return [zone, f"Etc/GMT{-hours:+d}" if hours else "UTC"]


# --- starts that a window forbids ----------------------------------------------------------------


@cache
def hours_to_next(hours: tuple[int, ...]) -> Ints:
    """Return the hours from each hour of the week to the next one of ``hours``, [168].

    Without such an hour it is two weeks or more.
    """
    ahead = np.arange(2 * WEEK)
    ahead[~np.isin(ahead % WEEK, list(hours))] = 4 * WEEK
    to_next: Ints = np.minimum.accumulate(ahead[::-1])[::-1][:WEEK] - np.arange(WEEK)
    to_next.flags.writeable = False
    return to_next


class WindowCandidate(NamedTuple):
    """A window to judge."""

    rule: Window
    of: "WindowClass"
    seconds: float  # an estimate of the upper bound of the waiting booked to it

    def closed(self, side: NDArray[np.uint8] | None = None) -> kernels.ClosedHours:
        """Return its hours and attempts, for the kernel; ``side``: in place of its own."""
        to_next, own = hours_to_next(self.rule.hours), self.of.side if side is None else side
        return kernels.ClosedHours(to_next, self.rule.overlap, own)

    def waiting(self, seen: Seen, days: Days | None = None) -> int:
        """Return the waiting time with free capacity that would be booked to it, s.

        Args:
            days: on which it counts; None: on all.
        """
        first = seen.observed.first // DAY_S - 1
        seconds = np.zeros(seen.observed.last // DAY_S + 2 - first, np.int64)
        kernels.forbidden_seconds(seen.possible_starts, self.closed(), first, seconds)
        if days is not None:
            seconds = seconds[slice(*(max(day - first, 0) for day in days))]
        return int(seconds.sum())

    def forbidden(self, seen: Seen) -> tuple["Forbidden", "Forbidden"]:
        """Return the starts of its class, and those of its neighbours, that it would forbid.

        Of possible starts, the first of each attempt and hour.
        """
        tables = GrowingTable(2), GrowingTable(2)
        kernels.forbidden_starts(seen.possible_starts, self.closed(), *tables)
        mine, others = (Forbidden.of_table(table.taken()) for table in tables)
        return mine, others

    def events(self, seen: Seen, side: NDArray[np.uint8]) -> UnitEvents:
        """Return the starts that it would forbid, as events.

        Of possible starts, the first of each occasion.

        Args:
            side: [n], the attempts that count; see ``Side``.
        """
        users, bits = seen.observed.numbering
        out = GrowingTable(1)
        numbers = kernels.EventNumbers(seen.observed.numbered("user"), users, bits)
        kernels.forbidden_events(seen.possible_starts, self.closed(side), numbers, out)
        found = out.taken()[:, 0]
        found.sort()
        return UnitEvents(found, users, bits)


class Forbidden(NamedTuple):
    """Starts that a window forbids: possible ones of waiting attempts, and observed ones."""

    job: NDArray[np.int32]
    at: Ints  # s on the clock
    broken: Bools  # whether it was observed

    @classmethod
    def of_table(cls, rows: Ints) -> "Forbidden":
        """Return the starts of a table of the kernel."""
        job, broken = rows[:, 1:].view(np.int32).T
        return cls(job, rows[:, 0], broken > 0)

    def of(self, chosen: Bools) -> "Forbidden":
        """Return the chosen ones."""
        return Forbidden._make(column[chosen] for column in self)

    def keyed(self, seen: Seen) -> Ints:
        """Return each as 2 · key + 1 for a start, else 2 · key, of its user and day."""
        user = seen.observed.numbered("user")
        both = self.at // DAY_S
        both *= seen.observed.numbering[0]  # in place: there are many
        both += user[self.job]
        both += 1
        both *= 2
        both += self.broken
        return both


def units_of_alike(seen: Seen, alike: Sequence[WindowCandidate]) -> Iterator[tuple[Units, Units]]:
    """Yield the units of windows with the same hours (at least one), and of their neighbours."""
    side = np.full(seen.observed.attempts.height, np.uint8(Side.INSIDE))
    events = alike[0].events(seen, side)
    return (events.units(one.of.side) for one in alike)


class Slices(NamedTuple):
    """The slices of a window that are not kept."""

    hours: tuple[int, ...]  # of the day
    weekdays: tuple[int, ...]
    near: bool  # the part of the class that is nearest to its bound
    edges: tuple[int, ...]  # the first (0) and the last hour (1) of an overlap window


def broken_slices(seen: Seen, one: WindowCandidate, days: Days | None) -> Slices:
    """Return the slices in which a window is not kept on these days: condition (a).

    Occasions count by attempt and hour.
    """
    mine, others = one.forbidden(seen)
    if days is not None:
        mine, others = (side.of(on_days(side.at, days)) for side in (mine, others))
    events, events_of_others = (side.keyed(seen) for side in (mine, others))
    every = _means(events_of_others, np.zeros(len(others.job), np.int64), 1)[0]
    overall = 0.0 if np.isnan(every) else float(every)

    def high(count: int, of_mine: Ints, of_others: Ints) -> tuple[int, ...]:
        chance = _means(events_of_others, of_others, count)
        most = KEPT * np.where(np.isnan(chance), overall, chance)
        return tuple(np.flatnonzero(_means(events, of_mine, count) > most).tolist())

    hour = [hour_of_week(side.at) for side in (mine, others)]
    nearest = one.of.near
    near = nearest is not None and bool(
        _means(events, (~nearest[mine.job]).astype(np.int64), 2)[0] > KEPT * overall
    )
    edges = []
    for number, left in enumerate(without_edges(one.rule) if one.rule.overlap else ()):
        beside = [_also(seen, side, left).astype(np.int64) for side in (mine, others)]
        edges += [number] if 0 in high(2, *beside) else []
    return Slices(
        high(DAY, *(of % DAY for of in hour)),
        high(7, *(of // DAY for of in hour)),
        near,
        tuple(edges),
    )


def _means(both: Ints, slice_: Ints, count: int) -> Floats:
    """Return the mean broken share of each slice; nan: the events or units are too few.

    Args:
        both: of ``Forbidden.keyed``.
        slice_: the slice of each event.
        count: number of slices.
    """
    first = int(both.min(initial=0)) // 2 * 2
    span = int(both.max(initial=0)) // 2 * 2 + 2 - first
    key, breaks, counts = counted(np.sort(slice_ * span + both - first))
    of = key // (span // 2)
    number = np.bincount(of, minlength=count)
    enough = (np.bincount(of, counts, count) >= LEAST) & (number >= LEAST)
    sums = np.bincount(of, breaks / counts, count)
    return np.where(enough, sums / np.maximum(number, 1), np.nan)


def _also(seen: Seen, found: Forbidden, left: Window) -> Bools:
    """Return whether ``left``, a part of a window, forbids each start by itself."""
    if not left.hours:
        return np.zeros(len(found.job), np.bool_)
    reach = seen.observed.reach[found.job] if left.overlap else 1
    closes = (found.at // HOUR_S + hours_to_next(left.hours)[hour_of_week(found.at)]) * HOUR_S
    return closes - reach < found.at


def narrower(one: WindowCandidate, slices: Slices) -> Iterator[WindowCandidate]:
    """Yield a window without the weekdays, and without the hours, in which it is not kept.

    The rest must be contiguous. An overlap window, which forbids starts outside its own hours too,
    loses its first or last hour instead.
    """
    hours = set(one.rule.hours)
    of_day = {hour % DAY for hour in hours} - set(slices.hours)
    weekdays = {hour // DAY for hour in hours} - set(slices.weekdays)
    kept = [
        {hour for hour in hours if hour // DAY in weekdays} if _runs(weekdays, 7) == 1 else set(),
        {hour for hour in hours if hour % DAY in of_day} if _runs(of_day, DAY) == 1 else set(),
    ]
    if one.rule.overlap:
        kept = [set(without_edges(one.rule)[edge].hours) for edge in slices.edges]
    for left in kept:
        if left and left != hours:
            yield one._replace(rule=one.rule.but(hours=tuple(sorted(left))))


def wider(seen: Seen, one: WindowCandidate) -> Iterator[WindowCandidate]:
    """Yield a window with one more hour before, and with one more after, its hours."""
    hours = set(one.rule.hours)
    for step in (-1, 1):
        more = hours | {(hour + step) % WEEK for hour in hours}
        if hours != more and len(more) < WEEK:
            wide = one._replace(rule=one.rule.but(hours=tuple(sorted(more))))
            yield wide._replace(seconds=float(wide.waiting(seen)))


def without_edges(window: Window) -> list[Window]:
    """Return a window without the first, and without the last, hour of each of its stretches."""
    hours = set(window.hours)
    kept = [{hour for hour in hours if (hour + step) % WEEK in hours} for step in (-1, 1)]
    return [window.but(hours=tuple(sorted(left))) for left in kept]


def _runs(numbers: set[int], size: int) -> int:
    """Return the number of runs that numbers form on a circle; the whole circle is one run."""
    begins = sum((number - 1) % size not in numbers for number in numbers)
    return begins or bool(numbers)


# --- windows that the table proposes -------------------------------------------------------------


class _ClassProperty(NamedTuple):
    """A property that distinguishes classes."""

    name: str  # a condition of ``Scope``
    values: list[Any]
    bins: NDArray[np.signedinteger]
    """[n], the class of an attempt; if bounded, its number of classes; −1: unknown."""

    @property
    def bounded(self) -> bool:
        """Whether a class consists of all attempts above a value."""
        return self.name in ("walltime_above_s", "size_above")

    @property
    def overlaps(self) -> bool:
        """Whether overlap windows are tried."""
        return self.name != "qos"


class WindowClass(NamedTuple):
    """The attempts to which a window applies, and its neighbours; columns are made when needed."""

    observed: ObservedJobs
    by: _ClassProperty
    number: int

    @property
    def inside(self) -> Bools:
        """[n], the attempts to which the window applies."""
        bins, number = self.by.bins, self.number
        return bins > number if self.by.bounded else bins == number

    @property
    def side(self) -> NDArray[np.uint8]:
        """[n]: in the class, or neighbours (``Side``)."""
        side = np.where(self.inside, np.uint8(Side.INSIDE), np.uint8(Side.OUTSIDE))
        side[self.by.bins < 0] = Side.NEITHER
        return side

    @property
    def near(self) -> Bools | None:
        """[n], the attempts that request at most ``WIDER`` times the bound; None: no bound."""
        if not self.by.bounded:
            return None
        observed = self.observed
        amount = observed.reach if self.by.name == "walltime_above_s" else observed.size
        near: Bools = amount <= WIDER * self.by.values[self.number]
        return near


def _sorted(seen: Seen) -> Iterator[_ClassProperty]:
    """Yield the properties that may distinguish classes."""
    observed, started = seen.observed, seen.opportunities.started
    if observed.attempts["walltime_s"].count():
        yield _bounded("walltime_above_s", observed.reach, started)
    yield _bounded("size_above", observed.size, started)
    for name in ("partition", "qos"):
        names = observed.attempts[name].drop_nulls().unique().sort().to_list()
        if len(names) > 1:
            yield _ClassProperty(name, names, observed.numbered(name).astype(np.int32))


def _bounded(name: str, amount: Ints, started: Ints) -> _ClassProperty:
    asked = amount[started]
    asked.sort()  # in place: there are many
    values = distinct_of_ordered(asked)
    counts = np.diff(np.searchsorted(asked, values), append=len(asked))
    often = np.sort(np.argsort(-counts[:-1], kind="stable")[:BOUNDS])
    bounds = values[:-1][often]
    return _ClassProperty(name, bounds.tolist(), np.searchsorted(bounds, amount).astype(np.int8))


def candidates(seen: Seen, least: float) -> list[WindowCandidate]:
    """Return the windows that may book more than ``least`` s of waiting.

    Their broken share, over some part of the log, is low enough to judge them.
    """
    found = []
    for by in _sorted(seen):
        for number, hours, overlap, seconds in _proposed(_table(seen, by), by, least):
            value = by.values[number]
            scope: dict[str, Any] = {by.name: value if by.bounded else (value,)}
            window = Window(hours=hours, overlap=overlap, **scope)
            found.append(WindowCandidate(window, WindowClass(seen.observed, by, number), seconds))
    return found


WITHHELD, BROKEN, SECONDS = range(3)


def _table(seen: Seen, by: _ClassProperty) -> Floats:
    """Return a table of occasions, starts and seconds, [hours, reaches, 3, classes, blocks].

    Each reach holds the greater ones, and the last one nothing. The first class is the sum of all,
    and behind it are those of ``by``. Occasions count by attempt and hour.
    """
    observed = seen.observed
    reach = np.zeros(len(by.bins), np.int64)
    if by.overlaps:
        reach = np.searchsorted(np.array(REACHES) * HOUR_S, observed.reach)
    classes = int(by.bins.max()) + 1
    table: Floats = np.zeros((WEEK, int(reach.max()) + 2, 3, classes, BLOCKS))
    kernels.add_to_table(
        *(seen.possible_starts, by.bins.astype(np.int64), reach),
        *(observed.first, observed.last_arrival + 1, table),
    )
    if not by.bounded:
        table = np.concatenate((table.sum(3, keepdims=True), table), 3)
    add_tails(table, by.bounded)
    return table


def _proposed(
    table: Floats, by: _ClassProperty, least: float
) -> Iterator[tuple[int, tuple[int, ...], bool, float]]:
    """Yield classes, hours of the week in which they rarely start, overlap, and seconds forbidden.

    For each class and circle of hours, they are the hours with the greatest score of condition (d)
    over any run of blocks.
    """
    sums = table[:, 0].sum(0)
    events = sums[:SECONDS].sum((0, 2))
    enough = (events >= LEAST) & (events[0] - events >= LEAST) & (sums[WITHHELD].sum(1) > 0)
    enough &= sums[SECONDS].sum(1) > least
    likely = np.flatnonzero(enough)  # never the first: nothing is outside it
    chances = KEPT * _shares_of_runs(sums[:, :1] - sums[:, likely])
    nobody = table.shape[1] - 1
    for overlap in (False, True) if by.overlaps else (False,):
        for circle in CIRCLES:
            size = circle.shape[1]
            longest = DAY - 1 if overlap else size - 1  # ``wider`` makes them longer
            row = np.full((size, WEEK), nobody)
            if overlap:
                ahead = ((circle.T[:, :, None] - np.arange(WEEK)) % WEEK).min(1)
                row = np.searchsorted(REACHES, ahead).clip(max=nobody)
            best = np.zeros((len(likely), 2), np.int64)
            best_stretches(table, row, circle, longest, likely, chances, LEAST, RAW, best)
            for one, (begin, count) in zip(likely.tolist(), best.tolist(), strict=True):
                if count and _is_span(circle, begin, count):
                    closed = circle[:, (begin + np.arange(count)) % size]
                    hours = tuple(np.unique(closed).tolist())
                    seconds = _seconds(table, one, hours, overlap=overlap)
                    if seconds > least:
                        yield one - 1, hours, overlap, seconds


def _is_span(circle: Ints, begin: int, count: int) -> bool:
    """Return whether a stretch of a circle may be closed; of one from noon, it is over midnight."""
    from_noon = circle[0, 0] % DAY > 0
    return not from_noon or begin < DAY // 2 < begin + count <= DAY


def _shares_of_runs(of_blocks: Floats) -> Floats:
    """Return the share of starts in each run [first, behind) of blocks of a table, [3, k, blocks].

    Returns:
        [k, blocks, blocks + 1]
    """
    sums = np.concatenate((np.zeros_like(of_blocks[..., :1]), of_blocks.cumsum(2)), 2)
    runs = sums[:, :, None, :] - sums[:, :, :-1, None]
    withheld, broken = runs[WITHHELD], runs[BROKEN]
    shares: Floats = broken / np.maximum(withheld + broken, 1)
    return np.maximum(shares, 0.0)


def _seconds(table: Floats, one: int, hours: tuple[int, ...], *, overlap: bool) -> float:
    """Return the seconds of a class in a table that a window forbids, of all blocks."""
    to_next = hours_to_next(hours)
    row = np.searchsorted(REACHES, to_next) if overlap else np.where(to_next, len(REACHES), 0)
    return float(table[np.arange(WEEK), row.clip(max=table.shape[1] - 1), SECONDS, one].sum())
