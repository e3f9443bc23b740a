"""Simulation of the schedule that a policy would have made (SPEC §4)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Floats, Ints
from audit.errors import SimulationError
from audit.kernels.scheduling import model as kernels
from audit.kernels.scheduling import simulation
from audit.kernels.scheduling.model import Jobs, Model, Observed, Rules, Steps
from audit.kernels.scheduling.owners import Ledger
from audit.kernels.scheduling.pool import Pool as SimulatedPool
from audit.metrics.attempts import fidelity, population
from audit.metrics.attempts.population import TAU_S, describe
from audit.model import ATTEMPTS, Period, Pool
from audit.policies import BY_OWNER, BY_USAGE, Backfill, Order, Policy, refused
from audit.scenario.limits import ROOM
from audit.scenario.machines import NO_NODES
from audit.scenario.ownership import EQUAL_SHARES, Fairshare, OwnerRanking, ranking
from audit.scenario.scenario import Scenario
from audit.scenario.workload import KEYS, NEVER, Preemptible, Workload, instants, workload

_ORDERS: Final = {order: kernels.Order[order.traits.kernel] for order in Order}
_BACKFILLS: Final = {fill: kernels.Backfill[fill.traits.kernel] for fill in Backfill}
"""Their codes; one that the kernels do not know raises here."""

PLANNED = "planned_start_time"
"""Column of a simulated schedule: the start first promised to an attempt, epoch s."""
FIRST_START = "first_start_time"
"""Column of a simulated schedule with preemption: when an attempt first started, epoch s."""


class Replay(NamedTuple):
    """Starts of a simulation, in the order of its workload."""

    start: Ints  # [n], of the run that is not preempted; NEVER: none, or takes no part
    planned: Ints  # [n], the start first promised; NEVER: none was
    first: Ints  # [n], of the first run; NEVER: none


def replay(work: Workload, policy: Policy, *, from_time: int | None = None) -> Replay:
    """Simulate a pool under ``policy`` (SPEC §4).

    Args:
        from_time: begin with what ran (observed start < from_time < end) and what waited (arrival <
            from_time ≤ start) at this instant, epoch s; None: with an empty pool. Blocked attempts
            take from the free amounts while they last, and are never queued; their starts are the
            observed ones.

    Returns:
        Each attempt's start, ≥ its arrival. An attempt that requests more than the largest capacity
        or than a limit allows never starts. Attempts give way to others only in a pool that is
        empty at first, and not under ``conservative``, which keeps its plans.
    """
    count = len(work.arrival)
    begun = np.full(count, NEVER)
    planned = np.full(count if policy.backfill.traits.keeps_plans else 0, NEVER)
    since = int(work.arrival.min(initial=NEVER)) if from_time is None else from_time
    # an attempt of unknown start takes part if it arrives later
    taking_part = work.present | (work.arrival >= since)
    if from_time is not None or policy.backfill.traits.keeps_plans:
        work = work._replace(preemptible=None)
    first = np.full(0 if work.preemptible is None else count, NEVER)
    queued = work.queued & taking_part
    made = setting(work, policy, queued, taken=work.blocked, preempts=True)
    if count:
        (pool,) = made.pools((count,), begun=begun, promised=planned, first_begun=first)
        simulation.replay(
            *(made.model, made.observed, taking_part & ~work.blocked, made.capacity),
            *(since, from_time is not None, pool),
        )
    start = np.where(work.blocked, work.start, begun)
    earliest = np.where(work.blocked, work.start, first) if len(first) else start
    return Replay(start, planned if len(planned) else np.full(count, NEVER), earliest)


def simulate(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    policy: Policy,
    tau_s: int = TAU_S,
    fairshare: Fairshare = EQUAL_SHARES,
) -> pl.DataFrame:
    """Return the schedule that ``policy`` would have made of the attempts of ``pool`` (SPEC §4).

    All attempts arrive when they did, in an empty pool. Blocked and reserved attempts, and those
    that never started, stay as they were. Open attempts have no end.

    Args:
        pool: see ``workload``; its own policy is ignored.

    Returns:
        Columns of ``model.DESCRIBED``, ``planned_start_time`` (null unless ``conservative``) and
        ``first_start_time``.
        The schedule has the policy's name. An attempt that never starts has a null start.
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
    """Return a simulation of a workload as a schedule called ``name``; see ``simulate``."""
    start = instants(starts.start)
    placed = keys.with_columns(
        _start=start,
        _arrival=pl.Series(work.arrival),
        _end=(start + pl.Series(work.occupancy)).set(pl.Series(work.open), None),
        **{PLANNED: instants(starts.planned), FIRST_START: instants(starts.first)},
    )
    of_pool = described.filter(pl.col("pool") == pool.name)
    joined = of_pool.join(placed, on=KEYS, how="left", nulls_equal=True, maintain_order="left")
    taking_part = pl.col("_arrival").is_not_null()
    attempts = joined.with_columns(
        pl.when(taking_part).then(made).otherwise(name).alias(name)
        for made, name in (
            ("_start", "start_time"),
            ("_arrival", "eligible_time"),
            ("_end", "end_time"),
        )
    )
    schedule = describe(attempts.select(ATTEMPTS.names()), [pool], schedule=name, tau_s=tau_s)
    plans = placed.select(*KEYS, PLANNED, FIRST_START)
    return schedule.join(plans, on=KEYS, how="left", nulls_equal=True, maintain_order="left")


