"""How six policies treat users: [K §5] on any log (SPEC §8, *[K] comparison*).

The whole log is replayed from an empty pool under

    FCFS fcfs + none · BF fcfs + no_guarantee · BF-EASY fcfs + easy · BF-CONS fcfs + conservative ·
    BF-FAIR nuwt + no_guarantee · TS, see ``scenario.tabu``

with exact estimates, as in [K §5.2], and with the log's own. Figures are the mean wait, response
and bounded slowdown (τ = 1 s) over attempts, and the mean (UWT), population deviation and F of
users' NUWT. TS is run with several seeds; its figures are those of the seed with the median UWT.

Figures cover the attempts that every policy starts and that ended in the log, or lack only a start.
Blocked and reserved attempts stay as in the log. Users with fewer than two such jobs have no NUWT,
as in [K §5.1].

[K §5.2]'s conclusions compare two policies by the difference of a figure over the same attempts, or
users, with a paired bootstrap whose unit is the user (``metrics.claims``). [K] draws on six logs
together; here one log decides each claim. A claim on TS holds, or does not, only if each seed gives
that verdict.

Source: [K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling,
§5.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Floats, Ints
from audit.errors import UsageError
from audit.metrics import claims
from audit.metrics.attempts import parts
from audit.metrics.attempts.population import ended
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.users import Dispersion, by_entity, cdf, counted, dispersion
from audit.metrics.draws import Draws
from audit.metrics.quantiles import exact_mean
from audit.metrics.uncertainty import Resamples
from audit.model import Backfill, Order, Policy, Pool, Standing
from audit.report.study.cells import StudyCell, studied
from audit.scenario import engine, tabu
from audit.scenario.tabu import TabuSearch
from audit.scenario.workload import KEYS

Estimates = Literal["exact", "own"]

TAU_S: Final = 1
"""Threshold of the bounded slowdown, s [K §2.2]."""

TS: Final = "TS"
POLICIES: Final[Mapping[str, Policy | None]] = {
    "FCFS": Policy(Order.fcfs, Backfill.none),
    "BF": Policy(Order.fcfs, Backfill.no_guarantee),
    "BF-EASY": Policy(Order.fcfs, Backfill.easy),
    "BF-CONS": Policy(Order.fcfs, Backfill.conservative),
    "BF-FAIR": Policy(Order.nuwt, Backfill.no_guarantee),
    TS: None,
}
"""By their names in [K]; TS is no order with a backfilling."""

ESTIMATES: Final[Mapping[Estimates, str]] = {
    "exact": "exact estimates",
    "own": "the log's estimates",
}
SEEDS: Final = 5
"""Number of runs of TS."""
RUNS: Final = tuple(
    (name, number) for name in POLICIES for number in range(SEEDS if name == TS else 1)
)
"""Policy and number of the seed of each schedule of a pool with one kind of estimates."""

_COLUMNS: Final = (
    *KEYS,
    *("user", "standing", "size", "arrival_time", "end_time", "wait_s", "runtime_s"),
    *("occupancy_s", "bounded_slowdown", "re_unfairness"),
)


def exact(described: pl.DataFrame) -> pl.DataFrame:
    """Return the attempts with their run times as estimates; open ones keep theirs."""
    known = pl.col("standing").is_in([Standing.ENDED.value, Standing.START_UNKNOWN.value])
    walltime = pl.when(known).then("occupancy_s").otherwise("walltime_s")
    return described.with_columns(walltime_s=walltime)


def cells(described: pl.DataFrame, pool: Pool, now: int, search: TabuSearch) -> list[StudyCell]:
    """Return the cells of one pool: ``RUNS`` with exact estimates, then with the log's own.

    ``described`` is all attempts of ``pool``, whose own policy is ignored. TS's first run has the
    seed of ``search``, and each further run the next.
    """
    attempts = {"exact": exact(described), "own": described}
    return [
        StudyCell(
            f"{pool.name}: {name}, {title}" + f", seed {number + 1}" * (number > 0),
            partial(
                _schedule,
                attempts[estimates],
                pool,
                now,
                POLICIES[name],
                search._replace(seed=search.seed + number),
            ),
        )
        for estimates, title in ESTIMATES.items()
        for name, number in RUNS
    ]


def _schedule(
    attempts: pl.DataFrame, pool: Pool, now: int, policy: Policy | None, search: TabuSearch
) -> pl.DataFrame:
    if policy is None:
        schedule = tabu.simulate(attempts, pool, now, search, TAU_S)
    else:
        schedule = engine.simulate(attempts, pool, now, policy, TAU_S)
    return ended(resource_equality(schedule, now)).select(_COLUMNS)


class Means(NamedTuple):
    """Means over the attempts of a schedule; NaN without attempts."""

    wait_mean: float  # s
    response_mean: float  # s
    bounded_slowdown_mean: float  # ≥ 1


class PolicyOutcome(NamedTuple):
    """The figures of n attempts and u users under a policy; in the same order for each policy."""

    wait: Ints  # [n], s
    response: Ints  # [n], s
    slowdown: Floats  # [n] ≥ 1, bounded by τ = 1 s
    nuwt: Floats  # [u], s per resource·s
    dispersion: Dispersion
    cdf: pl.DataFrame  # ``metrics.attempts.users.cdf``

    @property
    def means(self) -> Means:
        """Means of wait, response and slowdown."""
        return Means(mean_of(self.wait), mean_of(self.response), mean_of(self.slowdown))


class PolicyComparison(NamedTuple):
    """All policies on one pool, with one kind of estimates."""

    pool: Pool
    estimates: Estimates
    outcomes: Mapping[str, PolicyOutcome]  # by policy; TS with the seed of ``typical``
    seeds: tuple[PolicyOutcome, ...]  # TS with each of its seeds
    left_out: int  # number of attempts that some policy never starts
    units: Ints  # [n], each attempt's user
    users: tuple[str, ...]  # [u], those with at least two jobs, and usage
    user_units: Ints  # [u]
    resamples: Resamples  # of the users


def compared(
    pool: Pool, estimates: Estimates, frames: Sequence[pl.DataFrame], draws: Draws
) -> PolicyComparison:
    """Compare the schedules of all policies, the frames of the cells in the order of ``RUNS``.

    Raises UsageError if no attempt is in all of them.
    """
    common = frames[0].select(KEYS)
    for frame in frames[1:]:
        common = common.join(frame, on=KEYS, how="semi", nulls_equal=True, maintain_order="left")
    if common.is_empty():
        raise UsageError(f"pool {pool.name!r}: no attempt in these logs can be replayed")
    schedules = [
        common.join(frame, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
        for frame in frames
    ]
    numbered = parts.number_users(schedules[0])
    units = np.ascontiguousarray(numbered["unit"].to_numpy(), np.int64)
    number = dict(numbered.select("user", "unit").unique().iter_rows())
    users = tuple(counted(by_entity(numbered, "user"))["entity"].to_list())
    named = [(name, _outcome(of)) for (name, _), of in zip(RUNS, schedules, strict=True)]
    seeds = tuple(outcome for name, outcome in named if name == TS)
    return PolicyComparison(
        pool,
        estimates,
        dict(named) | {TS: typical(seeds)},
        seeds,
        max(frame.height for frame in frames) - common.height,
        units,
        users,
        np.array([number[user] for user in users], np.int64),
        draws.of(int(units.max()) + 1),
    )


def _outcome(schedule: pl.DataFrame) -> PolicyOutcome:
    entities = by_entity(schedule, "user")
    response = schedule["end_time"] - schedule["arrival_time"]
    return PolicyOutcome(
        schedule["wait_s"].to_numpy(),
        response.to_numpy(),
        schedule["bounded_slowdown"].to_numpy(),
        counted(entities)["nuwt"].to_numpy(),
        dispersion(entities),
        cdf(entities),
    )


def typical(seeds: Sequence[PolicyOutcome]) -> PolicyOutcome:
    """Return the outcome with the median UWT; among ties, with the median wait."""
    ordered = sorted(seeds, key=lambda one: (one.dispersion.uwt or 0.0, int(one.wait.sum())))
    return ordered[(len(ordered) - 1) // 2]


def mean_of(values: Ints | Floats) -> float:
    """Return the mean, independent of the order of values; NaN without values."""
    mean = exact_mean(values)
    return float("nan") if mean is None else mean


def figures(compared: PolicyComparison, policy: str) -> list[tuple[str, claims.Estimate, str]]:
    """Return metric, value and unit of each figure of a policy; of NUWT only if a user counts."""
    outcome, resamples, users = compared.outcomes[policy], compared.resamples, compared.user_units
    over_attempts = [
        (metric, claims.mean(compared.units, values, resamples), unit)
        for metric, values, unit in (
            ("wait_mean", outcome.wait, "s"),
            ("response_mean", outcome.response, "s"),
            ("bounded_slowdown_mean", outcome.slowdown, "1"),
        )
    ]
    spread, nuwt = outcome.dispersion, outcome.nuwt
    if spread.uwt is None or spread.deviation is None or spread.f is None:
        return over_attempts
    order = np.argsort(nuwt, kind="stable")
    quartiles = resamples.quantiles(users[order], nuwt[order], [250, 500, 750])
    f, deviation = resamples.spread(users, nuwt)
    over_users = (
        ("uwt", spread.uwt, resamples.ratio(users, nuwt, np.ones(len(users)))),
        ("nuwt_q1", spread.lower_quartile, quartiles[0]),
        ("nuwt_median", spread.median, quartiles[1]),
        ("nuwt_q3", spread.upper_quartile, quartiles[2]),
        ("nuwt_pooled", spread.pooled, (None, None)),
        ("nuwt_deviation", spread.deviation, deviation),
        ("nuwt_f", spread.f, f),
    )
    unit = _nuwt_unit(compared)
    return over_attempts + [
        (metric, claims.Estimate(value, *interval), f"({unit})²" if metric == "nuwt_f" else unit)
        for metric, value, interval in over_users
        if value is not None
    ]


def _nuwt_unit(compared: PolicyComparison) -> str:
    return f"s per {compared.pool.resource.value}·s"


def rows(compared: PolicyComparison) -> pl.DataFrame:
    """Return all figures, and each counted user's NUWT, with the columns of ``cells.STUDIED``.

    Figures of NUWT have the number of users as ``attempts``.
    """
    rows: list[tuple[object, ...]] = []
    for policy, outcome in compared.outcomes.items():
        key = (compared.pool.name, f"{policy}, {ESTIMATES[compared.estimates]}")
        for metric, estimate, unit in figures(compared, policy):
            number = len(compared.users if "uwt" in metric else compared.units)
            rows.append((*key, metric, "all", None, *estimate, unit, number))
        rows += [
            (*key, "nuwt", "user", user, nuwt, None, None, _nuwt_unit(compared), None)
            for user, nuwt in zip(compared.users, outcome.nuwt.tolist(), strict=True)
        ]
    return studied(rows)


SOURCE: Final = "[K §5.2]"

# --- the claims ----------------------------------------------------------------------------------


class Relation(NamedTuple):
    """A relation between a policy's figure and that of each rival."""

    sentence: str  # of policy, measure and rivals
    difference: str  # of policy and rival
    asked: claims.Asked = claims.ABOVE_0


