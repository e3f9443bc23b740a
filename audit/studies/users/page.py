"""The page of the study of how policies treat users (``studies.users.compute``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

from audit.metrics.draws import Draws
from audit.metrics.verdicts import Holds, Verdict, tally
from audit.model import Policy
from audit.report.charts import series
from audit.report.charts.marks import dots, lines, scales
from audit.report.charts.marks.dots import Dot, Row
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.study.charts import ends, several
from audit.report.study.page import (
    Column,
    Columns,
    Section,
    Study,
    Table,
    by_pool,
    interval,
    table,
    verdict_table,
)
from audit.report.text import wording
from audit.scenario.tabu import Search
from audit.studies.users import claims
from audit.studies.users.compute import (
    ESTIMATES,
    POLICIES,
    SEEDS,
    TAU_S,
    TS,
    Compared,
    Figure,
    figures,
)

SOURCE: Final = (
    "[K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling."
)

_FAR: Final = 3
"""A policy this many times above all others is left out of charts, as [K] leaves out FCFS."""

_STEPS: Final = 500
"""A distribution is drawn with at most so many steps: one for each pixel."""

_OVER_ATTEMPTS: Final[Columns[Mapping[str, Any]]] = (
    Column("Mean wait", "wait_mean", "duration"),
    Column("Mean response", "response_mean", "duration"),
    Column("Mean bounded slowdown", "bounded_slowdown_mean"),
)
_OVER_USERS: Final[Columns[Mapping[str, Any]]] = (
    Column("UWT", "uwt"),
    Column("Deviation", "nuwt_deviation"),
    Column("F", "nuwt_f"),
    Column("Lower quartile", "nuwt_q1"),
    Column("Median", "nuwt_median"),
    Column("Upper quartile", "nuwt_q3"),
    Column("Σ wait / Σ area", "nuwt_pooled"),
)
_TITLES: Final = {column.name: column.title for column in (*_OVER_ATTEMPTS, *_OVER_USERS)}


def study(log: str, pools: Sequence[Compared], search: Search, draws: Draws) -> Study:
    """The study of the cluster ``log``: each pool with each kind of estimates."""
    decided = [(compared, claims.decide(compared)) for compared in pools]
    names = list(dict.fromkeys(compared.pool.name for compared in pools))
    by_name = [
        (name, _sections([pair for pair in decided if pair[0].pool.name == name])) for name in names
    ]
    return Study(
        key="users",
        title=f"How policies treat the users of {wording.name(log)}",
        lead=_lead(pools[0], [verdict for _, verdicts in decided for verdict in verdicts]),
        sections=(
            Section("The policies", (_POLICIES, _policies())),
            *by_pool(by_name),
            Section("How to read it", _READ),
        ),
        settings=(
            ("Log", wording.name(log)),
            ("Threshold of the bounded slowdown", f"{TAU_S} s"),
            (
                "Tabu search",
                f"each {search.every_s} s, {search.turns} iterations for each that waits, tabu "
                f"list of {search.tabu}, PCG64; {SEEDS} seeds from {search.seed} on"
                + ("" if search.bound is None else f"; each stopped after {search.bound}"),
            ),
            draws.intervals("resamples of users"),
        ),
        sources=(SOURCE,),
    )


def _lead(compared: Compared, verdicts: Sequence[Verdict]) -> str:
    counts = tally(verdicts)
    verb = "does" if counts[Holds.no] == 1 else "do"
    waits = {name: outcome.means.wait_mean for name, outcome in compared.outcomes.items()}
    least = min(waits, key=lambda name: waits[name])
    lead = (
        f"Of {len(verdicts)} comparisons behind the conclusions of [K], {counts[Holds.yes]} come "
        f"out as there, {counts[Holds.no]} {verb} not, {counts[Holds.undecided]} cannot be "
        f"decided. With {ESTIMATES[compared.estimates]}, attempts wait least under {least} "
        f"({wording.duration(waits[least])} on average)"
    )
    if compared.users:
        uwts = {name: outcome.dispersion.uwt or 0.0 for name, outcome in compared.outcomes.items()}
        fairest = min(uwts, key=lambda name: uwts[name])
        lead += f"; users' mean NUWT is least under {fairest} ({wording.number(uwts[fairest])})"
    return lead + "."


def _sections(decided: Sequence[tuple[Compared, Sequence[Verdict]]]) -> list[Section]:
    """Of one pool."""
    verdicts = [
        (compared.estimates, verdict) for compared, verdicts in decided for verdict in verdicts
    ]
    return [
        Section(
            "What [K] concludes",
            (_VERDICTS, verdict_table(verdicts, ("Estimates", "estimates"))),
        ),
        *(
            Section(
                f"With {ESTIMATES[compared.estimates]}",
                (
                    _text(compared),
                    *_charts(compared),
                    *_figures(compared),
                    _SEEDS,
                    _seeds(compared),
                ),
            )
            for compared, _ in decided
        ),
    ]


_POLICIES: Final = (
    "All replay the same attempts, as they arrived, in a pool that is empty at first."
)


def _decides(policy: Policy | None) -> tuple[str, str]:
    if policy is None:
        return "fcfs", "conservative, its plan optimised by a tabu search"
    return policy.order.value, policy.backfill.value


_POLICY: Final[Columns[tuple[str, Policy | None]]] = (
    Column("Name", "name", "text", lambda row: row[0]),
    Column("Order", "order", "text", lambda row: _decides(row[1])[0]),
    Column("Backfilling", "backfilling", "text", lambda row: _decides(row[1])[1]),
)


def _policies() -> Table:
    return table("policies", "The policies of [K]", _POLICY, POLICIES.items())


_VERDICTS: Final = (
    "Each comparison is decided by the difference of two figures over the same attempts, or users, "
    "and its 95 % interval: yes where the whole interval is on the paper's side, no where none of "
    "it is, undecided in between. [K] speaks of six logs together, this table of one."
)


def _text(compared: Compared) -> str:
    spread = compared.outcomes[TS].dispersion
    text = (
        f"{wording.count(len(compared.units))} attempts; NUWT of "
        f"{wording.count(len(compared.users))} users ({wording.count(spread.single_job)} with one "
        f"job and {wording.count(spread.no_usage)} without usage are left out)."
    )
    if compared.left_out:
        text += f" {wording.count(compared.left_out)} attempts never start under some policy."
    return text


# --- charts --------------------------------------------------------------------------------------


def _charts(compared: Compared) -> list[Chart]:
    estimates = ESTIMATES[compared.estimates]
    performance = _performance(
        compared, f"Wait, response and bounded slowdown with {estimates}, as [K] fig. 1"
    )
    if not any(outcome.cdf.height for outcome in compared.outcomes.values()):
        return [performance]
    return [
        performance,
        _cumulative(compared, f"NUWT over users with {estimates}, as [K] fig. 2"),
        _spread(compared, f"Mean and deviation of NUWT with {estimates}, as [K] fig. 2"),
    ]


def _performance(compared: Compared, shows: str) -> Chart:
    """Mean wait and response, and the bounded slowdown beside them."""
    means = {name: outcome.means for name, outcome in compared.outcomes.items()}
    near, note = _without_far({name: mean.response_mean for name, mean in means.items()})
    hours = {name: [round(means[name][k] / 3_600, 4) for k in (0, 1)] for name in near}
    waits, responses = ({name: wording.duration(means[name][k]) for name in near} for k in (0, 1))
    slowdowns = {name: wording.number(means[name].bounded_slowdown_mean) for name in near}
    rows = [
        Row(
            name,
            (
                Dot(0, hours[name][0], tip=f"{name}: mean wait {waits[name]}"),
                Dot(1, hours[name][1], tip=f"{name}: mean response {responses[name]}"),
            ),
            slowdowns[name],
        )
        for name in near
    ]
    kinds = (Series("mean wait", EARLIER, "circle"), Series("mean response", LATER, "square"))
    axis = scales.linear(list(chain.from_iterable(hours.values())), scales.plain, title="Hours")
    body, height = dots.drawn(rows, dots.Looks(kinds, axis, joined=True))
    least_and_most = ends(
        {name: wait for name, (wait, _) in hours.items()},
        lambda hours: wording.rough_duration(hours * 3_600),
    )
    title = f"Mean wait: {least_and_most}"
    listed = "; ".join(f"{name} waits {waits[name]}, slowdown {slowdowns[name]}" for name in near)
    return Chart(
        f"performance_{compared.estimates}",
        title,
        f"Dots. {title}. {shows}. {listed}. {note}".strip(),
        body,
        height,
        f"{shows}. At the right: mean bounded slowdown. {note}".strip(),
    )


def _cumulative(compared: Compared, shows: str) -> Chart:
    """The distribution of NUWT over users under each policy, cut at ``series.NUWT_CUT``."""
    end = float(series.NUWT_CUT)
    curves = {
        name: list(one.cdf.select("nuwt", "share").iter_rows())
        for name, one in compared.outcomes.items()
        if one.cdf.height
    }
    drawn = [
        Line(of.name, _thinned(points, end), of.colour, of.dash, step=True, width=1.8)
        for of, points in zip(several(list(curves)), curves.values(), strict=True)
    ]
    at_most_1 = {
        name: max((share for nuwt, share in points if nuwt <= 1), default=0.0)
        for name, points in curves.items()
    }
    x = scales.linear([end], scales.plain, title=f"NUWT, cut at {series.NUWT_CUT}")
    y = scales.shares([1.0], title="Share of users with at most this NUWT")
    body, height = lines.drawn([Panel(x, y, drawn)], height=190)
    title = f"Users with a NUWT of at most 1: {ends(at_most_1, wording.rough_percent)}"
    each = ", ".join(f"{name} {wording.percent(below)}" for name, below in at_most_1.items())
    alt = f"Line chart. {shows}. Users with a NUWT of at most 1: {each}."
    return Chart(f"nuwt_{compared.estimates}", title, alt, body, height, f"{shows}.")


def _thinned(points: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """From 0 to ``end``; of the steps within a pixel the last is what is seen."""
    kept = {int(nuwt / end * _STEPS): (nuwt, share) for nuwt, share in points if nuwt <= end}
    steps = list(kept.values())
    return [(0.0, 0.0), *steps, (end, steps[-1][1] if steps else 0.0)]


def _spread(compared: Compared, shows: str) -> Chart:
    """UWT and the deviation of NUWT under each policy."""
    spreads = {
        name: {"mean": one.dispersion.uwt or 0.0, "deviation": one.dispersion.deviation or 0.0}
        for name, one in compared.outcomes.items()
    }
    near, note = _without_far({name: spread["deviation"] for name, spread in spreads.items()})
    figures = {name: {what: round(of, 6) for what, of in spreads[name].items()} for name in near}
    rows = [
        Row(
            name,
            tuple(
                Dot(place, value, tip=f"{name}: {what} {wording.number(value)}")
                for place, (what, value) in enumerate(of.items())
            ),
        )
        for name, of in figures.items()
    ]
    values = [value for of in figures.values() for value in of.values()]
    looks = dots.Looks(
        several(["mean", "deviation"], "dot"),
        scales.linear(values, scales.plain, title="NUWT"),
        joined=True,
    )
    body, height = dots.drawn(rows, looks)
    listed = "; ".join(
        f"{name} {what} {wording.number(value)}"
        for name, of in figures.items()
        for what, value in of.items()
    )
    means = {name: of["mean"] for name, of in figures.items()}
    return Chart(
        f"spread_{compared.estimates}",
        f"Mean NUWT: {ends(means, wording.number)}",
        f"Dots. {shows}: {listed}. {note}".strip(),
        body,
        height,
        f"{shows}. {note}".strip(),
    )


def _without_far(values: dict[str, float]) -> tuple[list[str], str]:
    """The policies that a chart has room for, and what it says of the one that it has none for."""
    far = max(values, key=lambda name: values[name])
    next_ = max(value for name, value in values.items() if name != far)
    if values[far] <= _FAR * next_:
        return list(values), ""
    return [name for name in values if name != far], f"{far} is off the scale."


# --- tables --------------------------------------------------------------------------------------

_FIGURE: Final[Columns[tuple[str, Figure]]] = (
    Column("Policy", "policy", "text", lambda row: row[0]),
    Column("Figure", "figure", "text", lambda row: _TITLES[row[1].metric]),
    *interval(lambda row: row[1].estimate),
    Column("Unit", "unit", "text", lambda row: row[1].unit),
)


def _figures(compared: Compared) -> list[Table]:
    known = [(name, figure) for name in compared.outcomes for figure in figures(compared, name)]
    rows: list[dict[str, Any]] = [
        {"policy": name, **dict.fromkeys(_TITLES)}
        | {figure.metric: figure.estimate.value for whose, figure in known if whose == name}
        for name in compared.outcomes
    ]
    policy: Column[Mapping[str, Any]] = Column("Policy", "policy", "text")
    key, estimates = compared.estimates, ESTIMATES[compared.estimates]
    return [
        table(f"{key}-{of}", f"{what}, with {estimates}", (policy, *columns), rows)
        for of, what, columns in (
            ("performance", "Means over attempts", _OVER_ATTEMPTS),
            ("nuwt", "NUWT over users", _OVER_USERS),
        )
    ] + [
        table(
            f"{key}-intervals",
            f"All figures with their 95 % intervals, with {estimates}",
            _FIGURE,
            known,
            shown=0,
        )
    ]


_SEEDS: Final = (
    "Which attempt TS tries to move next is drawn by chance. So that no conclusion rests on one "
    "draw, it is run with several seeds: charts and tables above show the one with the median UWT, "
    "conclusions are decided with each."
)

_SEED: Final[Columns[Mapping[str, Any]]] = (
    Column("Seed", "seed", "text"),
    *_OVER_ATTEMPTS,
    Column("UWT", "uwt"),
    Column("Deviation", "nuwt_deviation"),
    Column("Median NUWT", "nuwt_median"),
)


def _seeds(compared: Compared) -> Table:
    rows = [
        {
            "seed": str(number),
            **outcome.means._asdict(),
            "uwt": outcome.dispersion.uwt,
            "nuwt_deviation": outcome.dispersion.deviation,
            "nuwt_median": outcome.dispersion.median,
        }
        for number, outcome in enumerate(compared.seeds, start=1)
    ]
    caption = f"{TS} with each seed, and {ESTIMATES[compared.estimates]}"
    return table(f"{compared.estimates}-seeds", caption, _SEED, rows)


_READ: Final = (
    "NUWT is what a user's jobs waited in all, divided by what they used: run times times sizes. "
    "UWT is its mean over users. A few users who used next to nothing and waited once rule it, and "
    "the deviation more so; so the quartiles, and Σ wait / Σ area of all users together, stand "
    "beside it. Where few users decide a figure, its interval is wide, and so are differences.",
    "Response is wait and run time, so policies differ in mean response by what they differ in "
    "mean wait. FCFS, BF and BF-FAIR plan nothing: estimates do not change them.",
    "TS plans as BF-CONS does. At every multiple of 300 s since the first arrival it takes one of "
    "those that wait out of the plan, lets the others move up, puts it back at the earliest start "
    "that is left, and keeps the new plan if slowdown, wait, response and F improve in sum, each "
    "in parts of what it was. It may delay an attempt past the start that it was first promised.",
    "[K] used exact estimates. Under the log's own, plans are made for run times that mostly turn "
    "out shorter; plans then move up in the order of arrival, as under BF-CONS.",
)