# --- what the kernels take -----------------------------------------------------------------------


class SimulationSetting(NamedTuple):
    """A workload under a policy."""

    work: Workload
    jobs: Jobs
    steps: Steps
    rules: Rules
    ranking: OwnerRanking
    observed: Observed
    capacity: Ints

    @property
    def model(self) -> Model:
        """The model."""
        return Model(self.jobs, self.steps, self.rules, self.ranking.owners)

    def pools(
        self,
        sizes: Sequence[int],
        *,
        ledger: tuple[int, int] | None = None,
        begun: Ints | None = None,
        promised: Ints | None = None,
        first_begun: Ints | None = None,
    ) -> list[SimulatedPool]:
        """Return pools for ``sizes`` attempts at one time, which share a ledger and their starts.

        Args:
            ledger: the number of attempts and steps that it has space for; None: all of them.
            begun, promised, first_begun: where starts, promised and first starts are written.
        """
        count, steps = len(self.work.arrival), self.steps.number
        book = self.ranking.ledger(*(ledger or (count, steps)))
        begun = np.full(count, NEVER) if begun is None else begun
        written = [begun, *(begun[:0] if to is None else to for to in (promised, first_begun))]
        return [kernel_pool(self.work, size, steps, book, *written) for size in sizes]


def setting(
    work: Workload,
    policy: Policy,
    queued: Bools,
    *,
    taken: Bools,
    ranked_by: Order | None = None,
    fair_order: Order = Order.fcfs,
    preempts: bool = False,
) -> SimulationSetting:
    """Return a workload under a policy.

    Args:
        queued: attempts that have a rank.
        taken: attempts that take from the capacity as steps, while they last.
        ranked_by: the order that owners are ranked for; None: that of the policy.
        preempts: whether attempts give way to others.
    """
    ranked = kernel_ranking(work, policy.order if ranked_by is None else ranked_by)
    observed = Observed(
        start=np.ascontiguousarray(work.start),
        end=np.ascontiguousarray(work.end),
        blocked=np.ascontiguousarray(work.blocked),
        present=work.present,
        queues=np.ascontiguousarray(work.sized),
    )
    jobs = kernel_jobs(work, policy, queued, ranked.owner, preempts=preempts)
    steps, ruled = kernel_steps(work, taken), rules(policy, work, fair_order)
    return SimulationSetting(
        work, jobs, steps, ruled, ranked, observed, np.ascontiguousarray(work.capacity)
    )