LOWER: Final = Relation("{policy} has a lower {measure} than {rivals}", "{rival} − {policy}")
HIGHER: Final = Relation("{policy} has a higher {measure} than {rivals}", "{policy} − {rival}")
NO_HIGHER: Final = Relation(
    "{policy} is at least as fair as {rivals}: no higher {measure}",
    "{policy} − {rival}",
    claims.NOT_ABOVE_0,
)


class PolicyMeasure(NamedTuple):
    """A figure of policies; less is better."""

    title: str
    values: Callable[[PolicyOutcome], Ints | Floats]  # of each attempt, or of each user
    unit: str = ""
    of_users: bool = False
    deviation: bool = False  # of the values, instead of their mean


WAIT: Final = PolicyMeasure("wait", lambda outcome: outcome.wait, "s")
RESPONSE: Final = PolicyMeasure("response time", lambda outcome: outcome.response, "s")
SLOWDOWN: Final = PolicyMeasure("bounded slowdown", lambda outcome: outcome.slowdown)
UWT: Final = PolicyMeasure("UWT", lambda outcome: outcome.nuwt, of_users=True)
DEVIATION: Final = UWT._replace(title="deviation of NUWT", deviation=True)
MEASURES: Final = (WAIT, RESPONSE, SLOWDOWN, UWT, DEVIATION)


