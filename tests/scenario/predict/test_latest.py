"""Values of the last events of groups: against lists, events taken one after another."""

from statistics import median_low

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.predict import latest
from audit.scenario.predict.known import known_of
from audit.scenario.predict.latest import UNKNOWN, Baselines, Latest, means, medians, turns
from tests.scenario.predict.test_sweep import job, scenario
from tests.strategies import EPOCH

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


def at(of: Baselines, now: int, job: int) -> tuple[int, int]:
    """The medians of the last waits, and of those alike."""
    of.to(now)
    return of.recent, int(of.alike(np.array([job]))[0])


def test_waits_count_from_the_second_after_they_ended() -> None:
    jobs = [job(k, 10 * k, 10 * k + 5, 1, user="ann") for k in range(30)]
    known = known_of(scenario(jobs))
    of = Baselines(known)
    last = len(jobs) - 1
    assert at(of, EPOCH + 40, last) == (UNKNOWN, UNKNOWN)
    assert at(of, EPOCH + 41, last) == (UNKNOWN, 18)  # of 0, 9, 18, 27, 36
    assert at(of, EPOCH + 191, last) == (81, 81)  # of the first 20
    assert at(of, EPOCH + 251, last) == (108, 135)  # of all 26, and of the last 20


def test_a_user_without_enough_waits_gets_those_of_the_class() -> None:
    jobs = [job(k, k + 7, k + 8, 1, user="ann") for k in range(10)]
    jobs += [job(20, 21, 22, 1, user="bob"), job(20, 21, 22, 4, user="bob")]
    known = known_of(scenario(jobs))
    narrow, wide = len(jobs) - 2, len(jobs) - 1
    of = Baselines(known)
    assert at(of, EPOCH + 20, narrow) == (UNKNOWN, 7)
    assert at(of, EPOCH + 20, wide) == (UNKNOWN, UNKNOWN)
