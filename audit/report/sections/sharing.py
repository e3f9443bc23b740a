"""Shares of the machine: unequal ones, deficits of accounts, and what exceeds requests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from audit.metrics.attempts import users
from audit.periods import zone
from audit.registry.requested import BEYONDS, MATERIAL
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import dots, lines, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel
from audit.report.charts.series import value
from audit.report.charts.style import EARLIER, LATER, MUTED, Chart
from audit.report.contents import Contents, PoolPart
from audit.report.figures import SMALL_SAMPLE, records
from audit.report.finding import SHORTFALL, Kind, Place, Subject, whole, worst_width
from audit.report.sections.who.record import Entities, Entity
from audit.report.sections.who.section import most, net, with_fair_starts
from audit.report.source import ReportSection, SectionSource


class BeyondUser(NamedTuple):
    """A user whose jobs were allocated more than they requested, in CPU·s of ended attempts."""

    name: str | None  # None: not named in the log
    allocated: float
    beyond: float
    charge_share: float | None  # of its charges, what its requests would save
    reason: str  # key of ``registry.requested.BEYONDS``: that of most of it


class AccountShare(NamedTuple):
    """Mean dominant shares of an account while it demanded anything, and over time."""

    name: str
    demanded_s: int
    held: float  # of the pool, in [0, 1]
    entitled: float
    deficit: float  # s of the whole pool
    first: int  # begin of the steps, epoch s
    step_s: int
    step: Sequence[int]  # numbers of the steps with demand; of one account only
    held_at: Sequence[float]  # mean in each of these
    entitled_at: Sequence[float]


@dataclass(frozen=True, slots=True)
class PoolShares:
    """Accounts with a deficit, and users whose jobs were allocated more than they requested."""

    users: tuple[BeyondUser, ...] = ()  # most first
    accounts: tuple[AccountShare, ...] = ()  # largest deficit first


def read(source: SectionSource) -> dict[str, PoolShares]:
    """Return the accounts of each pool with a deficit, and its users with more than requested."""
    users = source.by_pool("sharing/beyond_users", least=MATERIAL)
    accounts = source.by_pool("sharing/account_shares")
    return {
        pool: PoolShares(records(BeyondUser, rows), records(AccountShare, accounts[pool]))
        for pool, rows in users.items()
    }


def beyond(reason: str) -> str:
    """Return why jobs were allocated more CPUs than they requested."""
    return next(one.words for one in BEYONDS if one.key == reason)


def contrary(pool: PoolPart) -> str:
    """Return a sentence on users whom two measures rate differently, if there are any."""
    judged = [
        (row.re_unfairness_net, net(row))
        for row in with_fair_starts(pool.users)
        if row.re_unfairness_net is not None and row.attempts >= SMALL_SAMPLE
    ]
    number = sum(short * late < 0 for short, late in judged)
    if not number:
        return ""
    return (
        f"Of {wording.plural(len(judged), 'user')} with at least {SMALL_SAMPLE} jobs, "
        f"{wording.count(number)} received more than an equal share but started later than fair, "
        "or the reverse. Both can be true: resource equality compares amounts of resources, fair "
        "start times compare starts."
    )


def worst(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Return those with the largest net shortfall, largest first."""
    return most(of.named, lambda row: row.re_unfairness_net or 0.0, rows)


def best(of: Entities, rows: int) -> tuple[Entity, ...]:
    """Return those with the largest net surplus, largest first."""
    return most(of.named, lambda row: -(row.re_unfairness_net or 0.0), rows)


def hidden(of: Entities, rows: int) -> int:
    """Return the number of named entities that :func:`worst` and :func:`best` leave out."""
    return len(of.named) - len(worst(of, rows)) - len(best(of, rows))


def beyond_requests(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the pool as a whole, with the main reason for allocating more than was requested."""
    pool = place.pool
    main = max(BEYONDS, key=lambda one: pool.figure(one.share).value or 0.0)
    for subject in whole(contents, place, measure):
        yield subject._replace(words={"reason": main.words, "remedy": main.action})


KINDS: Final = (
    Kind(
        whole,
        SHORTFALL,
        "unequal shares of the machine",
        "sharing",
        "{re_treated_unfairly_share:one in} jobs received less than an equal share; the shortfall "
        "is {re_unfairness_share} of all consumption ({re_unfairness_share:within}).",
        "Check which widths and users have the largest shortfall.",
    ),
    Kind(
        worst_width,
        SHORTFALL,
        "unequal shares of the machine",
        "sharing",
        "{subject} have the largest shortfall: {re_unfairness_share} of what they consumed "
        "({re_unfairness_share:within}).",
        "Check why these jobs waited. Compare other rules with fairaudit whatif before a change.",
    ),
    Kind(
        beyond_requests,
        "beyond_request_share",
        "allocated beyond requests",
        "sharing",
        "{beyond_request_share} of all CPU time ({beyond_request_share:within}) was allocated "
        "beyond the CPUs that jobs requested, mostly {reason}.",
        "{remedy}",
        MATERIAL,
    ),
)


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
        targets.append((upto - 0.1, upto, tip))
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
            targets.append((at, at + of.step_s / day_s, tip))
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


SECTION: Final = ReportSection(
    "sharing",
    PoolShares,
    read,
    findings=KINDS,
    charts=(shortfall, lorenz, account_shares),
    filters=(worst, best, hidden, contrary, beyond),
)
