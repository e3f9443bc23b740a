"""Executors: they do parts of work that do not depend on one another, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Final, Protocol, TypeVar

Shared = TypeVar("Shared")
Part = TypeVar("Part")
Made = TypeVar("Made")

Stopped = Callable[[], bool]
"""Whether to begin no more; asked before each part, and about once a second while it waits."""


PARTS: Final = 64
"""For threads, to which a part costs next to nothing: so progress is seen, and all end together."""


class Executor(Protocol):
    """Does parts of work; what is made depends neither on the executor nor on the parts' order."""

    @property
    def width(self) -> int:
        """How many parts are worked on at one time, ≥ 1."""

    @property
    def parts(self) -> int:
        """Into how many parts work is best cut that can be cut anywhere: each costs something."""

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """Does each part once.

        Args:
            prepare: a function of a module: what does a part, from what all have in common. Called
                once in each process at the most; what it gives may be called by several threads.
            shared: what all have in common: numbers, texts, arrays, frames, tuples and functions.
            parts: what tells them apart, of the same kinds; small.

        Yields:
            The number of each part among ``parts`` and what was made of it, as each is there.

        Raises:
            WorkersError: the workers cannot be reached, are all gone, or are not as they must be.
        """


def computed(_: None) -> Callable[[Callable[[], Made]], Made]:
    """What does parts that are functions themselves: a ``prepare`` for ``Executor.each``."""
    return _called


def _called(part: Callable[[], Made]) -> Made:
    return part()


class InTurn:
    """The caller's own thread, one part after the other, each when it is asked for."""

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
        """So many, ≥ 1."""
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
                # wakes up now and then, or it would learn of a stop only from the next part
                for future in wait(working, timeout=1, return_when=FIRST_COMPLETED).done:
                    yield working.pop(future), future.result()


IN_TURN: Final = InTurn()
ONE_THREAD: Final = Threads(1)
