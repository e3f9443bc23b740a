"""Gains and losses of users under a change (``fairaudit whatif``; SPEC §4 to §6 and §11).

The scenarios of today and after the change are replayed with the same arrivals, walltimes and run
times, from an empty pool, and compared with each other, never with the observed log. Where the
replay of today misses the observed mean wait of a part by more than ``MISSED``, that part gets no
figure of the change.

The attempts that ended in both schedules are compared, part by part. The difference (after − today)
has a 95 % interval from a paired percentile bootstrap over users; over days of arrival for a single
user, and for an account, which may be one. Less is better in every measure here: a part *gains* if
the whole interval is below 0, *loses* if all of it is above, else it is *unclear*; without any
difference, it is the *same*. Attempts that start today and never after the change are in neither
figure, but counted; a part without others gets a row with the outcome *never_starts*.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.metrics.attempts import performance, users
from audit.metrics.attempts.fidelity import fidelity
from audit.metrics.attempts.miss import FSTS, TOLERANCE_S, Fst, in_totals, misses
from audit.metrics.attempts.population import TAU_S, ended
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.claims import PartEffect, outcome
from audit.metrics.draws import Draws, difference, ratio
from audit.metrics.uncertainty import Resamples
from audit.model import FstStatus, Pool
from audit.scenario.check import check_replay, require_sound
from audit.scenario.engine import Replay, as_schedule, replay
from audit.scenario.fair_start import fair_starts
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS, NEVER, Workload, instants

DAY_S: Final = 86_400
MISSED: Final = 0.25  # share of the observed mean wait by which the replay of today may miss it
MOST_MISSED: Final = 0.5  # share of the waiting, in classes that it misses, without any figure
ENTITIES: Final = ("account", "user")
NOT_REPRODUCED: Final = "not_reproduced"
NOT_AGREEING: Final = "not_agreeing"
NEVER_STARTS: Final = "never_starts"  # outcomes of parts without a figure of the change


class PartMeasure(NamedTuple):
    """A figure of a part: Σ of one column / Σ of another; less is better."""

    name: str
    above: str
    below: str
    unit: str


MEASURES: Final = (
    PartMeasure("wait_mean", "wait", "one", "s"),
    PartMeasure("bounded_slowdown_mean", "slowdown", "one", "1"),
    PartMeasure("nuwt", "wait", "area", "s/resource·s"),
    PartMeasure("miss_strict_mean", "strict", "judged_strict", "s"),
    PartMeasure("miss_relaxed_mean", "relaxed", "judged_relaxed", "s"),
    PartMeasure("missed_strict_share", "missed", "judged_strict", "1"),
    PartMeasure("re_unfairness", "unfair", "sized", "resource·s/attempt"),
)
"""Of a part with several users, ``nuwt`` is the pooled ratio Σ TUWT / Σ TUSA. The delay by later
arrivals is ``miss_strict_mean``: in a schedule that the policy made, nothing else delays an attempt
(under ``conservative`` also what its snapshots plan afresh)."""

COMPARED: Final = pl.Schema(
    {
        "dimension": pl.String,  # all, width_class, account, user (of wait_mean alone)
        "part": pl.String,
        "measure": pl.String,
        "observed": pl.Float64,  # of wait_mean alone
        "today": pl.Float64,
        "changed": pl.Float64,
        "difference": pl.Float64,
        "lower": pl.Float64,
        "upper": pl.Float64,
        "unit": pl.String,
        "attempts": pl.Int64,  # that ended in both schedules
        "never_start": pl.Int64,  # that ended today and never start after the change
        "outcome": pl.String,  # Outcome, NOT_REPRODUCED, NOT_AGREEING, NEVER_STARTS
    }
)
"""One row for each measure of each part."""


def compared(
    today: pl.DataFrame, after: pl.DataFrame, draws: Draws, tolerance_s: int = TOLERANCE_S
) -> pl.DataFrame:
    """Compare two replays (``played``), part by part.

    Args:
        draws: the resamples, of users, and of days for accounts and single users.
        tolerance_s: a start that is later than this counts as missed, s.

    Returns:
        Columns of ``COMPARED``: all, then width classes from narrow to wide, then accounts and
        users by name.
    """
    user = pl.col("user").rank("dense").fill_null(0).cast(pl.Int64)
    day = (pl.col("arrival_time") - pl.col("arrival_time").min()) // DAY_S
    every = _paired(today, after, tolerance_s).with_columns(_user=user, _day=day)
    largest = every.select(pl.col("_user", "_day").max().fill_null(0)).row(0)
    drawn = {
        unit: draws.of(last + 1, number)
        for number, (unit, last) in enumerate(zip(("_user", "_day"), largest, strict=True))
    }
    rows = list(_rows("all", None, every, "_user", drawn["_user"]))
    for dimension, unit, order in (
        ("width_class", "_user", "size"),
        ("account", "_day", "account"),
        ("user", "_day", "user"),
    ):
        ordered = every.sort(order, nulls_last=True, maintain_order=True)
        for (part, *_), attempts in ordered.group_by(dimension, maintain_order=True):
            rows += _rows(dimension, part, attempts, unit, drawn[unit])
    return pl.DataFrame(rows, schema=COMPARED, orient="row")


_OF_FST: Final[dict[str, Fst]] = {"strict": "strict", "relaxed": "relaxed", "missed": "strict"}
_TERMS: Final = ("wait", "slowdown", "unfair", "judged_strict", "judged_relaxed", *_OF_FST)


def _paired(today: pl.DataFrame, after: pl.DataFrame, tolerance_s: int) -> pl.DataFrame:
    """Return the terms of the measures, of each attempt that ended today and arrives after.

    ``_both``: it also ended after the change; else it never starts there.
    """
    left = _terms(today, tolerance_s)
    right = _terms(after, tolerance_s).select(*KEYS, pl.col(_TERMS).name.suffix("_after"))
    arrives = after.select(*KEYS, _starts=pl.col("start_time").is_not_null())
    pairs = left.join(arrives, on=KEYS, how="inner", nulls_equal=True, maintain_order="left")
    pairs = pairs.join(right, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    both = pl.col("wait_after").is_not_null()
    judged = {
        fst: (pl.col(f"judged_{fst}") & pl.col(f"judged_{fst}_after")).fill_null(False)
        for fst in FSTS
    }
    return pairs.filter(both | ~pl.col("_starts")).with_columns(
        _both=both,
        one=pl.lit(1.0),
        sized=pl.col("size").is_not_null().cast(pl.Float64),
        area=(pl.col("runtime_s") * pl.col("size").fill_null(0)).cast(pl.Float64),
        **{f"judged_{fst}": judged[fst].cast(pl.Float64) for fst in FSTS},
        **{
            name: pl.when(judged[fst]).then(pl.col(name).cast(pl.Float64)).otherwise(0.0)
            for term, fst in _OF_FST.items()
            for name in (term, f"{term}_after")
        },
    )


def _terms(played: pl.DataFrame, tolerance_s: int) -> pl.DataFrame:
    """Return the terms of the measures, of each attempt that ended in one schedule."""
    return ended(played).select(
        *KEYS,
        *("user", "account", "width_class", "size", "arrival_time", "runtime_s"),
        "observed_wait_s",
        wait="wait_s",
        slowdown="bounded_slowdown",
        unfair=pl.col("re_unfairness").clip(0).fill_null(0.0),
        **{f"judged_{fst}": in_totals(fst) for fst in FSTS},
        strict="miss_strict_s",
        relaxed="miss_relaxed_s",
        missed=pl.col("miss_strict_s") > tolerance_s,
    )


def _rows(
    dimension: str, part: object, attempts: pl.DataFrame, unit: str, resamples: Resamples
) -> Iterator[tuple[object, ...]]:
    """Yield rows of ``COMPARED`` of one part; ``unit`` is the column of resampled units."""
    both = attempts.filter("_both")
    if both.is_empty():
        if attempts.height:
            observed, today = attempts["observed_wait_s"].mean(), attempts["wait"].mean()
            figures = (observed, today, None, None, None, None, "s", 0)
            yield (dimension, part, "wait_mean", *figures, attempts.height, NEVER_STARTS)
        return
    counted = (both.height, attempts.height - both.height)
    known = both.drop_nulls("observed_wait_s")
    observed = known["observed_wait_s"].mean()
    believed = reproduced(observed, known["wait"].mean())
    units = both[unit].to_numpy()

    def by_unit(term: str) -> Floats:
        values = both[term].cast(pl.Float64).to_numpy()
        return np.bincount(units, values, resamples.units).astype(np.float64)

    for measure in MEASURES[:1] if dimension == "user" else MEASURES:
        below = by_unit(measure.below)
        if below.sum() <= 0:
            continue
        before = ratio(resamples, by_unit(measure.above), below)
        then = ratio(resamples, by_unit(f"{measure.above}_after"), below)
        apart = difference(then, before).estimate()
        seen = observed if measure.name == "wait_mean" else None
        change = (then.value, *apart) if believed else (None,) * 4
        verdict = outcome(*apart).value if believed else NOT_REPRODUCED
        yield (
            *(dimension, part, measure.name, seen, before.value, *change),
            *(measure.unit, *counted, verdict),
        )


def reproduced(observed: object, replayed: object) -> bool:
    """Return whether the mean wait of a replay is within ``MISSED`` of the observed one."""
    if not isinstance(observed, float) or not isinstance(replayed, float):
        return True  # no wait of the part was observed
    return abs(replayed - observed) <= MISSED * observed


def only_after(today: pl.DataFrame, after: pl.DataFrame) -> int:
    """Return the number of attempts that arrive in both and start under the change alone."""
    started = ended(after).select(KEYS)
    waits_on = today.filter(pl.col("start_time").is_null()).select(KEYS)
    return waits_on.join(started, on=KEYS, how="semi", nulls_equal=True).height


def missed_share(compared: pl.DataFrame) -> float:
    """Return the share of the observed waiting in width classes that today's replay misses, 0–1."""
    waited = pl.col("observed") * (pl.col("attempts") + pl.col("never_start"))
    missed = pl.col("outcome") == NOT_REPRODUCED
    sums = waits(compared, "width_class").select(
        missed=waited.filter(missed).sum(), every=waited.sum()
    )
    missed_s, every_s = sums.row(0)
    return missed_s / every_s if every_s else 0.0


