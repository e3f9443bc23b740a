"""Pictures of parts: who occupied how much of each resource, and is charged how much by what.

Every series has a shape beside its colour.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import SERIES, SHAPES, Chart
from audit.report.charts.usage import TARGET, names
from audit.report.record.page import Contents
from audit.report.record.usage import Occupied, PenaltyChoice
from audit.report.text import wording

_ROWS: Final = 12


def of_contents(contents: Contents) -> dict[str, Chart]:
    """The charts of parts by key; one that has nothing to draw is left out."""
    made = (occupied(contents.occupied), penalties(contents.choice))
    return {chart.key: chart for chart in made if chart is not None}


def occupied(of: Occupied | None) -> Chart | None:
    """Parts of each resource in the whole period."""
    if of is None:
        return None
    labels = names(of.kind, of.lines)
    titles = [wording.first_upper(wording.resources(name)) for name in of.resources]
    shown = {label: line.parts for label, line in zip(labels, of.lines, strict=True)}
    aims = {
        label: line.share
        for label, line in zip(labels, of.lines, strict=True)
        if line.share is not None
    }
    body, height = _dots(shown, titles, "Part of all that was occupied", aims)
    said = "; ".join(
        f"{label} "
        + ", ".join(
            f"{wording.percent(part)} of the {wording.resources(name)}"
            for name, part in zip(of.resources, line.parts, strict=True)
        )
        for label, line in zip(labels, of.lines, strict=True)
    )
    single = [pair for pair in zip(labels, of.lines, strict=True) if not pair[1].others]
    title = f"Part of each resource that {of.kind}s occupied"
    if single:
        # Who has most more of one resource than of another stands out in no single table.
        label, line = max(single, key=lambda pair: max(pair[1].parts) - min(pair[1].parts))
        most = max(range(len(line.parts)), key=lambda number: line.parts[number])
        least = min(range(len(line.parts)), key=lambda number: line.parts[number])
        if most != least:
            title = (
                f"{wording.first_upper(of.kind)} {label} held "
                f"{wording.percent(line.parts[most])} of the "
                f"{wording.resources(of.resources[most])} and {wording.percent(line.parts[least])} "
                f"of the {wording.resources(of.resources[least])}"
            )
    alt = f"Dot plot. Part of each resource by {of.kind} over the period: {said}."
    note = f"Part of each resource that {of.kind}s occupied in the period."
    return Chart("occupied", title, alt, body, height, note)


def penalties(of: PenaltyChoice | None) -> Chart | None:
    """Parts of all usage by penalty, of those who move most."""
    if of is None or not (moving := of.moving).rows:
        return None
    rows = moving.rows[:_ROWS]
    labels = wording.told_apart(wording.name(row.name, 24) for row in rows)
    shown = {label: row.parts for label, row in zip(labels, rows, strict=True)}
    body, height = _dots(shown, list(of.penalties), "Part of all usage", {})
    told = [
        f"{label} {wording.percent(row.parts[0])} by {of.penalties[0]}, "
        f"{wording.percent(row.parts[row.furthest])} by {of.penalties[row.furthest]}"
        for label, row in zip(labels, rows, strict=True)
    ]
    title = f"The choice of a penalty changes most for {moving.kind} {told[0]}"
    note = f"Part of all usage by penalty, of the {moving.kind}s for whom it changes most."
    return Chart("penalties", title, f"Dot plot. {'; '.join(told)}.", body, height, note)


def _dots(
    shown: Mapping[str, Sequence[float]],
    titles: Sequence[str],
    axis_title: str,
    aims: Mapping[str, float],
) -> tuple[str, int]:
    """A row of dots for each label, one of each title; a bar for its target."""
    kinds = [
        Series(title, SERIES[number % len(SERIES)], SHAPES[number % len(SHAPES)])
        for number, title in enumerate(titles)
    ]
    rows = []
    for label, parts in shown.items():
        made = [
            Dot(number, part, tip=f"{label}, {title}: {wording.percent(part)}")
            for number, (title, part) in enumerate(zip(titles, parts, strict=True))
        ]
        if label in aims:
            tip = f"{label}: target {wording.percent(aims[label])}"
            made.append(Dot(len(kinds), aims[label], tip=tip))
        rows.append(Row(label, tuple(made)))
    values = [part for parts in shown.values() for part in parts] + list(aims.values())
    axis = scales.shares(values, title=axis_title)
    return dots.drawn(rows, dots.Looks([*kinds, *([TARGET] if aims else [])], axis, joined=True))
