"""Charts of waits by width and hour, and of used walltimes."""

from typing import Final

from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import bars, cells, dots, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.cells import HeatCell
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, INK, LATER, Chart
from audit.report.pool import PoolPart
from audit.report.sections.waits.record import Waits

_MANY: Final = 0.05
"""Least share of attempts beyond their walltime that the title mentions."""


def walltime(pool: PoolPart) -> Chart | None:
    """Draw attempts by the used part of their walltime."""
    used = pool[Waits].walltimes
    if used is None:
        return None
    shares = [count / used.attempts for count in used.tenths]
    ranges = [f"{10 * tenth} to {10 * tenth + 10} %" for tenth in range(10)] + ["over 100 %"]
    read = [(name, wording.percent(share)) for name, share in zip(ranges, shares, strict=True)]
    drawn = [
        Bar(0, tenth, int(tenth == 10), share, tip=f"{name} of the walltime: {words} of attempts")
        for tenth, (share, (name, words)) in enumerate(zip(shares, read, strict=True))
    ]
    looks = bars.Columns(
        ("0", "10", "20", "30", "40", "50", "60", "70", "80", "90", "100 %"),
        (Series("within the walltime", EARLIER, "block"), Series("longer", LATER, "block")),
        scales.shares(shares, title="Share of attempts"),
        upon=True,
        height=130,
        title="Used part of the requested walltime",
        between=True,
    )
    title = f"Half of the attempts used at most {series.part(used.median)} of their walltime"
    if shares[10] >= _MANY:
        title += f"; {series.part(shares[10])} exceeded it"
    words = "; ".join(f"{name}: {share}" for name, share in read)
    return Chart(
        "walltime",
        title,
        f"Columns. Used part of the walltime, and share of attempts: {words}.",
        *bars.columns(drawn, looks),
        f"{wording.plural(used.attempts, 'attempt')} with a known walltime.",
    )


_WAITS: Final = {
    "wait_median": Series("median", EARLIER, "circle"),
    "wait_mean": Series("mean", INK, "square"),
    "wait_p90": Series("90th percentile", LATER, "up"),
}


def waits(pool: PoolPart) -> Chart | None:
    """Draw the median, mean and 90th percentile of waits by width class."""
    parts = {wording.width(part.label): part for part in pool.widths}
    means = series.classes(pool, "wait_mean")
    if not means:
        return None
    rows = []
    for label, mean in means:
        marks = [
            Dot(
                number,
                length,
                tip=f"{series.jobs(label, pool)}, {of.name}: {wording.duration(length)}"
                f"{series.resting_on(mean)}",
                faint=series.few(mean),
            )
            for number, (metric, of) in enumerate(_WAITS.items())
            if (length := parts[label].figure(metric).value) is not None
        ]
        rows.append(DotRow(label, tuple(marks), series.brief(value(mean))))
    lengths = [dot.value for row in rows for dot in row.dots]
    axis = scales.durations(lengths, title="Wait (logarithmic)", least=10)
    (most, longest), (least, shortest) = series.extremes(means)
    title = f"Mean wait of jobs of {series.jobs(most, pool)}: {series.brief(value(longest))}"
    if most != least:
        short = series.brief(value(shortest), value(longest))
        title += f", of {series.jobs(least, pool)}: {short}"
    unit = wording.resource(pool.resource)
    return Chart(
        "waits",
        title,
        f"Dots. Mean wait by {unit}s requested: {series.read(rows)}.",
        *dots.drawn(rows, dots.Looks(tuple(_WAITS.values()), axis, joined=True)),
        f"Waits by {unit}s requested; mean at the right.",
    )


def week(pool: PoolPart) -> Chart | None:
    """Draw the mean wait by weekday and hour of arrival, local time."""
    known = {
        int(part.label): figure
        for part in pool.hours
        if (figure := part.figure("wait_mean")).value is not None
    }
    if not known:
        return None
    # Means over few arrivals must not determine the scale.
    sound = {hour: figure for hour, figure in known.items() if not series.few(figure)}
    scaled = sound if len(sound) >= len(known) / 2 else known
    longest = max(map(value, scaled.values()))
    drawn = []
    for hour, figure in sorted(known.items()):
        strength = value(figure) / longest if longest else 0.0
        tip = (
            f"{_hour(hour)}: mean wait {wording.duration(figure.value)}{series.resting_on(figure)}"
        )
        drawn.append(HeatCell(0, *divmod(hour, 24), strength if hour in scaled else None, tip))
    looks = cells.Map(
        series.WEEKDAYS,
        tuple(str(hour) if hour % 3 == 0 else "" for hour in range(24)),
        ("0", series.brief(longest)),
        "mean wait",
        "few arrivals" if len(scaled) < len(known) else "",
        "Hour of arrival, local time",
    )
    worst = max(scaled, key=lambda hour: value(scaled[hour]))
    title = f"Longest mean wait by hour of arrival: {series.brief(longest)}, {_hour(worst)}"
    alt = f"Heat map. Mean wait by weekday and hour of arrival, local time. {title}."
    note = "Mean wait by hour of arrival in the week."
    return Chart("week", title, alt, *cells.drawn(drawn, looks), note)


def _hour(of_week: int) -> str:
    day, hour = divmod(of_week, 24)
    return f"{series.WEEKDAYS[day]} {hour}–{hour + 1} h"
