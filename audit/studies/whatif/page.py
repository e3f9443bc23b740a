"""The page of ``fairaudit whatif``: who would win and who would lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import polars as pl

from audit.report.charts.style import Chart
from audit.report.text import wording
from audit.studies.drawn import Draws
from audit.studies.page import Cell, Column, Section, Study, Table
from audit.studies.page import Kind as CellKind
from audit.studies.whatif import charts
from audit.studies.whatif.compute import comparison
from audit.studies.whatif.compute.comparison import Cut, Outcome, Whole

_ROWS: Final = 20
_DRAWN: Final = 16

_TITLES: Final[dict[str, tuple[str, CellKind]]] = {
    "wait_mean": ("Mean wait", "duration"),
    "bounded_slowdown_mean": ("Mean bounded slowdown", "number"),
    "nuwt": ("NUWT (Σ wait / Σ area)", "number"),
    "miss_strict_mean": ("Mean miss, strict FST", "duration"),
    "miss_relaxed_mean": ("Mean miss, relaxed FST", "duration"),
    "missed_strict_share": ("Missed the strict FST", "percent"),
    "re_unfairness": ("Shortfall per attempt (RE), resource·s", "number"),
}


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
    """The page of a change.

    Args:
        log: the cluster's name.
        change: what is changed, in words.
        pools: those that it concerns, and what became of them.
        draws: how resamples were drawn.
    """
    several = len(pools) > 1
    return Study(
        key="whatif",
        title=f"What if: {change}",
        lead=" ".join(_says(of, several) for of in pools),
        sections=(
            *(
                Section(f"Pool {wording.name(of.pool)}: {title}" if several else title, parts)
                for number, of in enumerate(pools, start=1)
                for title, parts in _parts(of, f"{number}-" if several else "")
            ),
            Section("How to read it", _READ),
        ),
        settings=(
            ("Log", wording.name(log)),
            ("Change", change),
            *(
                (
                    f"Policy of pool {wording.name(of.pool)}",
                    f"{of.today_policy} → {of.changed_policy}",
                )
                for of in pools
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


def _says(of: Compared, several: bool) -> str:
    overall = comparison.waits(of.parts, "all")
    begin = f"Pool {wording.name(of.pool)}: " if several else ""
    if overall.is_empty():
        return f"{begin}{'no' if several else 'No'} attempt ended in both schedules."
    row = overall.row(0, named=True)
    accounts = comparison.outcomes(of.parts, "wait_mean")
    losing = [
        wording.width(label)
        for label, outcome in comparison.waits(of.parts, "width_class")
        .select("part", "outcome")
        .iter_rows()
        if label is not None and outcome == Outcome.loses
    ]
    widths = (
        f" By width, {', '.join(losing)} would wait longer."
        if losing
        else " No width class would clearly wait longer."
    )
    the = "the" if several else "The"
    return (
        f"{begin}{the} mean wait would go from {wording.duration(row['today'])} to "
        f"{wording.duration(row['changed'])}. In waiting, "
        f"{wording.plural(accounts[Outcome.gains], 'account')} would win, "
        f"{wording.count(accounts[Outcome.loses])} lose; for "
        f"{wording.count(accounts[Outcome.unclear] + accounts[Outcome.same])} it is unclear or the "
        f"same.{widths}"
    )


def _parts(of: Compared, prefix: str) -> list[tuple[str, tuple[str | Table | Chart, ...]]]:
    widths = _chart(of, "width_class", "Change of the mean wait by width", prefix)
    accounts = _chart(
        of, "account", "Change of the mean wait, of the accounts it changes most", prefix
    )
    return [
        ("The whole", (_WHOLE, *_decay(of), *_cut(of), _all(of, prefix), _pool(of, prefix))),
        ("By width", (*widths, _table(of, "width_class", "Width", prefix))),
        (
            "By account",
            (
                _ACCOUNTS,
                *accounts,
                _counts(of, prefix),
                _table(of, "account", "Account", prefix),
                _measures(of, prefix),
            ),
        ),
        ("How far the replay is to be believed", (_FIDELITY, _fidelity(of, prefix))),
    ]


_WHOLE: Final = (
    "Both columns are replays of the same arrivals from an empty pool: one under today's policy, "
    "one after the change. Neither is the observed log. Less is better in every column of the "
    "first table."
)


def _decay(of: Compared) -> tuple[str, ...]:
    return (f"Before the change {of.decay_today}.",) if of.decay_today else ()


def _cut(of: Compared) -> tuple[str, ...]:
    if not of.cut.attempts:
        return ()
    said = (
        f"The limit ends {wording.plural(of.cut.attempts, 'attempt')} that ran longer, and with "
        f"them {wording.percent(of.cut.share)} of what was consumed is not done after the change. "
        "Users would have to submit the rest again, which the replay leaves out: read what is "
        "gained with that in mind. Users' mean NUWT divides by what they still get."
    )
    return (said,)


def _all(of: Compared, prefix: str) -> Table:
    whole = of.parts.filter(pl.col("dimension") == "all")
    figures = {row["measure"]: row for row in whole.iter_rows(named=True)}
    rows = (
        ("Today", "today"),
        ("After", "changed"),
        ("Difference", "difference"),
        ("… from", "lower"),
        ("… to", "upper"),
        ("Outcome", "outcome"),
    )
    return Table(
        f"{prefix}all",
        "All attempts that ended in both schedules",
        (
            Column("Figure", "figure", "text"),
            *(Column(_TITLES[name][0], name, _TITLES[name][1]) for name in figures),
        ),
        tuple((title, *(row[name] for row in figures.values())) for title, name in rows),
        note="Difference with its 95 % interval; of shares, in points.",
    )


def _pool(of: Compared, prefix: str) -> Table:
    shown: tuple[tuple[str, str, CellKind], ...] = (
        ("Utilization", "utilization", "percent"),
        ("Loss of capacity", "loss_of_capacity", "percent"),
        ("First arrival to last end", "span_s", "duration"),
        ("Mean NUWT of users (UWT)", "uwt", "number"),
        ("Median", "nuwt_median", "number"),
        ("Deviation", "nuwt_deviation", "number"),
        ("Attempts that ended", "attempts", "count"),
        ("That never start", "never_started", "count"),
    )
    return Table(
        f"{prefix}pool",
        "The pool and its users",
        (
            Column("Replay", "schedule", "text"),
            *(Column(title, name, kind) for title, name, kind in shown),
        ),
        tuple(
            (title, *(getattr(whole, name) for _, name, _ in shown))
            for title, whole in (("Today", of.today), ("After", of.after))
        ),
        note="Utilization and loss of capacity are between the first and the last arrival; UWT "
        "leaves out users with one job.",
    )


_SHOWN: Final = {"wait_mean": "Wait", "miss_strict_mean": "Miss", "re_unfairness": "RE"}
"""Measures that the page shows of each part, all as means; the file has all measures."""


def _table(of: Compared, dimension: str, title: str, prefix: str) -> Table:
    """The parts, those with the greatest change of all waits first; width classes as they are."""
    of_dimension = of.parts.filter(pl.col("dimension") == dimension)
    figures = {(row["part"], row["measure"]): row for row in of_dimension.iter_rows(named=True)}
    rows: list[tuple[Cell, ...]] = []
    for part, attempts in (
        comparison.waits(of.parts, dimension).select("part", "attempts").iter_rows()
    ):
        cells: list[Cell] = [_label(dimension, part), attempts]
        for measure in _SHOWN:
            row = figures.get((part, measure))
            cells += [None, None, None] if row is None else [row[name] for name in _THREE]
        rows.append(tuple(cells))
    columns: list[Column[Any]] = [
        Column(title, dimension, "text"),
        Column("Attempts", "attempts", "count"),
    ]
    for measure, says in _SHOWN.items():
        kind = _TITLES[measure][1]
        columns += [
            Column(f"{says}, today", f"{measure}_today", kind),
            Column("after", f"{measure}_changed", kind),
            Column("outcome", f"{measure}_outcome", "text"),
        ]
    return Table(
        f"{prefix}{dimension.replace('_', '-')}",
        f"Who wins and who loses, by {title.lower()}",
        tuple(columns),
        tuple(rows),
        note="Means by attempt: wait, miss of the strict fair start time, and shortfall in "
        "resource equality (RE), in resource·s.",
        shown=_ROWS,
    )


_THREE: Final = ("today", "changed", "outcome")


def _measures(of: Compared, prefix: str) -> Table:
    return Table(
        f"{prefix}measures",
        "Every measure of every part, with its interval",
        (
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
        ),
        tuple(of.parts.select(of.parts.columns).iter_rows()),
        shown=0,
    )


def _label(dimension: str, part: str | None) -> str:
    if part is None:
        return "unknown" if dimension == "width_class" else wording.NOT_NAMED
    return wording.width(part) if dimension == "width_class" else part


_ACCOUNTS: Final = (
    "The days of an account's arrivals are resampled, as it may be a single user. Accounts are "
    "listed by how much their attempts' waits change in all."
)


def _counts(of: Compared, prefix: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for measure, (title, _) in _TITLES.items():
        rows.append((title, *comparison.outcomes(of.parts, measure).values()))
    return Table(
        f"{prefix}account-outcomes",
        "How many accounts win and lose",
        (
            Column("In", "measure", "text"),
            *(Column(outcome.value, outcome.value, "count") for outcome in Outcome),
        ),
        tuple(rows),
    )


def _chart(of: Compared, dimension: str, title: str, prefix: str) -> tuple[Chart, ...]:
    """Changes of the mean wait with their intervals; nothing where there is none with one."""
    parts = comparison.waits(of.parts, dimension).drop_nulls(["part", "lower"])
    if dimension == "account":
        parts = parts.head(_DRAWN)
    if parts.is_empty():
        return ()
    names = (wording.name(_label(dimension, part), 24) for part in parts["part"])
    labels = wording.told_apart(names)
    key = f"{prefix}{dimension}".replace("-", "_")
    return (charts.changes(key, title, parts.with_columns(of=pl.Series(labels))),)


_FIDELITY: Final = (
    "The site's scheduler is not the modelled policy. This is how far the replay of today's policy "
    "is from what was observed; what the change does is the difference of two replays, and can be "
    "no better than they are."
)


def _fidelity(of: Compared, prefix: str) -> Table:
    titles: dict[str, tuple[str, CellKind]] = {
        "replayed": ("Attempts compared", "count"),
        "start_error_median": ("Median error of the start", "duration"),
        "start_error_p90": ("90th percentile", "duration"),
        "wait_correlation": ("Rank correlation of the waits", "number"),
        "mean_wait_error": ("Mean wait, longer by", "duration"),
    }
    values = dict(of.fidelity.select("metric", "value").iter_rows())
    return Table(
        f"{prefix}fidelity",
        "The replay of today's policy against the observed log",
        (
            Column("Policy", "policy", "text"),
            *(Column(title, name, kind) for name, (title, kind) in titles.items()),
        ),
        ((of.today_policy, *(values.get(name) for name in titles)),),
    )


_READ: Final = (
    "Who gains has the whole 95 % interval of the difference on the better side, who loses on the "
    "worse; unclear is in between, the same is without any difference. With many accounts, about "
    "one in twenty that neither gains nor loses will seem to.",
    "A fair start time is judged in each schedule by the policy that made it: a miss after the "
    "change is what an attempt lost to later arrivals under the changed policy. Resource equality "
    "knows no policy.",
    "People would ask for other things under another policy; these do not.",
)
