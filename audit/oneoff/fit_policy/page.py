"""The page of ``fairaudit fit-policy``: how a site schedules, inferred from its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from audit.metrics.draws import Draws
from audit.model import Pool
from audit.oneoff.fit_policy import charts, elements, limits
from audit.oneoff.fit_policy.charts import Part
from audit.pipeline.shown import Shown
from audit.report.study.page import Column, Columns, Section, Study, Table, by_pool, table
from audit.report.text import wording
from audit.rule_text import clock
from audit.scenario.fit.judging import Fidelity, Standing
from audit.scenario.fit.outcome import Kept, Outcome, Remains
from audit.scenario.fit.search import Gain, Tried

ROWS: Final = 25


class Found(NamedTuple):
    """The result for a pool."""

    pool: Pool  # as it was assumed at first
    outcome: Outcome
    shown: Shown  # the limits and chains of the log
    interval_s: int | None  # at whose multiples jobs start; None: there is none
    seconds: float  # budget of the search
    ended: bool  # whether the budget ended the search


def study(log: str, found: Sequence[Found], draws: Draws) -> Study:
    """Return the page of a log."""
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
    extent = "the whole log"
    if of.since is not None:
        days = (found.outcome.parts.behind - of.since) // 86_400
        extent = f"the latest {wording.plural(days, 'day')} of the log"
    tried = len(found.outcome.tried)
    if found.ended:
        extent += "; the search ended before all candidates were tried: raise `--budget`"
    return f"about {found.seconds:g} s of one processor, for {extent}; {tried} candidates tried"


def _lead(found: Found, *, several: bool) -> str:
    outcome = found.outcome
    begin = f"Pool {wording.name(found.pool.name)}: " if several else ""
    before, after = (wording.percent(one.unexplained) for one in (outcome.before, outcome.after))
    if not outcome.tried:
        return (
            f"{begin}The log is too short, or too few of its jobs waited, to infer how the site "
            "schedules."
        )
    if not outcome.kept:
        return (
            f"{begin}Nothing was found that explains the starts better than "
            f"{outcome.assumed.site.pool.policy.name}. {before} of the waiting in the last 40 % of "
            "the log remains unexplained."
        )
    kept = wording.plural(len(outcome.kept), "element")
    return (
        f"{begin}{kept} of the site's policy {'was' if len(outcome.kept) == 1 else 'were'} found. "
        f"With them, {after} of the waiting in the last 40 % of the log remains unexplained, "
        f"instead of {before}."
    )


def _sections(found: Found) -> tuple[Section, ...]:
    outcome = found.outcome
    return (
        Section("Limits and holds", limits.of_pool(found.shown, found.interval_s)),
        Section("Windows and policy", (_FOUND, _elements(outcome))),
        Section(
            "Improvement",
            (_BETTER, _compared(outcome), *charts.over_time(outcome), _in_week(outcome)),
        ),
        Section("What remains unexplained", (_STAYS, _left(outcome))),
        Section("Elements tried", (_TRIED, _all(outcome))),
    )


# --- elements ------------------------------------------------------------------------------------

_FOUND: Final = (
    "Elements are listed in the order in which they were found; each is judged with those above it "
    "in force. Windows are used only if they meet three conditions: jobs that could "
    "have started without the rule were left waiting, hardly any start breaks it, and similar jobs "
    "outside the rule did start. “Withheld” counts the occasions on which a rule alone kept a job "
    "waiting; “breaks” counts the starts that it forbids. “By chance” is the "
    "expected share of such starts without the rule. “Held out” means the last 40 % of the log."
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


def _elements(outcome: Outcome) -> Table:
    columns: Columns[Kept] = (
        Column("Element", "element", "text", lambda row: _described(row.tried, outcome)),
        Column("Kind", "kind", "text", lambda row: wording.first_upper(row.tried.element.kind)),
        Column("Withheld", "withheld", "count", lambda row: row.tried.element.evidence.failed),
        Column("Starts", "starts", "count", lambda row: row.tried.element.evidence.starts),
        Column("Breaks", "breaks", "count", lambda row: row.tried.element.evidence.served),
        Column(
            "By chance", "by_chance", "percent", lambda row: row.tried.element.evidence.by_chance
        ),
        *_gain("Gain held out, nats", "gain", "held_out"),
        Column("Unexplained then", "unexplained", "percent", lambda row: row.after.unexplained),
    )
    caption = "Elements of the site's policy"
    return table("elements", caption, columns, outcome.kept, shown=len(outcome.kept))


def _described(tried: Tried, outcome: Outcome) -> str:
    pool = outcome.fitted.site.pool
    return elements.described(tried.element, pool.resource.value, pool.zone)


# --- before and after ----------------------------------------------------------------------------

_BETTER: Final = (
    "These figures cover the jobs that arrived in the last 40 % of the log. Unexplained is the "
    "share of all waiting time in which a job would have fitted, and which the model does not "
    "explain: it would have started the job, or would never start it. Agreement is the share of "
    "the jobs that waited longer than a minute that started within a minute of their modelled "
    "start."
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
        "Rank correlation: of modelled and observed waits, of "
        f"{outcome.after_fidelity.attempts:,} jobs. Each modelled start is simulated from the jobs "
        "that ran and waited when the job arrived."
    )
    return table("compared", "The site as assumed, and as fitted", columns, rows, note)


def _in_week(outcome: Outcome) -> Table:
    columns: Columns[Part] = (
        Column("Started", "hours", "text"),
        Column("Jobs that waited", "attempts", "count"),
        Column("Agreement as assumed", "assumed", "percent"),
        Column("as fitted", "fitted", "percent"),
    )
    on = clock(outcome.fitted.site.pool.zone)
    note = f"Jobs that arrived in the last 40 % of the log. Clock: {on}."
    rows = charts.by_part_of_week(outcome)
    return table("in-week", "Agreement by hour of the week", columns, rows, note)


# --- what is left --------------------------------------------------------------------------------

_STAYS: Final = (
    "The log does not record which nodes a job requested, which nodes were drained, or which jobs "
    "users held. The unexplained time is an upper bound of what the scheduler could have avoided."
)
_LEFT: Final[Columns[Remains]] = (
    Column("Though it would have fitted, …", "of", "text"),
    Column("As assumed", "before", "percent"),
    Column("As fitted", "after", "percent"),
)


def _left(outcome: Outcome) -> Table:
    note = "As shares of all waiting of the jobs that arrived in the last 40 % of the log."
    return table("unexplained", "What remains unexplained", _LEFT, outcome.remains, note)


# --- all that was tried --------------------------------------------------------------------------

_TRIED: Final = (
    "Rules come first, by the share of all waiting that they would explain. Other elements follow, "
    "by their gain in the part of the log on which they are chosen. Each rejected element names "
    "the condition that it fails."
)


def _all(outcome: Outcome) -> Table:
    columns: Columns[Tried] = (
        Column("Element", "element", "text", lambda row: _described(row, outcome)),
        *_gain("Gain, nats", "gain", "gain"),
        Column("Explains", "explains", "percent"),
        Column("Kept", "kept", "yes_no"),
        Column("Fails", "fails", "text"),
    )

    def rank(one: Tried) -> tuple[bool, bool, float]:
        """Kept ones first, then rules, then by what each explains or gains."""
        worth = one.explains if one.gain is None else one.gain.value
        return not one.kept, one.gain is not None, -worth

    ranked = sorted(outcome.tried, key=rank)
    return table("tried", "All elements tried", columns, ranked, shown=ROWS)


_READ: Final = (
    "fairaudit searches the whole log for limits, at which jobs stop although they would fit, and "
    "then for windows, with the limits in force. Rules may apply on some days only. Other elements "
    "are fitted on the first 40 % of the time and chosen on the next 20 %. The last 40 % are used "
    "for reporting only.",
    "All jobs have the same weight. A gain is a difference of mean log-loss, in nats, with its 95 "
    "% interval by days. It measures how much better a job's start is predicted.",
    "The result describes the log, not the site's configuration. A rule that never delays a job "
    "cannot be found, and an inferred rule may have another reason.",
)