def untested(compared: pl.DataFrame, why: str) -> pl.DataFrame:
    """Return ``compared`` without effects; ``why`` is NOT_AGREEING or NOT_REPRODUCED."""
    starts = pl.col("outcome") != NEVER_STARTS
    return compared.with_columns(
        pl.lit(None, pl.Float64).alias(one) for one in ("changed", "difference", "lower", "upper")
    ).with_columns(outcome=pl.when(starts).then(pl.lit(why)).otherwise("outcome"))


def waits(compared: pl.DataFrame, dimension: str) -> pl.DataFrame:
    """Return rows of ``compared`` on the mean wait of each part of a dimension.

    Accounts and users are sorted by the change of the sum of their waits, the greatest first.
    """
    rows = compared.filter(pl.col("dimension") == dimension, pl.col("measure") == "wait_mean")
    if dimension not in ENTITIES:
        return rows
    change = (pl.col("difference") * pl.col("attempts")).abs()
    return rows.sort(change, descending=True, nulls_last=True, maintain_order=True)


def outcomes(compared: pl.DataFrame, measure: str, dimension: str = "account") -> dict[str, int]:
    """Return the number of accounts, or users, of each outcome in a measure."""
    rows = compared.filter(pl.col("dimension") == dimension, pl.col("measure") == measure)
    every = (*(one.value for one in PartEffect), NOT_REPRODUCED, NOT_AGREEING, NEVER_STARTS)
    return {one: rows.filter(pl.col("outcome") == one).height for one in every}


