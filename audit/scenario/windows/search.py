"""The search for the windows that a log shows.

Of the candidates that pass all conditions, the one that books most waiting time with free capacity
is accepted, and the rest are judged again with it in force. Candidates are judged in the order of
the most that they could book, so that few need to be judged.

Source: SPEC §11, *Windows and overlap windows*.
"""

import heapq
from collections.abc import Iterable
from datetime import date, timedelta
from itertools import count
from typing import Final, NamedTuple

import polars as pl

from audit.array_types import Ints
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.model import Pool, Window
from audit.scenario.delivered.agreement import as_table
from audit.scenario.delivered.candidates import candidates
from audit.scenario.delivered.comparing import ComparedStarts, compared_starts
from audit.scenario.scenario import Scenario
from audit.scenario.windows import evidence, hours, occasions
from audit.scenario.windows.evidence import TestedRule
from audit.scenario.windows.hours import WindowCandidate
from audit.scenario.windows.observed import Observed, observe
from audit.scenario.windows.occasions import DAY_S, Seen

RAW_SHARE: Final = "raw share"
BOOKS_LESS: Final = "books less"
DISAGREES: Final = "agreement"
BOOKS: Final = 0.01
"""Least share of all waiting that a window must book: a report lists rules from it on."""
LEAST_WAITED: Final = 200
MOST_DEPTH: Final = 2_000_000_000
"""Greatest Σ over instants of the number of waiting attempts: a sweep takes about 3 ns for each."""
MOST_FAILED: Final = 10


class InferredWindow(NamedTuple):
    """A window, and its evidence with the windows before it in force."""

    window: Window
    zone: str  # the clock of its hours
    found: TestedRule
    starts: int
    """All starts of the attempts to which it applies, on the days on which it holds."""
    seconds: int
    """Waiting with free capacity during which only it forbids the start."""

    def on(self, pool: Pool) -> Pool:
        """Return a pool with this window in force."""
        return pool._replace(windows=(*pool.windows, self.window), zone=self.zone)


class FoundWindows(NamedTuple):
    """The result of a search."""

    pool: Pool
    """With the windows."""
    accepted: tuple[InferredWindow, ...] = ()
    failed: tuple[InferredWindow, ...] = ()
    """Those that could have booked most of the others, at most ``MOST_FAILED``."""
    skipped: str = ""
    """Why the log was not searched; empty: it was."""
    compared: pl.DataFrame | None = None
    """The agreement of the candidates with the windows in force; None: not searched."""


def find_windows(scenario: Scenario, held_until: Ints | None = None) -> FoundWindows:
    """Return the windows that the log of a pool shows, with the rules of the pool in force.

    Args:
        held_until: by row of the scenario, epoch s: attempts that a rule holds until then.
    """
    pool = scenario.pool
    observed = observe(scenario.attempts, pool, scenario.now)
    if observed.last_arrival - observed.first < hours.LEAST_DAYS * DAY_S:
        return FoundWindows(pool, skipped=f"the log has less than {hours.LEAST_DAYS} days")
    if int((observed.wait > TOLERANCE_S).sum()) < LEAST_WAITED:
        return FoundWindows(pool, skipped=f"fewer than {LEAST_WAITED} jobs waited")
    if observed.depth > MOST_DEPTH:
        return FoundWindows(pool, skipped="the queue is too deep to examine each hour")
    accepted: list[InferredWindow] = []
    failed: dict[str, tuple[float, InferredWindow]] = {}
    compared = compared_starts(scenario, candidates(scenario), held_until)
    while True:
        best = _Choice(observed, compared, failed).best()
        if best is None:
            break
        accepted.append(best)
        compared = compared.under(best.on(compared.scenario.pool))
    kept = {_name(one) for one in accepted}
    worst = sorted(
        ((most, one) for key, (most, one) in failed.items() if key not in kept),
        key=lambda pair: -pair[0],
    )
    most = tuple(one for _, one in worst[:MOST_FAILED])
    return FoundWindows(compared.scenario.pool, tuple(accepted), most, compared=as_table(compared))


def _falls(compared: ComparedStarts, pool: Pool) -> bool:
    """Return whether the best agreement is lower under the rules of ``pool``: condition (c)."""
    best = compared.best
    return best is not None and not compared.under(pool).reaches(best)


