"""The page of ``fairaudit fit-policy``: how a site decides, as far as its log tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from audit.metrics.draws import Draws
from audit.model import Pool
from audit.oneoff.fit_policy import charts
from audit.oneoff.fit_policy import wording as words
from audit.report.charts.style import Chart
from audit.report.study.page import Column, Columns, Section, Study, Table, by_pool, table
from audit.report.text import wording
from audit.scenario.fit import pictures
from audit.scenario.fit.forwards import Fidelity
from audit.scenario.fit.judging import Standing
from audit.scenario.fit.outcome import Kept, Outcome, Remains
from audit.scenario.fit.pictures import Part
from audit.scenario.fit.search import Gain, Tried

ROWS: Final = 25


class Found(NamedTuple):
    """What was found out of a pool."""

    pool: Pool
    """As it was assumed at first."""
    outcome: Outcome
    seconds: float
    """What judging might take."""


def study(log: str, found: Sequence[Found], draws: Draws) -> Study:
    """The page of a log.

    Args:
        log: the cluster's name.
        found: its pools, and what was found out.
        draws: how resamples were drawn.
    """
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
    "In the order in which they were found; each is judged with those above it. What it explains "
    "are trials of the earlier part of the log: moments at which a job could have started, but for "
    "this. What speaks against it are starts that it forbids. Held out means the last 40 % of the "
    "log, from which nothing was taken."
)


def _gain(title: str, name: str, gain: str) -> Columns[Any]:
    def of(row: Any) -> Gain:
        found: Gain = getattr(row, gain)
        return found

    return (
        Column(title, name, "number", lambda row: of(row).value),
        Column("from", f"{name}_lower", "number", lambda row: of(row).lower),
        Column("to", f"{name}_upper", "number", lambda row: of(row).upper),
    )


def _elements(outcome: Outcome, resource: str) -> Table:
    columns: Columns[Kept] = (
        Column("Element", "says", "text", lambda row: words.says(row.tried.element, resource)),
        Column("Kind", "kind", "text", lambda row: words.kind(row.tried.element.kind)),
        Column("Explains", "failed", "count", lambda row: row.tried.element.evidence.failed),
        Column("Against", "served", "count", lambda row: row.tried.element.evidence.served),
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
        charts.over_time(
            "weeks", "Jobs that waited though they had room", pictures.by_week(outcome)
        ),
        charts.over_week(
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
        charts.levels(f"limit-{number}", words.limit(limit, resource), shown)
        for number, limit in enumerate((limit for limit in limits if limit is not None), 1)
        for shown in [pictures.at_limit(outcome, limit)]
    )


# --- all that was tried --------------------------------------------------------------------------

_TRIED: Final = (
    "By what each gained over the part of the log that chooses, in the stage and round in which it "
    "was tried. Kept is, in each round, what gains most, if the gain is certain and no more is "
    "left unexplained."
)


def _all(outcome: Outcome, resource: str) -> Table:
    columns: Columns[Tried] = (
        Column("Element", "says", "text", lambda row: words.says(row.element, resource)),
        Column("Stage", "stage", "count", lambda row: row.stage + 1),
        Column("Round", "round", "count", lambda row: row.round + 1),
        *_gain("Gain, nats", "gain", "gain"),
        Column("Explains", "explains", "percent"),
        Column("Kept", "kept", "yes_no"),
    )
    ranked = sorted(outcome.tried, key=lambda one: -one.gain.value)
    return table("tried", "All that was tried", columns, ranked, shown=ROWS)


_READ: Final = (
    "The first 40 % of the time propose elements, the next 20 % choose among them, the last 40 % "
    "are only told of. Two further stages look for younger rules, in the younger halves of the "
    "choosing part.",
    "Each job weighs the same. A gain is a difference of mean log-loss, in nats, with its 95 % "
    "interval by days: how much better it is known when a job starts.",
    "What is found is what the log shows, not what a configuration says: a rule that never stops "
    "anybody cannot be found, and one found may have another reason.",
)
