"""Slurm's own order: by hand, against the slow twin, and what a priority is made of."""

from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import SimulationError
from audit.kernels.scheduling import multifactor as kernels
from audit.metrics.fairshare.trees import TreeNode
from audit.metrics.slurm.multifactor import Scale
from audit.metrics.slurm.shares import tree_of
from audit.metrics.slurm.usage import SlurmUsage
from audit.model import Backfill, Order, Policy
from audit.scenario.engine import replay
from audit.scenario.fair_start import fair_starts
from audit.scenario.multifactor import Multifactor, kernel_slurm, priorities
from audit.scenario.workload import NEVER
from tests.examples import examples
from tests.naive import simulation as slow
from tests.naive import slurm as naive
from tests.naive.multifactor import Slurm
from tests.naive.simulation import Job, Log, Ranking
from tests.strategies import EPOCH, arrays, logs, policies, rule, slurms

NONE = Policy(Order.multifactor, Backfill.none)
PAIR = {"ann": ("", 1), "bob": ("", 1)}
PLAIN = Slurm(PAIR, age=0.0, fairshare=0.0)


def job(owner: str, arrival: int, occupancy: int = 10, **more: Any) -> Job:
    at = EPOCH + arrival
    return Job(at, occupancy, max(occupancy, 1), (1,), at, at + occupancy, owner=owner)._replace(
        **more
    )


def served(slurm: Slurm, *jobs: Job, policy: Policy = NONE, capacity: int = 1) -> list[int]:
    """When each starts, in s since the epoch of tests."""
    start = replay(arrays(Log(jobs, (capacity,)), Ranking(slurm=slurm)), policy).start
    return [int(instant) - EPOCH for instant in start]


def test_who_used_less_comes_first_from_the_next_tick_on() -> None:
    jobs = (job("ann", 0), job("ann", 1), job("bob", 2))
    often = Slurm(PAIR, period=10, age=0.0)
    # Ends in the second of a tick are booked before it: at 10 Ann has used something, Bob nothing.
    assert served(often, *jobs) == [0, 20, 10]
    # Ticks at 0 and 60: at 10 Ann's usage is not booked yet, and she came first.
    assert served(often._replace(period=60), *jobs) == [0, 10, 20]
    # A tick at 5, which books what runs: so does fairshare without an end.
    assert served(often._replace(period=60, phase=EPOCH + 5), *jobs) == [0, 20, 10]


def test_age_counts_up_to_its_bound() -> None:
    jobs = (job("ann", 0), job("ann", 1), job("bob", 2))
    # At 10: Ann is 9 s old and ranked second of two, Bob 8 s and first: 90 + 5 against 80 + 10.
    aged = Slurm(PAIR, period=10, age=1000.0, max_age=100.0, fairshare=10.0)
    assert served(aged, *jobs) == [0, 10, 20]
    # Both as old as counts: 1000 + 5 against 1000 + 10.
    assert served(aged._replace(max_age=5.0), *jobs) == [0, 20, 10]


def test_tier_then_priority_then_arrival() -> None:
    first, late = job("ann", 0), job("bob", 3)
    assert served(PLAIN, first, job("ann", 1), late) == [0, 10, 20]
    assert served(PLAIN, first, job("ann", 1), late._replace(fixed=2.0)) == [0, 20, 10]
    # Priorities are whole numbers, at least 1.
    assert served(PLAIN, first, job("ann", 1, fixed=-5.0), late._replace(fixed=1.9)) == [0, 10, 20]
    high = job("ann", 1, fixed=100.0)
    assert served(PLAIN, first, high, late._replace(tier=2)) == [0, 20, 10]


def test_between_passes_of_backfill_the_queue_is_served_from_its_front() -> None:
    def needing(size: int, arrival: int, occupancy: int) -> Job:
        return job("ann", arrival, occupancy)._replace(request=(size,))

    # Two of 3 are in use until 50, when the second starts, which needs all 3. Backfill comes at
    # 1, 31, 61: so the third, which is done by then, starts at 31 though it would fit at 2. That
    # ends at 41, and the last one fits, but is behind the front.
    jobs = (needing(2, 0, 50), needing(3, 1, 5), needing(1, 2, 10), needing(1, 35, 5))
    policy = Policy(Order.multifactor, Backfill.conservative_replan, interval_s=30)
    assert served(PLAIN, *jobs, policy=policy, capacity=3) == [0, 50, 31, 55]
    always = policy._replace(interval_s=None)
    assert served(PLAIN, *jobs, policy=always, capacity=3) == [0, 50, 2, 35]


