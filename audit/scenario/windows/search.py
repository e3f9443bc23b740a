"""The search for the windows that a log shows.

Of the candidates that pass all conditions, the one that books most waiting time with free capacity
is accepted, and the rest are judged again with it in force. Candidates are judged in steps, always
the one that may book most: few are judged in full, and few are compared with the schedule.

Source: SPEC §11, *Windows and overlap windows*.
"""

import heapq
from collections.abc import Iterable
from datetime import date, timedelta
from itertools import count
from typing import Any, Final, NamedTuple

import polars as pl

from audit.array_types import Ints
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.attempts.opportunities import opportunities
from audit.metrics.attempts.reasons import NO_HOLDS
from audit.metrics.closed_hours import DAY_S
from audit.metrics.waits.opportunities import Opportunities
from audit.metrics.waits.plan import Passes
from audit.model import Pool, Window
from audit.scenario.delivered.agreement import as_table
from audit.scenario.delivered.candidates import candidates
from audit.scenario.delivered.comparing import ComparedStarts, compared_starts
from audit.scenario.scenario import Scenario
from audit.scenario.windows import evidence, hours
from audit.scenario.windows.evidence import SINCE, UNTIL, Days, TestedRule
from audit.scenario.windows.hours import WindowCandidate
from audit.scenario.windows.observed import EPOCH, ObservedJobs, Seen

DISAGREES: Final = "agreement"
BOOKS: Final = 0.01
"""Least share of all waiting that a window must book: a report lists rules from it on."""
LEAST_WAITED: Final = 200
MOST_FAILED: Final = 10
_Key = tuple[Window, str]
"""A candidate, and the clock of its hours."""


class InferredWindow(NamedTuple):
    """A window, and its evidence with the windows before it in force."""

    window: Window
    zone: str  # the clock of its hours
    found: TestedRule
    starts: int  # all starts of the attempts to which it applies, on the days on which it holds
    seconds: int  # waiting with free capacity during which only it forbids the start

    def on(self, pool: Pool) -> Pool:
        """Return a pool with this window in force."""
        return pool._replace(windows=(*pool.windows, self.window), zone=self.zone)


class FoundWindows(NamedTuple):
    """The result of a search."""

    pool: Pool  # with the windows
    accepted: tuple[InferredWindow, ...] = ()
    failed: tuple[InferredWindow, ...] = ()
    """Those that could have booked most of the others, at most ``MOST_FAILED``."""
    skipped: str = ""  # why the log was not searched; empty: it was
    compared: pl.DataFrame | None = None
    """The agreement of the candidates with the windows in force; None: not searched."""


def find_windows(
    scenario: Scenario,
    held_until: Ints | None = None,
    *,
    holds: pl.DataFrame = NO_HOLDS,
    log_begin: int | None = None,
) -> FoundWindows:
    """Return the windows that the log of a pool shows, with the rules of the pool in force.

    Args:
        held_until: by row of the scenario, epoch s: attempts that a rule holds until then.
        holds: when attempts were held, columns of ``reasons.NO_HOLDS``.
        log_begin: epoch s; None: with the first end of a started attempt.
    """
    pool, observed = scenario.pool, ObservedJobs(scenario.attempts)
    if observed.last_arrival - observed.first < hours.LEAST_DAYS * DAY_S:
        return FoundWindows(pool, skipped=f"the log has less than {hours.LEAST_DAYS} days")
    if int((observed.waits > TOLERANCE_S).sum()) < LEAST_WAITED:
        return FoundWindows(pool, skipped=f"fewer than {LEAST_WAITED} jobs waited")
    if not observed.numbers_fit:
        return FoundWindows(pool, skipped="it has too many jobs, users and days to number starts")
    accepted: list[InferredWindow] = []
    failed: dict[_Key, tuple[float, InferredWindow]] = {}
    compared: ComparedStarts | None = None  # made later: it is as large as the log
    passes: Passes | None = None
    while True:
        found, passes = opportunities(
            *(scenario.attempts, pool if compared is None else compared.scenario.pool),
            scenario.now,
            log_begin=log_begin,
            holds=holds,
            passes=passes,
        )
        if found is None:
            return FoundWindows(pool, skipped="the queue is too deep to examine each hour")
        if compared is None:
            compared = compared_starts(scenario, candidates(scenario), held_until)
        best = _Choice(observed, found, compared, failed).best()
        if best is None:
            break
        window, compared = best
        accepted.append(window)
    del found  # as large as the log
    kept = {(one.window, one.zone) for one in accepted}
    worst = sorted(
        ((most, one) for most, one in failed.values() if (one.window, one.zone) not in kept),
        key=lambda pair: -pair[0],
    )
    most = tuple(one for _, one in worst[:MOST_FAILED])
    return FoundWindows(compared.scenario.pool, tuple(accepted), most, compared=as_table(compared))


def _agreeing(compared: ComparedStarts, pool: Pool) -> ComparedStarts | None:
    """Return the starts under ``pool``; None: the best agreement is lower there (condition (c))."""
    under, best = compared.under(pool), compared.best
    return under if best is None or under.reaches(best) else None


