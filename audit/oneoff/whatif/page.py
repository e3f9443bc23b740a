"""The page of ``fairaudit whatif``: who would win and who would lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from audit.metrics.draws import Draws
from audit.metrics.outcomes import Outcome
from audit.oneoff.whatif.lead import lead
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import LATER, MUTED, OWN, Chart
from audit.report.study.page import (
    Cell,
    Column,
    Columns,
    Kind,
    Section,
    Study,
    Table,
    by_pool,
    table,
)
from audit.report.text import wording
from audit.scenario.whatif import comparison
from audit.scenario.whatif.comparison import Cut, Whole

_ROWS: Final = 20
_DRAWN: Final = 16

_MEASURES: Final[Columns[Any]] = (
    Column("Mean wait", "wait_mean", "duration"),
    Column("Mean bounded slowdown", "bounded_slowdown_mean"),
    Column("NUWT (Σ wait / Σ area)", "nuwt"),
    Column("Overtaken by later arrivals, mean", "overtaken_time_mean", "duration"),
    Column("Mean miss, strict FST", "miss_strict_mean", "duration"),
    Column("Mean miss, relaxed FST", "miss_relaxed_mean", "duration"),
    Column("Missed the strict FST", "missed_strict_share", "percent"),
    Column("Shortfall per attempt (RE), resource·s", "re_unfairness"),
)
_POOL: Final[Columns[Any]] = (
    Column("Replay", "schedule", "text"),
    Column("Utilization", "utilization", "percent"),
    Column("Loss of capacity", "loss_of_capacity", "percent"),
    Column("First arrival to last end", "span_s", "duration"),
    Column("Mean NUWT of users (UWT)", "uwt"),
    Column("Median", "nuwt_median"),
    Column("Deviation", "nuwt_deviation"),
    Column("Attempts that ended", "attempts", "count"),
    Column("That never start", "never_started", "count"),
)
_EVERY_MEASURE: Final[Columns[Any]] = (
    Column("Dimension", "dimension", "text"),
    Column("Part", "part", "text"),
    Column("Measure", "measure", "text"),
    Column("Today", "today"),
    Column("After", "changed"),
    Column("Difference", "difference"),
    Column("From", "lower"),
    Column("To", "upper"),
    Column("Unit", "unit", "text"),
    Column("Attempts", "attempts", "count"),
    Column("Outcome", "outcome", "text"),
)
_FIDELITY_OF: Final[Columns[Any]] = (
    Column("Policy", "policy", "text"),
    Column("Attempts compared", "replayed", "count"),
    Column("Median error of the start", "start_error_median", "duration"),
    Column("90th percentile", "start_error_p90", "duration"),
    Column("Rank correlation of the waits", "wait_correlation"),
    Column("Mean wait, longer by", "mean_wait_error", "duration"),
)


class Compared(NamedTuple):
    """A pool today and after the change."""

    pool: str
    today_policy: str
    changed_policy: str
    today: Whole
    after: Whole
    parts: pl.DataFrame
    """Columns of ``whatif.COMPARED``."""
    fidelity: pl.DataFrame
    """Columns of ``metrics.attempts.fidelity.FIDELITY_SCHEMA``."""
    cut: Cut = Cut(0, 0.0)
    decay_today: str = ""
    """Where the half-life is changed: how usage decays before that, in words."""


def study(log: str, change: str, pools: Sequence[Compared], draws: Draws) -> Study:
    """The page of a change."""
    return Study(
        key="whatif",
        title=f"What if: {change}",
        lead=" ".join(_lead(compared, several=len(pools) > 1) for compared in pools),
        sections=(
            *by_pool([(compared.pool, _sections(compared)) for compared in pools]),
            Section("How to read it", _READ),
        ),
        settings=(
            ("Log", wording.name(log)),
            ("Change", change),
            *(
                (
                    f"Policy of pool {wording.name(compared.pool)}",
                    f"{compared.today_policy} → {compared.changed_policy}",
                )
                for compared in pools
            ),
            draws.intervals("paired resamples of users (of days for an account)"),
        ),
        sources=(
            "[S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job "
            "Schedulers.",
            "[K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job "
            "Scheduling.",
        ),
    )


def _lead(compared: Compared, *, several: bool) -> str:
    begin = f"Pool {wording.name(compared.pool)}: " if several else ""
    return begin + lead(compared.parts, compared.fidelity)


def _sections(compared: Compared) -> tuple[Section, ...]:
    return (
        Section("How far the replay is to be believed", (_FIDELITY, _fidelity(compared))),
        Section(
            "The whole",
            (_WHOLE, *_decay(compared), *_cut(compared), _all(compared), _pool(compared)),
        ),
        Section(
            "By width",
            (
                *_chart(compared, "width_class", "Change of the mean wait by width"),
                _table(compared, "width_class", "Width"),
            ),
        ),
        Section(
            "By account",
            (
                _ACCOUNTS,
                *_chart(
                    compared, "account", "Change of the mean wait, of the accounts it changes most"
                ),
                _counts(compared),
                _table(compared, "account", "Account"),
                table(
                    "measures",
                    "Every measure of every part, with its interval",
                    _EVERY_MEASURE,
                    compared.parts.iter_rows(named=True),
                    shown=0,
                ),
            ),
        ),
    )


_WHOLE: Final = (
    "Both columns are replays of the same arrivals from an empty pool: one under today's policy, "
    "one after the change. Neither is the observed log. Less is better in every column of the "
    "first table."
)


def _decay(compared: Compared) -> tuple[str, ...]:
    return (f"Before the change {compared.decay_today}.",) if compared.decay_today else ()


def _cut(compared: Compared) -> tuple[str, ...]:
    if not compared.cut.attempts:
        return ()
    return (
        f"The limit ends {wording.plural(compared.cut.attempts, 'attempt')} that ran longer, and "
        f"with them {wording.percent(compared.cut.share)} of what was consumed is not done after "
        "the change. Users would have to submit the rest again, which the replay leaves out: read "
        "what is gained with that in mind. Users' mean NUWT divides by what they still get.",
    )


def _all(compared: Compared) -> Table:
    whole = compared.parts.filter(pl.col("dimension") == "all")
    figures = {row["measure"]: row for row in whole.iter_rows(named=True)}
    titles = {
        "today": "Today",
        "changed": "After",
        "difference": "Difference",
        "lower": "… from",
        "upper": "… to",
        "outcome": "Outcome",
    }
    return table(
        "all",
        "All attempts that ended in both schedules",
        (
            Column("Figure", "figure", "text"),
            *(measure for measure in _MEASURES if measure.name in figures),
        ),
        (
            {"figure": title, **{measure: row[key] for measure, row in figures.items()}}
            for key, title in titles.items()
        ),
        note="Difference with its 95 % interval; of shares, in points.",
    )


def _pool(compared: Compared) -> Table:
    return table(
        "pool",
        "The pool and its users",
        _POOL,
        (
            {"schedule": title, **whole._asdict()}
            for title, whole in (("Today", compared.today), ("After", compared.after))
        ),
        note="Utilization and loss of capacity are between the first and the last arrival; UWT "
        "leaves out users with one job.",
    )


def _columns(measure: str, title: str, kind: Kind) -> Columns[Any]:
    return (
        Column(f"{title}, today", f"{measure}_today", kind),
        Column("after", f"{measure}_changed", kind),
        Column("outcome", f"{measure}_outcome", "text"),
    )


_SHOWN: Final = {
    "wait_mean": _columns("wait_mean", "Wait", "duration"),
    "overtaken_time_mean": _columns("overtaken_time_mean", "Overtaken", "duration"),
    "re_unfairness": _columns("re_unfairness", "RE", "number"),
}
"""Measures that the page shows of each part, all as means; the file has all measures."""


def _table(compared: Compared, dimension: str, title: str) -> Table:
    """The parts, those with the greatest change of all waits first; width classes as they are."""
    rows: dict[str | None, dict[str, Cell]] = {
        part: {dimension: _label(dimension, part), "attempts": attempts}
        for part, attempts in comparison.waits(compared.parts, dimension)
        .select("part", "attempts")
        .iter_rows()
    }
    cells = [column.name for columns in _SHOWN.values() for column in columns]
    for row in rows.values():
        row.update(dict.fromkeys(cells))
    of_dimension = compared.parts.filter(pl.col("dimension") == dimension)
    for figure in of_dimension.iter_rows(named=True):
        for column in _SHOWN.get(figure["measure"], ()):
            rows[figure["part"]][column.name] = figure[column.name.rpartition("_")[2]]
    return table(
        dimension.replace("_", "-"),
        f"Who wins and who loses, by {title.lower()}",
        (
            Column(title, dimension, "text"),
            Column("Attempts", "attempts", "count"),
            *(column for columns in _SHOWN.values() for column in columns),
        ),
        rows.values(),
        note="Means by attempt: wait, what later arrivals cost (overtaken), and shortfall in "
        "resource equality (RE), in resource·s.",
        shown=_ROWS,
    )


def _label(dimension: str, part: str | None) -> str:
    if part is None:
        return "unknown" if dimension == "width_class" else wording.NOT_NAMED
    return wording.width(part) if dimension == "width_class" else part


_ACCOUNTS: Final = (
    "The days of an account's arrivals are resampled, as it may be a single user. Accounts are "
    "listed by how much their attempts' waits change in all."
)


def _counts(compared: Compared) -> Table:
    return table(
        "account-outcomes",
        "How many accounts win and lose",
        (
            Column("In", "measure", "text"),
            *(Column(outcome.value, outcome.value, "count") for outcome in Outcome),
        ),
        (
            {"measure": measure.title, **comparison.outcomes(compared.parts, measure.name)}
            for measure in _MEASURES
        ),
    )


def _chart(compared: Compared, dimension: str, shows: str) -> tuple[Chart, ...]:
    """Changes of the mean wait with their intervals; nothing where there is none with one."""
    parts = comparison.waits(compared.parts, dimension).drop_nulls(["part", "lower"])
    if dimension == "account":
        parts = parts.head(_DRAWN)
    if parts.is_empty():
        return ()
    names = (wording.name(_label(dimension, part), 24) for part in parts["part"])
    labels = pl.Series(wording.told_apart(names))
    return (changes(dimension, shows, parts.with_columns(of=labels)),)


_FIDELITY: Final = (
    "The site's scheduler is not the modelled policy. This is how far the replay of today's policy "
    "is from what was observed; what the change does is the difference of two replays, and can be "
    "no better than they are."
)


def _fidelity(compared: Compared) -> Table:
    unknown: dict[str, Cell] = dict.fromkeys(column.name for column in _FIDELITY_OF)
    values = dict(compared.fidelity.select("metric", "value").iter_rows())
    return table(
        "fidelity",
        "The replay of today's policy against the observed log",
        _FIDELITY_OF,
        [unknown | values | {"policy": compared.today_policy}],
    )


_READ: Final = (
    "Who gains has the whole 95 % interval of the difference on the better side, who loses on the "
    "worse; unclear is in between, the same is without any difference. With many accounts, about "
    "one in twenty that neither gains nor loses will seem to. Intervals are of resampled users: "
    "that one busy week moves the waits of many at once is not in them, and makes them too narrow.",
    "Overtaken time is what those that came later cost an attempt under the policy that made the "
    "schedule: its start less its strict fair start time, < 0 where they let it start earlier. A "
    "miss is the same without what was gained. Resource equality knows no policy.",
    "People would ask for other things under another policy; these do not.",
)


# --- changes of waits with their intervals, as dots ----------------------------------------------


_MARKS: Final = {
    Outcome.gains: Series(Outcome.gains.value, OWN, "left"),
    Outcome.loses: Series(Outcome.loses.value, LATER, "right"),
    Outcome.unclear: Series(Outcome.unclear.value, MUTED, "circle", hollow=True),
    Outcome.same: Series(Outcome.same.value, MUTED, "square"),
}


def changes(key: str, shows: str, parts: pl.DataFrame) -> Chart:
    """Changes of the mean wait, a row for each part.

    Args:
        parts: from the top: of (label), difference, lower and upper (s), outcome.
    """
    present = [outcome for outcome in Outcome if outcome.value in parts["outcome"].to_list()]
    places = {outcome.value: number for number, outcome in enumerate(present)}
    longest = max(parts.select(pl.col("lower", "upper").abs().max()).row(0))
    unit, size = wording.time_unit(longest)
    rows = [
        Row(
            part["of"],
            (
                Dot(
                    places[part["outcome"]],
                    part["difference"] / size,
                    part["lower"] / size,
                    part["upper"] / size,
                    f"{part['of']}: {_change(part['difference'])} ({part['outcome']}; 95 % "
                    f"interval {_change(part['lower'])} to {_change(part['upper'])})",
                ),
            ),
            _change(part["difference"]),
        )
        for part in parts.iter_rows(named=True)
    ]
    ends = [end / size for column in ("lower", "upper") for end in parts[column].to_list()]
    axis = scales.linear(ends, scales.plain, title=f"Change of the mean wait, {unit}")
    looks = dots.Looks([_MARKS[outcome] for outcome in present], axis, 0.0, ("less", "more"))
    body, height = dots.drawn(rows, looks)
    alt = f"Dot plot with intervals. {shows}. " + "; ".join(
        f"{part['of']} {wording.duration(part['difference'])} ({part['outcome']})"
        for part in parts.iter_rows(named=True)
    )
    return Chart(key, _answer(parts), alt, body, height, f"{shows}; lines are 95 % intervals.")


def _answer(parts: pl.DataFrame) -> str:
    """Who gains most, who loses most, and of how many chance leaves it open."""
    told = []
    for outcome, word, descending in (
        (Outcome.gains, "less", False),
        (Outcome.loses, "more", True),
    ):
        of = parts.filter(pl.col("outcome") == outcome.value)
        if of.height:
            name, change = of.sort("difference", descending=descending)["of", "difference"].row(0)
            told.append(
                f"{name} {outcome.value} most: waits {wording.duration(abs(change))} {word}"
            )
    if unclear := parts.filter(pl.col("outcome") == Outcome.unclear.value).height:
        told.append(f"{wording.count(unclear)} unclear")
    return "; ".join(told) or "Nothing changes"


def _change(seconds: float) -> str:
    """A difference with its sign, in two digits and one unit."""
    unit, size = wording.time_unit(abs(seconds))
    said = wording.number(seconds / size, 2)
    return f"{'+' if seconds > 0 else ''}{said} {unit}"
