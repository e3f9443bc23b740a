"""config.toml selects the executor; with a fallback no work is lost."""

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from audit.config import Compute
from audit.errors import WorkersError
from audit.workers.chosen import Staged, executor
from audit.workers.executors import ONE_THREAD, Made, Part, Shared, Stopped, Threads
from tests.workers.scattered import Scattered


def doubled(_: None) -> Callable[[int], int]:
    return lambda part: 2 * part


class Failing:
    """Workers that are lost after ``after`` parts."""

    width = 5
    parts = 40

    def __init__(self, after: int) -> None:
        self.after = after
        self.calls = 0

    def each(
        self, prepare: Any, shared: Any, parts: Sequence[Any], stopped: Stopped = lambda: False
    ) -> Iterator[tuple[int, Any]]:
        self.calls += 1
        make = prepare(shared)
        for number in range(len(parts) - 1, len(parts) - 1 - self.after, -1):
            yield number, make(parts[number])
        raise WorkersError("they are gone")


def test_the_default_is_threads_of_this_process() -> None:
    said: list[str] = []
    with executor(Compute(), 3, said.append) as one:
        assert isinstance(one, Threads)
        assert one.width == 3
    assert said == []


def test_workers_are_not_looked_for_before_there_is_work() -> None:
    said: list[str] = []
    with executor(Compute(engine="dask", workers=2), say=said.append) as one:
        assert list(one.each(doubled, None, [])) == []
    assert said == []


@pytest.mark.parametrize("after", [0, 1, 3])
def test_with_a_fallback_this_process_does_the_rest(after: int) -> None:
    said: list[str] = []
    first = Failing(after)
    both = Staged(ONE_THREAD, first, 0, 12, fallback=True, say=said.append)
    assert (both.width, both.parts) == (5, 40)
    assert sorted(both.each(doubled, None, [4, 5, 6])) == [(0, 8), (1, 10), (2, 12)]
    assert said == [
        "warning: they are gone; this process continues without workers (compute.fallback)"
    ]
    assert both.width == 1
    assert list(both.each(doubled, None, [7])) == [(0, 14)]
    assert first.calls == 1
    assert len(said) == 1


def test_an_error_of_the_work_itself_is_no_reason_to_fall_back() -> None:
    def failing(_: None) -> Callable[[int], int]:
        raise ValueError("the work is wrong")

    with pytest.raises(ValueError, match="the work is wrong"):
        list(Staged(ONE_THREAD, Failing(1), 0, 12, fallback=True).each(failing, None, [1]))


class Clock:
    """A clock that only the work advances."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    def slow(self, _: None) -> Callable[[int], int]:
        def make(part: int) -> int:
            self.now += 1.0
            return 2 * part

        return make


def test_workers_elsewhere_do_what_was_not_done_in_time() -> None:
    clock, elsewhere = Clock(), Failing(0)
    both = Staged(ONE_THREAD, elsewhere, 5.0, 12, clock=clock)
    assert (both.width, both.parts) == (1, 12)
    assert sorted(both.each(clock.slow, None, [1, 2, 3])) == [(0, 2), (1, 4), (2, 6)]
    clock.now += 100.0  # others' time does not count
    assert elsewhere.calls == 0
    part = both.each(clock.slow, None, [4, 5, 6])
    assert [next(part), next(part)] == [(0, 8), (1, 10)]
    with pytest.raises(WorkersError, match="they are gone"):
        next(part)
    assert elsewhere.calls == 1
    assert (both.width, both.parts) == (5, 40)


@pytest.mark.parametrize("alone_s", [0.5, 1.5, 4.0, 9.0])
def test_results_do_not_depend_on_who_does_a_part(alone_s: float) -> None:
    clock = Clock()

    class Slow(Threads):
        def each(
            self,
            prepare: Callable[[Shared], Callable[[Part], Made]],
            shared: Shared,
            parts: Sequence[Part],
            stopped: Stopped = lambda: False,
        ) -> Iterator[tuple[int, Made]]:
            for made in super().each(prepare, shared, parts, stopped):
                clock.now += 1.0
                yield made

    both = Staged(Slow(1), Scattered(), alone_s, 12, clock=clock)
    assert sorted(both.each(doubled, None, [4, 5, 6, 7])) == [(0, 8), (1, 10), (2, 12), (3, 14)]


def test_a_stop_ends_all_executors() -> None:
    clock, elsewhere = Clock(), Failing(0)
    both = Staged(ONE_THREAD, elsewhere, 5.0, 12, clock=clock)
    done: list[int] = []
    for _, made in both.each(clock.slow, None, [1, 2, 3], lambda: len(done) > 0):
        done.append(made)
    assert (done, elsewhere.calls) == ([2], 0)


def test_missing_libraries_are_reported_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        executor(Compute(engine="dask", workers=1, alone_s=0)) as one,
        pytest.raises(WorkersError, match=r"pip install 'fairaudit\[dask\]', or choose \"local\""),
    ):
        list(one.each(doubled, None, [1]))
