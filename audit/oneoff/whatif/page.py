"""The page of ``fairaudit whatif``: gains and losses under a change.

Its text is ``templates/studies/whatif.txt``.
"""

from collections import defaultdict
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
from audit.report.study import layout
from audit.report.study.page import Cell, Columns, Section, Study, TableColumn, by_pool
from audit.scenario.whatif import comparison

KEY: Final = "whatif"
_DRAWN: Final = 16

_LABELS: Final = {
    **{one.value: one.value for one in PartEffect},
    comparison.NOT_REPRODUCED: "no figure",
    comparison.NOT_AGREEING: "untested",
    comparison.NEVER_STARTS: "never starts",
}
"""Labels of outcomes on the page; files have their keys."""

_MEASURES: Final = layout.columns(
    "Mean wait <wait_mean duration> | Mean bounded slowdown <bounded_slowdown_mean number> | "
    "NUWT (Σ wait / Σ area) <nuwt number> | "
    "Delay by later arrivals, mean (strict FST) <miss_strict_mean duration> | "
    "Mean delay against the relaxed FST <miss_relaxed_mean duration> | "
    "Started later than the strict FST <missed_strict_share percent> | "
    "Shortfall per attempt (RE), resource·s <re_unfairness number>"
)
_SHOWN: Final = layout.columns(
    "Wait, observed <wait_mean_observed duration> | replay of today <wait_mean_today duration> | "
    "after <wait_mean_changed duration> | outcome <wait_mean_outcome text> | "
    "Delay by later arrivals, today <miss_strict_mean_today duration> | "
    "after <miss_strict_mean_changed duration> | RE, today <re_unfairness_today number> | "
    "after <re_unfairness_changed number>"
)
"""Figures that the page shows of each part, by measure and column of ``COMPARED``."""
_OF_WAITS: Final = 4  # of them, those of waits: of a user there are no others
_EVERY_MEASURE: Final[Columns] = tuple(
    TableColumn(
        name.replace("_", " ").capitalize(),
        name,
        "text" if dtype == pl.String else "count" if dtype == pl.Int64 else "number",
    )
    for name, dtype in comparison.COMPARED.items()
)
_MEANS: Final = (
    "Means of attempts that start in both replays; RE: shortfall in resource equality, in "
    "resource·s. No figure: the replay misses the observed wait by more than a quarter."
)
_ROWS_OF_ALL: Final = {
    "observed": "Observed",
    "today": "Replay of today's policy",
    "changed": "Replay after the change",
    "difference": "Difference",
    "lower": "Difference, lower end (95 %)",
    "upper": "Difference, upper end (95 %)",
    "outcome": "Outcome",
}
_BY: Final = {
    "width_class": ("Width", "Change of the mean wait by width"),
    **{
        kind: (kind.capitalize(), "Change of the mean wait, largest sums first")
        for kind in ("account", "user")
    },
}
"""Title of the parts, and what their chart shows, by dimension."""


class PoolChange(NamedTuple):
    """A pool today and after the change."""

    pool: str
    today_policy: str
    changed_policy: str
    today: comparison.Whole
    after: comparison.Whole
    parts: pl.DataFrame  # columns of ``comparison.COMPARED``
    fidelity: pl.DataFrame  # columns of ``metrics.attempts.fidelity.FIDELITY_SCHEMA``
    agreement: float | None  # of today's policy with the observed starts; None: not known
    missed_share: float  # of the observed waiting, in width classes that today's replay misses
    only_after: int = 0  # attempts that start under the change alone
    cut: comparison.RemovedWork = comparison.RemovedWork(0, 0.0)
    decay_today: str = ""  # how usage decays before a change of the half-life, in words

    @property
    def is_stated(self) -> bool:
        """Whether figures of the whole pool after the change may be stated (SPEC §11)."""
        unknown = pl.col("outcome").is_in([comparison.NOT_AGREEING, comparison.NOT_REPRODUCED])
        return self.parts.filter(pl.col("dimension") == "all", unknown).is_empty()


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
    policies = [
        (
            f"Policy of pool {wording.name(compared.pool)}",
            f"{compared.today_policy} → {compared.changed_policy}",
        )
        for compared in pools
    ]
    resampled = draws.intervals("paired resamples of users (of days for an account or a user)")
    values = {
        "title": wording.first_lower(title),
        "lead": " ".join(leads),
        "log": wording.name(log),
        "options": options,
    }
    sections = by_pool([(compared.pool, _sections(compared)) for compared in pools])
    last = layout.section(KEY, "read", {}, {})
    return layout.study(KEY, {"policies": [*policies, resampled]}, values, (*sections, last))


def _sections(compared: PoolChange) -> list[Section]:
    whole = compared.parts.filter(pl.col("dimension") == "all")
    figures = {row["measure"]: row for row in whole.iter_rows(named=True)}
    fidelity = dict(compared.fidelity.select("metric", "value").iter_rows())
    of_policy = {"policy": compared.today_policy, "agreement": compared.agreement}
    parts = {
        "fidelity": [defaultdict(lambda: None, fidelity | of_policy)],
        "remarks": [*_remarks(compared)],
        "all": (
            (
                TableColumn("Figure", "figure", "text"),
                *(measure for measure in _MEASURES if measure.name in figures),
            ),
            [
                {"figure": title, **{measure: _cell(row, key) for measure, row in figures.items()}}
                for key, title in _ROWS_OF_ALL.items()
            ],
        ),
        "pool": [
            {"schedule": title, **schedule._asdict()}
            for title, schedule in (("Today", compared.today), ("After", compared.after))
            if title == "Today" or compared.is_stated
        ],
        "account-outcomes": (
            (
                TableColumn("In", "measure", "text"),
                *(TableColumn(label, name, "count") for name, label in _LABELS.items()),
            ),
            [
                {"measure": measure.title, **comparison.outcomes(compared.parts, measure.name)}
                for measure in _MEASURES
            ],
        ),
        "measures": (_EVERY_MEASURE, compared.parts.iter_rows(named=True)),
    }
    for dimension, (title, shows) in _BY.items():
        parts[f"of_{dimension.removesuffix('_class')}"] = _chart(compared, dimension, shows)
        parts[dimension.replace("_", "-")] = _rows(compared, dimension, title)
    values = {"known": wording.rough_percent(KNOWN), "means": _MEANS}
    keys = ("fit", "all", "width", "account", "user")
    return [layout.section(KEY, key, parts, values) for key in keys]


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


def _cell(row: dict[str, Any], column: str) -> Cell:
    cell: Cell = _LABELS[row[column]] if column == "outcome" else row[column]
    return cell


def _rows(
    compared: PoolChange, dimension: str, title: str
) -> tuple[Columns, list[dict[str, Cell]]]:
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
    first = layout.columns(
        f"{title} <{dimension} text> | Attempts <attempts count> | never start <never_start count>"
    )
    return (*first, *columns), [*rows.values()]


def _label(dimension: str, part: str | None) -> str:
    if part is None:
        return "unknown" if dimension == "width_class" else wording.NOT_NAMED
    return wording.width(part) if dimension == "width_class" else part


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
    if dimension in comparison.ENTITIES:
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
