"""Who would win and who would lose under a change (``fairaudit whatif``).

A *scenario* is a pool, its attempts, its policy and how owners are ranked. The scenario of today is
replayed, and so is the changed one; both begin with an empty pool and see the same arrivals. They
are compared with each other, never with the observed log: how far the replay of today is from that
is the model's fidelity, and stands beside.

Compared are the attempts that ended in both schedules, part by part. With b the figure today and c
the figure after the change, c − b is given with its 95 % interval, a paired percentile bootstrap
whose unit is the user; of an account, which may be a single user, the day of the arrival. Less is
better in every measure here: who *gains* has the whole interval below 0, who *loses* all of it
above, else it is *unclear*; where nothing differs, it is the *same*.

Sources: SPEC §4 to §6; DESIGN, ``fairaudit whatif``.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts import performance, users
from audit.metrics.attempts.fidelity import fidelity
from audit.metrics.attempts.miss import FSTS, TOLERANCE_S, Fst, in_totals, misses
from audit.metrics.attempts.population import TAU_S, ended
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.draws import Draws, difference, ratio
from audit.metrics.outcomes import Outcome, outcome
from audit.metrics.uncertainty import Resamples
from audit.model import FstStatus, Pool
from audit.scenario.check import check_replay, require_sound
from audit.scenario.engine import Replay, as_schedule, replay
from audit.scenario.fair_start import fair_starts
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS, NEVER, Ints, Workload, workload

Floats = NDArray[np.float64]

DAY_S: Final = 86_400


class Measure(NamedTuple):
    """A figure of a part: Σ of one column / Σ of another; less is better."""

    name: str
    above: str
    below: str
    unit: str


MEASURES: Final = (
    Measure("wait_mean", "wait", "one", "s"),
    Measure("bounded_slowdown_mean", "slowdown", "one", "1"),
    Measure("nuwt", "wait", "area", "s/resource·s"),
    Measure("overtaken_time_mean", "overtaken", "judged_strict", "s"),
    Measure("miss_strict_mean", "strict", "judged_strict", "s"),
    Measure("miss_relaxed_mean", "relaxed", "judged_relaxed", "s"),
    Measure("missed_strict_share", "missed", "judged_strict", "1"),
    Measure("re_unfairness", "unfair", "sized", "resource·s/attempt"),
)
"""Of a part with several users, ``nuwt`` is the pooled ratio Σ TUWT / Σ TUSA. What an attempt was
overtaken is start − strict FST: in a schedule that the policy made, nothing else comes between
(SPEC §10; under ``conservative`` what its snapshots plan afresh does)."""

COMPARED: Final = pl.Schema(
    {
        "dimension": pl.String,  # all, account, width_class
        "part": pl.String,
        "measure": pl.String,
        "today": pl.Float64,
        "changed": pl.Float64,
        "difference": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "unit": pl.String,
        "attempts": pl.Int64,
        "outcome": pl.String,
    }
)
"""One row for each measure of each part."""


def compared(
    today: Played,
    after: Played,
    draws: Draws,
    tolerance_s: int = TOLERANCE_S,
) -> pl.DataFrame:
    """Who wins and who loses, over the attempts that ended in both schedules.

    Args:
        draws: the resamples, of users, and of days for accounts.
        tolerance_s: what a start may differ from its FST before it counts as missed, s.

    Returns:
        Columns of ``COMPARED``: all, then width classes from narrow to wide, then accounts by name.
    """
    user = pl.col("user").rank("dense").fill_null(0).cast(pl.Int64)
    day = (pl.col("arrival_time") - pl.col("arrival_time").min()) // DAY_S
    both = _paired(today, after, tolerance_s).with_columns(_user=user, _day=day)
    drawn = {
        unit: draws.of(_most(both[unit]) + 1, number)
        for number, unit in enumerate(("_user", "_day"))
    }
    rows = _rows("all", None, both, "_user", drawn["_user"])
    for dimension, unit, order in (
        ("width_class", "_user", "size"),
        ("account", "_day", "account"),
    ):
        ordered = both.sort(order, nulls_last=True, maintain_order=True)
        for (part, *_), attempts in ordered.group_by(dimension, maintain_order=True):
            rows += _rows(dimension, part, attempts, unit, drawn[unit])
    return pl.DataFrame(rows, schema=COMPARED, orient="row")


def _paired(today: Played, after: Played, tolerance_s: int) -> pl.DataFrame:
    """What the measures sum, of each attempt that ended in both schedules."""
    left = _terms(today, "", tolerance_s)
    right = _terms(after, "_after", tolerance_s)
    both = left.join(
        right.select(*KEYS, *(f"{name}_after" for name in _TERMS)),
        on=KEYS,
        how="inner",
        nulls_equal=True,
        maintain_order="left",
    )
    judged = {fst: pl.col(f"judged_{fst}") & pl.col(f"judged_{fst}_after") for fst in FSTS}
    of_fst: dict[str, Fst] = {
        "overtaken": "strict",
        "strict": "strict",
        "relaxed": "relaxed",
        "missed": "strict",
    }
    return both.with_columns(
        one=pl.lit(1.0),
        sized=pl.col("size").is_not_null().cast(pl.Float64),
        area=(pl.col("runtime_s") * pl.col("size").fill_null(0)).cast(pl.Float64),
        **{f"judged_{fst}": judged[fst].cast(pl.Float64) for fst in FSTS},
        **{
            name: pl.when(judged[fst]).then(pl.col(name).cast(pl.Float64)).otherwise(0.0)
            for term, fst in of_fst.items()
            for name in (term, f"{term}_after")
        },
    )


def _terms(played: Played, suffix: str, tolerance_s: int) -> pl.DataFrame:
    """What the measures sum, of each attempt that ended in one schedule."""
    judged = {fst: in_totals(fst) for fst in FSTS}
    return (
        ended(played.schedule)
        .select(
            *KEYS,
            *("user", "account", "width_class", "size", "arrival_time", "runtime_s"),
            wait="wait_s",
            slowdown="bounded_slowdown",
            unfair=pl.col("re_unfairness").clip(0).fill_null(0.0),
            judged_strict=judged["strict"],
            judged_relaxed=judged["relaxed"],
            overtaken=pl.col("start_time") - pl.col("fst_strict"),
            strict="miss_strict_s",
            relaxed="miss_relaxed_s",
            missed=pl.col("miss_strict_s") > tolerance_s,
        )
        .rename({name: f"{name}{suffix}" for name in _TERMS})
    )


_TERMS: Final = (
    *("wait", "slowdown", "unfair", "judged_strict", "judged_relaxed"),
    *("overtaken", "strict", "relaxed", "missed"),
)


def _most(numbers: pl.Series) -> int:
    most = numbers.max()
    return most if isinstance(most, int) else 0


def _rows(
    dimension: str, part: object, attempts: pl.DataFrame, unit: str, resamples: Resamples
) -> list[tuple[object, ...]]:
    """Rows of ``COMPARED`` of one part; ``unit`` is the column of what is resampled."""

    def by_unit(term: str) -> Floats:
        values = attempts[term].cast(pl.Float64).to_numpy()
        return np.bincount(attempts[unit].to_numpy(), values, resamples.units).astype(np.float64)

    rows: list[tuple[object, ...]] = []
    for measure in MEASURES:
        below = by_unit(measure.below)
        if below.sum() <= 0:
            continue
        before = ratio(resamples, by_unit(measure.above), below)
        then = ratio(resamples, by_unit(f"{measure.above}_after"), below)
        apart = difference(then, before).estimate()
        rows.append(
            (
                *(dimension, part, measure.name, before.value, then.value, *apart),
                *(measure.unit, attempts.height, outcome(*apart).value),
            )
        )
    return rows


def waits(compared: pl.DataFrame, dimension: str) -> pl.DataFrame:
    """Rows of ``compared`` on the mean wait of each part of a dimension.

    Accounts are by how much their attempts' waits change in all, the most first.
    """
    rows = compared.filter(pl.col("dimension") == dimension, pl.col("measure") == "wait_mean")
    if dimension != "account":
        return rows
    change = (pl.col("difference") * pl.col("attempts")).abs()
    return rows.sort(change, descending=True, maintain_order=True)


def outcomes(compared: pl.DataFrame, measure: str) -> dict[Outcome, int]:
    """How many accounts each outcome befalls in a measure."""
    rows = compared.filter(pl.col("dimension") == "account", pl.col("measure") == measure)
    return {one: rows.filter(pl.col("outcome") == one.value).height for one in Outcome}


class Cut(NamedTuple):
    """What a change takes away from attempts that it leaves in."""

    attempts: int
    share: float
    """Of Σ occupancy · size of all, today."""


def cut(today: Scenario, after: Scenario) -> Cut:
    """What walltime limits take away from attempts that would have run longer."""
    right = after.attempts.select(*KEYS, _after="occupancy_s")
    both = today.attempts.join(right, on=KEYS, how="left", nulls_equal=True)
    lost = (pl.col("occupancy_s") - pl.col("_after")).fill_null(0)
    size = pl.col("size").fill_null(0)
    area, area_lost, attempts = both.select(
        (pl.col("occupancy_s") * size).sum().alias("area"),
        (lost * size).sum().alias("lost"),
        (lost > 0).sum().alias("attempts"),
    ).row(0)
    return Cut(attempts, area_lost / area if area else 0.0)


class Whole(NamedTuple):
    """What a pool did, and how its users fared; None where there is nothing to measure."""

    attempts: int
    """That ended."""
    never_started: int
    """That the log has run, and the replay never started."""
    utilization: float | None
    """Between the first and the last arrival of today's replay."""
    loss_of_capacity: float | None
    """Of the same time."""
    span_s: int
    """From the first arrival to the last end."""
    uwt: float | None
    nuwt_median: float | None
    nuwt_deviation: float | None


