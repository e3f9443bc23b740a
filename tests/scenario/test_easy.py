"""EASY by hand, drawn, and by its properties.

A slow twin of all policies is in ``tests.naive.simulation``.

Drawings: one row per unit of the resource, one column per 10 s, '.' is free, letters are attempts;
'|' marks the shadow, the start that is promised to the head of the queue.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.model import Backfill, Order, Policy
from audit.scenario.engine import replay
from audit.scenario.workload import NEVER
from tests.examples import examples
from tests.naive.simulation import Job, Log, estimate_of
from tests.strategies import arrays

EASY = Policy(Order.fcfs, Backfill.easy)
Attempt = tuple[int, int, int, int]  # arrival, size, occupancy, estimate


def starts(attempts: list[Attempt], capacity: int) -> list[int | None]:
    """Where arrivals are equal, the attempts are in the order of their sequence."""
    order = sorted(range(len(attempts)), key=lambda k: attempts[k][0])
    jobs = [
        Job(arrival, occupancy, estimate, (size,))
        for arrival, size, occupancy, estimate in (attempts[k] for k in order)
    ]
    begun = replay(arrays(Log(tuple(jobs), (capacity,))), EASY).start.tolist()
    found = dict(zip(order, begun, strict=True))
    return [None if found[k] == NEVER else found[k] for k in range(len(attempts))]


A, B = (0, 2, 20, 20), (1, 3, 10, 10)

BY_HAND: dict[str, tuple[list[Attempt], int, list[int | None]]] = {
    "nothing": ([], 4, []),
    "an empty pool, all of it": ([(7, 4, 10, 10)], 4, [7]),
    "larger than the pool: never queued, blocks nothing": (
        [(0, 5, 10, 10), (0, 4, 10, 10)],
        4,
        [None, 0],
    ),
    # 3  . c | b       c is expected to end exactly at the shadow (20): it may start
    # 2  a a | b
    # 1  a a | b
    "ends by the shadow": ([A, B, (10, 1, 10, 10)], 3, [0, 20, 10]),
    # it would end at 21, and the head leaves nothing: it waits behind b
    "ends a second after the shadow": ([A, B, (10, 1, 11, 11)], 3, [0, 20, 30]),
    # 4  c c | c       at the shadow (20) 4 are free less c's one; b takes 3, so extra = 1:
    # 3  . . | b       c runs past the shadow within it
    # 2  a a | b
    # 1  a a | b
    "into what the head leaves over": ([A, B, (2, 1, 28, 28)], 4, [0, 20, 2]),
    "the same unit again": ([A, B, (2, 1, 28, 28), (3, 1, 28, 28)], 4, [0, 20, 2, 30]),
    # both arrive when b is already the head; each alone fits in extra, not both
    "extra is spent within one pass": (
        [A, B, (2, 1, 50, 50), (2, 1, 50, 50)],
        4,
        [0, 20, 2, 30],
    ),
    # 5  d d | d       c ends at the shadow, so its unit is there for b again, and extra stays 1
    # 4  c c | .
    "ending by the shadow spends no extra": (
        [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 18, 18), (2, 1, 50, 50)],
        5,
        [0, 20, 2, 2],
    ),
    # the head (3) fits when the first of two is gone; the other's 2 are free as well
    "equal expected ends count together in extra": (
        [A, A, (1, 4, 10, 10), (2, 2, 50, 50)],
        6,
        [0, 0, 20, 2],
    ),
    # a is expected until 100 but ends at 20; c (90 ≤ shadow at 10) was let in, and delays the head
    "the shadow comes from estimates": (
        [(0, 2, 20, 100), B, (10, 1, 90, 90)],
        3,
        [0, 100, 10],
    ),
    # when a ends early c is short enough to start before the head; d would hold that up
    "examined again once something has ended": (
        [(0, 3, 20, 40), (0, 3, 60, 60), (1, 6, 10, 10), (2, 3, 30, 30), (3, 3, 50, 50)],
        6,
        [0, 0, 60, 20, 70],
    ),
    # one unit is left over at the shadow, 20: c takes it, so d waits, and e ends in time
    "later arrivals find the same shadow and the rest of extra": (
        [(0, 3, 20, 20), (1, 4, 10, 10), (2, 1, 50, 50), (3, 1, 50, 50), (4, 1, 16, 16)],
        5,
        [0, 20, 2, 30, 4],
    ),
    # it asked for 5 s and took 30: the shadow is 30, not 5
    "an overrun is expected to end when it does": (
        [(0, 2, 30, estimate_of(30, 5)), B, (2, 1, 28, 28)],
        3,
        [0, 30, 2],
    ),
    # each needs the whole pool and takes no time: one pass each, all at 0; the last too
    "no occupancy frees at the same instant": (
        [(0, 2, 0, 60), (0, 2, 0, 60), (0, 2, 0, 60), (0, 2, 5, 60)],
        2,
        [0, 0, 0, 0],
    ),
    # 2  a . . .       pass 1 at 0 starts a (expected until 60); the head b (2) then has its shadow
    # 1  . . . .       at 60, and c (until 50) fits beside and starts: b has lost
    "no occupancy counts as running in its own pass": (
        [(0, 1, 0, 60), (0, 2, 10, 10), (0, 1, 50, 50)],
        2,
        [0, 50, 0],
    ),
    # at 10 a ends, b and c arrive; b, earlier by position, starts, and c does not slip in
    "ends before arrivals, arrivals before the pass": (
        [(0, 2, 10, 10), (10, 2, 10, 10), (10, 1, 10, 10)],
        2,
        [0, 10, 20],
    ),
    "ties by arrival, then position": (
        [(5, 2, 10, 10), (0, 2, 10, 10), (5, 2, 10, 10), (0, 2, 10, 10)],
        2,
        [20, 0, 30, 10],
    ),
    "a request of nothing always fits": (
        [(0, 2, 50, 50), (1, 2, 10, 10), (2, 0, 99, 99)],
        2,
        [0, 50, 2],
    ),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_by_hand(case: str) -> None:
    attempts, capacity, expected = BY_HAND[case]
    assert starts(attempts, capacity) == expected


@st.composite
def workloads(draw: st.DrawFn, exact: bool = False) -> tuple[list[Attempt], int]:
    capacity = draw(st.integers(1, 8))
    attempts = []
    for _ in range(draw(st.integers(0, 14))):
        occupancy = draw(st.integers(1 if exact else 0, 12))
        over = 0 if exact else draw(st.integers(0, 20))
        attempts.append(
            (
                draw(st.integers(0, 30)),
                draw(st.integers(0, capacity)),
                occupancy,
                estimate_of(occupancy, occupancy + over),
            )
        )
    return attempts, capacity


def all_starts(attempts: list[Attempt], capacity: int) -> list[int]:
    begun = [start for start in starts(attempts, capacity) if start is not None]
    assert len(begun) == len(attempts)
    return begun


@given(workloads())
def test_the_head_starts_no_later_than_the_shadow_it_was_promised(
    workload: tuple[list[Attempt], int],
) -> None:
    """Whatever comes later, and however early things end.

    An attempt is the head once all before it have started. From the expected ends of what runs
    then follows its shadow, computed here from the finished schedule.
    """
    attempts, capacity = workload
    begun = all_starts(attempts, capacity)
    order = sorted(range(len(attempts)), key=lambda k: (attempts[k][0], k))
    for place, head in enumerate(order):
        is_head = max([attempts[head][0], *(begun[k] for k in order[:place])])
        if begun[head] <= is_head:
            continue  # it was let in earlier, or fitted at once
        running = [k for k in order if begun[k] <= is_head]
        expected = {k: begun[k] + attempts[k][3] for k in running}
        shadow = min(
            t
            for t in expected.values()
            if sum(attempts[k][1] for k in running if expected[k] > t) + attempts[head][1]
            <= capacity
        )
        assert begun[head] <= shadow


@settings(max_examples=examples(80))
@given(workloads(exact=True), st.integers(0, 13))
def test_with_exact_estimates_later_arrivals_do_not_touch_the_head(
    workload: tuple[list[Attempt], int], place: int
) -> None:
    """One that is the head on its arrival starts as if nothing had come after it."""
    attempts, capacity = workload
    order = sorted(range(len(attempts)), key=lambda k: (attempts[k][0], k))
    known = sorted(order[: place + 1])
    if place >= len(order):
        return
    head = order[place]
    alone = dict(zip(known, all_starts([attempts[k] for k in known], capacity), strict=True))
    if any(alone[k] > attempts[head][0] for k in order[:place]):
        return  # not yet the head
    assert all_starts(attempts, capacity)[head] == alone[head]