def kernel_ranking(work: Workload, order: Order) -> OwnerRanking:
    """Return the ranking of owners under an order."""
    counted = work.has_started & (work.end != NEVER)
    return ranking(order, work.owners, work.arrival, work.start, work.end, counted)


def rules(policy: Policy, work: Workload, fair_order: Order = Order.fcfs) -> Rules:
    """Return a policy and the order that would be fair, or raise SimulationError on a conflict."""
    if fair_order not in (Order.fcfs, *BY_OWNER):
        raise SimulationError(f"fair_order {fair_order.value}: one of fcfs, fairshare, nuwt")
    if fair_order in BY_OWNER and policy.order in BY_USAGE and fair_order is not policy.order:
        raise SimulationError(
            f"order {policy.order.value} with fair_order {fair_order.value}: both must be the same "
            "order, or one of them must not depend on usage"
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
        resolution=policy.resolution_s or 1,
        pause=policy.batch_delay_s or 0,
    )


def queue_ranks(work: Workload, order: Order) -> Ints:
    """Return the place of each attempt in an order, as far as it is constant, [n]; else in time."""
    if (by := order.traits.rank_by) is None:
        return np.arange(len(work.arrival))
    values = getattr(work, by.removeprefix("-"))
    return ranks(-values if by[0] == "-" else values)


def ranks(values: Ints | Floats) -> Ints:
    """Return the place of each in ascending order, ties by index; NaN comes last."""
    places = np.empty(len(values), np.int64)
    places[np.argsort(values, kind="stable")] = np.arange(len(values))
    return places


_NONE_GIVES_WAY: Final = Preemptible(*np.zeros((3, 0), np.int64))


def kernel_jobs(
    work: Workload,
    policy: Policy,
    queued: Bools,
    owner: Ints,
    *,
    in_all: bool = False,
    preempts: bool = False,
) -> Jobs:
    """Return the attempts; those not ``queued`` have no rank.

    With ``in_all`` they are charged their whole usage, as under NUWT, not usage per second.
    """
    limits = work.limits
    in_all |= policy.order is Order.nuwt
    return Jobs(
        arrival=np.ascontiguousarray(work.arrival),
        occupancy=np.ascontiguousarray(work.occupancy),
        estimate=np.ascontiguousarray(work.estimate),
        rank=np.where(queued, queue_ranks(work, policy.order), -1),
        request=by_resource(work.request, len(work.capacity)),
        owner=owner,
        charge=np.ascontiguousarray(work.owners.used if in_all else work.owners.charge),
        limits=kernels.Limits(
            first=np.ascontiguousarray(limits.first),
            counter=np.ascontiguousarray(limits.counter),
            amount=np.ascontiguousarray(limits.amount),
            binding=np.ascontiguousarray(limits.binding),
            most=limits.most,
            late=limits.late,
            remaining=limits.remaining,
            hours_alone=bool((limits.most == ROOM).all()),
            edges=kernels.Edges(**limits.edges._asdict()),
        ),
        preemption=kernels.PreemptionBits(
            **((work.preemptible if preempts else None) or _NONE_GIVES_WAY)._asdict()
        ),
    )


def kernel_pool(
    work: Workload,
    attempts: int,
    steps: int,
    ledger: Ledger,
    begun: Ints,
    promised: Ints,
    first_begun: Ints,
    **bounds: int,
) -> SimulatedPool:
    """Return the kernels' pool for at most ``attempts`` of a workload at one time.

    ``bounds`` are its parameters for long queues: ``block_bits``, ``long_queue``, ``few_gaps``.
    """
    return SimulatedPool(
        resources=len(work.capacity),
        attempts=attempts,
        steps=steps,
        counters=len(work.limits.most),
        nodes=NO_NODES if work.machines is None else work.machines.in_kernel,
        ledger=ledger,
        begun=begun,
        promised=promised,
        first_begun=first_begun,
        **bounds,
    )