class RemovedWork(NamedTuple):
    """Work that a change removes from attempts that still arrive."""

    attempts: int
    share: float  # of Σ occupancy · size of all, today


def cut(today: Scenario, after: Scenario) -> RemovedWork:
    """Return the work that walltime limits remove from attempts that would have run longer."""
    right = after.attempts.select(*KEYS, _after="occupancy_s")
    both = today.attempts.join(right, on=KEYS, how="left", nulls_equal=True)
    lost = (pl.col("occupancy_s") - pl.col("_after")).fill_null(0)
    size = pl.col("size").fill_null(0)
    area, area_lost, attempts = both.select(
        area=(pl.col("occupancy_s") * size).sum(), lost=(lost * size).sum(), n=(lost > 0).sum()
    ).row(0)
    return RemovedWork(attempts, area_lost / area if area else 0.0)


class Whole(NamedTuple):
    """Figures of a whole schedule; None where there is nothing to measure."""

    attempts: int  # that ended
    never_started: int  # that ran in the log, and the replay never started
    utilization: float | None  # between the first and the last arrival of today's replay
    loss_of_capacity: float | None  # of the same time
    span_s: int  # from the first arrival to the last end
    uwt: float | None
    nuwt_median: float | None
    nuwt_deviation: float | None


def whole(played: pl.DataFrame, pool: Pool, span: tuple[int, int], other: pl.DataFrame) -> Whole:
    """Return the figures of one whole schedule.

    Args:
        span: first and last arrival, epoch s.
        other: the schedule to compare it with; NUWT is that of attempts that ended in both.
    """
    first, last = span
    edges = sorted({first, last, *(s.since for s in pool.changes if first < s.since < last)})
    end = played.select(pl.max_horizontal("end_time", "start_time").max()).item()
    activity = None
    if len(edges) > 1:
        capacities = [max(pool.capacity_at(edge), 1) for edge in edges[:-1]]
        activity = performance.activity(played, capacities, edges, max(int(end or last), last))
    both = played.join(ended(other).select(KEYS), on=KEYS, how="semi", nulls_equal=True)
    spread = users.dispersion(users.by_entity(both, "user"))
    return Whole(
        attempts=ended(played).height,
        never_started=played.filter("replayed")["replayed_start_time"].null_count(),
        utilization=None if activity is None else performance.utilization(activity),
        loss_of_capacity=None if activity is None else performance.loss_of_capacity(activity),
        span_s=max(int(end or first) - first, 0),
        uwt=spread.uwt,
        nuwt_median=spread.median,
        nuwt_deviation=spread.deviation,
    )


