"""Charts of waits: causes, lengths by width and hour, misses, and entities passed over."""

from collections.abc import Container, Mapping, Sequence
from typing import Final, NamedTuple

from audit.metrics.pairs import LEAD_S
from audit.registry.causes import CAUSES, Cause
from audit.report.charts import series
from audit.report.charts.marks import bars, cells, dots, scales
from audit.report.charts.marks.bars import BarPart, Divided
from audit.report.charts.marks.cells import HeatCell
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, INK, LATER, MUTED, OWN, Chart
from audit.report.record.owner import OwnerPart
from audit.report.record.pool import Figure, PoolPart
from audit.report.text import wording
from audit.report.text.part import time_passed

_WRITTEN: Final = tuple(cause for cause in CAUSES if cause.key in ("rule", "later", "unexplained"))
"""Causes whose share is written in a pool's bars."""
_WRITTEN_FROM: Final = 0.08
"""Least share of a part with text in it."""


class _Waits(NamedTuple):
    label: str
    name: str  # in tips and for those who cannot see the chart
    shares: Mapping[Cause, Figure]
    mean: float | None  # s


def why(pool: PoolPart) -> Chart | None:
    """Draw the causes of waiting by width class."""
    labels = [label for label, _ in series.classes(pool, "cause_unexplained_share")]
    rows = [
        _Waits(label, series.jobs(label, pool), shares, part.figure("wait_mean").value)
        for part in pool.widths
        if (label := wording.width(part.label)) in labels
        and (shares := {cause: part.figure(cause.share) for cause in CAUSES})
        and sum(map(value, shares.values())) > 0
    ]
    if not rows:
        return None
    present = [cause for cause in CAUSES if not cause.optional or _any(rows, cause)]
    most = max(CAUSES, key=lambda cause: value(pool.figure(cause.share)))
    share = wording.rough(pool.figure(most.share))
    title = f"{share} of all waiting time passed {time_passed(most, part=bool(pool.part))}"
    unit = wording.resource(pool.resource)
    note = f"Share of waiting time; {unit}s requested at the left, mean wait at the right."
    return _stacked(title, rows, present, _WRITTEN, note)


def owner_why(of: OwnerPart, name: str) -> Chart | None:
    """Draw the causes of waiting of one user or account, and of all users."""
    if not of.parts:
        return None
    shares = {part.cause: Figure("", part.share) for part in of.parts}
    everybody = {part.cause: Figure("", part.of_all) for part in of.parts}
    label = wording.name(name, 20)
    rows = [_Waits(label, label, shares, of.wait_mean.value)]
    if of.everybody is not None and any(map(value, everybody.values())):
        rows.append(_Waits("all users", "all users", everybody, of.everybody.wait_mean))
    present = [cause for cause in CAUSES if _any(rows, cause)]
    most = max(of.parts, key=lambda part: part.share)
    title = f"Main cause of waiting ({wording.rough_percent(most.share)}): {most.cause.legend}"
    note = "Share of waiting time; mean wait at the right."
    return _stacked(title, rows, present, CAUSES, note)


def _any(rows: Sequence[_Waits], cause: Cause) -> bool:
    return any(value(row.shares[cause]) for row in rows)


def _stacked(
    title: str,
    rows: Sequence[_Waits],
    present: Sequence[Cause],
    written: Container[Cause],
    note: str,
) -> Chart:
    divided, words = [], []
    for row in rows:
        parts, named = [], []
        for number, cause in enumerate(present):
            figure = row.shares[cause]
            share, percent = value(figure), wording.percent(value(figure))
            inside = f"{100 * share:.0f} %" if cause in written and share >= _WRITTEN_FROM else ""
            tip = f"{row.name}, {cause.legend}: {percent}{series.within(figure)}"
            parts.append(BarPart(number, share, tip, inside))
            named.append(f"{percent} {cause.legend}")
        mean = "" if row.mean is None else series.brief(row.mean)
        divided.append(Divided(row.label, tuple(parts), mean))
        words.append(f"{row.name}: {', '.join(named)}")
    alt = f"Bars divided by cause of waiting. {'; '.join(words)}."
    kinds = [Series(cause.legend, f"var(--{cause.key})", "block") for cause in present]
    drawn = bars.divided(divided, kinds, "mean wait")
    return Chart("why", title, alt, *drawn, note)


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


