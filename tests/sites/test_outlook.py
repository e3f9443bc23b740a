"""Reservations agree with a count of the free capacity second by second."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bench.logs.sites.outlook import Outlook
from tests.examples import examples

HORIZON = 60
ENDS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), max_size=6).map(sorted)
JOBS = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 20)), max_size=6)


@given(free=st.integers(-3, 6), ends=ENDS, jobs=JOBS)
@settings(max_examples=examples(100))
def test_reservations_take_the_earliest_time_that_is_free(
    free: int, ends: list[tuple[int, int]], jobs: list[tuple[int, int]]
) -> None:
    plan = Outlook(0, free, ends)
    each = [free + sum(size for end, size in ends if end <= at) for at in range(HORIZON * 4)]
    for size, length in jobs:
        fitting = [
            at for at in range(HORIZON * 3) if min(each[at : at + length], default=0) >= size
        ]
        assert plan.is_free(size, length) == (0 in fitting)
        begin = plan.earliest(size, length)
        assert begin == next(iter(fitting), None)
        if begin is not None:
            plan.take(begin, begin + length, size)
            for at in range(begin, begin + length):
                each[at] -= size