def test_what_ends_at_a_tick_and_a_pass_of_backfill_is_charged_once() -> None:
    # At 11, a pass of backfill precedes the end of Ann's first job, and rates users. At 25 she has
    # used 11, Bob 15; counted twice, it would be 21. The wide job of a higher tier keeps all from
    # starting before.
    jobs = (
        job("ann", 0, 11), job("bob", 0, 15), job("cem", 2, 10, request=(3,), tier=2),
        job("ann", 3, 10), job("bob", 4, 10, request=(3,)),
    )  # fmt: skip
    tree = {**PAIR, "cem": ("", 1)}
    slurm = Slurm(tree, half_life=100_000, period=10, phase=EPOCH + 1, age=0.0)
    often = NONE._replace(interval_s=10)
    assert served(slurm, *jobs, policy=often, capacity=3) == [0, 0, 15, 25, 35]


ANN_AT_MOST_3 = {"most": (("ann", 3),), "late": frozenset({"ann"})}
"""CPUs; slurmctld examines limits on resources when it chooses nodes."""


def limited(*jobs: Job) -> Log:
    """Return a log of 4 CPUs."""
    counted = (
        each._replace(counts=(("ann", each.request[0], True),) if each.owner == "ann" else ())
        for each in jobs
    )
    return Log(tuple(counted), (4,), **ANN_AT_MOST_3)  # type: ignore[arg-type]


def starts(log: Log) -> list[int]:
    """Return those under slurmctld's two schedulers, which are as defined."""
    policy = Policy(Order.multifactor, Backfill.conservative_replan, interval_s=5)
    slurm = Ranking(slurm=PLAIN)
    made = replay(arrays(log, slurm), policy).start
    want = slow.replay(log, rule(policy)._replace(ranking=slurm))
    assert dict(enumerate(made.tolist())) == want.start
    return [start - EPOCH for start in made.tolist()]


def test_who_could_start_but_for_a_limit_keeps_nothing() -> None:
    """Ann's second job fits from 1 on. A wide one follows, so that only backfill serves others."""
    log = limited(
        job("ann", 0, 50, request=(2,)),
        job("ann", 1, 10, request=(2,), start=EPOCH + 50, end=EPOCH + 60),
        job("bob", 2, 10, request=(4,), start=EPOCH + 60, end=EPOCH + 70),
        job("bob", 7, 10, request=(2,), start=EPOCH + 11, end=EPOCH + 21),
    )
    assert starts(log) == [0, 50, 60, 11]


def test_what_ends_in_the_second_of_a_pass_of_backfill_still_runs_in_it() -> None:
    """Backfill at 6 plans the second job for 7, which keeps the last one waiting.

    The main scheduler has served the first one at 5, and pauses until 8.
    """
    policy = Policy(Order.multifactor, Backfill.conservative_replan, interval_s=5, batch_delay_s=3)
    jobs = (
        job("ann", 0, 1, request=(2,)),
        job("ann", 5, 1),
        job("bob", 5, 2, request=(2,)),
        job("bob", 5, 10),
    )
    assert served(PLAIN, *jobs, policy=policy, capacity=2) == [0, 5, 8, 11]


def test_who_is_held_by_a_limit_is_planned_but_holds_up_no_front() -> None:
    """Ann's second job is planned for 50, and needs 3 of 4. Bob's might run until 107."""
    log = limited(
        job("ann", 0, 50, request=(2,)),
        job("ann", 1, 10, request=(3,), start=EPOCH + 50, end=EPOCH + 60),
        job("bob", 7, 10, request=(2,), estimate=100, start=EPOCH + 7, end=EPOCH + 17),
    )
    assert starts(log) == [0, 50, 7]
    wide = job("bob", 2, 10, request=(4,), start=EPOCH + 60, end=EPOCH + 70)
    behind = limited(*log.jobs[:2], wide, log.jobs[2]._replace(start=EPOCH + 70, end=EPOCH + 80))
    assert starts(behind) == [0, 50, 60, 70]


def test_users_who_tie_share_a_rank() -> None:
    jobs = (job("cem", 0), job("bob", 1), job("ann", 2))
    assert served(Slurm({**PAIR, "cem": ("", 1)}, period=5, age=0.0), *jobs) == [0, 10, 20]


