"""Elementary functions: those of Python's math, which are the C library's, to the last digit."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import elementary

BOUNDS = {"exp": (-700.0, 700.0), "expm1": (-700.0, 700.0), "log": (1e-300, 1e300)}


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p"])
@given(st.data())
def test_each_value_is_that_of_the_c_library(name: str, data: st.DataObject) -> None:
    low, high = BOUNDS.get(name, (-0.999, 1e300))
    values = data.draw(st.lists(st.floats(low, high), max_size=9))
    one: Callable[[float], float] = getattr(math, name)
    assert getattr(elementary, name)(np.array(values)).tolist() == [one(x) for x in values]


def test_shapes_whole_numbers_and_limits() -> None:
    assert elementary.exp(np.zeros((2, 3)).T).tolist() == [[1.0, 1.0]] * 3
    assert elementary.log(np.array([1, 0])).tolist() == [0.0, -math.inf]
    assert elementary.log1p(np.array(-1.0)) == -math.inf
    assert elementary.expm1(np.array([-math.inf])).tolist() == [-1.0]
