import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import sorting
from tests.kernels.forms import BOTH, Form

keys = st.lists(st.sampled_from([-1.5, 0.0, 0.5, 2.0, np.inf]) | st.floats(-9, 9), max_size=40)


@BOTH
@given(keys, st.integers(0, 40))
def test_sorting_by_keys_is_stable(form: Form, numbers: list[float], count: int) -> None:
    count = min(count, len(numbers))
    order = np.arange(len(numbers))
    form(sorting.sort_by)(np.array(numbers, float), order, np.empty_like(order), count)
    assert order[:count].tolist() == sorted(range(count), key=numbers.__getitem__)
    assert order[count:].tolist() == list(range(count, len(numbers)))
