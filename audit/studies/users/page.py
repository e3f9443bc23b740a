"""The page of the study of how policies treat users (``studies.users.compute``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from audit.metrics.draws import Draws
from audit.metrics.verdicts import Holds, Verdict, tally
from audit.model import Policy
from audit.report.charts.style import Chart
from audit.report.study.charts import Values
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
from audit.studies.users import charts, claims
from audit.studies.users.compute import (
    ESTIMATES,
    POLICIES,
    SEEDS,
    TAU_S,
    TS,
    Compared,
    Figure,
    Outcome,
    figures,
)

SOURCE: Final = (
    "[K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling."
)

_FAR: Final = 3
"""A policy this many times above all others is left out of charts, as [K] leaves out FCFS."""

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
    """The study of a log.

    Args:
        log: the cluster's name.
        pools: each pool with each kind of estimates.
        search: that of TS.
        draws: how resamples were drawn.
    """
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
    performance = _performance(compared)
    curves = {
        name: list(zip(one.cdf["nuwt"].to_list(), one.cdf["share"].to_list(), strict=True))
        for name, one in compared.outcomes.items()
        if one.cdf.height
    }
    if not curves:
        return [performance]
    shows = f"NUWT over users with {ESTIMATES[compared.estimates]}, as [K] fig. 2"
    return [
        performance,
        charts.cumulative(f"nuwt_{compared.estimates}", shows, curves),
        _spread(compared),
    ]


def _performance(compared: Compared) -> Chart:
    means = {name: outcome.means for name, outcome in compared.outcomes.items()}
    near, note = _without_far({name: mean.response_mean for name, mean in means.items()})
    rows: list[Values] = []
    for name in near:
        wait, response, slowdown = means[name]
        rows.append(
            {
                "of": name,
                "wait": round(wait / 3_600, 4),
                "response": round(response / 3_600, 4),
                "slowdown": round(slowdown, 4),
                "says": wording.number(slowdown),
                "wait_says": wording.duration(wait),
                "response_says": wording.duration(response),
            }
        )
    estimates = ESTIMATES[compared.estimates]
    shows = f"Wait, response and bounded slowdown with {estimates}, as [K] fig. 1"
    return charts.performance(f"performance_{compared.estimates}", shows, rows, note)


def _spread(compared: Compared) -> Chart:
    spreads = {
        name: {"mean": one.dispersion.uwt or 0.0, "deviation": one.dispersion.deviation or 0.0}
        for name, one in compared.outcomes.items()
    }
    near, note = _without_far({name: spread["deviation"] for name, spread in spreads.items()})
    rows: list[Values] = [
        {"of": name, "what": what, "value": round(figure, 6)}
        for name in near
        for what, figure in spreads[name].items()
    ]
    shows = f"Mean and deviation of NUWT with {ESTIMATES[compared.estimates]}, as [K] fig. 2"
    return charts.spread(f"spread_{compared.estimates}", shows, rows, note)


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
    estimates = ESTIMATES[compared.estimates]
    return [
        table(
            f"{compared.estimates}-performance",
            f"Means over attempts, with {estimates}",
            (policy, *_OVER_ATTEMPTS),
            rows,
        ),
        table(
            f"{compared.estimates}-nuwt",
            f"NUWT over users, with {estimates}",
            (policy, *_OVER_USERS),
            rows,
        ),
        table(
            f"{compared.estimates}-intervals",
            f"All figures with their 95 % intervals, with {estimates}",
            _FIGURE,
            known,
            shown=0,
        ),
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


def _seed(number: int, outcome: Outcome) -> Mapping[str, Any]:
    spread = outcome.dispersion
    return {
        "seed": str(number),
        **outcome.means._asdict(),
        "uwt": spread.uwt,
        "nuwt_deviation": spread.deviation,
        "nuwt_median": spread.median,
    }


def _seeds(compared: Compared) -> Table:
    caption = f"{TS} with each seed, and {ESTIMATES[compared.estimates]}"
    rows = [_seed(number, outcome) for number, outcome in enumerate(compared.seeds, start=1)]
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