class PolicyConclusion(NamedTuple):
    """The claim that a policy's figure is above or below those of its rivals."""

    policy: str
    relation: Relation
    measure: PolicyMeasure
    rivals: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The claim in words."""
        rivals = (" and " if len(self.rivals) < 3 else ", ").join(self.rivals)
        return self.relation.sentence.format(
            policy=self.policy,
            measure=self.measure.title,
            rivals="all others" if len(self.rivals) == len(POLICIES) - 1 else rivals,
        )


def _others(policy: str) -> tuple[str, ...]:
    return tuple(other for other in POLICIES if other != policy)


BACKFILLING: Final = ("BF", "BF-EASY", "BF-CONS")
"""Policies that ignore users."""

CONCLUSIONS: Final = (
    *(PolicyConclusion(TS, LOWER, measure, _others(TS)) for measure in (WAIT, RESPONSE, SLOWDOWN)),
    PolicyConclusion("BF-CONS", HIGHER, WAIT, ("BF", "BF-EASY")),
    *(PolicyConclusion("BF-CONS", LOWER, SLOWDOWN, (rival,)) for rival in ("BF", "BF-EASY")),
    *(PolicyConclusion("BF-FAIR", LOWER, measure, BACKFILLING) for measure in (UWT, DEVIATION)),
    *(PolicyConclusion("FCFS", HIGHER, measure, _others("FCFS")) for measure in MEASURES),
    *(PolicyConclusion(TS, NO_HIGHER, measure, ("BF-FAIR",)) for measure in (UWT, DEVIATION)),
)


# --- how they are decided ------------------------------------------------------------------------


def decide(compared: PolicyComparison) -> list[claims.ClaimVerdict]:
    """Decide all conclusions of [K §5.2]."""
    return [
        _with_each_seed(compared, conclusion)
        if TS in (conclusion.policy, *conclusion.rivals)
        else _verdict(compared, conclusion)
        for conclusion in CONCLUSIONS
    ]


def _with_each_seed(
    compared: PolicyComparison, conclusion: PolicyConclusion
) -> claims.ClaimVerdict:
    verdict = _verdict(compared, conclusion)
    by_seed = [
        _verdict(compared._replace(outcomes={**compared.outcomes, TS: outcome}), conclusion).holds
        for outcome in compared.seeds
    ]
    if len(set(by_seed)) == 1:
        return verdict
    counts = ", ".join(
        f"{holds.value} with {by_seed.count(holds)}"
        for holds in claims.ClaimHolds
        if holds in by_seed
    )
    because = f"{verdict.because}; of {len(by_seed)} seeds {counts}"
    return verdict._replace(holds=claims.ClaimHolds.undecided, because=because)


def _verdict(compared: PolicyComparison, conclusion: PolicyConclusion) -> claims.ClaimVerdict:
    policy, relation, measure, rivals = conclusion
    comparisons = [
        claims.Comparison(
            relation.difference.format(policy=policy, rival=rival),
            difference(
                compared, *((rival, policy) if relation is LOWER else (policy, rival)), measure
            ),
            relation.asked,
        )
        for rival in rivals
    ]
    claim = claims.Claim(conclusion.sentence, SOURCE, comparisons)
    return claim.verdict(_because(value(compared, policy, measure), conclusion, comparisons))


def _because(
    figure: float, conclusion: PolicyConclusion, comparisons: Sequence[claims.Comparison]
) -> str:
    """Return the figure and its differences from the rivals'; of many, the least certain."""
    if math.isnan(figure):
        return "no user has two jobs and any usage"
    shown = f"{figure:,.0f}" if figure >= 1_000 else f"{figure:.4g}"
    has = f"{conclusion.policy} has {f'{shown} {conclusion.measure.unit}'.rstrip()}; "
    if len(comparisons) <= len(BACKFILLING):
        return has + "; ".join(f"{one.what} = {one.estimate}" for one in comparisons)
    lower = [one.estimate.lower if one.estimate else None for one in comparisons]
    nearest = min(
        zip(comparisons, lower, strict=True),
        key=lambda pair: math.inf if pair[1] is None else pair[1],
    )[0]
    return f"{has}least certain: {nearest.what} = {nearest.estimate}"


