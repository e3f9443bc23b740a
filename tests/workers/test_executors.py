"""Executors of this process: each part is done once, whoever does it."""

import threading
from collections.abc import Callable

import pytest

from audit.workers.executors import Executor, Threads, computed


def added(to: int) -> Callable[[int], int]:
    return lambda part: to + part


@pytest.mark.parametrize("executor", [Threads(1), Threads(3), Threads(1 << 64)])
def test_each_part_is_done_once(executor: Executor) -> None:
    assert sorted(executor.each(added, 10, [5, 6, 7, 5])) == [(0, 15), (1, 16), (2, 17), (3, 15)]
    assert list(executor.each(added, 10, [])) == []


@pytest.mark.parametrize("executor", [Threads(1), Threads(2)])
def test_parts_may_be_functions(executor: Executor) -> None:
    assert sorted(executor.each(computed, None, [lambda: "a", lambda: "b"])) == [(0, "a"), (1, "b")]


@pytest.mark.parametrize("executor", [Threads(1), Threads(2)])
def test_none_is_begun_once_it_is_stopped(executor: Executor) -> None:
    done: list[int] = []
    for number, _ in executor.each(added, 0, range(9), lambda: len(done) >= 2):
        done.append(number)
    assert 2 <= len(done) <= 1 + executor.width


def test_threads_work_at_the_same_time() -> None:
    meeting = threading.Barrier(2, timeout=10)

    def met(_: None) -> Callable[[int], int]:
        return lambda part: meeting.wait()

    assert {made for _, made in Threads(2).each(met, None, [1, 2])} == {0, 1}


def test_an_error_in_a_part_is_raised() -> None:
    def failing(_: None) -> Callable[[int], float]:
        return lambda part: 1 / part

    for executor in (Threads(1), Threads(2)):
        with pytest.raises(ZeroDivisionError):
            list(executor.each(failing, None, [1, 0]))
