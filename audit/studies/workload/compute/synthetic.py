"""Logs drawn from a workload model, of any length and for a machine of any size.

Classes arrive independently, each from the residual of a gap on, so that its rate is that of the
model from the first second. Walltimes have the class's distribution and rank correlation with the
occupancies (a Gaussian copula); one below its occupancy becomes the occupancy, rounded up to a
minute. Each class has a PCG64 generator spawned from the seed, so it does not depend on the others.

The log is the schedule of ``fcfs`` with EASY backfilling in a pool of the model's capacity that is
empty at first.

Sources: SPEC §8; [B] §3.3.
"""

from typing import Final

import numpy as np
import polars as pl

from audit import __version__
from audit.array_types import Floats, Ints
from audit.errors import UsageError
from audit.formats import swf
from audit.model import ATTEMPTS, Backfill, JobState, Order, Policy
from audit.periods import zone
from audit.scenario.engine import replay
from audit.scenario.ownership import unowned
from audit.scenario.workload import NEVER, Workload
from audit.studies.workload.compute.classes import weekly_clock
from audit.studies.workload.compute.hyper_exponential import HyperExponential
from audit.studies.workload.compute.model import Class, LogModel, Shares

DRAWN: Final = pl.Schema(
    {
        "arrival_time": pl.Int64,  # epoch s
        "size": pl.Int64,
        "occupancy_s": pl.Int64,
        "walltime_s": pl.Int64,  # null: none
        "user": pl.Int64,  # rank, from 1
        "label": pl.String,
        "part": pl.String,
    }
)
"""One row per attempt, by arrival."""

_MINUTE: Final = 60
_DAY: Final = 86_400


def draw(
    model: LogModel, seed: int, days: int | None = None, intensity: float = 1.0
) -> pl.DataFrame:
    """Return a workload drawn from a model, with the columns of ``DRAWN``.

    Args:
        seed: of PCG64, ≥ 0; the same arguments give the same frame.
        days: number of days from the model's first one, ≥ 1; None: as many as the model's.
        intensity: factor of the rate of arrivals, > 0.
    """
    clock = weekly_clock(model.first_day, days or model.days, zone(model.zone))
    frames = []
    children = np.random.SeedSequence(seed).spawn(len(model.classes))
    for one, child in zip(model.classes, children, strict=True):
        rng = np.random.Generator(np.random.PCG64(child))
        readings = _arrivals(rng, one.gaps.distribution, clock.seconds(one.part), intensity)
        drawn = _ask(rng, one, len(readings), model.users)
        frames.append(
            drawn.with_columns(
                arrival_time=pl.Series(clock.instants(one.part, readings), dtype=pl.Int64),
                label=pl.lit(one.label),
                part=pl.lit(one.part),
            ).select(DRAWN.names())
        )
    return pl.concat(frames).cast(DRAWN).sort("arrival_time", maintain_order=True)


def log(
    model: LogModel,
    seed: int,
    jobs: int | None = None,
    intensity: float = 1.0,
    machine: float = 1.0,
) -> pl.DataFrame:
    """Return an accounting log drawn from a model.

    Args:
        seed: of PCG64, ≥ 0; the same arguments give the same log.
        jobs: number of jobs, ≥ 1; None: the log is as long as the model's.
        intensity: factor of the rate of arrivals, > 0.
        machine: factor of the pool's size, and of the rate of arrivals, > 0.

    Returns columns of ``model.ATTEMPTS``, all ended, by arrival. Users have their rank as name;
    with classes by group, the account is the class.

    Raises UsageError if the pool is smaller than an attempt.
    """
    size = capacity(model, machine)
    widest = max(one.sizes[-1][0] for one in model.classes)
    if widest > size:
        raise UsageError(
            f"synthetic log: {machine:g} times the machine has {size} {model.resource}, and the "
            f"model has attempts of {widest}: pass a larger --machine"
        )
    faster = intensity * machine
    drawn = draw(model, seed, None, faster) if jobs is None else first(model, seed, jobs, faster)
    return _scheduled(drawn, model, size)