class _Standing(NamedTuple):
    """A candidate, as far as it is judged."""

    seen: Seen
    candidate: WindowCandidate
    key: _Key
    window: InferredWindow | None = None  # with its evidence; None: it was not judged yet
    sliced: bool = False  # it passes all conditions but perhaps that of the agreement


def _shared(one: _Standing) -> tuple[Any, ...]:
    """Return what a candidate has in common with others that forbid the same starts."""
    return one.seen.zone, one.candidate.rule.hours, one.candidate.rule.overlap


class _Choice:
    """One choice among the candidates."""

    def __init__(
        self,
        observed: ObservedJobs,
        found: Opportunities,
        compared: ComparedStarts,
        failed: dict[_Key, tuple[float, InferredWindow]],
    ) -> None:
        self.observed = observed
        self.found = found
        self.compared = compared
        self.pool = compared.scenario.pool
        self.least = BOOKS * max(float(observed.waits.sum()), 1.0)
        """The seconds that a window must exceed."""
        self.serial = count()
        self.queue: list[tuple[float, int, _Standing]] = []
        """By the most seconds that each may book, as far as it is judged."""
        self.known: set[_Key] = set()
        self.alike: dict[tuple[Any, ...], list[_Standing]] = {}
        """Those that were not judged yet, by what they share: clock, hours and overlap."""
        self.judged: dict[_Key, TestedRule | None] = {}
        """Of those that were judged with others; None: not plausible."""
        self.failed = failed

    def best(self) -> tuple[InferredWindow, ComparedStarts] | None:
        """Return the window that books most of those that pass all conditions, and the starts."""
        zones = [self.pool.zone]
        if not self.pool.windows:
            zones = hours.clocks(zones[0], self.observed.first, self.observed.last)
        for zone in zones:
            seen = Seen(self.observed, self.found, zone)
            self._add(seen, hours.candidates(seen, self.least))
        best: tuple[InferredWindow, ComparedStarts] | None = None
        while self.queue and -self.queue[0][0] > self.least:
            _, _, one = heapq.heappop(self.queue)
            if one.window is None:
                self._judge(one)
            elif not one.sliced:
                self._slice(one, one.window)
            elif (under := _agreeing(self.compared, one.window.on(self.pool))) is None:
                self._fail(one, one.window, DISAGREES)
            else:
                best, self.least = (one.window, under), one.window.seconds
                self._add(one.seen, hours.wider(one.seen, one.candidate))
        return best

    def _add(self, seen: Seen, candidates: Iterable[WindowCandidate]) -> None:
        for one in candidates:
            added = _Standing(seen, one, (one.rule, seen.zone))
            before = self.failed.get(added.key)
            disagreed = before is not None and before[1].found.fails == DISAGREES
            if added.key not in self.known and not disagreed:
                self.known.add(added.key)
                self.alike.setdefault(_shared(added), []).append(added)
                self._put(one.seconds, added)

    def _put(self, most: float, one: _Standing) -> None:
        heapq.heappush(self.queue, (-most, next(self.serial), one))

    def _judge(self, one: _Standing) -> None:
        """Judge a candidate, and those that forbid the same starts, but for their slices."""
        if one.key not in self.judged:
            alike = self.alike.pop(_shared(one))
            likely = [other for other in alike if other.candidate.seconds > self.least]
            every = hours.units_of_alike(one.seen, [other.candidate for other in likely])
            for other, (rule, neighbours) in zip(likely, every, strict=True):
                plausible = evidence.plausible(rule, neighbours)
                found = evidence.judge(rule, neighbours) if plausible else None
                self.judged[other.key] = found
        found = self.judged.pop(one.key)
        if found is not None:
            window = _with_evidence(one, found)
            self._put(window.seconds, one._replace(window=window))

    def _slice(self, one: _Standing, made: InferredWindow) -> None:
        """Judge the slices of a candidate, and try narrower ones in place of one that fails."""
        candidate, found = one.candidate, made.found
        slices = hours.broken_slices(one.seen, candidate, found.days) if found.units else None
        fails = found.fails
        if slices is not None and any(slices):
            fails = fails or "slices"
        if not fails:
            self._put(made.seconds, one._replace(sliced=True))
            return
        self._fail(one, made, fails)
        if slices is not None:
            self._add(one.seen, hours.narrower(candidate, slices))

    def _fail(self, one: _Standing, made: InferredWindow, fails: str) -> None:
        made = made._replace(found=made.found._replace(fails=fails))
        self.failed[one.key] = one.candidate.seconds, made


def _with_evidence(one: _Standing, found: TestedRule) -> InferredWindow:
    """Return a candidate with its evidence."""
    seen, candidate = one.seen, one.candidate
    starts = candidate.of.inside[seen.opportunities.started]
    if found.days is not None:
        starts &= evidence.on_days(seen.start_local, found.days)
    window = candidate.rule.but(**_dates(found.days))
    seconds = candidate.waiting(seen, found.days)
    return InferredWindow(window, seen.zone, found, int(starts.sum()), seconds)


def _dates(days: Days | None) -> dict[str, date]:
    """Return the dates of a window; an open side has no date."""
    since, until = days or (SINCE, UNTIL)
    bounds = {"valid_from": (since, SINCE), "valid_to": (until, UNTIL)}
    return {name: EPOCH + timedelta(day) for name, (day, none) in bounds.items() if day != none}
