"""What-if simulation: the schedule that a policy would have made (SPEC §4)."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import SimulationError
from audit.kernels.scheduling import simulation as kernels
from audit.kernels.scheduling.simulation import (
    Jobs,
    Ledger,
    Model,
    Observed,
    Owners,
    Rules,
    Steps,
)
from audit.metrics.attempts import fidelity, population
from audit.metrics.attempts.miss import TOLERANCE_S
from audit.metrics.attempts.population import TAU_S, describe
from audit.model import ATTEMPTS, Period, Pool
from audit.policies import BY_OWNER, BY_USAGE, Backfill, Order, Policy, refused
from audit.scenario import ownership
from audit.scenario.limits import Limits
from audit.scenario.multifactor import Clock
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.workload import (
    KEYS,
    NEVER,
    Bools,
    Ints,
    Met,
    Workload,
    workload,
    workload_of_rows,
)

Scalar = TypeVar("Scalar", bound=np.generic)

_ORDERS: Final = {order: kernels.Order[order.traits.kernel] for order in Order}
_BACKFILLS: Final = {fill: kernels.Backfill[fill.traits.kernel] for fill in Backfill}
"""Their codes; one that the kernels do not know raises here."""

PLANNED = "planned_start_time"
"""Column of a simulated schedule: the start first promised to an attempt, epoch s."""


class Replay(NamedTuple):
    """Starts of a simulation, in the order of its workload."""

    start: Ints  # [n]; NEVER: it does not start, or takes no part
    planned: Ints  # [n], the start first promised; NEVER: none was


def replay(work: Workload, policy: Policy, *, from_time: int | None = None) -> Replay:
    """Simulates a pool under ``policy``.

    Args:
        work: the attempts, see ``workload``.
        from_time: begin with what ran (observed start < from_time < end) and what waited (arrival <
            from_time ≤ start) at this instant, epoch s; None: with an empty pool. Blocked attempts
            are taken from what is free while they last, and are never queued; their starts are
            the observed ones.

    Returns:
        Each attempt's start, ≥ its arrival. Who asks for more than there ever is, or than a limit
        allows, never starts.

    Source: SPEC §4.
    """
    count = len(work.arrival)
    begun = np.full(count, NEVER)
    planned = np.full(count if policy.backfill.traits.keeps_plans else 0, NEVER)
    since = from_time
    if since is None:
        since = int(work.arrival.min()) if count else 0
    # Where its start is not known, an attempt takes part if it arrives later.
    taking_part = present(work) | (work.arrival >= since)
    steps = kernel_steps(work, work.blocked)
    ranking = kernel_ranking(work, policy.order)
    jobs = kernel_jobs(work, policy, work.queued & taking_part, ranking.owner)
    if count:
        ledger = ranking.ledger(count, steps.number)
        kernels.replay(
            Model(jobs, steps, rules(policy, work), ranking.owners),
            observation(work),
            taking_part & ~work.blocked,
            contiguous(work.capacity),
            since,
            from_time is not None,
            kernel_pool(work, count, steps.number, ledger, begun, planned),
        )
    start = np.where(work.blocked, work.start, begun)
    return Replay(start, planned if len(planned) else np.full(count, NEVER))


def simulate(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    policy: Policy,
    tau_s: int = TAU_S,
    fairshare: Fairshare = EQUAL_SHARES,
) -> pl.DataFrame:
    """The schedule that ``policy`` would have made of the attempts of ``pool``.

    All attempts arrive when they did, in an empty pool. Blocked and reserved attempts, and those
    that never started, stay as they were. What the simulation assumes of open attempts is not
    shown: they have no end.

    Args:
        pool: see ``workload``; its own policy does not matter.

    Returns:
        Columns of ``model.DESCRIBED`` and ``planned_start_time`` (null unless ``conservative``).
        The schedule has the policy's name. Who never starts has a null start.

    Source: SPEC §4.
    """
    work, keys = workload(described, pool, now, fairshare)
    return as_schedule(described, pool, work, keys, replay(work, policy), policy.name, tau_s)


def as_schedule(
    described: pl.DataFrame,
    pool: Pool,
    work: Workload,
    keys: pl.DataFrame,
    starts: Replay,
    name: str,
    tau_s: int = TAU_S,
) -> pl.DataFrame:
    """What a simulation made of a workload, as a schedule called ``name``; see ``simulate``."""
    placed = keys.with_columns(
        _start=_instants(starts.start),
        _arrival=pl.Series(work.arrival),
        _occupancy=pl.Series(work.occupancy),
        _open=pl.Series(work.open),
        **{PLANNED: _instants(starts.planned)},
    )
    of_pool = described.filter(pl.col("pool") == pool.name)
    joined = of_pool.join(placed, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    taking_part = pl.col("_arrival").is_not_null()
    start = pl.when(taking_part).then("_start").otherwise("start_time")
    closed = taking_part & ~pl.col("_open").fill_null(False)
    attempts = joined.with_columns(
        start_time=start,
        eligible_time=pl.when(taking_part).then("_arrival").otherwise("eligible_time"),
        end_time=pl.when(closed)
        .then(pl.col("_start") + pl.col("_occupancy"))
        .when(~taking_part)
        .then("end_time"),
    )
    schedule = describe(attempts.select(ATTEMPTS.names()), [pool], schedule=name, tau_s=tau_s)
    plans = placed.select(*KEYS, PLANNED)
    return schedule.join(plans, on=KEYS, how="left", nulls_equal=True, maintain_order="left")


class Ranking(NamedTuple):
    """How owners are ranked, as the kernels take it."""

    owner: Ints  # [n]
    owners: Owners
    path: Ints
    siblings: Ints
    half_life: float
    clock: Clock

    def ledger(self, attempts: int, steps: int) -> Ledger:
        """Room for what so many attempts, and blocked ones behind so many steps, start and end."""
        charged = self.path.max(initial=-1) >= 0
        changes = 2 * attempts + steps if charged else 0
        books = self.clock.books()
        return Ledger(self.owners, self.path, self.siblings, changes, self.half_life, books)


def kernel_ranking(work: Workload, order: Order) -> Ranking:
    """What an order needs to know of owners."""
    counted = (work.start != NEVER) & ~(work.end == NEVER)
    owner, owners, path, siblings, clock = ownership.kernel_owners(
        order, work.owners, work.arrival, work.start, work.end, counted
    )
    decay = ownership.half_life(order, work.owners)
    return Ranking(contiguous(owner), owners, contiguous(path), contiguous(siblings), decay, clock)


def rules(policy: Policy, work: Workload, fair_order: Order = Order.fcfs) -> Rules:
    """A policy for a workload, and the order that would be fair, as the kernels take them.

    Raises:
        SimulationError: they do not go together.
    """
    if fair_order not in (Order.fcfs, *BY_OWNER):
        raise SimulationError(f"fair_order {fair_order.value}: one of fcfs, fairshare, nuwt")
    if fair_order in BY_OWNER and policy.order in BY_USAGE and fair_order is not policy.order:
        raise SimulationError(
            f"order {policy.order.value} with fair_order {fair_order.value}: either the same, or "
            "one of them by something else than owners"
        )
    for key in policy.not_taken:
        raise SimulationError(f"{policy.backfill.value}: {key}: {refused(key)}")
    return Rules(
        order=_ORDERS[policy.order],
        fair=_ORDERS[fair_order],
        latest_last=policy.order is Order.fcfs,
        backfill=_BACKFILLS[policy.backfill],
        depth=NEVER if policy.depth is None else policy.depth,
        window=NEVER if policy.window_s is None else policy.window_s,
        every=policy.interval_s or 0,
        origin=int(work.arrival.min(initial=NEVER)),
        between=policy.order is Order.multifactor and not policy.backfill.traits.keeps_plans,
        reservations=NEVER if policy.reservations is None else policy.reservations,
    )


def kernel_jobs(
    work: Workload, policy: Policy, queued: Bools, owner: Ints, *, in_all: bool = False
) -> Jobs:
    """Return the attempts as the kernels take them; those not ``queued`` have no rank.

    ``in_all``: they are charged what they use in all, as under NUWT, not per second.
    """
    count = len(work.arrival)
    in_all |= policy.order is Order.nuwt
    rank = np.arange(count)
    if (rank_by := policy.order.traits.rank_by) is not None:
        values = getattr(work, rank_by.removeprefix("-"))
        # NaN sorts last, as it should
        rank[np.argsort(-values if rank_by[0] == "-" else values, kind="stable")] = np.arange(count)
    return Jobs(
        arrival=contiguous(work.arrival),
        occupancy=contiguous(work.occupancy),
        estimate=contiguous(work.estimate),
        rank=np.where(queued, rank, -1),
        request=by_resource(work.request, len(work.capacity)),
        owner=owner,
        charge=contiguous(work.owners.used if in_all else work.owners.charge),
        limits=kernel_limits(work.limits),
    )


def kernel_limits(limits: Limits) -> kernels.Limits:
    """Limits and windows as the kernels take them."""
    return kernels.Limits(
        first=contiguous(limits.first),
        counter=contiguous(limits.counter),
        amount=contiguous(limits.amount),
        binding=contiguous(limits.binding),
        most=limits.most,
        edges=kernels.Edges(**limits.edges._asdict()),
    )


def kernel_pool(
    work: Workload,
    attempts: int,
    steps: int,
    ledger: Ledger,
    begun: Ints,
    promised: Ints,
    **bounds: int,
) -> kernels.Pool:
    """Return a pool for at most ``attempts`` of a workload at one time (``scheduling.pool``).

    ``bounds`` are its parameters for long queues: ``block_bits``, ``long_queue``, ``few_gaps``.
    """
    return kernels.Pool(
        resources=len(work.capacity),
        attempts=attempts,
        steps=steps,
        counters=len(work.limits.most),
        ledger=ledger,
        begun=begun,
        promised=promised,
        **bounds,
    )


def kernel_steps(work: Workload, taken: Bools, delay_s: int = 0) -> Steps:
    """Return steps as the kernels take them: of the capacity, and by the attempts ``taken``.

    All are ``delay_s`` later.
    """
    request = by_resource(work.request, len(work.capacity))[:, taken]
    change = by_resource(work.step_change, len(work.capacity))
    ends = work.end[taken]
    time = np.concatenate((work.step_time, work.start[taken], ends))
    change = np.concatenate((change, -request, request), axis=1)
    planned = np.concatenate((work.step_planned, np.zeros(2 * len(ends), np.bool_)))
    order = np.argsort(time, kind="stable")
    order = order[time[order] != NEVER]
    begins = np.flatnonzero(taken)
    job = np.concatenate((np.full(len(work.step_time), -1), begins, begins))
    return Steps(
        time=time[order] + delay_s,
        change=np.ascontiguousarray(change[:, order]),
        planned=planned[order],
        job=job[order],
        ends=(np.arange(len(job)) >= len(job) - len(begins))[order],
        number=len(order),
    )


def step_space(resources: int, steps: int) -> Steps:
    """Return working space for ``steps`` steps."""
    return Steps(
        time=np.zeros(steps, np.int64),
        change=np.zeros((resources, steps), np.int64),
        planned=np.zeros(steps, np.bool_),
        job=np.zeros(steps, np.int64),
        ends=np.zeros(steps, np.bool_),
        number=0,
    )


def present(work: Workload) -> Bools:
    """Return which attempts snapshots hold, [n]: those that have started or are open."""
    return work.has_started | work.open


def observation(work: Workload, *, blocked: bool = True) -> Observed:
    """Return the observed schedule as the kernels take it, with or without blocked attempts."""
    return Observed(
        start=contiguous(work.start),
        end=contiguous(work.end),
        blocked=work.blocked & blocked,
        present=present(work) if blocked else present(work) & ~work.blocked,
    )


def by_resource(amounts: Ints, count: int) -> Ints:
    """Amounts as an array of resources × attempts (or steps)."""
    return contiguous(amounts.reshape(-1, count).T)


def contiguous(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The array, or a copy of it whose elements lie one after the other, as kernels take them."""
    return np.ascontiguousarray(array)


