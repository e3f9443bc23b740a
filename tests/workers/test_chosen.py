"""Who works is what config.toml says, and it is said; with a fallback nothing is lost."""

import sys
from collections.abc import Callable, Iterator, Sequence

import pytest

from audit.config import Compute
from audit.errors import WorkersError
from audit.workers.chosen import WithFallback, crew
from audit.workers.crew import IN_TURN, Made, Part, Shared, Stopped, Threads


def doubled(_: None) -> Callable[[int], int]:
    return lambda part: 2 * part


class Failing:
    """Workers that are lost after so many parts."""

    width = 5
    parts = 40

    def __init__(self, after: int) -> None:
        self.after = after
        self.asked = 0

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        self.asked += 1
        make = prepare(shared)
        for number in range(len(parts) - 1, len(parts) - 1 - self.after, -1):
            yield number, make(parts[number])
        raise WorkersError("they are gone")


def test_without_a_word_threads_of_this_process_work() -> None:
    said: list[str] = []
    with crew(Compute(), 3, said.append) as one:
        assert isinstance(one, Threads)
        assert one.width == 3
    assert said == []


def test_workers_are_not_looked_for_before_there_is_work() -> None:
    said: list[str] = []
    with crew(Compute(engine="dask", workers=2), said=said.append) as one:
        assert list(one.each(doubled, None, [])) == []
    assert said == []


@pytest.mark.parametrize("after", [0, 1, 3])
def test_what_the_workers_did_not_do_is_done_here(after: int) -> None:
    said: list[str] = []
    first = Failing(after)
    both = WithFallback(first, IN_TURN, said.append)
    assert (both.width, both.parts) == (5, 40)
    assert sorted(both.each(doubled, None, [4, 5, 6])) == [(0, 8), (1, 10), (2, 12)]
    assert said == ["warning: they are gone; this process goes on alone (compute.fallback)"]
    assert both.width == 1
    assert list(both.each(doubled, None, [7])) == [(0, 14)]
    assert first.asked == 1
    assert len(said) == 1


def test_an_error_of_the_work_itself_is_no_reason_to_fall_back() -> None:
    def failing(_: None) -> Callable[[int], int]:
        raise ValueError("the work is wrong")

    with pytest.raises(ValueError, match="the work is wrong"):
        list(WithFallback(Failing(1), IN_TURN, print).each(failing, None, [1]))


def test_what_is_missing_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        crew(Compute(engine="dask", workers=1)) as one,
        pytest.raises(WorkersError, match=r"pip install 'fairaudit\[dask\]', or choose \"local\""),
    ):
        list(one.each(doubled, None, [1]))
