"""Order statistics of ranges: against sorting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels.ranges import Ranges

NUMBERS = st.lists(st.integers(0, 15), min_size=1, max_size=100)


def ints(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int64)


@given(NUMBERS, st.data())
def test_how_many_are_below_a_bound(numbers: list[int], data: st.DataObject) -> None:
    begin = data.draw(st.integers(0, len(numbers)))
    end = data.draw(st.integers(begin, len(numbers)))
    bound = data.draw(st.integers(0, 16))
    (found,) = Ranges(ints(*numbers), 4).below(ints(begin), ints(end), ints(bound))
    assert found == sum(number < bound for number in numbers[begin:end])


@given(NUMBERS, NUMBERS, st.data())
def test_the_nth_without_those_of_another_range(
    left: list[int], without: list[int], data: st.DataObject
) -> None:
    """The second sequence is another order of a part of the first."""
    both = [*left, *without]
    nth = data.draw(st.integers(0, len(left) - 1))
    first, second = Ranges(ints(*both), 4), Ranges(ints(*without), 4)
    (found,) = first.nth_without(
        ints(0), ints(len(both)), second, ints(0), ints(len(without)), ints(nth)
    )
    assert found == sorted(left)[nth]