def _instants(times: Ints) -> pl.Series:
    return pl.Series(times).replace(NEVER, None)


# --- how far a policy explains what was observed (SPEC §5, *Model fidelity*) ---------------------


def model_fidelity(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    now: int,
    policy: Policy | None = None,
    tolerance_s: int = TOLERANCE_S,
    met: Met | None = None,
) -> pl.DataFrame:
    """How well a replay of ``period`` under ``policy`` reproduces the observed starts.

    The replay begins with what ran and waited when the period began, and has the arrivals of the
    period; nobody who arrives later can be in the way of those that it is compared for. Compared
    are those that it queued, and that ended in the period.

    Args:
        described: all attempts of ``pool``, with what ``fair_start_times`` adds.
        period: the period in question; that of the whole log begins with an empty pool.
        policy: None: that of ``pool``.
        tolerance_s: who waited longer is looked at apart, s, ≥ 0.

    Returns:
        Columns of ``metrics.attempts.fidelity.FIDELITY_SCHEMA``.

    Source: SPEC §5, *Model fidelity*.
    """
    start = replayed_starts(described, pool, period, now, policy, met)
    replayed = described.with_columns(replayed_start_time=pl.Series(start).replace(NEVER, None))
    return fidelity.fidelity(population.in_period(replayed, period), tolerance_s=tolerance_s)


def replayed_starts(
    described: pl.DataFrame,
    pool: Pool,
    period: Period,
    now: int,
    policy: Policy | None = None,
    met: Met | None = None,
) -> Ints:
    """When the attempts of a period start in such a replay; arguments as ``model_fidelity``.

    Returns:
        One element per row of ``described``, epoch s; NEVER: it was not replayed, or never starts.
    """
    known, rows = met or workload_of_rows(described, pool, now)
    held = known.arrival < (NEVER if period.whole_log else period.to_time)
    work = known.first(int(held.sum()))
    since = None if period.whole_log else period.from_time
    made = replay(work, pool.policy if policy is None else policy, from_time=since)
    start = np.where(work.queued, made.start, NEVER)
    if since is not None:  # who ran already was not replayed
        start = np.where(work.start < since, NEVER, start)
    of_row = np.full(described.height, NEVER)
    of_row[rows[: len(start)]] = start
    return of_row