def first(model: LogModel, seed: int, jobs: int, intensity: float = 1.0) -> pl.DataFrame:
    """Return the first ``jobs`` ≥ 1 of an endless workload; otherwise as ``draw``."""
    whole = model.clock()
    lasted = float(whole.edges[-1] - whole.edges[0]) / _DAY
    days = int(jobs * lasted / (model.attempts * intensity) * 1.02) + 8
    while (drawn := draw(model, seed, days, intensity)).height < jobs:
        days = days * 5 // 4 + 7
    return drawn.head(jobs)


def capacity(model: LogModel, machine: float = 1.0) -> int:
    """Return the capacity of a pool ``machine`` times as large, rounded down; ≥ 1."""
    return max(1, int(model.capacity * machine))


def to_swf(log: pl.DataFrame, model: LogModel, seed: int, machine: float = 1.0) -> bytes:
    """Return a synthetic log, made by ``log`` with these arguments, as SWF."""
    origin = log["submit_time"].min()
    frame, comments = swf.numbered(log)
    notes = [*comments, "Note: users are ranks by number of jobs"]
    entries = {
        "Version": "2.2",
        "Computer": f"synthetic: like {model.cluster}",
        "Conversion": f"none: drawn from a workload model (classes by {model.by}, seed {seed}) by "
        f"fairaudit {__version__}, scheduled by fcfs with EASY backfilling",
        "MaxJobs": str(log.height),
        "MaxRecords": str(log.height),
        "Preemption": "No",
        "UnixStartTime": str(origin or 0),
        "TimeZoneString": model.zone,
        "MaxProcs": str(capacity(model, machine)),
    }
    return swf.write(frame, entries, notes)


