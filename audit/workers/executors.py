"""Executors: they do independent parts of work, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Final, Protocol, TypeVar

Shared = TypeVar("Shared")
Part = TypeVar("Part")
Made = TypeVar("Made")

Stopped = Callable[[], bool]
"""Whether to begin no more; called before each part, and about once a second while it waits."""

PARTS: Final = 64
"""Number of parts for threads: progress is visible, all end together, and the cost is small."""


class Executor(Protocol):
    """Does parts of work; results depend neither on the executor nor on the parts' order."""

    @property
    def width(self) -> int:
        """Number of parts that are done at the same time, ≥ 1."""

    @property
    def parts(self) -> int:
        """Best number of parts for work that can be divided anywhere: each has a cost."""

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """Do each part once.

        Args:
            prepare: a function of a module: returns what does a part, from ``shared``. Called at
                most once in each process; what it returns may be called by several threads.
            shared: what all parts have in common: numbers, texts, arrays, frames, tuples and
                functions.
            parts: of the same kinds; small.

        Yields:
            The number of each part among ``parts`` and its result, as they arrive.

        Raises WorkersError if the workers cannot be reached, are lost, or compute with something
        else.
        """


def computed(_: None) -> Callable[[Callable[[], Made]], Made]:
    """A ``prepare`` for ``Executor.each`` whose parts are functions without arguments."""
    return lambda part: part()


class InTurn:
    """The caller's own thread: each part is done when its result is requested."""

    width: Final = 1
    parts: Final = PARTS

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """See ``Executor``."""
        make = prepare(shared)
        for number, part in enumerate(parts):
            if stopped():
                return
            yield number, make(part)


class Threads:
    """Threads of this process."""

    def __init__(self, width: int) -> None:
        self.width: Final = width
        self.parts: Final = PARTS

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """See ``Executor``."""
        make = prepare(shared)
        waiting = iter(enumerate(parts))
        working: dict[Future[Made], int] = {}
        with ThreadPoolExecutor(self.width) as pool:
            while True:
                free = 0 if stopped() else self.width - len(working)
                begun = islice(waiting, free)
                working |= {pool.submit(make, part): number for number, part in begun}
                if not working:
                    return
                # the timeout notices a stop before the next part is done
                for future in wait(working, timeout=1, return_when=FIRST_COMPLETED).done:
                    yield working.pop(future), future.result()


IN_TURN: Final = InTurn()
ONE_THREAD: Final = Threads(1)