def test_what_runs_when_a_simulation_begins_goes_on_to_be_charged() -> None:
    # By 50 Ann had used 60 and Bob 10; by 100 what Bob runs has made that 110.
    running = (job("ann", 0, 20, charge=3), job("bob", 45, 55, charge=2))
    log = Log((*running, job("bob", 60), job("ann", 61)), (1,))
    slurm = Ranking(slurm=Slurm(PAIR, half_life=100_000, period=10, age=0.0))
    start = replay(arrays(log, slurm), NONE, from_time=EPOCH + 50).start
    assert (start - EPOCH).tolist() == [0, 45, 110, 100]


def test_usage_is_forgotten() -> None:
    # Ann used twice as much, but long ago; with a half-life of 30 s Bob's recent use weighs more.
    jobs = (job("ann", 0, 20), job("bob", 100), job("ann", 101), job("bob", 101))
    slurm = Slurm(PAIR, period=5, age=0.0, half_life=30)
    assert served(slurm, *jobs) == [0, 100, 110, 120]
    assert served(slurm._replace(half_life=100_000), *jobs) == [0, 100, 120, 110]


def test_usage_before_a_reset_counts_for_nothing() -> None:
    # 86,400 s after the epoch of tests at the latest a day has begun.
    midnight = 86_400 - EPOCH % 86_400
    early, late = midnight - 40, midnight + 100
    jobs = (job("ann", early, 20), job("bob", late), job("ann", late + 1), job("bob", late + 1))
    slurm = Slurm(PAIR, period=5, age=0.0, half_life=0, reset="daily")
    assert served(slurm, *jobs)[2:] == [late + 10, late + 20]
    before = tuple(one._replace(arrival=one.arrival - 3600) for one in jobs)
    assert served(slurm, *before)[2:] == [late + 20 - 3600, late + 10 - 3600]


def test_classic_fairshare_is_no_rank() -> None:
    # 3:1 of shares, 1:1 of usage: 2^(−(1/2)/(3/4)) and 2^(−(1/2)/(1/4)) of 100 are 62 and 25.
    tree = {"ann": ("", 3), "bob": ("", 1)}
    jobs = (job("ann", 0), job("bob", 0), job("ann", 1), job("bob", 1, fixed=0.0))
    slurm = Slurm(tree, 10**6, 10, age=0.0, fairshare=100.0, algorithm="classic")
    assert served(slurm, *jobs) == [0, 10, 20, 30]
    less = (*jobs[:2], jobs[2]._replace(fixed=-36.0), jobs[3])
    assert served(slurm, *less) == [0, 10, 20, 30]
    least = (*jobs[:2], jobs[2]._replace(fixed=-40.0), jobs[3])
    assert served(slurm, *least) == [0, 10, 30, 20]


def test_a_simulation_from_a_snapshot_goes_on_from_what_was_charged() -> None:
    # Bob's first attempt, which the simulation does not run, has used more than Ann's by 60.
    jobs = (
        job("bob", 0, 50),
        job("ann", 50, 10),
        job("ann", 61, 5, start=EPOCH + 70, end=EPOCH + 75),
        job("bob", 61, 5, start=EPOCH + 70, end=EPOCH + 75),
        job("cem", 62, 1, start=EPOCH + 80, end=EPOCH + 81),
    )
    tree = {"ann": ("", 1), "bob": ("", 1), "cem": ("", 0)}
    slurm = Slurm(tree, half_life=100_000, period=10, age=0.0, fairshare=100.0)
    work = arrays(Log(jobs, (1,)), Ranking(slurm=slurm))
    assert fair_starts(work, NONE).strict[4] - EPOCH == 72


@settings(max_examples=examples(120))
@given(
    logs(),
    policies(Order.multifactor, intervals=True),
    slurms(),
    st.none() | st.integers(0, 20),
)
def test_as_defined(log: Log, policy: Policy, slurm: Slurm, since: int | None) -> None:
    ranking = Ranking(slurm=slurm)
    instant = None if since is None else EPOCH + since
    want = slow.replay(log, rule(policy)._replace(ranking=ranking), instant)
    made = replay(arrays(log, ranking), policy, from_time=instant).start
    for k, each in enumerate(log.jobs):
        taking_part = instant is None or each.start is not None or each.open
        if not each.blocked and k in want.start and taking_part:
            assert made[k] == want.start[k]
        elif not each.blocked and instant is None:
            assert made[k] == NEVER


