"""Changes of waits with their intervals, as dots: who wins and who loses.

A table of the study holds every value.
"""

from typing import Final

import polars as pl

from audit.metrics.verdicts import Outcome
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import LATER, MUTED, OWN, Chart
from audit.report.text import wording

_MARKS: Final = {
    Outcome.gains: Series(Outcome.gains.value, OWN, "left"),
    Outcome.loses: Series(Outcome.loses.value, LATER, "right"),
    Outcome.unclear: Series(Outcome.unclear.value, MUTED, "circle", hollow=True),
    Outcome.same: Series(Outcome.same.value, MUTED, "square"),
}


def changes(key: str, shows: str, parts: pl.DataFrame) -> Chart:
    """Changes of the mean wait, a row for each part.

    Args:
        key: of the chart.
        shows: what is drawn.
        parts: from the top: of (label), difference, lower and upper (s), outcome.
    """
    present = [outcome for outcome in Outcome if outcome.value in parts["outcome"].to_list()]
    places = {outcome.value: number for number, outcome in enumerate(present)}
    longest = max(parts.select(pl.col("lower", "upper").abs().max()).row(0))
    unit, size = wording.time_unit(longest)
    rows = [
        Row(
            part["of"],
            (
                Dot(
                    places[part["outcome"]],
                    part["difference"] / size,
                    part["lower"] / size,
                    part["upper"] / size,
                    f"{part['of']}: {_change(part['difference'])} ({part['outcome']}; 95 % "
                    f"interval {_change(part['lower'])} to {_change(part['upper'])})",
                ),
            ),
            _change(part["difference"]),
        )
        for part in parts.iter_rows(named=True)
    ]
    ends = [end / size for column in ("lower", "upper") for end in parts[column].to_list()]
    axis = scales.linear(ends, scales.plain, title=f"Change of the mean wait, {unit}")
    looks = dots.Looks([_MARKS[outcome] for outcome in present], axis, 0.0, ("less", "more"))
    body, height = dots.drawn(rows, looks)
    alt = f"Dot plot with intervals. {shows}. " + "; ".join(
        f"{part['of']} {wording.duration(part['difference'])} ({part['outcome']})"
        for part in parts.iter_rows(named=True)
    )
    return Chart(key, _answer(parts), alt, body, height, f"{shows}; lines are 95 % intervals.")


def _answer(parts: pl.DataFrame) -> str:
    """Who gains most, who loses most, and of how many chance leaves it open."""
    told = []
    for outcome, word, descending in (
        (Outcome.gains, "less", False),
        (Outcome.loses, "more", True),
    ):
        of = parts.filter(pl.col("outcome") == outcome.value)
        if of.height:
            name, change = of.sort("difference", descending=descending)["of", "difference"].row(0)
            told.append(
                f"{name} {outcome.value} most: waits {wording.duration(abs(change))} {word}"
            )
    if unclear := parts.filter(pl.col("outcome") == Outcome.unclear.value).height:
        told.append(f"{wording.count(unclear)} unclear")
    return "; ".join(told) or "Nothing changes"


def _change(seconds: float) -> str:
    """A difference with its sign, in two digits and one unit."""
    unit, size = wording.time_unit(abs(seconds))
    said = wording.number(seconds / size, 2)
    return f"{'+' if seconds > 0 else ''}{said} {unit}"