def to_sacct(log: pl.DataFrame) -> bytes:
    """Return a synthetic log, made by ``log``, as `sacct -P` prints it; times in epoch seconds."""
    walltime = pl.col("walltime_s")
    days = pl.when(walltime >= _DAY).then(pl.format("{}-", walltime // _DAY)).otherwise(pl.lit(""))
    clock = pl.from_epoch(walltime % _DAY).dt.strftime("%H:%M:%S")
    amounts = {"cpu": "cpus", "gres/gpu": "gpus", "node": "nodes"}
    tres = pl.concat_str(
        *(pl.format("{}={}", pl.lit(name), column) for name, column in amounts.items()),
        separator=",",
        ignore_nulls=True,
    )
    text = log.select(
        JobID="job_id",
        Cluster="cluster",
        User=pl.format("user{}", "user"),
        Account="account",
        Partition=pl.lit("all"),
        State="state",
        Submit="submit_time",
        Eligible="eligible_time",
        Start="start_time",
        End="end_time",
        ElapsedRaw="occupancy_s",
        Timelimit=pl.coalesce(pl.concat_str(days, clock), pl.lit("UNLIMITED")),
        ReqTRES=tres,
        AllocTRES=tres,
    )
    return text.write_csv(separator="|", quote_style="never").encode()


def _arrivals(
    rng: np.random.Generator, gaps: HyperExponential, lasted: int, intensity: float
) -> Floats:
    """Return the clock readings of arrivals, s, ascending, in [0, ``lasted``)."""
    faster = gaps._replace(short_s=gaps.short_s / intensity, long_s=gaps.long_s / intensity)
    parts = [faster.residual().draw(rng, 1)]
    reached = float(parts[0][0])
    while reached < lasted:
        many = int((lasted - reached) / faster.mean_s) + 16
        part = reached + np.cumsum(faster.draw(rng, many))
        parts.append(part)
        reached = float(part[-1])
    readings = np.concatenate(parts)
    return readings[readings < lasted]


def _ask(rng: np.random.Generator, attempt_class: Class, count: int, users: int) -> pl.DataFrame:
    lasts = attempt_class.occupancies.distribution.draw(rng, count)
    occupancy = np.floor(lasts + 0.5).astype(np.int64)
    size = _pick(attempt_class.sizes, rng.random(count))
    user = _pick(attempt_class.users, rng.random(count))
    everybody = np.arange(1, users + 1)
    others = np.setdiff1d(everybody, [rank for rank, _ in attempt_class.users])
    if len(others) == 0:
        others = everybody
    user = np.where(user > 0, user, others[rng.integers(0, len(others), count)])
    asks = rng.random(count) < attempt_class.with_walltime
    walltime = _walltimes(rng, attempt_class, occupancy)
    return pl.DataFrame(
        {"size": size, "occupancy_s": occupancy, "walltime_s": walltime, "user": user}
    ).with_columns(walltime_s=pl.when(pl.Series(asks, dtype=pl.Boolean)).then("walltime_s"))


def _pick(table: Shares, chance: Floats) -> Ints:
    """Return the value of the table at each chance in [0, 1)."""
    values = np.array([value for value, _ in table], np.int64)
    upper = np.cumsum([share for _, share in table])
    place = np.searchsorted(upper, chance * upper[-1], side="right")
    picked: Ints = values[np.minimum(place, len(values) - 1)]
    return picked


def _walltimes(rng: np.random.Generator, attempt_class: Class, occupancy: Ints) -> Ints:
    """Return walltimes not below the occupancies, with the class's correlation."""
    count = len(occupancy)
    needed = np.maximum(-(-occupancy // _MINUTE), 1) * _MINUTE
    if not attempt_class.walltimes:
        return needed
    by_occupancy = np.sort(rng.standard_normal(count))[_places(occupancy.astype(np.float64))]
    # Pearson's correlation of a bivariate normal distribution of that rank correlation
    pearson = 2 * np.sin(np.pi / 6 * attempt_class.foresight)
    correlated = pearson * by_occupancy + np.sqrt(1 - pearson**2) * rng.standard_normal(count)
    walltime = _pick(attempt_class.walltimes, (_places(correlated) + 0.5) / max(count, 1))
    asked: Ints = np.where(walltime >= occupancy, walltime, needed)
    return asked


def _places(values: Floats) -> Ints:
    places = np.empty(len(values), np.int64)
    places[np.argsort(values, kind="stable")] = np.arange(len(values))
    return places


def _scheduled(drawn: pl.DataFrame, model: LogModel, pool: int) -> pl.DataFrame:
    start = starts(drawn, pool)
    empty = pl.DataFrame(schema=ATTEMPTS).clear(drawn.height)
    number = pl.int_range(1, pl.len() + 1)
    columns = drawn.select(
        cluster=pl.lit(model.cluster),
        job_id=number.cast(pl.String),
        job_number=number,
        attempt=pl.lit(1, pl.Int64),
        user=pl.col("user").cast(pl.String),
        account=pl.col("label") if model.by == "group" else pl.lit(None, pl.String),
        state=pl.lit(str(JobState.COMPLETED)),
        submit_time="arrival_time",
        eligible_time="arrival_time",
        start_time=pl.Series(start),
        end_time=pl.Series(start) + pl.col("occupancy_s"),
        occupancy_s="occupancy_s",
        walltime_s="walltime_s",
        **{model.resource: pl.col("size")},
    )
    return empty.with_columns(columns.get_columns()).cast(ATTEMPTS)


def starts(attempts: pl.DataFrame, capacity: int) -> Ints:
    """Return the starts by ``easy``; attempts without a walltime request their occupancy."""
    arrival, size, occupancy = (
        attempts[name].to_numpy() for name in ("arrival_time", "size", "occupancy_s")
    )
    walltime = attempts["walltime_s"].fill_null(attempts["occupancy_s"]).to_numpy()
    return easy(arrival, size, occupancy, walltime, capacity)


def easy(arrival: Ints, size: Ints, occupancy: Ints, walltime: Ints, capacity: int) -> Ints:
    """Return starts in an empty pool, first come first served with EASY backfilling (SPEC §4).

    Arrivals are epoch seconds, ascending; simultaneous ones are served in this order. Sizes are in
    [0, ``capacity``]; occupancies are actual seconds ≥ 0, walltimes those requested.
    """
    count, none = len(arrival), np.zeros(0, np.int64)
    unknown, no = np.full(count, NEVER), np.zeros(count, np.bool_)
    work = Workload(
        arrival=arrival,
        start=unknown,
        end=unknown,
        occupancy=occupancy,
        estimate=np.maximum(np.maximum(walltime, occupancy), 1),
        request=size,
        priority=np.full(count, np.nan),
        blocked=no,
        open=no,
        assumed=no,
        preempted=no,
        sized=~no,
        capacity=np.array([capacity]),
        step_time=none,
        step_change=none,
        step_planned=none.astype(np.bool_),
        owners=unowned(count),
    )
    return replay(work, Policy(Order.fcfs, Backfill.easy)).start
