"""Values of the last events of groups: against lists, events taken one after another."""

from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.predict import latest
from audit.scenario.predict.latest import Latest, means, medians, turns

EVENTS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 50)), max_size=30)


@given(EVENTS, st.integers(1, 4), st.integers(1, 3), st.integers(1, 8))
def test_means_and_medians_are_those_of_the_last_values(
    events: list[tuple[int, int]], most: int, fewest: int, at_once: int
) -> None:
    group, value = np.array(events, np.int64).reshape(-1, 2).T.copy()
    last = [
        [each for of, each in events[: k + 1] if of == events[k][0]][-most:]
        for k in range(len(events))
    ]
    middle = [median_low(values) if len(values) >= fewest else -1 for values in last]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latest, "_AT_ONCE", at_once)
        assert medians(group, value, most, fewest).tolist() == middle
        assert means(group, value.astype(np.float64), most).tolist() == [
            sum(of) / len(of) for of in last
        ]


@given(EVENTS, st.lists(st.integers(0, 30), max_size=6))
def test_a_group_has_the_value_of_its_last_event(
    events: list[tuple[int, int]], instants: list[int]
) -> None:
    group, value = np.array(events, np.int64).reshape(-1, 2).T.copy()
    of = Latest(group, value, 4, np.int64(-1))
    for instant in sorted(min(one, len(events)) for one in instants):
        of.to(instant)
        assert of.value.tolist() == [dict(events[:instant]).get(each, -1) for each in range(4)]


@given(st.lists(st.integers(0, 4), max_size=20))
def test_a_turn_counts_the_earlier_elements_of_the_group(groups: list[int]) -> None:
    found = turns(np.array(groups, np.int64))
    assert found.tolist() == [groups[:k].count(each) for k, each in enumerate(groups)]
