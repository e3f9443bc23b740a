"""The picture of missed fair start times by width class, as in [S] figures 7 to 14."""

from typing import Final

from audit.report.charts import series
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.record.pool import Figure, PoolPart
from audit.report.text import wording

_KINDS: Final = {
    "strict": Series("strict", LATER, "circle"),
    "relaxed": Series("relaxed", EARLIER, "square", hollow=True),
}


def miss(pool: PoolPart) -> Chart | None:
    """By how much the attempts of each width class started later than fair, in the mean."""
    found = {
        kind: {
            "all": pool.figure(f"miss_{kind}_mean"),
            **dict(series.classes(pool, f"miss_{kind}_mean")),
        }
        for kind in _KINDS
    }
    known = [of for by_width in found.values() for of in by_width.values() if of.value is not None]
    if not any(of.value for of in known):
        return None
    unit, size = wording.time_unit(max(of.upper or of.value or 0.0 for of in known))
    labels = list(dict.fromkeys(label for by_width in found.values() for label in by_width))
    rows = [
        Row(
            label,
            tuple(
                _dot(number, label, found[kind][label], size, pool)
                for number, kind in enumerate(_KINDS)
                if label in found[kind] and found[kind][label].value is not None
            ),
        )
        for label in labels
    ]
    ends = [(of.upper if of.upper is not None else series.value(of)) / size for of in known]
    axis = scales.linear(ends, scales.plain, title=f"Mean miss, {unit}")
    body, height = dots.drawn(rows, dots.Looks(tuple(_KINDS.values()), axis))
    strict = series.sound(series.classes(pool, "miss_strict_mean"))
    title = "Nobody started later than fair"
    if strict:
        label, figure = max(strict, key=lambda pair: series.value(pair[1]))
        title = (
            f"Jobs of {series.jobs(label, pool)} started latest, "
            f"{series.brief(series.value(figure))} after their fair start times"
        )
    alt = "Dots with 95 % intervals. Mean miss of the fair start time, strict and relaxed. " + (
        "; ".join(
            f"{kind}: "
            + ", ".join(f"{label} {wording.duration(of.value)}" for label, of in by_width.items())
            for kind, by_width in found.items()
        )
    )
    note = (
        f"By {wording.resource(pool.resource)}s asked for; lines are 95 % intervals. Strict: had "
        "nobody arrived later; relaxed: nobody may slip past either."
    )
    return Chart("miss", title, f"{alt}.", body, height, note)


def _dot(number: int, label: str, figure: Figure, size: int, pool: PoolPart) -> Dot:
    of = "all attempts" if label == "all" else series.jobs(label, pool)
    tip = (
        f"{of}, {list(_KINDS)[number]}: {wording.duration(figure.value)}{series.within(figure)}"
        f"{series.resting_on(figure)}"
    )
    return Dot(
        number,
        series.value(figure) / size,
        None if figure.lower is None else figure.lower / size,
        None if figure.upper is None else figure.upper / size,
        tip,
        series.few(figure),
    )