def whole(played: Played, pool: Pool, span: tuple[int, int]) -> Whole:
    """The figures of one schedule that have no parts.

    Args:
        span: first and last arrival, epoch s.
    """
    schedule = played.schedule
    first, last = span
    edges = sorted({first, last, *(s.since for s in pool.steps if first < s.since < last)})
    end = schedule.select(pl.max_horizontal("end_time", "start_time").max()).item()
    activity = None
    if len(edges) > 1:
        had = [max(pool.capacity_at(edge), 1) for edge in edges[:-1]]
        activity = performance.activity(schedule, had, edges, max(int(end or last), last))
    spread = users.dispersion(users.by_entity(schedule, "user"))
    return Whole(
        attempts=ended(schedule).height,
        never_started=played.starts["replayed_start_time"].null_count(),
        utilization=None if activity is None else performance.utilization(activity),
        loss_of_capacity=None if activity is None else performance.loss_of_capacity(activity),
        span_s=max(int(end or first) - first, 0),
        uwt=spread.uwt,
        nuwt_median=spread.median,
        nuwt_deviation=spread.deviation,
    )


# --- what becomes of a scenario ------------------------------------------------------------------


class Played(NamedTuple):
    """What became of a scenario."""

    schedule: pl.DataFrame
    """Columns of ``model.DESCRIBED``, with those of resource equality and misses."""
    starts: pl.DataFrame
    """cluster, job_id, attempt, replayed_start_time of those that were replayed."""