_MISSES: Final = {
    "delivered": Series("on what the machine delivered", OWN, "diamond"),
    "strict": Series("strict", LATER, "circle"),
    "relaxed": Series("relaxed", EARLIER, "square", hollow=True),
}


def miss(pool: PoolPart) -> Chart | None:
    """Draw the mean miss of fair start times by width class, as [S] figures 7 to 14."""
    found = {
        kind: {
            "all": pool.figure(f"miss_{kind}_mean"),
            **dict(series.classes(pool, f"miss_{kind}_mean")),
        }
        for kind in _MISSES
    }
    known = [of for by_width in found.values() for of in by_width.values() if of.value is not None]
    if not any(of.value for of in known):
        return None
    unit, size = wording.time_unit(max(of.upper or value(of) for of in known))

    def dot(number: int, kind: str, label: str) -> Dot:
        figure = found[kind][label]
        of = "all attempts" if label == "all" else series.jobs(label, pool)
        tip = f"{of}, {kind}: {wording.duration(figure.value)}{series.within(figure)}"
        lower, upper = (end if end is None else end / size for end in (figure.lower, figure.upper))
        tip += series.resting_on(figure)
        return Dot(number, value(figure) / size, lower, upper, tip, series.few(figure))

    rows = [
        DotRow(
            label,
            tuple(
                dot(number, kind, label)
                for number, (kind, of) in enumerate(found.items())
                if label in of and of[label].value is not None
            ),
        )
        for label in dict.fromkeys(label for by_width in found.values() for label in by_width)
    ]
    ends = [(of.upper if of.upper is not None else value(of)) / size for of in known]
    axis = scales.linear(ends, scales.plain, title=f"Mean miss, {unit}")
    title = "No job started later than fair"
    if late := series.classes(pool, "miss_delivered_mean"):
        (label, most), _ = series.extremes(late)
        title = (
            f"Jobs of {series.jobs(label, pool)} started latest: on average "
            f"{series.brief(value(most))} after their fair start times"
        )
    words = "; ".join(
        f"{kind}: "
        + ", ".join(f"{label} {wording.duration(of.value)}" for label, of in by_width.items())
        for kind, by_width in found.items()
    )
    return Chart(
        "miss",
        title,
        "Dots with 95 % intervals. Mean miss of the fair start times: on what the machine "
        f"delivered, strict and relaxed. {words}.",
        *dots.drawn(rows, dots.Looks(tuple(_MISSES.values()), axis)),
        f"By {wording.resource(pool.resource)}s requested; lines are 95 % intervals. Strict and "
        "relaxed: under the modelled policy, relaxed also without passing earlier jobs.",
    )


def passed(pool: PoolPart) -> Chart | None:
    """Draw the share of later jobs that started first, and the expected share, by entity."""
    if not pool.passed:
        return None
    rows, words = [], []
    for one in pool.passed[:12]:
        name = f"{one.kind} {wording.name(one.name, 24)}"
        shares = {word: one.figure(metric).value for word, metric in _PASSED.items()}
        dots_ = [
            Dot(number, share, tip=f"{name}, {word}: {wording.percent(share)}")
            for number, (word, share) in enumerate(shares.items())
            if share is not None
        ]
        rows.append(DotRow(name, tuple(dots_)))
        each = (f"{wording.percent(share)} {word}" for word, share in shares.items())
        words.append(f"{name}: {', '.join(each)}")
    axis = scales.shares([dot.value for row in rows for dot in row.dots])
    kinds = [Series("expected", MUTED, hollow=True), Series("observed", LATER)]
    alt = f"Dots. Share of later jobs of other users that started first. {'; '.join(words)}."
    return Chart(
        "passed",
        "Later jobs that requested at least as much often started first",
        alt,
        *dots.drawn(rows, dots.Looks(kinds, axis, joined=True)),
        f"Share of such jobs that started more than {LEAD_S} s earlier; expected: that of similar "
        "jobs.",
    )


_PASSED: Final = {"expected": "passed_expected", "observed": "passed_share"}


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
