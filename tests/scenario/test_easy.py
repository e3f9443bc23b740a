"""EASY by hand, drawn, and by its properties.

A slow twin of all policies is in ``tests.naive.simulation``.

Drawings: one row per unit of the resource, one column per 10 s, '.' is free, letters are attempts;
'|' marks the shadow, the start that is promised to the head of the queue.
"""

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


def test_nothing_to_schedule() -> None:
    assert starts([], 4) == []


def test_starts_on_arrival_in_an_empty_pool_and_needs_no_more_than_all_of_it() -> None:
    assert starts([(7, 4, 10, 10)], 4) == [7]


def test_larger_than_the_pool_is_never_queued_and_holds_up_nobody() -> None:
    assert starts([(0, 5, 10, 10), (0, 4, 10, 10)], 4) == [None, 0]


def test_backfills_what_ends_by_the_shadow() -> None:
    # 3  . c | b       c is expected to end exactly at the shadow (20): it may start.
    # 2  a a | b       d would end at 21, and the head leaves nothing: it waits behind b.
    # 1  a a | b
    a, b = (0, 2, 20, 20), (1, 3, 10, 10)
    assert starts([a, b, (10, 1, 10, 10)], 3) == [0, 20, 10]
    assert starts([a, b, (10, 1, 11, 11)], 3) == [0, 20, 30]


def test_backfills_into_what_the_head_leaves_over() -> None:
    # 4  c c | c       At the shadow (20) 4 are free less c's one; b takes 3, so extra = 1:
    # 3  . . | b       c runs past the shadow within it. d would need the same one again.
    # 2  a a | b
    # 1  a a | b
    a, b, c = (0, 2, 20, 20), (1, 3, 10, 10), (2, 1, 28, 28)
    assert starts([a, b, c], 4) == [0, 20, 2]
    assert starts([a, b, c, (3, 1, 28, 28)], 4) == [0, 20, 2, 30]


def test_extra_is_spent_within_one_pass() -> None:
    # Both c and d arrive when b is already the head; each alone fits in extra, not both.
    a, b = (0, 2, 20, 20), (1, 3, 10, 10)
    assert starts([a, b, (2, 1, 50, 50), (2, 1, 50, 50)], 4) == [0, 20, 2, 30]


def test_what_ends_by_the_shadow_spends_no_extra() -> None:
    # 5  d d | d       c ends at the shadow, so its unit is there for b again, and extra stays 1.
    # 4  c c | .
    a, b = (0, 3, 20, 20), (1, 4, 10, 10)
    assert starts([a, b, (2, 1, 18, 18), (2, 1, 50, 50)], 5) == [0, 20, 2, 2]


def test_equal_expected_ends_count_together_in_extra() -> None:
    # a and b both end at 20. At the shadow the head (3) fits when the first is gone; the other
    # one's 2 are free as well, so d (2) may run past it.
    a, b, head, d = (0, 2, 20, 20), (0, 2, 20, 20), (1, 4, 10, 10), (2, 2, 50, 50)
    assert starts([a, b, head, d], 6) == [0, 0, 20, 2]


def test_the_shadow_comes_from_estimates_and_moves_with_early_ends() -> None:
    # a is expected until 100 but ends at 20. c (estimate 90 ≤ shadow at 10) was let in on that
    # belief and now delays the head: EASY promises only against what it expects.
    a, b, c = (0, 2, 20, 100), (1, 3, 10, 10), (10, 1, 90, 90)
    assert starts([a, b, c], 3) == [0, 100, 10]


def test_who_could_not_start_is_looked_at_again_once_something_has_ended() -> None:
    # c (3) does not fit beside a and b while d comes and waits; when a ends early c is short enough
    # to start before the head, and d, which would hold that up, is not.
    a, b, head = (0, 3, 20, 40), (0, 3, 60, 60), (1, 6, 10, 10)
    assert starts([a, b, head, (2, 3, 30, 30), (3, 3, 50, 50)], 6) == [0, 0, 60, 20, 70]


def test_who_comes_while_nothing_ends_meets_the_same_shadow_and_what_is_left_of_extra() -> None:
    # One unit is left over at the shadow, 20: c takes it, so d waits, and e ends in time.
    a, b = (0, 3, 20, 20), (1, 4, 10, 10)
    c, d, e = (2, 1, 50, 50), (3, 1, 50, 50), (4, 1, 16, 16)
    assert starts([a, b, c, d, e], 5) == [0, 20, 2, 30, 4]


def test_an_overrun_is_expected_to_end_when_it_does() -> None:
    # b asked for 5 s and took 30: its estimate is 30, so the shadow is 30, not 5.
    assert estimate_of(30, 5) == 30
    a = (0, 2, 30, estimate_of(30, 5))
    head, c = (1, 3, 10, 10), (2, 1, 28, 28)
    assert starts([a, head, c], 3) == [0, 30, 2]


def test_estimates_are_a_second_at_least() -> None:
    assert estimate_of(0, None) == 1
    assert estimate_of(0, 0) == 1
    assert estimate_of(7, None) == 7
    assert estimate_of(7, 3600) == 3600


def test_no_occupancy_frees_its_resources_at_the_same_instant() -> None:
    # a, b and c each need the whole pool and take no time: one pass each, all at 0; d too.
    assert starts([(0, 2, 0, 60), (0, 2, 0, 60), (0, 2, 0, 60), (0, 2, 5, 60)], 2) == [0, 0, 0, 0]


def test_no_occupancy_still_counts_as_running_in_its_own_pass() -> None:
    # 2  a . . .       Pass 1 at 0 starts a (no occupancy, expected until 60). The head b (2) then
    # 1  . . . .       has its shadow at 60, c (until 50) fits beside and starts: b has lost.
    a, b, c = (0, 1, 0, 60), (0, 2, 10, 10), (0, 1, 50, 50)
    assert starts([a, b, c], 2) == [0, 50, 0]


def test_ends_come_before_arrivals_and_arrivals_before_the_pass() -> None:
    # At 10 a ends, b and c arrive; all of it is known to the first pass, so b, earlier by
    # position, starts, and c does not slip into the gap.
    assert starts([(0, 2, 10, 10), (10, 2, 10, 10), (10, 1, 10, 10)], 2) == [0, 10, 20]


def test_ties_go_by_arrival_then_position() -> None:
    later_first = [(5, 2, 10, 10), (0, 2, 10, 10), (5, 2, 10, 10), (0, 2, 10, 10)]
    assert starts(later_first, 2) == [20, 0, 30, 10]


def test_asking_for_nothing_always_fits() -> None:
    assert starts([(0, 2, 50, 50), (1, 2, 10, 10), (2, 0, 99, 99)], 2) == [0, 50, 2]


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


def in_use(attempts: list[Attempt], begun: list[int | None], t: int) -> int:
    return sum(
        size
        for (_, size, occupancy, _), start in zip(attempts, begun, strict=True)
        if start is not None and start <= t < start + occupancy
    )


@given(workloads())
def test_every_attempt_starts_once_it_is_there_and_the_pool_is_never_overfull(
    workload: tuple[list[Attempt], int],
) -> None:
    attempts, capacity = workload
    begun = starts(attempts, capacity)
    for (arrival, *_), start in zip(attempts, begun, strict=True):
        assert start is not None
        assert start >= arrival
        assert in_use(attempts, begun, start) <= capacity


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
