"""The page of ``fairaudit whatif``: gains and losses under a change."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.attempts.fidelity import KNOWN
from audit.metrics.claims import PartEffect
from audit.metrics.draws import Draws
from audit.oneoff.whatif.lead import lead
from audit.report import wording
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import LATER, MUTED, OWN, Chart
from audit.report.study.page import (
    Cell,
    Columns,
    Section,
    Study,
    Table,
    TableColumn,
    by_pool,
    table,
)
from audit.scenario.whatif import comparison
from audit.scenario.whatif.comparison import (
    COMPARED,
    ENTITIES,
    NEVER_STARTS,
    NOT_AGREEING,
    NOT_REPRODUCED,
    RemovedWork,
    Whole,
)

_ROWS: Final = 20
_DRAWN: Final = 16

_LABELS: Final = {
    **{one.value: one.value for one in PartEffect},
    NOT_REPRODUCED: "no figure",
    NOT_AGREEING: "untested",
    NEVER_STARTS: "never starts",
}
"""Labels of outcomes on the page; files have their keys."""

_MEASURES: Final[Columns[Any]] = (
    TableColumn("Mean wait", "wait_mean", "duration"),
    TableColumn("Mean bounded slowdown", "bounded_slowdown_mean"),
    TableColumn("NUWT (Σ wait / Σ area)", "nuwt"),
    TableColumn("Delay by later arrivals, mean (strict FST)", "miss_strict_mean", "duration"),
    TableColumn("Mean delay against the relaxed FST", "miss_relaxed_mean", "duration"),
    TableColumn("Started later than the strict FST", "missed_strict_share", "percent"),
    TableColumn("Shortfall per attempt (RE), resource·s", "re_unfairness"),
)
_POOL: Final[Columns[Any]] = (
    TableColumn("Replay", "schedule", "text"),
    TableColumn("Attempts that never start", "never_started", "count"),
    TableColumn("Attempts that ended", "attempts", "count"),
    TableColumn("Utilization", "utilization", "percent"),
    TableColumn("Loss of capacity", "loss_of_capacity", "percent"),
    TableColumn("First arrival to last end", "span_s", "duration"),
    TableColumn("Mean NUWT of users (UWT)", "uwt"),
    TableColumn("Median NUWT of users", "nuwt_median"),
    TableColumn("Standard deviation of NUWT", "nuwt_deviation"),
)
_EVERY_MEASURE: Final[Columns[Any]] = tuple(
    TableColumn(
        name.replace("_", " ").capitalize(),
        name,
        "text" if dtype == pl.String else "count" if dtype == pl.Int64 else "number",
    )
    for name, dtype in COMPARED.items()
)
_FIDELITY_OF: Final[Columns[Any]] = (
    TableColumn("Policy", "policy", "text"),
    TableColumn("Agreement with the observed starts", "agreement", "percent"),
    TableColumn("Attempts compared", "replayed", "count"),
    TableColumn("Median error of the start", "start_error_median", "duration"),
    TableColumn("90th percentile of that error", "start_error_p90", "duration"),
    TableColumn("Rank correlation of the waits", "wait_correlation"),
    TableColumn("Mean wait, replayed − observed", "mean_wait_error", "duration"),
)

_WHOLE: Final = (
    "Both columns are replays of the same arrivals from an empty pool, under today's rules and "
    "after the change. Neither is the observed log. The first table excludes attempts that never "
    "start under the change; less is better in each of its columns."
)
_FIDELITY: Final = (
    "The modelled policy is not the site's scheduler. The table compares the replay of today's "
    "rules with the log. The effect of the change is the difference of two replays. No effect "
    f"is shown in a pool whose policy agrees with less than {wording.rough_percent(KNOWN)} of the "
    "observed starts, nor for a part if the replay of today misses its observed mean wait by more "
    "than a quarter, nor for any if width classes with half of the waiting are missed so."
)
_ACCOUNTS: Final = (
    "The days of an account's arrivals are resampled, as it may be a single user. Accounts are "
    "sorted by the change of the sum of their waits."
)
_READ: Final = (
    "An account or a width class gains if the whole 95 % interval of the difference is on the "
    "better side. It loses if the whole interval is on the worse side. Otherwise the effect is "
    "unclear, or the same if there is no difference. With many accounts, about one in twenty that "
    "neither gains nor loses will seem to. Intervals resample users. They ignore busy weeks that "
    "move the waits of many users at once, and are therefore too narrow.",
    "The delay by later arrivals is an attempt's start minus its strict fair start time under the "
    "policy that made the schedule. It is negative if later arrivals let it start earlier. A miss "
    "is the same without such gains. Resource equality (RE) needs no policy.",
    "Both replays have the same walltimes, run times and arrivals. Real users would change theirs.",
)


class PoolChange(NamedTuple):
    """A pool today and after the change."""

    pool: str
    today_policy: str
    changed_policy: str
    today: Whole
    after: Whole
    parts: pl.DataFrame  # columns of ``comparison.COMPARED``
    fidelity: pl.DataFrame  # columns of ``metrics.attempts.fidelity.FIDELITY_SCHEMA``
    agreement: float | None  # of today's policy with the observed starts; None: not known
    missed_share: float  # of the observed waiting, in width classes that today's replay misses
    only_after: int = 0  # attempts that start under the change alone
    cut: RemovedWork = RemovedWork(0, 0.0)
    decay_today: str = ""  # how usage decays before a change of the half-life, in words

    @property
    def told(self) -> bool:
        """Whether figures of the whole pool after the change may be stated (SPEC §11)."""
        untold = pl.col("outcome").is_in([NOT_AGREEING, NOT_REPRODUCED])
        return self.parts.filter(pl.col("dimension") == "all", untold).is_empty()


def study(log: str, title: str, options: str, pools: Sequence[PoolChange], draws: Draws) -> Study:
    """Return the page of a change with its title, an imperative, and its options."""
    leads = [
        f"Pool {wording.name(compared.pool)}: " * (len(pools) > 1)
        + lead(
            *(compared.parts, compared.fidelity, compared.agreement),
            *(compared.missed_share, compared.only_after),
        )
        for compared in pools
    ]
    return Study(
        key="whatif",
        title=f"What if: {title[:1].lower()}{title[1:]}",
        lead=" ".join(leads),
        sections=(
            *by_pool([(compared.pool, _sections(compared)) for compared in pools]),
            Section("How to read it", _READ),
        ),
        settings=(
            ("Log", wording.name(log)),
            ("Options", options),
            *(
                (
                    f"Policy of pool {wording.name(compared.pool)}",
                    f"{compared.today_policy} → {compared.changed_policy}",
                )
                for compared in pools
            ),
            draws.intervals("paired resamples of users (of days for an account or a user)"),
        ),
        sources=(
            "[S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job "
            "Schedulers.",
            "[K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job "
            "Scheduling.",
        ),
    )


def _sections(compared: PoolChange) -> tuple[Section, ...]:
    unknown: dict[str, Cell] = dict.fromkeys(column.name for column in _FIDELITY_OF)
    values = dict(compared.fidelity.select("metric", "value").iter_rows())
    fidelity = table(
        "fidelity",
        "The replay of today's rules against the observed log",
        _FIDELITY_OF,
        [unknown | values | {"policy": compared.today_policy, "agreement": compared.agreement}],
    )
    measures = table(
        "measures",
        "Every measure of every part, with its interval",
        _EVERY_MEASURE,
        compared.parts.iter_rows(named=True),
        shown=0,
    )
    largest = "Change of the mean wait, largest sums first"
    by = {
        "width_class": ("Width", "Change of the mean wait by width"),
        "account": ("Account", largest),
        "user": ("User", largest),
    }
    (of_width, widths), (of_account, accounts), (of_user, users) = (
        (_chart(compared, dimension, shows), _table(compared, dimension, title))
        for dimension, (title, shows) in by.items()
    )
    return (
        Section("How well the replay fits the log", (_FIDELITY, fidelity)),
        Section("All jobs", (_WHOLE, *_remarks(compared), _all(compared), _pool(compared))),
        Section("By width", (*of_width, widths)),
        Section("By account", (_ACCOUNTS, *of_account, _counts(compared), accounts)),
        Section("By user", (*of_user, users, measures)),
    )


def _remarks(compared: PoolChange) -> Iterator[str]:
    if compared.decay_today:
        yield f"Before the change {compared.decay_today}."
    if compared.cut.attempts:
        yield (
            f"The limit ends {wording.plural(compared.cut.attempts, 'attempt')} that ran longer: "
            f"{wording.percent(compared.cut.share)} of the work is not done after the change. "
            "Users would have to submit the rest again. The replay leaves this out, which causes "
            "a part of the gain. The mean NUWT divides by the work that users still receive."
        )


def _all(compared: PoolChange) -> Table:
    whole = compared.parts.filter(pl.col("dimension") == "all")
    figures = {row["measure"]: row for row in whole.iter_rows(named=True)}
    titles = {
        "observed": "Observed",
        "today": "Replay of today's policy",
        "changed": "Replay after the change",
        "difference": "Difference",
        "lower": "Difference, lower end (95 %)",
        "upper": "Difference, upper end (95 %)",
        "outcome": "Outcome",
    }
    rows = [
        {"figure": title, **{measure: _cell(row, key) for measure, row in figures.items()}}
        for key, title in titles.items()
    ]
    return table(
        "all",
        "All attempts that ended in both schedules",
        (
            TableColumn("Figure", "figure", "text"),
            *(measure for measure in _MEASURES if measure.name in figures),
        ),
        rows,
        note="Difference with its 95 % interval; of shares, in points.",
    )


def _cell(row: dict[str, Any], column: str) -> Cell:
    cell: Cell = _LABELS[row[column]] if column == "outcome" else row[column]
    return cell


def _pool(compared: PoolChange) -> Table:
    return table(
        "pool",
        "The pool and its users",
        _POOL,
        (
            {"schedule": title, **whole._asdict()}
            for title, whole in (("Today", compared.today), ("After", compared.after))
            if title == "Today" or compared.told
        ),
        note="Utilization and loss of capacity are between the first and the last arrival; UWT "
        "leaves out users with one job.",
    )


_SHOWN: Final[Columns[Any]] = (
    TableColumn("Wait, observed", "wait_mean_observed", "duration"),
    TableColumn("replay of today", "wait_mean_today", "duration"),
    TableColumn("after", "wait_mean_changed", "duration"),
    TableColumn("outcome", "wait_mean_outcome", "text"),
    TableColumn("Delay by later arrivals, today", "miss_strict_mean_today", "duration"),
    TableColumn("after", "miss_strict_mean_changed", "duration"),
    TableColumn("RE, today", "re_unfairness_today"),
    TableColumn("after", "re_unfairness_changed"),
)
"""Figures that the page shows of each part, by measure and column of ``COMPARED``."""
_OF_WAITS: Final = 4  # of them, those of waits: of a user there are no others


def _table(compared: PoolChange, dimension: str, title: str) -> Table:
    """Return the parts: accounts and users by the change of their waits, widths from narrow on."""
    columns = _SHOWN[:_OF_WAITS] if dimension == "user" else _SHOWN
    rows: dict[str | None, dict[str, Cell]] = {
        part: {
            dimension: _label(dimension, part),
            "attempts": attempts,
            "never_start": never,
            **dict.fromkeys(column.name for column in columns),
        }
        for part, attempts, never in comparison.waits(compared.parts, dimension)
        .select("part", "attempts", "never_start")
        .iter_rows()
    }
    of_dimension = compared.parts.filter(pl.col("dimension") == dimension)
    for figure in of_dimension.iter_rows(named=True):
        for column in columns:
            measure, _, name = column.name.rpartition("_")
            if measure == figure["measure"]:
                rows[figure["part"]][column.name] = _cell(figure, name)
    return table(
        dimension.replace("_", "-"),
        f"Gains and losses by {title.lower()}",
        (
            TableColumn(title, dimension, "text"),
            TableColumn("Attempts", "attempts", "count"),
            TableColumn("never start", "never_start", "count"),
            *columns,
        ),
        rows.values(),
        note="Means of attempts that start in both replays; RE: shortfall in resource equality, in "
        "resource·s. No figure: the replay misses the observed wait by more than a quarter.",
        shown=_ROWS,
    )


def _label(dimension: str, part: str | None) -> str:
    if part is None:
        return "unknown" if dimension == "width_class" else wording.NOT_NAMED
    return wording.width(part) if dimension == "width_class" else part


def _counts(compared: PoolChange) -> Table:
    return table(
        "account-outcomes",
        "Number of accounts that gain and lose",
        (
            TableColumn("In", "measure", "text"),
            *(TableColumn(label, name, "count") for name, label in _LABELS.items()),
        ),
        (
            {"measure": measure.title, **comparison.outcomes(compared.parts, measure.name)}
            for measure in _MEASURES
        ),
    )


# --- changes of waits with their intervals, as dots ----------------------------------------------


_MARKS: Final = {
    PartEffect.gains: Series(PartEffect.gains.value, OWN, "left"),
    PartEffect.loses: Series(PartEffect.loses.value, LATER, "right"),
    PartEffect.unclear: Series(PartEffect.unclear.value, MUTED, "circle", hollow=True),
    PartEffect.same: Series(PartEffect.same.value, MUTED, "square"),
}


def _chart(compared: PoolChange, dimension: str, shows: str) -> tuple[Chart, ...]:
    """Return a chart of the changes of the mean wait; none where no change has an interval."""
    parts = comparison.waits(compared.parts, dimension).drop_nulls(["part", "lower"])
    if dimension in ENTITIES:
        parts = parts.head(_DRAWN)
    if parts.is_empty():
        return ()
    names = (wording.name(_label(dimension, part), 24) for part in parts["part"])
    labels = pl.Series(wording.distinct(names))
    return (changes(dimension, shows, parts.with_columns(of=labels)),)


def changes(key: str, shows: str, parts: pl.DataFrame) -> Chart:
    """Return the changes of the mean wait as dots with their intervals, a row for each part.

    ``parts``, from the top: of (label), difference, lower and upper (s), outcome.
    """
    present = [outcome for outcome in PartEffect if outcome.value in parts["outcome"].to_list()]
    places = {outcome.value: number for number, outcome in enumerate(present)}
    longest = max(parts.select(pl.col("lower", "upper").abs().max()).row(0))
    unit, size = wording.time_unit(longest)
    rows = []
    for part in parts.iter_rows(named=True):
        change, lower, upper = (part[name] for name in ("difference", "lower", "upper"))
        ends = f"95 % interval {_change(lower)} to {_change(upper)}"
        tip = f"{part['of']}: {_change(change)} ({part['outcome']}; {ends})"
        dot = Dot(places[part["outcome"]], change / size, lower / size, upper / size, tip)
        rows.append(DotRow(part["of"], (dot,), _change(change)))
    every = [end / size for column in ("lower", "upper") for end in parts[column].to_list()]
    axis = scales.linear(every, scales.plain, title=f"Change of the mean wait, {unit}")
    looks = dots.Looks([_MARKS[outcome] for outcome in present], axis, 0.0, ("less", "more"))
    body, height = dots.drawn(rows, looks)
    alt = f"Dot plot with intervals. {shows}. " + "; ".join(
        f"{part['of']} {wording.duration(part['difference'])} ({part['outcome']})"
        for part in parts.iter_rows(named=True)
    )
    return Chart(key, _answer(parts), alt, body, height, f"{shows}; lines are 95 % intervals.")


def _answer(parts: pl.DataFrame) -> str:
    """Name the part that gains most and the one that loses most; count those that are unclear."""
    answers = []
    for outcome, word, descending in (
        (PartEffect.gains, "less", False),
        (PartEffect.loses, "more", True),
    ):
        of = parts.filter(pl.col("outcome") == outcome.value)
        if of.height:
            name, change = of.sort("difference", descending=descending)["of", "difference"].row(0)
            answers.append(
                f"{name} {outcome.value} most: waits {wording.duration(abs(change))} {word}"
            )
    if unclear := parts.filter(pl.col("outcome") == PartEffect.unclear.value).height:
        answers.append(f"{wording.count(unclear)} unclear")
    return "; ".join(answers) or "Nothing changes"


def _change(seconds: float) -> str:
    """Return a difference with its sign, in two digits and one unit."""
    unit, size = wording.time_unit(abs(seconds))
    return f"{'+' if seconds > 0 else ''}{wording.number(seconds / size, 2)} {unit}"
