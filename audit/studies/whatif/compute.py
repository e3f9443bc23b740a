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

Fair start times are judged in each schedule by the policy that made it (SPEC §5).

Sources: SPEC §4 to §6; DESIGN, ``fairaudit whatif``.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import UsageError
from audit.metrics.attempts import performance, users
from audit.metrics.attempts.fidelity import fidelity
from audit.metrics.attempts.miss import FSTS, TOLERANCE_S, Fst, in_totals, misses
from audit.metrics.attempts.population import TAU_S, ended
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import HalfLife, Kind
from audit.metrics.uncertainty import Resamples
from audit.model import Backfill, FstStatus, Order, Policy, Pool
from audit.simulation.check import check_replay, require_sound
from audit.simulation.engine import Replay, as_schedule, replay
from audit.simulation.fair_start import fair_starts
from audit.simulation.ownership import EQUAL_SHARES, Fairshare
from audit.simulation.workload import KEYS, NEVER, Ints, Workload, workload
from audit.studies.drawn import Drawn, difference, ratio

Floats = NDArray[np.float64]

DAY_S: Final = 86_400


class Amount(NamedTuple):
    """How much there is to be: so much, or so much more."""

    amount: int
    relative: bool


class Change(NamedTuple):
    """What is changed; what is None or empty stays."""

    order: Order | None = None
    backfill: Backfill | None = None
    depth: int | None = None
    window_s: int | None = None
    targets: Mapping[str, float] = {}
    """Shares of users or accounts, in the unit of those of today; without any today, all have 1."""
    half_life_s: float | None = None
    walltimes: Fraction | None = None
    """Nobody asks for more than so many times what the attempt takes; ≥ 1."""
    capacity: Amount | None = None
    """Of the counted resource."""
    nodes: Amount | None = None
    """Everything that the pool has grows with them."""
    limits: Mapping[str, int] = {}
    """The most of the counted resource that a partition's attempts may hold at one time."""
    walltime_limits: Mapping[str, int] = {}
    """The longest that a partition's attempts may ask for, and run, s ≥ 1."""
    without: tuple[str, ...] = ()
    """Users whose attempts never come."""


class Scenario(NamedTuple):
    """What is replayed."""

    attempts: pl.DataFrame
    """Columns of ``model.DESCRIBED``, of the pool; ``penalty`` where usage is charged by one."""
    pool: Pool
    """With the policy in force."""
    fairshare: Fairshare = EQUAL_SHARES
    limits: tuple[tuple[str, int], ...] = ()


def changed(today: Scenario, change: Change) -> Scenario:
    """The scenario after a change.

    Raises:
        UsageError: it cannot be made: an unknown user, account or partition, an amount below 1, a
            setting that the policy after the change does not heed.
    """
    attempts, pool = today.attempts, today.pool
    policy = _policy(pool.policy, change)
    if (change.targets or change.half_life_s is not None) and policy.order is not Order.fairshare:
        flag = "--targets" if change.targets else "--half-life"
        raise UsageError(
            f"{flag}: only the order fairshare heeds it, and pool {pool.name!r} has "
            f"{policy.order.value}; add --order fairshare"
        )
    for name in change.without:
        if not (attempts["user"] == name).any():
            raise UsageError(f"--without-user {name}: no attempt of pool {pool.name!r} is of it")
    if change.without:
        attempts = attempts.filter(~pl.col("user").is_in(change.without).fill_null(False))
        if attempts.is_empty():
            raise UsageError("--without-user: nobody would be left")
    if change.walltimes is not None:
        attempts = asking_for(attempts, change.walltimes)
    if change.walltime_limits:
        _refuse_strange(change.walltime_limits, today, "--max-walltime")
        attempts = cut_short(attempts, change.walltime_limits)
    _refuse_strange(change.limits, today, "--limit")
    limits = {**dict(today.limits), **change.limits}
    ranked = today.fairshare
    if change.targets:
        ranked = retargeted(ranked, today.attempts, change.targets)
    if change.half_life_s is not None:
        ranked = ranked._replace(method=HalfLife(half_life_s=change.half_life_s))
    return Scenario(
        attempts,
        resized(pool._replace(policy=policy), change.capacity, change.nodes),
        ranked,
        tuple(sorted(limits.items())),
    )


def _refuse_strange(limits: Mapping[str, int], today: Scenario, flag: str) -> None:
    known = today.attempts["partition"].drop_nulls().unique().sort().to_list()
    strange = next((partition for partition in limits if partition not in known), None)
    if strange is not None:
        listed = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
        raise UsageError(
            f"{flag} {strange}: pool {today.pool.name!r} has no such partition; "
            + (f"it has {listed}" if known else "the log names none")
        )


