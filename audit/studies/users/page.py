"""The page of the study of how policies treat users (``studies.users.compute``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from audit.report.charts.style import Chart, Spec
from audit.report.text import wording
from audit.simulation.tabu import Search
from audit.studies.drawn import Draws
from audit.studies.page import Cell, Column, Columns, Section, Study, Table
from audit.studies.users import charts as users_chart
from audit.studies.users import claims as users_claims
from audit.studies.users import compute as users
from audit.studies.users.compute import ESTIMATES, POLICIES, TS, Compared
from audit.studies.verdicts import Holds, Verdict

SOURCE: Final = (
    "[K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling."
)

_FAR: Final = 3
"""A policy this many times above all others is left out of charts, as [K] leaves out FCFS."""

_OVER_ATTEMPTS: Final[Columns[Any]] = (
    Column("Mean wait", "wait_mean", "duration"),
    Column("Mean response", "response_mean", "duration"),
    Column("Mean bounded slowdown", "bounded_slowdown_mean", "number"),
)
_OVER_USERS: Final[Columns[Any]] = (
    Column("UWT", "uwt", "number"),
    Column("Deviation", "nuwt_deviation", "number"),
    Column("F", "nuwt_f", "number"),
    Column("Lower quartile", "nuwt_q1", "number"),
    Column("Median", "nuwt_median", "number"),
    Column("Upper quartile", "nuwt_q3", "number"),
    Column("Σ wait / Σ area", "nuwt_pooled", "number"),
)


def study(log: str, found: Sequence[Compared], how: Search, draws: Draws) -> Study:
    """The study of a log.

    Args:
        log: the cluster's name.
        found: each pool with each kind of estimates.
        how: TS's search.
        draws: how resamples were drawn.
    """
    decided = [users_claims.decide(of) for of in found]
    pools = list(dict.fromkeys(of.pool.name for of in found))
    sections = []
    for name in pools:
        own = [
            (of, claims) for of, claims in zip(found, decided, strict=True) if of.pool.name == name
        ]
        before = f"Pool {wording.name(name)}: " if len(pools) > 1 else ""
        prefix = f"{pools.index(name) + 1}-" if len(pools) > 1 else ""
        sections.append(Section(f"{before}What [K] concludes", (_VERDICTS, _verdicts(own, prefix))))
        for of, _ in own:
            sections.append(
                Section(
                    f"{before}With {ESTIMATES[of.estimates]}",
                    (
                        _text(of),
                        *_charts(of, prefix),
                        *_figures(of, prefix),
                        _SEEDS,
                        _seeds(of, prefix),
                    ),
                )
            )
    return Study(
        key="users",
        title=f"How policies treat the users of {wording.name(log)}",
        lead=_lead(found, decided),
        sections=(
            Section("The policies", (_POLICIES, _policies())),
            *sections,
            Section("How to read it", _READ),
        ),
        settings=(
            ("Log", wording.name(log)),
            ("Threshold of the bounded slowdown", f"{users.TAU_S} s"),
            (
                "Tabu search",
                f"each {how.every_s} s, {how.turns} iterations for each that waits, tabu list of "
                f"{how.tabu}, PCG64; {users.SEEDS} seeds from {how.seed} on"
                + ("" if how.bound is None else f"; each stopped after {how.bound}"),
            ),
            draws.intervals("resamples of users"),
        ),
        sources=(SOURCE,),
    )


def _lead(found: Sequence[Compared], decided: Sequence[Sequence[Verdict]]) -> str:
    verdicts = [verdict for claims in decided for verdict in claims]
    number = {holds: sum(one.holds is holds for one in verdicts) for holds in Holds}
    verb = "does" if number[Holds.no] == 1 else "do"
    of = found[0]
    waits = {name: users.mean_of(outcome.wait) for name, outcome in of.outcomes.items()}
    least = min(waits, key=lambda name: waits[name])
    said = (
        f"Of {len(verdicts)} comparisons behind the conclusions of [K], {number[Holds.yes]} come "
        f"out as there, {number[Holds.no]} {verb} not, {number[Holds.undecided]} cannot be "
        f"decided. With {ESTIMATES[of.estimates]}, attempts wait least under {least} "
        f"({wording.duration(waits[least])} on average)"
    )
    if of.users:
        uwts = {name: outcome.dispersion.uwt or 0.0 for name, outcome in of.outcomes.items()}
        fairest = min(uwts, key=lambda name: uwts[name])
        said += f"; users' mean NUWT is least under {fairest} ({wording.number(uwts[fairest])})"
    return said + "."


_POLICIES: Final = (
    "All replay the same attempts, as they arrived, in a pool that is empty at first."
)


def _policies() -> Table:
    rows: list[tuple[Cell, ...]] = []
    for name, policy in POLICIES.items():
        if policy is None:
            order, backfilling = "fcfs", "conservative, its plan optimised by a tabu search"
        else:
            order, backfilling = policy.order.value, policy.backfill.value
        rows.append((name, order, backfilling))
    return Table(
        "policies",
        "The policies of [K]",
        (
            Column("Name", "name", "text"),
            Column("Order", "order", "text"),
            Column("Backfilling", "backfilling", "text"),
        ),
        tuple(rows),
    )


_VERDICTS: Final = (
    "Each comparison is decided by the difference of two figures over the same attempts, or users, "
    "and its 95 % interval: yes where the whole interval is on the paper's side, no where none of "
    "it is, undecided in between. [K] speaks of six logs together, this table of one."
)


def _verdicts(own: Sequence[tuple[Compared, Sequence[Verdict]]], prefix: str) -> Table:
    return Table(
        f"{prefix}verdicts",
        "Does it hold on this log?",
        (
            Column("Conclusion", "claim", "text"),
            Column("Estimates", "estimates", "text"),
            Column("Holds", "holds", "text"),
            Column("Because", "because", "text"),
            Column("In", "source", "text"),
        ),
        tuple(
            (one.claim, of.estimates, one.holds.value, one.because, one.source)
            for of, claims in own
            for one in claims
        ),
    )


def _text(of: Compared) -> str:
    spread = of.outcomes[TS].dispersion
    said = (
        f"{wording.count(len(of.units))} attempts; NUWT of {wording.count(len(of.users))} users "
        f"({wording.count(spread.single_job)} with one job and {wording.count(spread.no_usage)} "
        "without usage are left out)."
    )
    if of.left_out:
        said += f" {wording.count(of.left_out)} attempts never start under some policy."
    return said


def _charts(of: Compared, prefix: str) -> list[Chart]:
    with_ = f"with {ESTIMATES[of.estimates]}"
    end = f"{prefix}{of.estimates}".replace("-", "_")
    means = {
        name: (
            users.mean_of(one.wait),
            users.mean_of(one.response),
            users.mean_of(one.slowdown),
        )
        for name, one in of.outcomes.items()
    }
    kept, note = _without_far({name: response for name, (_, response, _) in means.items()})
    bubbles: list[Spec] = []
    for name in kept:
        wait, response, slowdown = means[name]
        bubbles.append(
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
    title = f"Wait, response and bounded slowdown {with_}, as [K] fig. 1"
    made = [users_chart.bubbles(f"performance_{end}", _titled(title, note), bubbles, note)]
    curves = {
        name: list(zip(one.cdf["nuwt"].to_list(), one.cdf["share"].to_list(), strict=True))
        for name, one in of.outcomes.items()
        if one.cdf.height
    }
    if not curves:
        return made
    title = f"NUWT over users {with_}, as [K] fig. 2"
    made.append(users_chart.cumulative(f"nuwt_{end}", title, curves))
    spreads = {
        name: (one.dispersion.uwt or 0.0, one.dispersion.deviation or 0.0)
        for name, one in of.outcomes.items()
    }
    kept, note = _without_far({name: deviation for name, (_, deviation) in spreads.items()})
    bars: list[Spec] = [
        {"of": name, "what": what, "value": round(figure, 6)}
        for name in kept
        for what, figure in zip(("mean", "deviation"), spreads[name], strict=True)
    ]
    title = f"Mean and deviation of NUWT {with_}, as [K] fig. 2"
    made.append(users_chart.spread(f"spread_{end}", _titled(title, note), bars, note))
    return made


def _without_far(values: dict[str, float]) -> tuple[list[str], str]:
    """The policies that a chart has room for, and what it says of the one that it has none for."""
    far = max(values, key=lambda name: values[name])
    next_ = max(value for name, value in values.items() if name != far)
    if values[far] <= _FAR * next_:
        return list(values), ""
    return [name for name in values if name != far], f"{far} is off the scale."


def _titled(title: str, note: str) -> str:
    return f"{title} ({note.rstrip('.')})" if note else title


def _figures(of: Compared, prefix: str) -> list[Table]:
    known = {name: users.figures(of, name) for name in of.outcomes}
    made = []
    for key, caption, columns in (
        ("performance", "Means over attempts", _OVER_ATTEMPTS),
        ("nuwt", "NUWT over users", _OVER_USERS),
    ):
        rows: list[tuple[Cell, ...]] = []
        for name, figures in known.items():
            values = {one.metric: one.estimate.value for one in figures}
            rows.append((name, *(values.get(column.name) for column in columns)))
        titled = (Column("Policy", "policy", "text"), *columns)
        said = f"{caption}, with {ESTIMATES[of.estimates]}"
        made.append(Table(f"{prefix}{of.estimates}-{key}", said, titled, tuple(rows)))
    titles = {column.name: column.title for column in (*_OVER_ATTEMPTS, *_OVER_USERS)}
    made.append(
        Table(
            f"{prefix}{of.estimates}-intervals",
            f"All figures with their 95 % intervals, with {ESTIMATES[of.estimates]}",
            (
                Column("Policy", "policy", "text"),
                Column("Figure", "figure", "text"),
                Column("Value", "value", "number"),
                Column("From", "lower", "number"),
                Column("To", "upper", "number"),
                Column("Unit", "unit", "text"),
            ),
            tuple(
                (name, titles[one.metric], *one.estimate, one.unit)
                for name, figures in known.items()
                for one in figures
            ),
            shown=0,
        )
    )
    return made


_SEEDS: Final = (
    "Which attempt TS tries to move next is drawn by chance. So that no conclusion rests on one "
    "draw, it is run with several seeds: charts and tables above show the one with the median UWT, "
    "conclusions are decided with each."
)


def _seeds(of: Compared, prefix: str) -> Table:
    return Table(
        f"{prefix}{of.estimates}-seeds",
        f"{TS} with each seed, and {ESTIMATES[of.estimates]}",
        (
            Column("Seed", "seed", "text"),
            *_OVER_ATTEMPTS,
            Column("UWT", "uwt", "number"),
            Column("Deviation", "nuwt_deviation", "number"),
            Column("Median NUWT", "nuwt_median", "number"),
        ),
        tuple(
            (
                str(number),
                users.mean_of(one.wait),
                users.mean_of(one.response),
                users.mean_of(one.slowdown),
                one.dispersion.uwt,
                one.dispersion.deviation,
                one.dispersion.median,
            )
            for number, one in enumerate(of.seeds, start=1)
        ),
    )


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