# --- figures that are compared -------------------------------------------------------------------


def value(compared: PolicyComparison, policy: str, measure: PolicyMeasure) -> float:
    """Return a policy's figure, or NaN."""
    outcome = compared.outcomes[policy]
    if not measure.of_users:
        return mean_of(measure.values(outcome))
    known = outcome.dispersion.deviation if measure.deviation else outcome.dispersion.uwt
    return float("nan") if known is None else known


def difference(
    compared: PolicyComparison, one: str, other: str, measure: PolicyMeasure
) -> claims.Estimate:
    """Return a policy's figure − another's, with its interval."""
    first, second = (measure.values(compared.outcomes[policy]) for policy in (one, other))
    if not measure.of_users:
        return claims.mean_difference(compared.units, first, second, compared.resamples)
    if len(compared.users) == 0:
        return claims.Estimate(float("nan"), None, None)
    differ = deviation_difference if measure.deviation else claims.mean_difference
    return differ(compared.user_units, first, second, compared.resamples)


def deviation_difference(
    units: Ints, one: Floats | Ints, other: Floats | Ints, resamples: Resamples
) -> claims.Estimate:
    """Return population deviation of ``one`` − that of ``other``, over u ≥ 1 distinct units."""
    apart = float(np.std(one) - np.std(other))
    if len(units) < 2:
        return claims.Estimate(apart, None, None)
    terms: list[Floats] = [np.ones(len(units))]
    for values in (one, other):
        centred = values - values.mean()  # for the precision of the sums of squares
        terms += [centred, centred**2]
    number, *sums = resamples.sums(units, *terms)
    drawn = number > 0
    deviations = [
        np.sqrt(np.maximum(squares[drawn] / number[drawn] - (first[drawn] / number[drawn]) ** 2, 0))
        for first, squares in (sums[:2], sums[2:])
    ]
    return claims.of_resamples(apart, deviations[0] - deviations[1])
