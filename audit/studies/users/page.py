"""The page of the study of how policies treat users (``studies.users.compute``)."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final

from audit.metrics.claims import ClaimHolds, ClaimVerdict, tally
from audit.metrics.draws import Draws
from audit.report import wording
from audit.report.charts import series
from audit.report.charts.marks import dots, lines, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.marks.lines import Line, Panel
from audit.report.charts.style import EARLIER, LATER, Chart
from audit.report.study import layout
from audit.report.study.charts import ends, several
from audit.report.study.page import Section, Study, by_pool, verdict_table
from audit.scenario.tabu import TabuSearch
from audit.studies.users import compute
from audit.studies.users.compute import (
    ESTIMATES,
    POLICIES,
    SEEDS,
    TAU_S,
    TS,
    PolicyComparison,
    PolicyOutcome,
    figures,
)

_FAR: Final = 3
"""Charts leave out a policy this many times above all others, as [K] leaves out FCFS."""
_STEPS: Final = 500
"""Greatest number of steps of a drawn distribution: one for each pixel."""

_OVER_ATTEMPTS: Final = (
    "Mean wait <wait_mean duration> | Mean response <response_mean duration> | "
    "Mean bounded slowdown <bounded_slowdown_mean number>"
)
_OVER_USERS: Final = (
    "UWT <number> | Deviation <nuwt_deviation number> | F <nuwt_f number> | "
    "Lower quartile <nuwt_q1 number> | Median <nuwt_median number> | "
    "Upper quartile <nuwt_q3 number> | Σ wait / Σ area <nuwt_pooled number>"
)
_TITLES: Final = {
    column.name: column.title for column in layout.columns(f"{_OVER_ATTEMPTS} | {_OVER_USERS}")
}


def study(log: str, pools: Sequence[PolicyComparison], search: TabuSearch, draws: Draws) -> Study:
    """Return the study of the cluster ``log``: each pool with each kind of estimates."""
    decided = [(compared, compute.decide(compared)) for compared in pools]
    names = dict.fromkeys(compared.pool.name for compared in pools)
    by_name = [
        (name, _sections([pair for pair in decided if pair[0].pool.name == name])) for name in names
    ]
    backfilling = "conservative, its plan optimised by a tabu search"
    policies = [
        (name, "fcfs", backfilling)
        if policy is None
        else (name, policy.order.value, policy.backfill.value)
        for name, policy in POLICIES.items()
    ]
    parts = {"policies": policies, "intervals": [draws.intervals("resamples of users")]}
    values = {
        "log": wording.name(log),
        "tau": TAU_S,
        "every": search.every_s,
        "turns": search.turns,
        "tabu": search.tabu,
        "seeds": SEEDS,
        "seed": search.seed,
        "bound": "" if search.bound is None else f"; each stopped after {search.bound}",
        **_lead(pools[0], [verdict for _, verdicts in decided for verdict in verdicts]),
    }
    first, last = (layout.section("users", key, parts, values) for key in ("policies", "read"))
    return layout.study("users", parts, values, [first, *by_pool(by_name), last])


def _lead(compared: PolicyComparison, verdicts: Sequence[ClaimVerdict]) -> dict[str, object]:
    counts = tally(verdicts)
    waits = {name: outcome.means.wait_mean for name, outcome in compared.outcomes.items()}
    uwts = {name: outcome.dispersion.uwt or 0.0 for name, outcome in compared.outcomes.items()}
    least, fairest = (min(of, key=lambda name: of[name]) for of in (waits, uwts))
    return {
        "comparisons": len(verdicts),
        "yes": counts[ClaimHolds.yes],
        "no": counts[ClaimHolds.no],
        "do": "does" if counts[ClaimHolds.no] == 1 else "do",
        "undecided": counts[ClaimHolds.undecided],
        "estimates": ESTIMATES[compared.estimates],
        "least_wait": least,
        "wait": wording.duration(waits[least]),
        "fairest": f"; users' mean NUWT is least under {fairest} ({wording.number(uwts[fairest])})"
        if compared.users
        else "",
    }


def _sections(decided: Sequence[tuple[PolicyComparison, Sequence[ClaimVerdict]]]) -> list[Section]:
    verdicts = [
        (compared.estimates, verdict) for compared, verdicts in decided for verdict in verdicts
    ]
    shown = {"verdicts": verdict_table(verdicts, ("Estimates", "estimates"))}
    first = layout.section("users", "verdicts", shown, {})
    return [first, *(_section(compared) for compared, _ in decided)]


def _section(compared: PolicyComparison) -> Section:
    key, spread = compared.estimates, compared.outcomes[TS].dispersion
    found = {name: figures(compared, name) for name in compared.outcomes}
    left_out = f" {wording.count(compared.left_out)} attempts never start under some policy."
    rows: list[Mapping[str, Any]] = [
        {"policy": name, **dict.fromkeys(_TITLES)}
        | {metric: estimate.value for metric, estimate, _ in of}
        for name, of in found.items()
    ]
    parts = {
        "charts": _charts(compared),
        f"{key}-performance": rows,
        f"{key}-nuwt": rows,
        f"{key}-intervals": [
            (name, _TITLES[metric], *estimate, unit)
            for name, of in found.items()
            for metric, estimate, unit in of
        ],
        f"{key}-seeds": [
            (
                str(number),
                *of.means,
                of.dispersion.uwt,
                of.dispersion.deviation,
                of.dispersion.median,
            )
            for number, of in enumerate(compared.seeds, start=1)
        ],
    }
    values = {
        "key": key,
        "estimates": ESTIMATES[key],
        "count": wording.count(len(compared.units)),
        "users": wording.count(len(compared.users)),
        "single": wording.count(spread.single_job),
        "unused": wording.count(spread.no_usage),
        "left_out": left_out if compared.left_out else "",
        "over_attempts": _OVER_ATTEMPTS,
        "over_users": _OVER_USERS,
    }
    return layout.section("users", "estimates", parts, values)


# --- charts --------------------------------------------------------------------------------------


def _charts(compared: PolicyComparison) -> list[Chart]:
    key, estimates = compared.estimates, ESTIMATES[compared.estimates]
    outcomes = compared.outcomes
    charts = [
        _performance(
            f"performance_{key}",
            outcomes,
            f"Wait, response and bounded slowdown with {estimates}, as [K] fig. 1",
        )
    ]
    if any(outcome.cdf.height for outcome in outcomes.values()):
        over_users = f"NUWT over users with {estimates}, as [K] fig. 2"
        spread = f"Mean and deviation of NUWT with {estimates}, as [K] fig. 2"
        charts.append(_cumulative(f"nuwt_{key}", outcomes, over_users))
        charts.append(_spread(f"spread_{key}", outcomes, spread))
    return charts


def _performance(key: str, outcomes: Mapping[str, PolicyOutcome], shows: str) -> Chart:
    means = {name: outcome.means for name, outcome in outcomes.items()}
    near, note = _without_far({name: mean.response_mean for name, mean in means.items()})
    hours = {name: [round(value / 3_600, 4) for value in means[name][:2]] for name in near}
    texts = {name: [wording.duration(value) for value in means[name][:2]] for name in near}
    slowdowns = {name: wording.number(means[name].bounded_slowdown_mean) for name in near}
    kinds = (Series("mean wait", EARLIER, "circle"), Series("mean response", LATER, "square"))
    rows = [
        DotRow(
            name,
            tuple(
                Dot(k, hours[name][k], tip=f"{name}: {kind.name} {texts[name][k]}")
                for k, kind in enumerate(kinds)
            ),
            slowdowns[name],
        )
        for name in near
    ]
    axis = scales.linear(list(chain.from_iterable(hours.values())), scales.plain, title="Hours")
    body, height = dots.drawn(rows, dots.Looks(kinds, axis, joined=True))
    waits = {name: wait for name, (wait, _) in hours.items()}
    title = f"Mean wait: {ends(waits, lambda hours: wording.rough_duration(hours * 3_600))}"
    each = (f"{name} waits {texts[name][0]}, slowdown {slowdowns[name]}" for name in near)
    alt = f"Dots. {title}. {shows}. {'; '.join(each)}. {note}".strip()
    described = f"{shows}. At the right: mean bounded slowdown. {note}".strip()
    return Chart(key, title, alt, body, height, described)


def _cumulative(key: str, outcomes: Mapping[str, PolicyOutcome], shows: str) -> Chart:
    end = float(series.NUWT_CUT)
    curves = {
        name: list(one.cdf.select("nuwt", "share").iter_rows())
        for name, one in outcomes.items()
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
    return Chart(key, title, alt, body, height, f"{shows}.")


def _thinned(points: Sequence[tuple[float, float]], end: float) -> list[tuple[float, float]]:
    """Return the points from 0 to ``end``, only the last of those within a pixel."""
    kept = {int(nuwt / end * _STEPS): (nuwt, share) for nuwt, share in points if nuwt <= end}
    steps = [(0.0, 0.0), *kept.values()]
    return [*steps, (end, steps[-1][1])]


def _spread(key: str, outcomes: Mapping[str, PolicyOutcome], shows: str) -> Chart:
    spreads = {
        name: (one.dispersion.uwt or 0.0, one.dispersion.deviation or 0.0)
        for name, one in outcomes.items()
    }
    near, note = _without_far({name: deviation for name, (_, deviation) in spreads.items()})
    kinds = ("mean", "deviation")
    figures = {name: [round(value, 6) for value in spreads[name]] for name in near}
    texts = {
        name: [f"{what} {wording.number(value)}" for what, value in zip(kinds, of, strict=True)]
        for name, of in figures.items()
    }
    rows = [
        DotRow(
            name, tuple(Dot(k, of[k], tip=f"{name}: {texts[name][k]}") for k in range(len(kinds)))
        )
        for name, of in figures.items()
    ]
    values = list(chain.from_iterable(figures.values()))
    axis = scales.linear(values, scales.plain, title="NUWT")
    body, height = dots.drawn(rows, dots.Looks(several(kinds, "dot"), axis, joined=True))
    listed = "; ".join(f"{name} {text}" for name, of in texts.items() for text in of)
    title = f"Mean NUWT: {ends({name: of[0] for name, of in figures.items()}, wording.number)}"
    alt = f"Dots. {shows}: {listed}. {note}".strip()
    return Chart(key, title, alt, body, height, f"{shows}. {note}".strip())


def _without_far(values: dict[str, float]) -> tuple[list[str], str]:
    """Return the policies that fit on a chart, and a note on the one that does not."""
    far = max(values, key=lambda name: values[name])
    near = [name for name in values if name != far]
    if values[far] <= _FAR * max(values[name] for name in near):
        return list(values), ""
    return near, f"{far} is off the scale."
