"""What-if simulation: the schedule that a policy would have made (SPEC §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import SimulationError
from audit.metrics.attempts.population import TAU_S, describe
from audit.model import ATTEMPTS, BY_OWNER, BY_USAGE, Backfill, Order, Policy, Pool
from audit.scenario import ownership
from audit.scenario.limits import Limits
from audit.scenario.multifactor import Clock
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.workload import KEYS, NEVER, Bools, Ints, Workload, workload

if TYPE_CHECKING:
    from audit.kernels.scheduling.model import Jobs, Observed, Rules, Steps
    from audit.kernels.scheduling.model import Limits as KernelLimits
    from audit.kernels.scheduling.owners import Ledger, Owners
    from audit.kernels.scheduling.pool import Pool as KernelPool

Scalar = TypeVar("Scalar", bound=np.generic)

PLANNED = "planned_start_time"
"""Column of a simulated schedule: the start first promised to an attempt, epoch s."""

_KERNELS: Final = {
    Order.fcfs: "RANK",
    Order.sjf: "RANK",
    Order.recorded: "RANK",
    Order.lxf: "EXPANSION",
    Order.fairshare: "FAIRSHARE",
    Order.nuwt: "NUWT",
    Order.multifactor: "MULTIFACTOR",
    Backfill.none: "NONE",
    Backfill.no_guarantee: "NO_GUARANTEE",
    Backfill.easy: "EASY",
    Backfill.conservative: "CONSERVATIVE",
    Backfill.conservative_replan: "REPLAN",
}
"""The kernels' own name of each order (``model.Order``) and backfilling (``model.Backfill``)."""

if missing := [each for each in (*Order, *Backfill) if each not in _KERNELS]:
    raise LookupError(f"no kernel has {', '.join(missing)}: add it to _KERNELS")


class Replay(NamedTuple):
    """Starts of a simulation, in the order of its workload."""

    start: Ints  # [n]; NEVER: it does not start, or takes no part
    planned: Ints  # [n], the start first promised; NEVER: none was


def replay(work: Workload, policy: Policy, *, from_time: int | None = None) -> Replay:
    """Simulates a pool under ``policy``.

    Args:
        work: the attempts, see ``workload``.
        policy: how the pool decides.
        from_time: begin with what ran (observed start < from_time < end) and what waited (arrival <
            from_time ≤ start) at this instant, epoch s; None: with an empty pool. Blocked attempts
            are taken from what is free while they last, and are never queued; their starts are
            the observed ones.

    Returns:
        Each attempt's start, ≥ its arrival. Who asks for more than there ever is, or than a limit
        allows, never starts.

    Source: SPEC §4.
    """
    from audit.kernels.scheduling.model import Model
    from audit.kernels.scheduling.replay import replay as replay_kernel

    count = len(work.arrival)
    begun = np.full(count, NEVER)
    planned = np.full(count if policy.backfill is Backfill.conservative else 0, NEVER)
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
        replay_kernel(
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
        described: columns of ``model.DESCRIBED``; those of other pools are passed over.
        pool: see ``workload``; its own policy does not matter.
        now: when the log was taken, epoch s.
        policy: how the pool decides.
        tau_s: of the bounded slowdown, s.
        fairshare: how owners are ranked; see ``workload``.

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
    """What a simulation made of a workload, as a schedule called ``name``; see ``simulate``.

    Args:
        described: what the workload was made of.
        pool: its pool.
        work, keys: as ``workload`` gave them.
        starts: what the simulation came to.
        name: of the schedule.
        tau_s: of the bounded slowdown, s.
    """
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
        from audit.kernels.scheduling.owners import Ledger

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
    from audit.kernels.scheduling import model as kernels

    if fair_order not in (Order.fcfs, *BY_OWNER):
        raise SimulationError(f"fair_order {fair_order.value}: one of fcfs, fairshare, nuwt")
    if fair_order in BY_OWNER and policy.order in BY_USAGE and fair_order is not policy.order:
        raise SimulationError(
            f"order {policy.order.value} with fair_order {fair_order.value}: either the same, or "
            "one of them by something else than owners"
        )
    limited = policy.backfill in (Backfill.easy, Backfill.conservative_replan)
    if not limited and (policy.depth is not None or policy.window_s is not None):
        raise SimulationError(
            f"{policy.backfill.value}: depth and window are for easy and conservative_replan only"
        )
    if policy.reservations is not None and policy.backfill is not Backfill.conservative_replan:
        raise SimulationError(
            f"{policy.backfill.value}: reservations are for conservative_replan only"
        )
    return kernels.Rules(
        order=kernels.Order[_KERNELS[policy.order]],
        fair=kernels.Order[_KERNELS[fair_order]],
        latest_last=policy.order is Order.fcfs,
        backfill=kernels.Backfill[_KERNELS[policy.backfill]],
        depth=NEVER if policy.depth is None else policy.depth,
        window=NEVER if policy.window_s is None else policy.window_s,
        every=policy.interval_s or 0,
        origin=int(work.arrival.min(initial=NEVER)),
        between=policy.order is Order.multifactor and policy.backfill is not Backfill.conservative,
        reservations=NEVER if policy.reservations is None else policy.reservations,
    )


def kernel_jobs(
    work: Workload, policy: Policy, queued: Bools, owner: Ints, *, in_all: bool = False
) -> Jobs:
    """Return the attempts as the kernels take them; those not ``queued`` have no rank.

    ``in_all``: they are charged what they use in all, as under NUWT, not per second.
    """
    from audit.kernels.scheduling.model import Jobs

    count = len(work.arrival)
    in_all |= policy.order is Order.nuwt
    rank = np.arange(count)
    if policy.order is Order.sjf:
        rank[np.argsort(work.estimate, kind="stable")] = np.arange(count)
    elif policy.order is Order.recorded:
        # NaN sorts last, as it should
        rank[np.argsort(-work.priority, kind="stable")] = np.arange(count)
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


def kernel_limits(limits: Limits) -> KernelLimits:
    """Limits and windows as the kernels take them."""
    from audit.kernels.scheduling import model as kernels

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
) -> KernelPool:
    """Return a pool for at most ``attempts`` of a workload at one time (``scheduling.pool``).

    ``bounds`` are its parameters for long queues: ``block_bits``, ``long_queue``, ``few_gaps``.
    """
    from audit.kernels.scheduling.pool import Pool

    return Pool(
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
    from audit.kernels.scheduling.model import Steps

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
    from audit.kernels.scheduling.model import Steps

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
    from audit.kernels.scheduling.model import Observed

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