def _policy(today: Policy, change: Change) -> Policy:
    try:
        return today.changed(
            order=change.order,
            backfill=change.backfill,
            depth=change.depth,
            window_s=change.window_s,
        )
    except ValueError as error:
        raise UsageError(f"--{error}") from error


def asking_for(attempts: pl.DataFrame, factor: Fraction) -> pl.DataFrame:
    """Attempts with better walltimes: min(walltime, factor · occupancy), rounded up, ≥ 1 s.

    A walltime that is unknown stays so, as does that of an attempt whose occupancy is.

    Args:
        attempts: columns of ``model.DESCRIBED``.
        factor: ≥ 1; 1: all ask for exactly what they take.
    """
    above, below = factor.numerator, factor.denominator
    enough = -((-pl.col("occupancy_s") * above) // below)
    better = pl.min_horizontal("walltime_s", pl.max_horizontal(enough, pl.lit(1)))
    known = pl.col("walltime_s").is_not_null() & pl.col("occupancy_s").is_not_null()
    return attempts.with_columns(walltime_s=pl.when(known).then(better).otherwise("walltime_s"))


def cut_short(attempts: pl.DataFrame, limits: Mapping[str, int]) -> pl.DataFrame:
    """Attempts under walltime limits of their partitions.

    Who asks for more, or for nothing known, asks for the limit; who runs longer ends at it, and
    what was left of it is not done. An attempt that was still running asks for no more either, and
    keeps what it has run.

    Args:
        attempts: columns of ``model.DESCRIBED``.
        limits: by partition, s ≥ 1; other partitions have none.
    """
    given = {"partition": list(limits), "_limit": list(limits.values())}
    known = pl.DataFrame(given, schema={"partition": pl.String, "_limit": pl.Int64})
    held = attempts.join(known, on="partition", how="left", maintain_order="left")
    limit = pl.col("_limit")
    cut = (pl.col("occupancy_s") > limit).fill_null(False)
    asked = pl.when(limit.is_not_null()).then(pl.min_horizontal("walltime_s", limit))
    return held.with_columns(
        walltime_s=asked.otherwise("walltime_s"),
        end_time=pl.when(cut).then(pl.col("start_time") + limit).otherwise("end_time"),
        **{
            name: pl.when(cut & (pl.col(name) > limit)).then(limit).otherwise(name)
            for name in ("occupancy_s", "suspended_s", "runtime_s")
        },
    ).select(attempts.columns)


def resized(pool: Pool, capacity: Amount | None, nodes: Amount | None) -> Pool:
    """A pool of another size, at all times.

    Args:
        pool: as it is.
        capacity: of the counted resource; the other resources stay.
        nodes: every amount grows in proportion to them, rounded down.

    Raises:
        UsageError: nothing would be left, or the number of nodes is not known.
    """
    if capacity is not None and nodes is not None:
        raise UsageError("--nodes and --capacity: give one of them")
    if capacity is not None or pool.resource == "nodes":
        wanted = capacity or nodes
        return pool if wanted is None else _resized(pool, wanted)
    if nodes is None:
        return pool
    had = dict(pool.amounts).get("nodes")
    if had is None:
        raise UsageError(
            f"--nodes: the configuration does not say how many nodes pool {pool.name!r} has "
            "(clusters.pools.capacity); give --capacity instead"
        )
    more = Fraction(had + nodes.amount if nodes.relative else nodes.amount, had)
    if more <= 0:
        raise UsageError("--nodes: at least one node must be left")

    def grown(amounts: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        return tuple((name, int(amount * more)) for name, amount in amounts)

    return _checked(
        pool._replace(
            capacity=int(pool.capacity * more),
            amounts=grown(pool.amounts),
            steps=tuple(step._replace(amounts=grown(step.amounts)) for step in pool.steps),
        ),
        "--nodes",
    )


def _resized(pool: Pool, wanted: Amount) -> Pool:
    name = pool.resource.value

    def grown(amounts: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        if wanted.relative:
            return tuple((of, had + wanted.amount * (of == name)) for of, had in amounts)
        return tuple((of, wanted.amount if of == name else had) for of, had in amounts)

    return _checked(
        pool._replace(
            capacity=pool.capacity + wanted.amount if wanted.relative else wanted.amount,
            amounts=grown(pool.amounts),
            steps=tuple(step._replace(amounts=grown(step.amounts)) for step in pool.steps),
        ),
        "--capacity",
    )


def _checked(pool: Pool, flag: str) -> Pool:
    amounts = [amount for step in pool.steps for _, amount in step.amounts]
    if pool.capacity < 1 or min(amounts, default=0) < 0:
        raise UsageError(f"{flag}: pool {pool.name!r} would be left with less than nothing")
    return pool


def retargeted(
    fairshare: Fairshare, attempts: pl.DataFrame, wanted: Mapping[str, float]
) -> Fairshare:
    """Owners ranked by other shares.

    Where there are shares today, those of the named users and accounts are replaced. Where there
    are none, all users (or all accounts, if the names are accounts) get 1, but for those named.

    Raises:
        UsageError: a name is unknown, or nobody has a share above 0.
    """
    if fairshare.tree is not None:
        known = set(fairshare.tree.names[1:])
        _refuse_unknown(wanted, known, "the configured shares")
        shares = [
            wanted.get(name, share) if place else share
            for place, (name, share) in enumerate(
                zip(fairshare.tree.names, fairshare.tree.shares.tolist(), strict=True)
            )
        ]
        return fairshare._replace(tree=fairshare.tree._replace(shares=np.array(shares, np.float64)))
    kinds: tuple[Kind, ...] = ("account", "user")
    named = {kind: attempts[kind].drop_nulls().unique().sort().to_list() for kind in kinds}
    kind = next((kind for kind in kinds if set(wanted) <= set(named[kind])), None)
    if kind is None:
        _refuse_unknown(wanted, set(named["account"]) | set(named["user"]), "the log")
        raise UsageError("--targets: name either users or accounts, not both")
    shares_of = dict.fromkeys(named[kind], 1.0) | dict(wanted)
    try:
        tree: Tree = trees.flat(named[kind], shares_of, kind=kind)
    except ValueError as error:
        raise UsageError(f"--targets: {error}") from error
    return fairshare._replace(kind=kind, tree=tree)


def _refuse_unknown(wanted: Mapping[str, float], known: set[str], where: str) -> None:
    strangers = sorted(set(wanted) - known)
    if strangers:
        raise UsageError(f"--targets: {', '.join(strangers)}: not in {where}")


# --- replaying -----------------------------------------------------------------------------------


class Played(NamedTuple):
    """What became of a scenario."""

    schedule: pl.DataFrame
    """Columns of ``model.DESCRIBED``, with those of resource equality and misses."""
    starts: pl.DataFrame
    """cluster, job_id, attempt, replayed_start_time of those that were replayed."""


def played(scenario: Scenario, now: int, tau_s: int = TAU_S) -> Played:
    """Replays a scenario, and measures what came of it.

    Args:
        scenario: what to replay.
        now: when the log was taken, epoch s.
        tau_s: of the bounded slowdown, s.

    Raises:
        SimulationError: the schedule is impossible.
    """
    pool = scenario.pool
    policy = pool.policy
    whole, keys = workload(scenario.attempts, pool, now, scenario.fairshare)
    work = limited(whole, keys, scenario)
    made = replay(work, policy)
    require_sound(check_replay(work, *made), f"schedule {policy.name!r}")
    schedule = as_schedule(scenario.attempts, pool, work, keys, made, policy.name, tau_s)
    last = schedule.select(pl.max_horizontal("end_time", "start_time").max()).item()
    measured = resource_equality(schedule, max(now, int(last or now)))
    starts = keys.with_columns(
        replayed_start_time=_instants(np.where(work.queued, made.start, NEVER))
    )
    return Played(_judged(measured, work, keys, made, pool, tau_s), starts)


def limited(work: Workload, keys: pl.DataFrame, scenario: Scenario) -> Workload:
    """The attempts, with what partitions may hold at one time as resources of their own.

    A limit is a resource of which there is as much as the limit, and of which the partition's
    attempts ask for their size. So who waits for its partition's limit keeps its place in the
    queue, and what is backfilled before it may not delay it.
    """
    for partition, most in scenario.limits:
        known = scenario.attempts.select(*KEYS, "partition")
        found = keys.join(known, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
        member = (found["partition"] == partition).fill_null(False).to_numpy()
        count = len(work.capacity)
        request = work.request.reshape(len(member), count)
        change = work.step_change.reshape(len(work.step_time), count)
        work = work._replace(
            request=np.column_stack([request, np.where(member, request[:, 0], 0)]),
            capacity=np.append(work.capacity, most),
            step_change=np.column_stack([change, np.zeros(len(change), np.int64)]),
        )
    return work


def _judged(
    schedule: pl.DataFrame, work: Workload, keys: pl.DataFrame, made: Replay, pool: Pool, tau_s: int
) -> pl.DataFrame:
    """The schedule with its misses: each attempt's fair start times within it."""
    gone = (made.start == NEVER) & ~work.open
    end = np.where(made.start == NEVER, NEVER, made.start + work.occupancy)
    own = work._replace(start=made.start, end=end, open=work.open & ~gone)
    found = fair_starts(own, pool.policy, fair_order=pool.fair_order)
    none = found.strict == NEVER
    status = np.where(none, FstStatus.EXCEEDS_CAPACITY.value, FstStatus.FINAL.value).astype(object)
    status[found.over_capacity & ~none] = FstStatus.OVER_CAPACITY.value
    status[work.blocked] = FstStatus.BLOCKED.value
    told = keys.with_columns(
        fst_strict=_instants(found.strict),
        fst_relaxed=_instants(found.relaxed),
        fst_status=pl.Series(status, dtype=pl.String),
    )
    joined = schedule.join(told, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    return misses(joined, tau_s)


def _instants(times: Ints) -> pl.Series:
    return pl.Series(times).replace(NEVER, None)


def replay_error(observed: pl.DataFrame, today: Played) -> pl.DataFrame:
    """How far the replay of today's policy is from what was observed.

    Args:
        observed: columns of ``model.DESCRIBED``, of the pool, as the log has them.
        today: its replay.

    Returns:
        Rows of ``metrics.attempts.fidelity.FIDELITY_SCHEMA`` that are about starts and waits.
    """
    nothing = [pl.lit(None, pl.Int64).alias(f"miss_{fst}_s") for fst in ("strict", "relaxed")]
    held = observed.with_columns(*nothing, fst_status=pl.lit(None, pl.String))
    found = fidelity(held, today.starts)
    return found.filter(~pl.col("metric").str.starts_with("miss_"))


# --- comparing -----------------------------------------------------------------------------------


class Outcome(StrEnum):
    """What a change does to a part."""

    gains = "gains"
    loses = "loses"
    unclear = "unclear"
    same = "same"


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
    Measure("miss_strict_mean", "strict", "judged_strict", "s"),
    Measure("miss_relaxed_mean", "relaxed", "judged_relaxed", "s"),
    Measure("missed_strict_share", "missed", "judged_strict", "1"),
    Measure("re_unfairness", "unfair", "one", "resource·s/attempt"),
)
"""Of a part with several users, ``nuwt`` is the pooled ratio Σ TUWT / Σ TUSA."""

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
    today: Played, after: Played, seed: int, tolerance_s: int = TOLERANCE_S
) -> pl.DataFrame:
    """Who wins and who loses, over the attempts that ended in both schedules.

    Args:
        today: the replay of today.
        after: that of the change.
        seed: of the resamples.
        tolerance_s: what a start may differ from its FST before it counts as missed, s.

    Returns:
        Columns of ``COMPARED``: all, then width classes from narrow to wide, then accounts by name.
    """
    both = _paired(today, after, tolerance_s)
    user = pl.col("user").rank("dense").fill_null(0).cast(pl.Int64)
    day = (pl.col("arrival_time") - pl.col("arrival_time").min()) // DAY_S
    both = both.with_columns(_user=user, _day=day)
    drawn = {
        unit: Resamples(_most(both[unit]) + 1, seed + number)
        for number, unit in enumerate(("_user", "_day"))
    }
    rows: list[tuple[object, ...]] = []
    for dimension, unit, order in (
        ("all", "_user", None),
        ("width_class", "_user", "size"),
        ("account", "_day", "account"),
    ):
        parts = (
            [((None,), both)]
            if order is None
            else both.sort(order, nulls_last=True, maintain_order=True).group_by(
                dimension, maintain_order=True
            )
        )
        for (part, *_), held in parts:
            rows += _rows(dimension, part, held, unit, drawn[unit])
    return pl.DataFrame(rows, schema=COMPARED, orient="row")


def _paired(today: Played, after: Played, tolerance_s: int) -> pl.DataFrame:
    """What the measures sum, of each attempt that ended in both schedules."""

    def terms(of: Played, suffix: str) -> pl.DataFrame:
        judged = {fst: in_totals(fst) for fst in FSTS}
        return (
            ended(of.schedule)
            .select(
                *KEYS,
                *("user", "account", "width_class", "size", "arrival_time", "runtime_s"),
                wait="wait_s",
                slowdown="bounded_slowdown",
                unfair=pl.col("re_unfairness").clip(0),
                judged_strict=judged["strict"],
                judged_relaxed=judged["relaxed"],
                strict="miss_strict_s",
                relaxed="miss_relaxed_s",
                missed=pl.col("miss_strict_s") > tolerance_s,
            )
            .rename({name: f"{name}{suffix}" for name in _TERMS})
        )

    left = terms(today, "")
    right = terms(after, "_after").select(*KEYS, *(f"{name}_after" for name in _TERMS))
    both = left.join(right, on=KEYS, how="inner", nulls_equal=True, maintain_order="left")
    known = {fst: pl.col(f"judged_{fst}") & pl.col(f"judged_{fst}_after") for fst in FSTS}
    of_fst: dict[str, Fst] = {"strict": "strict", "relaxed": "relaxed", "missed": "strict"}
    return both.with_columns(
        one=pl.lit(1.0),
        area=(pl.col("runtime_s") * pl.col("size").fill_null(0)).cast(pl.Float64),
        **{f"judged_{fst}": known[fst].cast(pl.Float64) for fst in FSTS},
        **{
            name: pl.when(known[fst]).then(pl.col(name).cast(pl.Float64)).otherwise(0.0)
            for term, fst in of_fst.items()
            for name in (term, f"{term}_after")
        },
    )


_TERMS: Final = (
    *("wait", "slowdown", "unfair", "judged_strict", "judged_relaxed"),
    *("strict", "relaxed", "missed"),
)


def _most(numbers: pl.Series) -> int:
    most = numbers.max()
    return most if isinstance(most, int) else 0


def _rows(
    dimension: str, part: object, held: pl.DataFrame, unit: str, resamples: Resamples
) -> list[tuple[object, ...]]:
    def total(name: str) -> Floats:
        values = held[name].cast(pl.Float64).to_numpy()
        return np.bincount(held[unit].to_numpy(), values, resamples.units).astype(np.float64)

    found: list[tuple[object, ...]] = []
    for measure in MEASURES:
        below = total(measure.below)
        today = ratio(resamples, total(measure.above), below)
        after = ratio(resamples, total(f"{measure.above}_after"), below)
        if below.sum() <= 0:
            continue
        found.append(
            (*(dimension, part, measure.name), *_row(today, after, measure.unit, held.height))
        )
    return found


def _row(today: Drawn, after: Drawn, unit: str, attempts: int) -> tuple[object, ...]:
    apart = difference(after, today).estimate()
    return (
        *(today.value, after.value, apart.value, apart.lower, apart.upper),
        *(unit, attempts, outcome(apart.value, apart.lower, apart.upper).value),
    )


def outcome(value: float, lower: float | None, upper: float | None) -> Outcome:
    """What a difference says where less is better."""
    if value == 0 and (lower, upper) in ((None, None), (0, 0)):
        return Outcome.same
    if lower is None or upper is None:
        return Outcome.unclear
    if upper < 0:
        return Outcome.gains
    return Outcome.loses if lower > 0 else Outcome.unclear


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
    area = pl.col("size").fill_null(0)
    of, gone, count = both.select(
        (pl.col("occupancy_s") * area).sum().alias("of"),
        (lost * area).sum().alias("gone"),
        (lost > 0).sum().alias("count"),
    ).row(0)
    return Cut(count, gone / of if of else 0.0)


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


def whole(of: Played, pool: Pool, span: tuple[int, int]) -> Whole:
    """The figures of one schedule that have no parts.

    Args:
        of: the schedule.
        pool: as it was replayed.
        span: first and last arrival, epoch s.
    """
    schedule = of.schedule
    first, last = span
    edges = sorted({first, last, *(s.since for s in pool.steps if first < s.since < last)})
    end = schedule.select(pl.max_horizontal("end_time", "start_time").max()).item()
    did = None
    if len(edges) > 1:
        had = [max(pool.capacity_at(edge), 1) for edge in edges[:-1]]
        did = performance.activity(schedule, had, edges, max(int(end or last), last))
    spread = users.dispersion(users.by_entity(schedule, "user"))
    return Whole(
        attempts=ended(schedule).height,
        never_started=of.starts["replayed_start_time"].null_count(),
        utilization=None if did is None else performance.utilization(did),
        loss_of_capacity=None if did is None else performance.loss_of_capacity(did),
        span_s=max(int(end or first) - first, 0),
        uwt=spread.uwt,
        nuwt_median=spread.median,
        nuwt_deviation=spread.deviation,
    )
