"""Long queues: passes skip blocks of places, which the short queues of other tests do not have."""

from functools import partial

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.model import Backfill, Order, Policy
from audit.scenario import engine
from audit.scenario.engine import replay
from audit.scenario.fair_start import fair_starts
from audit.scenario.workload import NEVER
from tests.examples import examples
from tests.naive import simulation as slow
from tests.naive.simulation import Job, Log
from tests.scenario.test_engine import known
from tests.strategies import arrays, logs, rule

LONG = 192
"""Places of a long queue (``Pool.long_queue``)."""


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools in which two places are a block, and three a long queue."""
    small = partial(engine.kernel_pool, block_bits=1, long_queue=3, few_gaps=0)
    monkeypatch.setattr(engine, "kernel_pool", small)


@pytest.mark.usefixtures("small_blocks")
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    logs(most=14, limited=True),
    st.sampled_from([Order.fcfs, Order.fcfs, Order.sjf, Order.lxf]),
    st.sampled_from([Backfill.no_guarantee, Backfill.easy, Backfill.easy]),
    st.sampled_from([None, None, 3, 8]),
)
def test_blocks_are_skipped_where_nothing_can_start(
    log: Log, order: Order, backfill: Backfill, window: int | None
) -> None:
    policy = Policy(order, backfill, None, window if backfill is Backfill.easy else None)
    as_said = rule(policy)
    work = arrays(log)
    made = replay(work, policy).start
    want = slow.replay(log, as_said).start
    fair = fair_starts(work, policy)
    for j, job in enumerate(log.jobs):
        if job.blocked or log.exceeds(j) or log.breaks(j):
            continue
        assert made[j] == want.get(j, NEVER)
        assert known(fair.strict)[j] == slow.strict(log, as_said, j)
        assert known(fair.relaxed)[j] == slow.relaxed(log, as_said, j)


def long_log(count: int, limited: bool) -> Log:
    """Return a log of attempts that arrive within a minute, for hours of a small pool."""
    random = np.random.Generator(np.random.PCG64(3))
    jobs = []
    for arrival in np.sort(random.integers(0, 60, count)).tolist():
        occupancy = int(random.integers(1, 300))
        estimate = occupancy * int(random.choice([1, 1, 2, 10]))
        size = int(random.choice([1, 1, 2, 5, 9]))
        owner = str(random.choice(["ann", "bob", "cem"]))
        counts = ((owner, size, True),) if limited else ()
        jobs.append(Job(arrival, occupancy, estimate, (size,), owner=owner, counts=counts))
    most = tuple((owner, 9) for owner in ("ann", "bob", "cem")) if limited else ()
    return Log(tuple(jobs), (12,), most=most)


@pytest.mark.thorough
@pytest.mark.parametrize("limited", [False, True])
def test_a_long_queue_as_defined(limited: bool) -> None:
    log = long_log(3 * LONG // 2, limited)
    want = slow.replay(log, rule(Policy())).start
    assert replay(arrays(log), Policy()).start.tolist() == [want[k] for k in range(len(log.jobs))]


def test_an_attempt_held_by_a_limit_hides_none_behind_it() -> None:
    # 2   x x A A     Ann's second (A, all of the pool) is held until a ends, at 5. Until then b is
    # 1   a b A A     the head; behind A, it starts as it ends before A can begin.
    held = (("ann", 1, True),)
    a = Job(0, 5, 5, (1,), owner="ann", counts=held)
    x = Job(0, 10, 10, (1,), owner="cem")
    second = Job(0, 100, 100, (2,), owner="ann", counts=held)
    b = Job(0, 5, 5, (1,), owner="bob")
    others = (Job(0, 100, 100, (2,), owner="dot"),) * (2 * LONG)
    log = Log((a, x, second, b, *others), (2,), most=(("ann", 1),))
    assert replay(arrays(log), Policy()).start.tolist()[:4] == [0, 0, 10, 5]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("others", [4, 5])
def test_the_latest_arrival_is_examined_when_space_is_freed(others: int) -> None:
    # 2   x x x     All others take the whole pool, and wait for x. The last (b), alone in its block
    # 1   a b       or not, came when nothing was free, and starts when a ends: it spares them.
    x = Job(0, 100, 100, (1,))
    wide = Job(0, 100, 100, (2,))
    log = Log((Job(0, 5, 5, (1,)), x, *(wide,) * others, Job(0, 5, 5, (1,))), (2,))
    assert replay(arrays(log), Policy()).start.tolist()[-1] == 5
