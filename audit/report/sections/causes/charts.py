"""Charts of the causes of waiting."""

from collections.abc import Container, Mapping, Sequence
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES, Cause
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import bars
from audit.report.charts.marks.bars import BarPart, Divided
from audit.report.charts.marks.frame import Series
from audit.report.charts.series import value
from audit.report.charts.style import Chart
from audit.report.figures import Figure
from audit.report.part import time_passed
from audit.report.pool import PoolPart

_WRITTEN: Final = tuple(cause for cause in CAUSES if cause.key in ("rule", "later", "unexplained"))
"""Causes whose share is written in a pool's bars."""
_WRITTEN_FROM: Final = 0.08
"""Least share of a part with text in it."""


class DividedWaits(NamedTuple):
    """Waits of which the causes are drawn as one bar."""

    label: str
    name: str  # in tips and for those who cannot see the chart
    shares: Mapping[Cause, Figure]
    mean: float | None  # s


def why(pool: PoolPart) -> Chart | None:
    """Draw the causes of waiting by width class."""
    labels = [label for label, _ in series.classes(pool, "cause_unexplained_share")]
    rows = [
        DividedWaits(label, series.jobs(label, pool), shares, part.figure("wait_mean").value)
        for part in pool.widths
        if (label := wording.width(part.label)) in labels
        and (shares := {cause: part.figure(cause.share) for cause in CAUSES})
        and sum(map(value, shares.values())) > 0
    ]
    if not rows:
        return None
    present = [cause for cause in CAUSES if not cause.optional or has(rows, cause)]
    most = max(CAUSES, key=lambda cause: value(pool.figure(cause.share)))
    share = wording.rough(pool.figure(most.share))
    title = f"{share} of all waiting time passed {time_passed(most, part=bool(pool.part))}"
    unit = wording.resource(pool.resource)
    note = f"Share of waiting time; {unit}s requested at the left, mean wait at the right."
    return stacked(title, rows, present, _WRITTEN, note)


def has(rows: Sequence[DividedWaits], cause: Cause) -> bool:
    """Return whether any of these waits has the cause."""
    return any(value(row.shares[cause]) for row in rows)


def stacked(
    title: str,
    rows: Sequence[DividedWaits],
    present: Sequence[Cause],
    written: Container[Cause],
    note: str,
) -> Chart:
    """Draw a bar for each of ``rows``; the shares of the causes ``written`` stand in them."""
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
