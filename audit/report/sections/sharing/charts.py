"""Charts of shortfalls, and of inequality of usage and waiting."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from audit.metrics.attempts import users
from audit.periods import zone
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import dots, lines, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel, TipRange
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, LATER, MUTED, Chart
from audit.report.pool import PoolPart
from audit.report.sections.sharing.record import PoolShares

_LEAST_USERS: Final = 5
"""Users that a distribution needs."""


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


def account_shares(pool: PoolPart) -> Chart | None:
    """Draw what the account with the largest deficit held, beside what it was entitled to."""
    accounts = pool[PoolShares].accounts
    if not accounts:
        return None
    of, clock = accounts[0], zone(pool.zone)
    begin = datetime.fromtimestamp(of.first, clock)
    day_s, last = 86_400, of.first + (of.step[-1] + 1) * of.step_s
    end = datetime.fromtimestamp(last - 1, clock)
    x = scales.days(begin.date().isoformat(), end.date().isoformat())
    offset = begin.hour / 24 + begin.minute / 1_440
    known = dict(zip(of.step, zip(of.held_at, of.entitled_at, strict=True), strict=True))
    held, entitled, targets = [], [], []
    for step in range(of.step[-1] + 1):
        at = offset + step * of.step_s / day_s
        have, due = known.get(step, (0.0, 0.0))
        held.append((at, have))
        entitled.append((at, due))
        if step in known:
            tip = f"held {wording.rough_percent(have)}, entitled to {wording.rough_percent(due)}"
            targets.append(TipRange(at, at + of.step_s / day_s, tip))
    drawn = [
        Line("held", held, EARLIER, step=True),
        Line("entitled", entitled, LATER, "6 3", step=True),
    ]
    top = max(*of.held_at, *of.entitled_at)
    panel = Panel(x, scales.shares([top], title="Share of the pool"), drawn, targets=targets)
    name = wording.name(of.name)
    title = (
        f"While account {name} had jobs, it held {wording.rough_percent(of.held)} of the pool and "
        f"was entitled to {wording.rough_percent(of.entitled)}"
    )
    return Chart(
        "account-shares",
        title,
        f"Two lines over time. {title}. Deficit: {wording.duration(of.deficit)} of the pool.",
        *lines.drawn([panel], height=150),
        f"Means of {wording.duration(of.step_s)}; entitled: under dominant-resource fairness, at "
        "most what its jobs demanded.",
    )


def _curve(name: str, values: Sequence[float], colour: str, dash: str = "") -> Line:
    """Return a Lorenz curve with at most 200 points or so."""
    points = users.lorenz(values)
    every = max(len(points) // 200, 1)
    return Line(name, [*points[:-1:every], points[-1]], colour, dash)
