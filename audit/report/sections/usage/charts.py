"""Charts of fractions of all usage."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from audit.report import wording
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import EARLIER, INK, SERIES, SHAPES, Chart
from audit.report.sections.usage.record import (
    DecayedUsage,
    Occupied,
    OccupiedLine,
    PenaltyChoice,
    UsageLine,
)

_NAME: Final = 24
_ROWS: Final = 12
_Line = TypeVar("_Line", UsageLine, OccupiedLine)
_MEAN: Final = Series("mean of the period, lowest to highest day", EARLIER)
_TARGET: Final = Series("target", INK, "bar")


def usage(of: DecayedUsage) -> Chart | None:
    """Draw the usage fractions of the entities with the largest usage, and their targets."""
    drawn = of.series
    if drawn is None or not drawn.days:
        return None
    pairs = _named(drawn.kind, drawn.lines)
    rows, words = [], []
    for label, line in pairs:
        mean, least, most = map(wording.percent, (_mean(line), min(line.values), max(line.values)))
        tip = f"{label}: mean {mean}, {least} to {most}"
        made = [Dot(0, _mean(line), min(line.values), max(line.values), tip)]
        read = f"{label} {mean}"
        if line.share is not None:
            target = wording.percent(line.share)
            made.append(Dot(1, line.share, tip=f"{label}: target {target}"))
            read += f" against a target of {target}"
        rows.append(DotRow(label, tuple(made), mean))
        words.append(read)
    aimed = any(line.share is not None for line in drawn.lines)
    ends = [max(line.values) for line in drawn.lines] + [line.share or 0.0 for line in drawn.lines]
    axis = scales.shares(ends, title="Fraction of all usage")
    weekly = "weekly mean" if drawn.weekly else "day"
    return Chart(
        "usage",
        _usage_title(drawn.kind, pairs),
        f"Dots. Fraction of all usage by {drawn.kind}, {drawn.days[0]} to {drawn.days[-1]}; "
        f"mean over the period: {'; '.join(words)}.",
        *dots.drawn(rows, dots.Looks((_MEAN, _TARGET) if aimed else (_MEAN,), axis)),
        f"Dots: mean of the period; lines: lowest to highest {weekly}.",
    )


def _mean(line: UsageLine) -> float:
    return sum(line.values) / len(line.values)


def _usage_title(kind: str, pairs: Sequence[tuple[str, UsageLine]]) -> str:
    """Return the entity furthest from its target or, without targets, with the largest usage."""
    aimed = [pair for pair in pairs if pair[1].share is not None]
    if aimed:
        label, line = max(aimed, key=lambda pair: abs(_mean(pair[1]) - (pair[1].share or 0.0)))
        return (
            f"{wording.first_upper(kind)} {label} had {wording.percent(_mean(line))} of all usage, "
            f"with a target of {wording.percent(line.share)}"
        )
    single = [pair for pair in pairs if not pair[1].others] or list(pairs)
    label, line = max(single, key=lambda pair: _mean(pair[1]))
    share = wording.percent(_mean(line))
    return f"{wording.first_upper(kind)} {label} used most: {share} of all usage"


def _named(kind: str, of: Sequence[_Line]) -> list[tuple[str, _Line]]:
    labels = wording.distinct(
        f"{wording.plural(line.others, f'other {kind}')} together"
        if line.others
        else wording.name(line.name, _NAME)
        for line in of
    )
    return list(zip(labels, of, strict=True))


def occupied(of: Occupied | None) -> Chart | None:
    """Draw the fractions of each resource that entities occupied."""
    if of is None:
        return None
    pairs = _named(of.kind, of.lines)
    resources = [wording.resources(name) for name in of.resources]
    shown = {label: line.parts for label, line in pairs}
    targets = {label: line.share for label, line in pairs if line.share is not None}
    words = "; ".join(
        f"{label} "
        + ", ".join(
            f"{wording.percent(part)} of the {name}"
            for name, part in zip(resources, line.parts, strict=True)
        )
        for label, line in pairs
    )
    note = f"Fraction of each resource that {of.kind}s occupied"
    title = note
    if single := [pair for pair in pairs if not pair[1].others]:
        # No single table shows whose fractions differ most.
        label, line = max(single, key=lambda pair: max(pair[1].parts) - min(pair[1].parts))
        most, least = (line.parts.index(pick(line.parts)) for pick in (max, min))
        if most != least:
            used = [
                f"{wording.percent(line.parts[at])} of the {resources[at]}" for at in (most, least)
            ]
            title = f"{wording.first_upper(of.kind)} {label} occupied {' and '.join(used)}"
    return Chart(
        "occupied",
        title,
        f"Dots. Fraction of each resource by {of.kind} over the period: {words}.",
        *_dots(
            shown, [*map(wording.first_upper, resources)], "Fraction of what was occupied", targets
        ),
        f"{note} in the period.",
    )


def penalties(of: PenaltyChoice | None) -> Chart | None:
    """Draw usage fractions by penalty, of the entities on which the penalty has most effect."""
    if of is None or not (moving := of.moving).rows:
        return None
    rows = moving.rows[:_ROWS]
    labels = wording.distinct(wording.name(row.name, _NAME) for row in rows)
    shown = {label: row.parts for label, row in zip(labels, rows, strict=True)}
    words = [
        f"{label} {wording.percent(row.parts[0])} by {of.penalties[0]}, "
        f"{wording.percent(row.parts[row.furthest])} by {of.penalties[row.furthest]}"
        for label, row in zip(labels, rows, strict=True)
    ]
    return Chart(
        "penalties",
        f"The penalty has most effect on {moving.kind} {words[0]}",
        f"Dots. {'; '.join(words)}.",
        *_dots(shown, list(of.penalties), "Fraction of all usage", {}),
        f"Fraction of all usage by penalty, of the {moving.kind}s on which it has most effect.",
    )


def _dots(
    shown: Mapping[str, Sequence[float]],
    titles: Sequence[str],
    axis_title: str,
    targets: Mapping[str, float],
) -> tuple[str, int]:
    """Draw a row of dots for each label, one for each title, and a bar for its target."""
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
        if label in targets:
            tip = f"{label}: target {wording.percent(targets[label])}"
            made.append(Dot(len(kinds), targets[label], tip=tip))
        rows.append(DotRow(label, tuple(made)))
    values = [part for parts in shown.values() for part in parts] + list(targets.values())
    axis = scales.shares(values, title=axis_title)
    return dots.drawn(
        rows, dots.Looks([*kinds, *([_TARGET] if targets else [])], axis, joined=True)
    )