# --- replays of a scenario -----------------------------------------------------------------------


def played(scenario: Scenario, tau_s: int = TAU_S) -> pl.DataFrame:
    """Replay a scenario, and measure the schedule.

    Returns:
        Columns of ``model.DESCRIBED``, of resource equality and of misses; observed_wait_s, s;
        replayed (whether the replay had it), replayed_start_time, epoch s.

    Raises:
        SimulationError: the schedule is impossible.
    """
    scenario = scenario.of_whole_jobs()
    pool, attempts, now = scenario.pool, scenario.attempts, scenario.now
    name, work = pool.policy.name, scenario.indexed.work
    keys = attempts.select(KEYS)[scenario.indexed.rows]
    made = replay(work, pool.policy)
    require_sound(check_replay(work, made.start, made.planned), f"schedule {name!r}")
    schedule = as_schedule(attempts, pool, work, keys, made, name, tau_s)
    last = schedule.select(pl.max_horizontal("end_time", "start_time").max()).item()
    measured = resource_equality(schedule, max(now, int(last or now)))
    own = _fair_times(work, keys, made, pool).with_columns(
        replayed=pl.lit(value=True),
        replayed_start_time=instants(np.where(work.queued, made.start, NEVER)),
    )
    observed = attempts.select(*KEYS, observed_wait_s="wait_s")
    both = measured.join(observed, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    both = both.join(own, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    return misses(both, tau_s).with_columns(pl.col("replayed").fill_null(value=False))


def _fair_times(work: Workload, keys: pl.DataFrame, made: Replay, pool: Pool) -> pl.DataFrame:
    """Return each attempt's fair start times within a replayed schedule."""
    start = made.start
    end = np.where(start == NEVER, NEVER, start + work.occupancy)
    as_observed = work._replace(start=start, end=end)
    fair = fair_starts(as_observed, pool.policy, fair_order=pool.fair_order)
    none = fair.strict == NEVER
    status = np.where(none, FstStatus.EXCEEDS_CAPACITY.value, FstStatus.FINAL.value).astype(object)
    status[work.exceeding] = FstStatus.EXCEEDS_LIMIT.value
    status[~work.fitting] = FstStatus.EXCEEDS_CAPACITY.value
    status[fair.over_capacity & ~none] = FstStatus.OVER_CAPACITY.value
    status[work.blocked] = FstStatus.BLOCKED.value
    return keys.with_columns(
        fst_strict=instants(fair.strict),
        fst_relaxed=instants(fair.relaxed),
        fst_status=pl.Series(status, dtype=pl.String),
    )


def replay_error(observed: pl.DataFrame, today: pl.DataFrame) -> pl.DataFrame:
    """Return the error of the replay of today: rows on starts and waits of ``FIDELITY_SCHEMA``.

    ``observed`` are the attempts of the pool in the log, ``today`` those of ``played``.
    """
    unjudged = observed.with_columns(
        *(pl.lit(None, pl.Int64).alias(f"miss_{fst}_s") for fst in FSTS),
        fst_status=pl.lit(None, pl.String),
    )
    starts = today.filter("replayed").select(*KEYS, "replayed_start_time")
    return fidelity(unjudged, starts).filter(~pl.col("metric").str.starts_with("miss_"))
