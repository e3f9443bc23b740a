"""Charts of a fitted site: jobs that waited, week by week and by hour of the week.

A table of the same study has every value but those over time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.closed_hours import HOUR_S
from audit.report.charts.marks import lines, scales
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Panel, Target
from audit.report.charts.style import EARLIER, INK, LATER, Chart
from audit.report.text import wording
from audit.rules import DAY, DAYS, WEEK
from audit.scenario.fit.judging import Decided
from audit.scenario.fit.observed import Observed
from audit.scenario.fit.occasions import hour_of_week, local
from audit.scenario.fit.outcome import Outcome
from audit.scenario.workload import NEVER, Ints

WEEK_S: Final = WEEK * HOUR_S
WEEKEND: Final = 5 * DAY
QUARTER: Final = 6  # hours of a part of a day
_HEIGHT: Final = 180
_BINS: Final = 40
_FITTED: Final = (("assumed", LATER, "6 3"), ("fitted", EARLIER, ""))
_SERVED: Final = Series("started at once", EARLIER, "block")
_FAILED: Final = Series("not started", LATER, "block")


class Line(NamedTuple):
    """Values in order."""

    name: str
    values: tuple[float, ...]
    colour: str
    dash: str


class Part(NamedTuple):
    """A part of the week."""

    hours: str
    attempts: int  # that waited longer than the tolerance, and started in it
    assumed: float | None  # their agreement, as the site was assumed at first
    fitted: float | None


def _late_hours(observed: Observed, decided: Decided, since: int, zone: str) -> tuple[Ints, Ints]:
    """Return hour of the week and seconds of each span in which an attempt could have run."""
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
    """Return the agreement over held-out attempts that waited, by when in the week they started."""
    observed = found.observed
    waited = found.held_out & (observed.wait > TOLERANCE_S)
    start = observed.work.start[waited]
    hour = hour_of_week(local(start, found.fitted.site.pool.zone))
    weekend, quarter = hour >= WEEKEND, hour % DAY // QUARTER
    shares = []
    for judged in (found.assumed, found.fitted):
        ready = judged.decided.ready[waited]
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


def over_time(found: Outcome) -> Iterator[Chart]:
    """Yield the charts over the weeks of the log and over the hours of the week."""
    observed, parts = found.observed, found.parts
    fitted = [*zip((found.assumed, found.fitted), _FITTED, strict=True)]
    number = (observed.last - observed.first) // WEEK_S + 1
    spans = observed.spans
    week = (spans.since - observed.first) // WEEK_S
    arrived = np.maximum(observed.work.arrival - observed.first, 0) // WEEK_S
    sums = [("could have run", np.bincount(week, spans.seconds, number), INK, "")]
    sums += [
        (f"unexplained, as {name}", np.bincount(arrived, judged.unexplained, number), colour, dash)
        for judged, (name, colour, dash) in fitted
    ]
    weekly = [
        Line(name, tuple((whole / WEEK_S)[:number].tolist()), *style)
        for name, whole, *style in sums
    ]
    x = scales.linear([0, max(number - 1, 1)], scales.plain, title="Weeks since the first arrival")
    shows = "Jobs that waited though they would have fitted"
    yield _lines("weeks", "weeks of the log", shows, weekly, x, "Week")

    weeks = max((parts.behind - parts.chosen) / WEEK_S, 1e-9)
    hourly = []
    for judged, (name, *style) in fitted:
        zone = found.fitted.site.pool.zone
        hours, seconds = _late_hours(observed, judged.decided, parts.chosen, zone)
        values = np.bincount(hours, seconds, WEEK) / (HOUR_S * weeks)
        hourly.append(Line(f"could start, as {name}", tuple(values.tolist()), *style))
    ticks = tuple((float(DAY * place + DAY // 2), day) for place, day in enumerate(DAYS))
    shows = "Jobs that could start, by hour of the week, in the last 40 %"
    x = scales.Axis(0, WEEK, ticks)
    yield _lines("hours", "hours of the week", shows, hourly, x, "Hour")


def _lines(
    key: str, over: str, shows: str, found: Sequence[Line], x: scales.Axis, unit: str
) -> Chart:
    """Return a chart of lines with as many values each."""
    most = "; ".join(
        f"{line.name}: at most {max(line.values):,.1f}, at {line.values.index(max(line.values))}"
        for line in found
    )
    every = [value for line in found for value in line.values]
    y = scales.linear(every, scales.plain, title="Jobs, on average")
    drawn = [
        lines.Line(line.name, [*enumerate(line.values)], line.colour, line.dash, width=1.6)
        for line in found
    ]
    targets = [
        Target(
            at - 0.5,
            at + 0.5,
            f"{unit} {at}: " + ", ".join(f"{line.name} {line.values[at]:,.1f}" for line in found),
        )
        for at in range(len(found[0].values))
    ]
    body, height = lines.drawn([Panel(x, y, drawn, targets=targets)], height=_HEIGHT)
    means = (
        f"{wording.two_digits(sum(line.values) / len(line.values))} {line.name}" for line in found
    )
    alt = f"Lines over the {over}. {shows}. {most}"
    return Chart(key, f"On average {', '.join(means)}", alt, body, height, f"{shows}.")
