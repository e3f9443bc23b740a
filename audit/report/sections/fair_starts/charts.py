"""The chart of misses of fair start times."""

from typing import Final

from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, LATER, OWN, Chart
from audit.report.pool import PoolPart

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
