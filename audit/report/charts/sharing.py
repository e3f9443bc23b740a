"""Charts of shortfalls, of inequality of usage and waiting, and of fractions of all usage."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from audit.metrics.attempts import users
from audit.report.charts import series
from audit.report.charts.marks import dots, lines, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, TipRange
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, INK, LATER, MUTED, SERIES, SHAPES, Chart
from audit.report.record.page import DecayedUsage, Occupied, OccupiedLine, PenaltyChoice, UsageLine
from audit.report.record.pool import PoolPart
from audit.report.text import wording

_LEAST_USERS: Final = 5
"""Users that a distribution needs."""
_NAME: Final = 24
_ROWS: Final = 12
_Line = TypeVar("_Line", UsageLine, OccupiedLine)
_MEAN: Final = Series("mean of the period, lowest to highest day", EARLIER)
_TARGET: Final = Series("target", INK, "bar")


def shortfall(pool: PoolPart) -> Chart | None:
    """Draw the shortfall of each width class as a share of its consumption."""
    found = series.classes(pool, "re_unfairness_share")
    if not found:
        return None
    rows = []
    for label, figure in found:
        percent = wording.percent(figure.value)
        tip = (
            f"{series.jobs(label, pool)}: shortfall of {percent} of what they consumed"
            f"{series.within(figure)}{series.resting_on(figure)}"
        )
        dot = Dot(0, value(figure), figure.lower, figure.upper, tip, series.few(figure))
        rows.append(DotRow(label, (dot,), percent))
    ends = [end for _, of in found for end in (of.value, of.upper) if end is not None]
    axis_title = "Shortfall, as a share of consumption"
    if min(ends) > 0 and max(ends) > 10 * sorted(ends)[len(ends) // 2]:
        lowest = [end for _, of in found if (end := of.lower) is not None and end > 0]
        axis = scales.by_factors(
            [max(min([*ends, *lowest]), min(ends) / 10), max(ends)],
            scales.percent,
            title=f"{axis_title} (logarithmic)",
        )
    else:
        axis = scales.shares(ends, title=axis_title)
    (most, largest), (least, smallest) = series.extremes(found)
    title = (
        f"Jobs of {series.jobs(most, pool)} have a shortfall of {series.part(value(largest))} "
        "of what they consumed"
    )
    if most != least:
        title += f", jobs of {series.jobs(least, pool)} of {series.part(value(smallest))}"
    unit = wording.resource(pool.resource)
    return Chart(
        "shortfall",
        title,
        f"Dots with 95 % intervals. Shortfall by {unit}s: {series.read(rows)}.",
        *dots.drawn(rows, dots.Looks((Series("", LATER),), axis)),
        f"Shortfall of jobs that received less than an equal share, by {unit}s requested; lines "
        "are 95 % intervals.",
    )


def lorenz(pool: PoolPart) -> Chart | None:
    """Draw Lorenz curves of usage and waiting over users, with their Gini indices."""
    rows = [row for row in pool.users.rows if row.attempts > 0]
    usage = [row.tusa for row in rows]
    waiting = [float(row.tuwt_s) for row in rows]
    if len(rows) < _LEAST_USERS or not sum(usage) or not sum(waiting):
        return None
    ginis = users.gini(usage), users.gini(waiting)
    drawn = [
        Line("", [(0.0, 0.0), (1.0, 1.0)], MUTED, "3 3", width=1),
        _curve(f"usage (Gini {ginis[0]:.2f})", usage, EARLIER),
        _curve(f"waiting (Gini {ginis[1]:.2f})", waiting, LATER, "6 3"),
    ]

    targets = []
    for upto in (tenth / 10 for tenth in range(1, 11)):
        below = [series.part(1 - users.held_by_top(of, 1 - upto)) for of in (usage, waiting)]
        tip = (
            f"the {100 * upto:.0f} % of users with the least: {below[0]} of all usage, {below[1]} "
            "of all waiting"
        )
        targets.append(TipRange(upto - 0.1, upto, tip))
    x = scales.shares([1.0], title="Users, least first")
    panel = Panel(x, scales.shares([1.0]), drawn, targets=targets)
    top = [series.part(users.held_by_top(of, 0.1)) for of in (usage, waiting)]
    title = f"10 % of the users account for {top[0]} of all usage, 10 % for {top[1]} of all waiting"
    return Chart(
        "lorenz",
        title,
        f"Lorenz curves over {len(rows)} users. Gini index of usage {ginis[0]:.2f}, of waiting "
        f"{ginis[1]:.2f}. {title}.",
        *lines.drawn([panel], height=210),
        "Share of the users to the left in the total; dashed: equal distribution.",
    )


def _curve(name: str, values: Sequence[float], colour: str, dash: str = "") -> Line:
    """Return a Lorenz curve with at most 200 points or so."""
    points = users.lorenz(values)
    every = max(len(points) // 200, 1)
    return Line(name, [*points[:-1:every], points[-1]], colour, dash)


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
    """Return lines with distinct labels."""
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