class _Choice:
    """One choice among the candidates."""

    def __init__(
        self,
        observed: Observed,
        compared: ComparedStarts,
        failed: dict[str, tuple[float, InferredWindow]],
    ) -> None:
        self.observed = observed
        self.compared = compared
        self.pool = compared.scenario.pool
        self.waiting = max(float(observed.wait.sum()), 1.0)
        work = observed.under(self.pool)
        self.walker = occasions.Walker(work, work.limits, occasions.outages(work))
        self.serial = count()
        self.queue: list[tuple[float, int, Seen, WindowCandidate]] = []
        self.known: set[str] = set()
        self.failed = failed

    def best(self) -> InferredWindow | None:
        """Return the window that books most of those that pass all conditions."""
        zones = [self.pool.zone]
        if not self.pool.windows:
            zones = hours.clocks(zones[0], self.observed.first, self.observed.last)
        for zone in zones:
            seen = Seen(self.observed, self.walker.spans, zone)
            self._add(seen, hours.candidates(seen))
        best: InferredWindow | None = None
        least = BOOKS * self.waiting
        while self.queue and -self.queue[0][0] > least:
            most, _, seen, candidate = heapq.heappop(self.queue)
            one, others = self._judge(seen, candidate, least)
            if one.found.fails == DISAGREES:
                others = ()
            self._add(seen, others)
            if not one.found.fails:
                best, least = one, one.seconds
            elif one.found.fails not in (RAW_SHARE, BOOKS_LESS):
                self.failed[_name(one)] = -most, one
        return best

    def _add(self, seen: Seen, candidates: Iterable[WindowCandidate]) -> None:
        for one in candidates:
            key = f"{one.rule} {seen.zone}"
            if key not in self.known:
                self.known.add(key)
                heapq.heappush(self.queue, (-one.seconds, next(self.serial), seen, one))

    def _judge(
        self, seen: Seen, one: WindowCandidate, least: float
    ) -> tuple[InferredWindow, Iterable[WindowCandidate]]:
        """Judge a candidate, which must book more than ``least`` seconds.

        Returns:
            The window; and windows with other hours to judge next.
        """
        units = one.units(seen)
        if not evidence.plausible(*units):
            return self._window(seen, one, TestedRule(RAW_SHARE), 0), ()
        waiting = one.waiting(seen)
        if waiting.within(evidence.judge(*units).days) <= least:
            return self._window(seen, one, TestedRule(BOOKS_LESS), 0), ()
        trial = seen.under(self.walker, one.tried(seen))
        found = evidence.judge(*one.units(trial))
        seconds = waiting.within(found.days)
        if not found.fails and seconds <= least:
            found = found._replace(fails=BOOKS_LESS)
        others: Iterable[WindowCandidate] = ()
        if found.units and found.fails != BOOKS_LESS:
            slices = hours.broken_slices(trial, one, found.days)
            if any(slices) and not found.fails:
                found = found._replace(fails="slices")
            others = hours.narrower(one, slices) if found.fails else hours.wider(one)
        made = self._window(seen, one, found, seconds)
        if not found.fails and self._disagrees(made):
            made = made._replace(found=found._replace(fails=DISAGREES))
        return made, others

    def _disagrees(self, one: InferredWindow) -> bool:
        """Return whether a window fails condition (c), now or in a round before."""
        before = self.failed.get(_name(one))
        failed = before is not None and before[1].found.fails == DISAGREES
        return failed or _falls(self.compared, one.on(self.pool))

    def _window(
        self, seen: Seen, one: WindowCandidate, found: TestedRule, seconds: int
    ) -> InferredWindow:
        """Return the window with its days and its evidence."""
        starts = one.inside[seen.started]
        if found.days is not None:
            starts &= evidence.on_days(seen.start_local, found.days)
        window = one.rule.but(**_days(seen, found.days))
        return InferredWindow(window, seen.zone, found, int(starts.sum()), seconds)


def _name(one: InferredWindow) -> str:
    return f"{one.window} {one.zone}"


def _days(seen: Seen, days: tuple[int, int] | None) -> dict[str, date]:
    """Return the dates of a window; the first and the last day of the log are not bounds."""
    found: dict[str, date] = {}
    if days is not None and days[0] > seen.start_local.min() // DAY_S:
        found["valid_from"] = occasions.EPOCH + timedelta(days[0])
    if days is not None and days[1] <= seen.start_local.max() // DAY_S:
        found["valid_to"] = occasions.EPOCH + timedelta(days[1])
    return found
