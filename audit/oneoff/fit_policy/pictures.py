"""What the charts of a fitted site show: time lost week by week, by hour of the week, by level."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.closed_hours import HOUR_S
from audit.model import Limit
from audit.rules import DAY, WEEK
from audit.scenario.fit import levels
from audit.scenario.fit.judging import Decided
from audit.scenario.fit.observed import Observed, trials_of
from audit.scenario.fit.occasions import hour_of_week, local
from audit.scenario.fit.outcome import Outcome
from audit.scenario.workload import NEVER, Ints

WEEK_S: Final = WEEK * HOUR_S
WEEKEND: Final = 5 * DAY
QUARTER: Final = 6
"""Hours of a day in one part."""


class Line(NamedTuple):
    """Values in order."""

    name: str
    values: tuple[float, ...]


class Part(NamedTuple):
    """A part of the week."""

    hours: str
    attempts: int
    """That waited longer than the tolerance, and started in it."""
    assumed: float | None
    """Agreement over those, as the site was assumed at first."""
    fitted: float | None


class Levels(NamedTuple):
    """How often attempts were started at once, and not, by level; each (level, trials)."""

    bound: int
    axis: str
    served: tuple[tuple[int, int], ...]
    failed: tuple[tuple[int, int], ...]


def by_week(found: Outcome) -> tuple[Line, ...]:
    """How many attempts waited with room on average, and how many of them unexplained, by week."""
    observed = found.observed
    number = (observed.last - observed.first) // WEEK_S + 1
    spans = observed.spans
    week = (spans.since - observed.first) // WEEK_S
    whole = np.bincount(week, spans.seconds, number) / WEEK_S
    lines = [Line("with room", tuple(whole[:number].tolist()))]
    arrived = np.maximum(observed.work.arrival - observed.first, 0) // WEEK_S
    for name, judged in (("as assumed", found.assumed), ("as fitted", found.fitted)):
        left = np.bincount(arrived, judged.unexplained, number) / WEEK_S
        lines.append(Line(f"unexplained, {name}", tuple(left[:number].tolist())))
    return tuple(lines)


def by_hour(found: Outcome) -> tuple[Line, ...]:
    """How many could have been started, on average, at each hour of the week, in the last 40 %."""
    observed = found.observed
    zone = found.fitted.site.pool.zone
    weeks = max((found.parts.behind - found.parts.chosen) / WEEK_S, 1e-9)
    lines = []
    for name, judged in (("as assumed", found.assumed), ("as fitted", found.fitted)):
        hours, seconds = _late_hours(observed, judged.decided, found.parts.chosen, zone)
        values = np.bincount(hours, seconds, WEEK) / (HOUR_S * weeks)
        lines.append(Line(f"could start, {name}", tuple(values.tolist())))
    return tuple(lines)


def _late_hours(observed: Observed, decided: Decided, since: int, zone: str) -> tuple[Ints, Ints]:
    """The hour of the week, and the seconds, of each span of room after an attempt could start."""
    spans = observed.spans
    ready = decided.ready[spans.job]
    late = (ready != NEVER) & (spans.since >= np.maximum(ready, since))
    begin, until = spans.since[late], spans.until[late]
    parts = (until - 1) // HOUR_S - begin // HOUR_S + 1  # of clock hours
    place = np.repeat(np.arange(len(begin)), parts)
    number = np.arange(len(place)) - np.repeat(np.cumsum(parts) - parts, parts)
    hour = (begin // HOUR_S)[place] + number
    low = np.maximum(begin[place], hour * HOUR_S)
    high = np.minimum(until[place], (hour + 1) * HOUR_S)
    return hour_of_week(local(low, zone)), high - low


def by_part_of_week(found: Outcome) -> tuple[Part, ...]:
    """Agreement over those told of that waited, by when in the week they started."""
    observed = found.observed
    waited = found.told & (observed.wait > TOLERANCE_S)
    hour = hour_of_week(local(observed.work.start[waited], found.fitted.site.pool.zone))
    weekend, quarter = hour >= WEEKEND, hour % DAY // QUARTER
    shares = []
    for judged in (found.assumed, found.fitted):
        ready, start = judged.decided.ready[waited], observed.work.start[waited]
        on_time = (ready != NEVER) & (start - np.where(ready == NEVER, 0, ready) <= TOLERANCE_S)
        shares.append((on_time, ~judged.decided.over_capacity[waited]))
    parts = []
    for days, late in (("Mon–Fri", False), ("Sat–Sun", True)):
        for number in range(DAY // QUARTER):
            which = (weekend == late) & (quarter == number)
            label = f"{days} {number * QUARTER:02}–{(number + 1) * QUARTER:02}"
            agreements = [
                float(on_time[which & known].mean()) if (which & known).any() else None
                for on_time, known in shares
            ]
            parts.append(Part(label, int(which.sum()), *agreements))
    return tuple(parts)


def at_limit(found: Outcome, limit: Limit) -> Levels:
    """Trials of the whole log by level, as the site was assumed at first."""
    observed = found.observed
    kind = levels.kind_of(observed, limit)
    chosen = observed.judged & kind.inside
    trials = trials_of(observed.work, chosen, found.assumed.decided.ready)
    use = levels.levels(observed, kind).use
    job, at = trials.job, trials.at
    level, _ = levels.levels_in(use, kind, job, at, at + 1)
    runs = (observed.work.start[job] <= at) & (observed.work.end[job] > at)
    level -= np.where(runs, kind.amount[job], 0)
    unit = "jobs" if limit.resource is None else limit.resource
    axis = f"What {'each ' + limit.per if limit.per else 'they'} would hold, {unit}"

    def counted(which: Ints) -> tuple[tuple[int, int], ...]:
        values, counts = np.unique(which, return_counts=True)
        return tuple(zip(values.tolist(), counts.tolist(), strict=True))

    served, failed = level[trials.served], level[~trials.served]
    return Levels(limit.most, axis, counted(served), counted(failed))