@given(logs(blocked=False), slurms(), st.sampled_from(list(Backfill)))
def test_around_midnight_as_defined(log: Log, slurm: Slurm, backfill: Backfill) -> None:
    shift = 86_400 - EPOCH % 86_400 - 12

    def moved(instant: int | None) -> int | None:
        return None if instant is None else instant + shift

    jobs = tuple(
        each._replace(arrival=each.arrival + shift, start=moved(each.start), end=moved(each.end))
        for each in log.jobs
    )
    steps = tuple(step._replace(time=step.time + shift) for step in log.steps)
    later = Log(jobs, log.capacity, steps)
    ranking = Ranking(slurm=slurm._replace(reset="daily"))
    policy = Policy(Order.multifactor, backfill)
    want = slow.replay(later, rule(policy)._replace(ranking=ranking))
    made = replay(arrays(later, ranking), policy).start
    assert [None if s == NEVER else s for s in made.tolist()] == [
        want.start.get(k) for k in range(len(jobs))
    ]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.sampled_from([0, 1, 4, 5, 10, 23])), max_size=6),
    slurms(),
    st.integers(0, 90),
)
def test_what_was_charged_by_the_last_tick(
    spans: list[tuple[int, int]], slurm: Slurm, instant: int
) -> None:
    midnight = EPOCH + 86_400 - EPOCH % 86_400 - 20  # 20 s before a day begins
    jobs = tuple(
        job("ann", midnight - EPOCH + start, occupancy, charge=k + 1)
        for k, (start, occupancy) in enumerate(sorted(spans))
    )
    work = arrays(Log(jobs, (9,)), Ranking(slurm=slurm))
    settings, own = work.owners.fairshare.multifactor, work.owners.priorities
    assert settings is not None
    assert own is not None
    known, clock = kernel_slurm(
        settings, own, work.owners.charge, work.start, work.end, work.start != NEVER
    )
    at, nobody = midnight + instant, np.zeros(0, np.int64)
    booked, _ = kernels.priorities(known, kernels.Books(*clock), at, nobody, nobody)
    used = naive.usage(
        [naive.Job(one.arrival, one.arrival + one.occupancy, one.charge) for one in jobs],
        at - (at - slurm.phase) % slurm.period,
        half_life=slurm.half_life,
        period=slurm.period,
        phase=slurm.phase,
        reset=slurm.reset,
        zone=ZoneInfo("UTC"),
    )
    node = settings.tree.names.index("ann")
    assert booked[node] == pytest.approx(used, rel=1e-9, abs=1e-12)


HELD = pl.DataFrame(
    {
        "user": ["ann", "ann", "eve", None],
        "account": ["lab", "lab", "lab", "away"],
        "partition": ["batch", "short", "short", None],
        "qos": ["high", None, "strange", "normal"],
        "start_time": [1, 2, 3, 4],
        "cpus": [32, 1, None, 64],
        "nodes": [2, 1, 1, 4],
        "walltime_s": [60, None, 60, 60],
        "nice": [None, None, 30, None],
    }
)
SETTINGS = Multifactor(
    tree=tree_of([TreeNode("lab", "account", 1.0), TreeNode("ann", "user", 1.0, "lab")]),
    usage=SlurmUsage(half_life_s=100.0),
    weights={"jobsize": 1000.0, "partition": 1000.0, "qos": 2000.0, "age": 7.0},
    scale=Scale(cpus=64, nodes=4, job_factor=50, qos_priority=1000),
    job_factors={"batch": 10, "short": 50},
    tiers={"short": 3},
    qos={"high": 1000, "normal": 100},
)


def test_what_stays_of_a_priority() -> None:
    own = priorities(HELD, SETTINGS)
    # size: (32/64 + 2/4)/2, (1/64 + 1/4)/2, (0 + 1/4)/2, 1; partition 1 where it is unknown
    assert own.fixed.tolist() == [500 + 200 + 2000, 132.8125 + 1000, 95 + 1000, 1000 + 20 + 200]
    assert own.tier.tolist() == [1, 3, 3, 1]
    names = [SETTINGS.tree.names[node] for node in own.node]
    assert names == ["ann", "ann", "lab", "root"]


def test_refusals() -> None:
    with pytest.raises(SimulationError, match="weight of 'fair': one of age, assoc"):
        priorities(HELD, SETTINGS._replace(weights={"fair": 1.0}))
    work = arrays(Log((job("ann", 0),), (1,)))
    unknown = work._replace(owners=work.owners._replace(priorities=None))
    with pytest.raises(SimulationError, match="Slurm's configuration is missing"):
        replay(unknown, NONE)
    with pytest.raises(SimulationError, match="order multifactor with fair_order nuwt"):
        fair_starts(work, NONE, fair_order=Order.nuwt)
