"""The page of ``fairaudit fit-policy``: how a site decides, as far as its log tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from audit.metrics.draws import Draws
from audit.model import Pool
from audit.oneoff.fit_policy import pictures
from audit.oneoff.fit_policy import wording as words
from audit.oneoff.fit_policy.pictures import Levels, Line, Part
from audit.report.charts.marks import bars, lines, scales
from audit.report.charts.marks.bars import Bar
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Panel, Target
from audit.report.charts.style import EARLIER, INK, LATER, Chart
from audit.report.study.page import Column, Columns, Section, Study, Table, by_pool, table
from audit.report.text import wording
from audit.scenario.fit.judging import Fidelity, Standing
from audit.scenario.fit.outcome import Kept, Outcome, Remains
from audit.scenario.fit.search import Gain, Tried

ROWS: Final = 25


class Found(NamedTuple):
    """What was found out of a pool."""

    pool: Pool
    """As it was assumed at first."""
    outcome: Outcome
    seconds: float
    """Budget of the search."""
    ended: bool
    """Whether the budget ended the search."""


def study(log: str, found: Sequence[Found], draws: Draws) -> Study:
    """The page of a log."""
    return Study(
        key="fit-policy",
        title="How the site decides",
        lead=" ".join(_lead(one, several=len(found) > 1) for one in found),
        sections=(
            *by_pool([(one.pool.name, _sections(one)) for one in found]),
            Section("How to read it", _READ),
        ),
        settings=(
            ("Log", wording.name(log)),
            *(
                (f"Assumed of pool {wording.name(one.pool.name)}", one.pool.policy.name)
                for one in found
            ),
            *((f"Budget of pool {wording.name(one.pool.name)}", _budget(one)) for one in found),
            draws.intervals("paired resamples of days"),
        ),
    )


def _budget(found: Found) -> str:
    of = found.outcome.observed
    looked_at = "the whole log"
    if of.since is not None:
        days = (found.outcome.parts.behind - of.since) // 86_400
        looked_at = f"the latest {wording.plural(days, 'day')} of the log, which it affords"
    tried = len(found.outcome.tried)
    if found.ended:
        looked_at += "; it ended the search before all was tried: raise `--budget`"
    return f"about {found.seconds:g} s of one processor: {looked_at}; {tried} tried"


def _lead(found: Found, *, several: bool) -> str:
    outcome = found.outcome
    begin = f"Pool {wording.name(found.pool.name)}: " if several else ""
    before, after = (wording.percent(one.unexplained) for one in (outcome.before, outcome.after))
    if not outcome.tried:
        return (
            f"{begin}The log is too short, or too few of its jobs waited, to tell how the site "
            f"decides."
        )
    if not outcome.kept:
        return (
            f"{begin}Nothing was found that explains the starts better than "
            f"{outcome.assumed.site.pool.policy.name}. {before} of the waiting in the last 40 % of "
            "the log stays unexplained."
        )
    kept = wording.plural(len(outcome.kept), "element")
    return (
        f"{begin}{kept} of how the site decides "
        f"{'was' if len(outcome.kept) == 1 else 'were'} found. With them {after} of the waiting "
        f"in the last 40 % of the log stays unexplained, instead of {before}."
    )


def _sections(found: Found) -> tuple[Section, ...]:
    outcome = found.outcome
    resource = found.pool.resource.value
    return (
        Section("What was found", (_FOUND, _elements(outcome, resource), *_chains(outcome))),
        Section(
            "How much better that is",
            (_BETTER, _compared(outcome), *_over_time(outcome), _in_week(outcome)),
        ),
        Section("What stays unexplained", (_STAYS, _left(outcome), *_limits(outcome, resource))),
        Section("What was tried", (_TRIED, _all(outcome, resource))),
    )


# --- elements ------------------------------------------------------------------------------------

_FOUND: Final = (
    "Elements are listed in the order in which they were found; each is judged with those above it "
    "in force. Limits and windows are used only if they pass the conditions for rules: jobs that "
    "could have started, but for the rule, were left waiting, and hardly a start breaks it, while "
    "neighbouring jobs did start. Withheld counts the occasions on which a rule alone kept a job "
    "waiting; breaks counts the starts that it forbids. By chance is the share of starts that is "
    "expected without the rule. Held out means the last 40 % of the log."
)


def _gain(title: str, name: str, gain: str) -> Columns[Any]:
    def of(row: Any, field: str) -> float | None:
        found: Gain | None = getattr(row, gain)
        value: float | None = None if found is None else getattr(found, field)
        return value

    return (
        Column(title, name, "number", lambda row: of(row, "value")),
        Column("from", f"{name}_lower", "number", lambda row: of(row, "lower")),
        Column("to", f"{name}_upper", "number", lambda row: of(row, "upper")),
    )


def _elements(outcome: Outcome, resource: str) -> Table:
    columns: Columns[Kept] = (
        Column("Element", "says", "text", lambda row: words.says(row.tried.element, resource)),
        Column("Kind", "kind", "text", lambda row: words.kind(row.tried.element.kind)),
        Column("Withheld", "withheld", "count", lambda row: row.tried.element.evidence.failed),
        Column("Starts", "starts", "count", lambda row: row.tried.element.evidence.starts),
        Column("Breaks", "breaks", "count", lambda row: row.tried.element.evidence.served),
        Column(
            "By chance", "by_chance", "percent", lambda row: row.tried.element.evidence.by_chance
        ),
        *_gain("Gain held out, nats", "told", "told"),
        Column("Unexplained then", "unexplained", "percent", lambda row: row.after.unexplained),
    )
    caption = "Elements of how the site decides"
    return table("elements", caption, columns, outcome.kept, shown=len(outcome.kept))


def _chains(outcome: Outcome) -> tuple[str, ...]:
    if not outcome.fitted.site.users:
        return ()
    return (
        "A job that waits for its user's previous one is a dependency, or a script that lets the "
        "next one go. A limit of one job looks alike where a user has one job queued; where others "
        "of the same user started meanwhile, it cannot be one.",
    )


# --- before and after ----------------------------------------------------------------------------

_BETTER: Final = (
    "Over the jobs that arrived in the last 40 % of the log. Unexplained is the share of all "
    "waiting that passed while a job had room and could have been started, or while it had room "
    "and would not have been started at all. Agreement is the share of those that waited longer "
    "than a minute that were started within a minute of when they would have been."
)


class _Row(NamedTuple):
    setting: str
    standing: Standing
    fidelity: Fidelity


def _compared(outcome: Outcome) -> Table:
    columns: Columns[_Row] = (
        Column("The site", "setting", "text"),
        Column("Unexplained", "unexplained", "percent", lambda row: row.standing.unexplained),
        Column("Agreement", "agreement", "percent", lambda row: row.standing.agreement),
        Column("Foreseen", "foreseen", "percent", lambda row: row.standing.foreseen),
        Column("Loss, nats", "loss", "number", lambda row: row.standing.loss),
        Column("Rank correlation", "forward", "number", lambda row: row.fidelity.over_all),
        Column("of those that waited", "forward_waited", "number", lambda row: row.fidelity.waited),
        Column("Jobs", "attempts", "count", lambda row: row.standing.attempts),
    )
    rows = (
        _Row("as assumed", outcome.before, outcome.before_fidelity),
        _Row("as fitted", outcome.after, outcome.after_fidelity),
    )
    note = (
        "Rank correlation: of forward starts, each simulated from what ran and waited when the job "
        f"came, with the observed waits, of {outcome.after_fidelity.attempts:,} jobs."
    )
    return table("compared", "The site as assumed, and as fitted", columns, rows, note)


def _over_time(outcome: Outcome) -> tuple[Chart, ...]:
    return (
        over_time("weeks", "Jobs that waited though they had room", pictures.by_week(outcome)),
        over_week(
            "hours",
            "Jobs that could start, by hour of the week, in the last 40 %",
            pictures.by_hour(outcome),
        ),
    )


def _in_week(outcome: Outcome) -> Table:
    columns: Columns[Part] = (
        Column("Started", "hours", "text"),
        Column("Jobs that waited", "attempts", "count"),
        Column("Agreement as assumed", "assumed", "percent"),
        Column("as fitted", "fitted", "percent"),
    )
    clock = words.clock(outcome.fitted.site.pool.zone)
    note = f"Of the jobs that arrived in the last 40 % of the log. Clock: {clock}."
    rows = pictures.by_part_of_week(outcome)
    return table("in-week", "Agreement by hour of the week", columns, rows, note)


# --- what is left --------------------------------------------------------------------------------

_STAYS: Final = (
    "The log does not hold what nodes a job asked for, which were drained, or what users held back "
    "themselves. What stays unexplained is an upper bound of what the scheduler could have done."
)
_LEFT: Final[Columns[Remains]] = (
    Column("Though it had room, …", "of", "text"),
    Column("As assumed", "before", "percent"),
    Column("As fitted", "after", "percent"),
)


def _left(outcome: Outcome) -> Table:
    note = "As shares of all waiting of the jobs that arrived in the last 40 % of the log."
    return table("unexplained", "What stays unexplained", _LEFT, outcome.remains, note)


def _limits(outcome: Outcome, resource: str) -> tuple[Chart, ...]:
    limits = [one.tried.element.limit for one in outcome.kept]
    return tuple(
        levels(f"limit-{number}", words.limit(limit, resource), shown)
        for number, limit in enumerate((limit for limit in limits if limit is not None), 1)
        for shown in [pictures.at_limit(outcome, limit)]
    )


# --- all that was tried --------------------------------------------------------------------------

_TRIED: Final = (
    "Rules come first, by the share of all waiting that they would explain; other elements by what "
    "each gained over the part of the log that chooses. An element that is not kept names the "
    "condition that it fails."
)


def _all(outcome: Outcome, resource: str) -> Table:
    columns: Columns[Tried] = (
        Column("Element", "says", "text", lambda row: words.says(row.element, resource)),
        *_gain("Gain, nats", "gain", "gain"),
        Column("Explains", "explains", "percent"),
        Column("Kept", "kept", "yes_no"),
        Column("Fails", "fails", "text"),
    )
    ranked = sorted(outcome.tried, key=_rank)
    return table("tried", "All that was tried", columns, ranked, shown=ROWS)


def _rank(one: Tried) -> tuple[bool, bool, float]:
    """Kept ones first, then rules, then by what each explains or gains."""
    worth = one.explains if one.gain is None else one.gain.value
    return not one.kept, one.gain is not None, -worth


_READ: Final = (
    "Rules are searched in the whole log, and may hold for some of its days only. Of those that "
    "pass, the one that explains most waiting time is accepted, and the rest are judged again with "
    "it in force. For other elements the first 40 % of the time propose, the next 20 % choose, and "
    "the last 40 % only report.",
    "Each job weighs the same. A gain is a difference of mean log-loss, in nats, with its 95 % "
    "interval by days: how much better it is known when a job starts.",
    "What is found is what the log shows, not what a configuration says: a rule that never stops "
    "anybody cannot be found, and one found may have another reason.",
)


# --- charts; a table of the same study holds every value but for those over time -----------------


_COLOURS: Final = {"with room": INK, "assumed": LATER, "fitted": EARLIER}
_DASHES: Final = {"with room": "", "assumed": "6 3", "fitted": ""}
_HEIGHT: Final = 180
_BINS: Final = 40


def over_time(key: str, shows: str, found: Sequence[Line]) -> Chart:
    """What waited, with room and unexplained, week by week.

    Args:
        found: of one value for each week since the first arrival.
    """
    alt = f"Lines over the weeks of the log. {shows}. " + "; ".join(_most(line) for line in found)
    length = max((len(line.values) for line in found), default=0)
    x = scales.linear([0, max(length - 1, 1)], scales.plain, title="Weeks since the first arrival")
    return _lines(key, shows, alt, found, x, "Week")


def over_week(key: str, shows: str, found: Sequence[Line]) -> Chart:
    """What is unexplained at each hour of the week, as a share of all waiting at it."""
    alt = f"Lines over the hours of the week. {shows}. " + "; ".join(_most(line) for line in found)
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    ticks = tuple((24.0 * number + 12, day) for number, day in enumerate(days))
    return _lines(key, shows, alt, found, scales.Axis(0, 168, ticks), "Hour")


def _lines(
    key: str, shows: str, alt: str, found: Sequence[Line], x: scales.Axis, unit: str
) -> Chart:
    y = scales.linear(
        [value for line in found for value in line.values], scales.plain, title="Jobs, on average"
    )
    drawn = []
    for line in found:
        kind = next((kind for kind in _COLOURS if line.name.endswith(kind)), "with room")
        points = [(float(at), value) for at, value in enumerate(line.values)]
        drawn.append(lines.Line(line.name, points, _COLOURS[kind], _DASHES[kind], width=1.6))
    length = max((len(line.values) for line in found), default=0)
    targets = [
        Target(
            at - 0.5,
            at + 0.5,
            f"{unit} {at}: "
            + ", ".join(
                f"{line.name} {line.values[at]:,.1f}" for line in found if at < len(line.values)
            ),
        )
        for at in range(length)
    ]
    body, height = lines.drawn([Panel(x, y, drawn, targets=targets)], height=_HEIGHT)
    title = "In the mean " + ", ".join(f"{_mean(line)} {line.name}" for line in found)
    return Chart(key, title, alt, body, height, f"{shows}.")


def _mean(line: Line) -> str:
    return wording.two_digits(sum(line.values) / max(len(line.values), 1))


def levels(key: str, title: str, shown: Levels) -> Chart:
    """How often an attempt was started, and was not, by what its owner would have held then."""
    alt = (
        f"Bars. {title}. Up to the bound of {shown.bound:,} "
        f"{sum(count for level, count in shown.served if level <= shown.bound):,} were started at "
        f"once and {sum(count for level, count in shown.failed if level <= shown.bound):,} not; "
        f"above it {sum(count for level, count in shown.served if level > shown.bound):,} and "
        f"{sum(count for level, count in shown.failed if level > shown.bound):,}."
    )
    highest = max((level for level, _ in (*shown.served, *shown.failed)), default=shown.bound)
    highest = max(highest, shown.bound)
    # Whole levels to a bin, the bound being the last of its own.
    wide = max(-(-(highest + 1) // _BINS), 1)
    first = (shown.bound + 1) % wide - wide if wide > 1 else 0
    count = (highest - first) // wide + 1
    kinds = (
        Series("started at once", EARLIER, "block"),
        Series("not started", LATER, "block"),
    )
    summed = [[0] * count for _ in kinds]
    for of, counts in zip(summed, (shown.served, shown.failed), strict=True):
        for level, trials in counts:
            of[(level - first) // wide] += trials
    drawn = [
        Bar(
            0,
            number,
            kind,
            float(of[number]),
            tip=_bin(first + number * wide, wide, summed, number),
        )
        for number in range(count)
        for kind, of in enumerate(summed)
    ]
    looks = bars.Columns(
        tuple(f"{max(first + number * wide, 0):,}" for number in range(count)),
        kinds,
        scales.linear(
            [float(sum(of)) for of in zip(*summed, strict=True)], scales.plain, title="Trials"
        ),
        upon=True,
        height=_HEIGHT,
        title=shown.axis,
        between=True,
        mark=(shown.bound + 1 - first) / wide,
    )
    body, height = bars.columns(drawn, looks)
    return Chart(key, title, alt, body, height, "Trials by what was held then. Dashed: the bound.")


def _bin(begin: int, wide: int, summed: Sequence[Sequence[int]], number: int) -> str:
    upto = f"{max(begin, 0):,}" + (f" to {begin + wide - 1:,}" if wide > 1 else "")
    return f"{upto}: {summed[0][number]:,} started at once, {summed[1][number]:,} not"


def _most(line: Line) -> str:
    top = max(range(len(line.values)), key=lambda place: line.values[place], default=0)
    value = line.values[top] if line.values else 0.0
    return f"{line.name}: at most {value:,.1f}, at {top}"