def kernel_steps(work: Workload, taken: Bools) -> Steps:
    """Return the steps of the capacity, and those by the attempts ``taken``."""
    request = by_resource(work.request, len(work.capacity))[:, taken]
    change = by_resource(work.step_change, len(work.capacity))
    time = np.concatenate((work.step_time, work.start[taken], work.end[taken]))
    change = np.concatenate((change, -request, request), axis=1)
    begins = np.flatnonzero(taken)
    planned = np.concatenate((work.step_planned, np.zeros(2 * len(begins), np.bool_)))
    order = np.argsort(time, kind="stable")
    order = order[time[order] != NEVER]
    job = np.concatenate((np.full(len(work.step_time), -1), begins, begins))
    ends = np.arange(len(job)) >= len(job) - len(begins)
    holder = job.copy()
    if (nodes := work.machines) is not None:
        holder[: len(work.step_time)] = len(nodes.parts) + nodes.change_node
        ends[: len(work.step_time)] = nodes.change < 0
    return Steps(
        time=time[order],
        change=np.ascontiguousarray(change[:, order]),
        planned=planned[order],
        job=job[order],
        holder=holder[order],
        ends=ends[order],
        number=len(order),
    )


def step_space(resources: int, steps: int) -> Steps:
    """Return working space for ``steps`` steps."""
    return Steps(
        time=np.zeros(steps, np.int64),
        change=np.zeros((resources, steps), np.int64),
        planned=np.zeros(steps, np.bool_),
        job=np.zeros(steps, np.int64),
        holder=np.zeros(steps, np.int64),
        ends=np.zeros(steps, np.bool_),
        number=0,
    )


def by_resource(amounts: Ints, count: int) -> Ints:
    """Return amounts as an array of resources × attempts (or steps)."""
    return np.ascontiguousarray(amounts.reshape(-1, count).T)


# --- model fidelity (SPEC §5) --------------------------------------------------------------------


def model_fidelity(scenario: Scenario, period: Period) -> pl.DataFrame:
    """Return how well a replay of ``period`` under the pool's policy reproduces observed starts.

    It covers the attempts that the replay queued and that ended in the period. The scenario's
    attempts have the columns of ``fair_start_times``; the result has those of
    ``fidelity.FIDELITY_SCHEMA``.
    """
    start = instants(replayed_starts(scenario, period)).alias("replayed_start_time")
    replayed = population.in_period(scenario.attempts.with_columns(start), period)
    return fidelity.fidelity(replayed)


def replayed_starts(scenario: Scenario, period: Period) -> Ints:
    """Return when the attempts of a period start in a replay, by row of the scenario, epoch s.

    The replay begins with what ran and waited when the period began (that of the whole log with an
    empty pool), and has the arrivals of the period. NEVER: not replayed, or never started. In a
    replay of the whole log, jobs that were preempted have the start of their first attempt.
    """
    replayed = scenario
    if period.whole_log and scenario.pool.preemption:
        replayed = scenario.but(attempts=scenario.attempts.with_row_index("_row")).of_whole_jobs()
    known, rows = replayed.indexed
    inside = known.arrival < (NEVER if period.whole_log else period.to_time)
    work = known.first(int(inside.sum()))
    since = None if period.whole_log else period.from_time
    made = replay(work, scenario.pool.policy, from_time=since)
    start = np.where(work.queued, made.first, NEVER)
    if since is not None:  # what ran already was not replayed
        start = np.where(work.start < since, NEVER, start)
    of_row = np.full(scenario.attempts.height, NEVER)
    rows = rows[: len(start)]
    of_row[rows if replayed is scenario else replayed.attempts["_row"].to_numpy()[rows]] = start
    return of_row
