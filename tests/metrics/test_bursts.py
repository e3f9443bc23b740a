"""Bursts: by hand, and against the slow twin."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.kernels import bursts as kernel
from audit.metrics.attempts.population import describe
from audit.metrics.bursts import bursts
from audit.model import Pool, Resource
from tests.naive import passed_over as naive
from tests.naive import similar
from tests.strategies import ended, frame

POOL = Pool("main", Resource.cpus, 4)

Record = dict[str, Any]


def found(records: list[Record]) -> list[int | None]:
    numbers: list[int | None] = bursts(describe(frame(records), [POOL]).sort("line")).to_list()
    return numbers


def test_each_arrives_while_an_earlier_one_is_queued() -> None:
    first, second, third = found(
        [ended(0, 100, 200, 1), ended(50, 60, 70, 1), ended(99, 500, 600, 1)]
    )
    assert first == second == third
    apart = found([ended(0, 100, 200, 1), ended(100, 300, 400, 1)])  # it started just then
    assert apart[0] != apart[1]
    others = found([ended(0, 100, 200, 1), ended(50, 60, 70, 1, "bob")])
    assert others[0] != others[1]


def test_one_that_waits_long_joins_all_that_come_meanwhile() -> None:
    long = [ended(0, 900, 901, 1), *(ended(k, k, k + 1, 1) for k in range(100, 900, 100))]
    assert len({*found(long)}) == 1


def test_what_leaves_the_queue_without_a_start_and_what_still_waits() -> None:
    gone = {"submit_time": 0, "end_time": 50, "cpus": 1, "user": "ann", "state": "CANCELLED"}
    apart = found([gone, ended(50, 60, 70, 1)])
    assert apart[0] != apart[1]
    pending = {"submit_time": 0, "cpus": 1, "user": "ann", "state": "PENDING"}
    together = found([pending, ended(10**6, 10**6, 10**6, 1)])
    assert together[0] == together[1]


def test_without_a_user_there_is_none() -> None:
    assert found([ended(0, 1, 2, 1, None)]) == [None]
    assert found([]) == []


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6), st.sampled_from("ab")), max_size=14)
)
def test_as_defined(lives: list[tuple[int, int, str]]) -> None:
    lives.sort(key=lambda one: one[0])
    got = found([ended(at, at + wait, at + wait + 1, 1, user) for at, wait, user in lives])
    expected = naive.bursts(
        [{"user": user, "arrival": at, "left": at + wait} for at, wait, user in lives]
    )
    assert [got.index(number) for number in got] == expected


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 20)), max_size=12))
def test_who_was_gone_last(lives: list[tuple[int, int]]) -> None:
    owner = np.array([of for of, _ in lives], np.int64)
    gone = np.array([at for _, at in lives], np.int64)
    before = np.zeros(len(lives), np.int64)
    kernel.last_gone(owner, gone, np.full(4, -9), before)
    assert before.tolist() == similar.last_gone(lives, -9)
