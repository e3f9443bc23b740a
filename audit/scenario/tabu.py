"""TS: conservative backfilling with an optimised plan ([K] §4; SPEC §8).

The pool is served first come, first served under ``conservative``. At each multiple of 300 s since
the first arrival, after the passes, a tabu search looks for a better plan of the queued attempts:
it takes one out at random, moves the others up, puts it back at the earliest start that is left,
and keeps the result if SELECTBETTER prefers it. Then attempts now planned for this instant start.

SELECTBETTER prefers B to A where

    v = Σ (A_x − B_x)/A_x > 0    over x = bounded slowdown (τ = 1 s), wait, response, F

The first three are means over the queued attempts, with planned starts, and estimates for run
times; F = Σ (UWT − NUWT_o)² over all owners o seen until then, from ended, running and planned
attempts, with area estimate · size until they end. A_x = 0 contributes 0 where B_x = 0, else −1.
Each accepted plan lowers the product of the four measures, so a search does not go round in
circles; yet v from the first plan of a search to its last may be negative.

TS may delay an attempt past the start first promised.

Source: [K] D. Klusáček, H. Rudová, Performance and Fairness for Users in Parallel Job Scheduling,
§4.1 (Algorithm 1), §4.2 (Algorithm 2).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Ints
from audit.errors import SimulationError
from audit.kernels.scheduling.model import Model
from audit.kernels.scheduling.tabu import Pursuit, Workspace
from audit.metrics.attempts.population import TAU_S
from audit.model import Backfill, Order, Policy, Pool
from audit.scenario import engine
from audit.scenario.workload import NEVER, Workload, workload

POLICY: Final = Policy(Order.fcfs, Backfill.conservative)  # the policy without a search

_WORDS: Final = 1 << 16


Bound = Callable[[Ints], AbstractContextManager[Callable[[], None]]]
"""A bound on the time of one search. It takes a flag and returns a context whose value is called
when a search begins: that sets the flag to 0; the bound sets it to 1 when the time is over. The
core has no clock; ``studies.plans`` has."""


class TabuSearch(NamedTuple):
    """How a plan is optimised."""

    seed: int = 0
    """Of PCG64, ≥ 0. The job is the ⌊w · n / 2³²⌋-th of the n that are not tabu, by planned start,
    w being the upper half of the next 64 random bits."""
    every_s: int = 300
    turns: int = 2  # iterations per queued attempt
    tabu: int = 10  # length of the tabu list
    bound: Bound | None = None  # with one, the result depends on the speed of the machine


DEFAULT: Final = TabuSearch()


class Searched(NamedTuple):
    """The result of a simulation under TS."""

    start: Ints  # [n]; NEVER: it does not start
    planned: Ints  # [n], the start first promised; NEVER: none was
    searches: int
    tried: int  # plans made by moving an attempt
    taken: int  # those that were better


def replay(
    work: Workload,
    search: TabuSearch = DEFAULT,
) -> Searched:
    """Simulate a pool under TS, from the first arrival on, beginning with an empty pool.

    Args:
        work: see ``engine.replay`` for blocked attempts.

    Sums over the pool decide what fits, even if its nodes are known.

    Raises:
        SimulationError: a parameter is too small, or the pool has limits or windows.
    """
    for name, bound in {"seed": 0, "every_s": 1, "turns": 0, "tabu": 1}.items():
        if (value := getattr(search, name)) < bound:
            raise SimulationError(f"tabu search: {name} {value}: give at least {bound}")
    if work.limits.some:
        raise SimulationError("ts: a plan is not optimised where a pool has limits or windows")
    work = work._replace(machines=None)
    count = len(work.arrival)
    begun = np.where(work.blocked, work.start, NEVER)
    planned = np.full(count, NEVER)
    if count == 0:
        return Searched(begun, planned, 0, 0, 0)
    since = int(work.arrival.min())
    steps = engine.kernel_steps(work, work.blocked)
    owner = np.ascontiguousarray(work.owners.name)
    jobs = engine.kernel_jobs(work, POLICY, work.queued, owner, in_all=True)
    ranking = engine.kernel_ranking(work, Order.fcfs)
    model = Model(jobs, steps, engine.rules(POLICY, work), ranking.owners)
    ledger = ranking.ledger(count, steps.number)
    pool = engine.kernel_pool(work, count, steps.number, ledger, begun, planned, begun[:0])
    stop = np.zeros(1, np.int64)
    space = Workspace(pool, count, int(owner.max()) + 1, search.tabu, stop)
    pursuit = Pursuit(
        pool,
        model,
        space,
        capacity=np.ascontiguousarray(work.capacity),
        origin=since,
        every=search.every_s,
        turns=search.turns,
        timed=search.bound is not None,
    )
    bits = np.random.PCG64(search.seed)
    words = np.zeros(0, np.uint64)
    with search.bound(stop) if search.bound else nullcontext(lambda: None) as begin:
        while not pursuit.go_on(words):
            used, needed = space.words_used, space.words_needed
            if used + needed > len(words):
                words = np.concatenate((words[used:], bits.random_raw(max(needed, _WORDS))))
                space.begin_words()
            begin()
    return Searched(begun, planned, space.searches, space.moves, space.accepted)


def simulate(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    search: TabuSearch = DEFAULT,
    tau_s: int = TAU_S,
) -> pl.DataFrame:
    """Return the schedule that TS would have made, called ``ts``; see ``engine.simulate``.

    The column of planned starts is null: no promise is certain. ``replay`` lists the errors.
    """
    work, keys = workload(described, pool, now)
    searched = replay(work, search)
    promised = np.full(len(searched.start), NEVER)
    return engine.as_schedule(
        described,
        pool,
        work,
        keys,
        engine.Replay(searched.start, promised, searched.start),
        "ts",
        tau_s,
    )
