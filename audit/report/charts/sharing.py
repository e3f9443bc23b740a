"""Pictures of sharing: who went short, by width, and how unequal usage and waiting are."""

from collections.abc import Sequence

from audit.metrics.attempts import users
from audit.report.charts import series
from audit.report.charts.marks import dots, lines, scales
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, Target
from audit.report.charts.style import EARLIER, LATER, MUTED, Chart
from audit.report.contents import PoolPart
from audit.report.text import wording

_LEAST_USERS = 5
"""A distribution over fewer says nothing."""


def shortfall(pool: PoolPart) -> Chart | None:
    """What each width class went short of an equal share, as a part of what it consumed."""
    found = series.classes(pool, "re_unfairness_share")
    if not found:
        return None
    rows = [
        Row(
            label,
            (
                Dot(
                    0,
                    series.value(figure),
                    figure.lower,
                    figure.upper,
                    f"{series.jobs(label, pool)}: short of {wording.percent(figure.value)} of what "
                    f"they consumed{series.within(figure)}{series.resting_on(figure)}",
                    series.few(figure),
                ),
            ),
            wording.percent(figure.value),
        )
        for label, figure in found
    ]
    ends = [end for _, of in found for end in (of.value, of.upper) if end is not None]
    title_ = "Short of an equal share, of what was consumed"
    if min(ends) > 0 and max(ends) > 10 * sorted(ends)[len(ends) // 2]:
        lowest = [end for _, of in found if (end := of.lower) is not None and end > 0]
        axis = scales.by_factors(
            [max(min([*ends, *lowest]), min(ends) / 10), max(ends)],
            scales.percent,
            title=f"{title_} (logarithmic)",
        )
    else:
        axis = scales.shares(ends, title=title_)
    body, height = dots.drawn(rows, dots.Looks((Series("", LATER),), axis))
    sound = series.sound(found)
    most = max(sound, key=lambda pair: series.value(pair[1]))
    least = min(sound, key=lambda pair: series.value(pair[1]))
    title = (
        f"Jobs of {series.jobs(most[0], pool)} went short of {_part(series.value(most[1]))} "
        "of what they used"
    )
    if most[0] != least[0]:
        title += f", those of {series.jobs(least[0], pool)} of {_part(series.value(least[1]))}"
    said = "; ".join(f"{row.label} {row.says}" for row in rows)
    alt = f"Dots with 95 % intervals. Shortfall by {wording.resource(pool.resource)}s: {said}."
    note = (
        f"What those who got less than an equal share went without, by "
        f"{wording.resource(pool.resource)}s asked for; lines are 95 % intervals."
    )
    return Chart("shortfall", title, alt, body, height, note)


def _part(share: float) -> str:
    return f"{wording.number(100 * share, 2)} %"


def lorenz(pool: PoolPart) -> Chart | None:
    """How unequally usage and waiting are spread over users: Lorenz curves with Gini's index."""
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
    targets = [_target(tenth / 10, usage, waiting) for tenth in range(1, 11)]
    x = scales.shares([1.0], title="Users, from those with the least")
    panel = Panel(x, scales.shares([1.0]), drawn, targets=targets)
    body, height = lines.drawn([panel], height=210)
    top = [users.held_by_top(values, 0.1) for values in (usage, waiting)]
    title = (
        f"A tenth of the users used {_part(top[0])} of all and did {_part(top[1])} of the waiting"
    )
    alt = (
        f"Lorenz curves over {len(rows)} users. Gini index of usage {ginis[0]:.2f}, of waiting "
        f"{ginis[1]:.2f}. {title}."
    )
    note = "Part of all that the users up to there have; dashed: all have the same."
    return Chart("lorenz", title, alt, body, height, note)


def _curve(name: str, values: Sequence[float], colour: str, dash: str = "") -> Line:
    """A Lorenz curve, with no more points than pixels."""
    points = users.lorenz(values)
    every = max(len(points) // 200, 1)
    kept = [*points[:-1:every], points[-1]]
    return Line(name, kept, colour, dash)


def _target(upto: float, usage: Sequence[float], waiting: Sequence[float]) -> Target:
    below = [1 - users.held_by_top(values, 1 - upto) for values in (usage, waiting)]
    tip = (
        f"{100 * upto:.0f} % of the users, those with the least: {_part(below[0])} of all usage, "
        f"{_part(below[1])} of all waiting"
    )
    return Target(upto - 0.1, upto, tip)