def played(scenario: Scenario, now: int, tau_s: int = TAU_S) -> Played:
    """Replays a scenario, and measures what came of it.

    Raises:
        SimulationError: the schedule is impossible.
    """
    pool = scenario.pool
    work, keys = workload(scenario.attempts, pool, now, scenario.fairshare)
    replayed = replay(work, pool.policy)
    require_sound(check_replay(work, *replayed), f"schedule {pool.policy.name!r}")
    schedule = as_schedule(scenario.attempts, pool, work, keys, replayed, pool.policy.name, tau_s)
    last = schedule.select(pl.max_horizontal("end_time", "start_time").max()).item()
    measured = resource_equality(schedule, max(now, int(last or now)))
    starts = keys.with_columns(
        replayed_start_time=_instants(np.where(work.queued, replayed.start, NEVER))
    )
    return Played(_judged(measured, work, keys, replayed, pool, tau_s), starts)


def _judged(
    schedule: pl.DataFrame,
    work: Workload,
    keys: pl.DataFrame,
    replayed: Replay,
    pool: Pool,
    tau_s: int,
) -> pl.DataFrame:
    """The schedule with its misses: each attempt's fair start times within it."""
    start = replayed.start
    end = np.where(start == NEVER, NEVER, start + work.occupancy)
    gone = (start == NEVER) & ~work.open
    as_observed = work._replace(start=start, end=end, open=work.open & ~gone)
    fair = fair_starts(as_observed, pool.policy, fair_order=pool.fair_order)
    none = fair.strict == NEVER
    status = np.where(none, FstStatus.EXCEEDS_CAPACITY.value, FstStatus.FINAL.value).astype(object)
    status[work.exceeding] = FstStatus.EXCEEDS_LIMIT.value
    status[~work.fitting] = FstStatus.EXCEEDS_CAPACITY.value
    status[fair.over_capacity & ~none] = FstStatus.OVER_CAPACITY.value
    status[work.blocked] = FstStatus.BLOCKED.value
    fair_times = keys.with_columns(
        fst_strict=_instants(fair.strict),
        fst_relaxed=_instants(fair.relaxed),
        fst_status=pl.Series(status, dtype=pl.String),
    )
    judged = schedule.join(fair_times, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    return misses(judged, tau_s)


def _instants(times: Ints) -> pl.Series:
    return pl.Series(times).replace(NEVER, None)


def replay_error(observed: pl.DataFrame, today: Played) -> pl.DataFrame:
    """How far the replay of today's policy is from what was observed.

    Args:
        observed: columns of ``model.DESCRIBED``, of the pool, as the log has them.

    Returns:
        Rows of ``metrics.attempts.fidelity.FIDELITY_SCHEMA`` that are about starts and waits.
    """
    unjudged = observed.with_columns(
        *(pl.lit(None, pl.Int64).alias(f"miss_{fst}_s") for fst in FSTS),
        fst_status=pl.lit(None, pl.String),
    )
    errors = fidelity(unjudged, today.starts)
    return errors.filter(~pl.col("metric").str.starts_with("miss_"))
