"""Executors, which do independent parts of work in any order."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Final, Protocol, TypeVar

Shared = TypeVar("Shared")
Part = TypeVar("Part")
Made = TypeVar("Made")

Stopped = Callable[[], bool]
"""Return whether to stop; called before each part, and about once a second while waiting."""

PARTS: Final = 64
"""Number of parts for threads: enough to show progress and to end together, at a small cost."""


class Executor(Protocol):
    """Does parts of work; results depend neither on the executor nor on the parts' order."""

    @property
    def width(self) -> int:
        """Number of parts that are done at the same time, ≥ 1."""

    @property
    def parts(self) -> int:
        """Best number of parts for work that can be divided anywhere; each part has a cost."""

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """Do each part once.

        Args:
            prepare: a function of a module that returns the function for a part, given ``shared``.
                Called at most once in each process; several threads may call the result.
            shared: the data of all parts: numbers, texts, arrays, frames, tuples and functions.
            parts: of the same types; small.

        Yields:
            The number of each part among ``parts`` and its result, as they arrive.

        Raises WorkersError if the workers cannot be reached, are lost, or have other software.
        """


def computed(_: None) -> Callable[[Callable[[], Made]], Made]:
    """Return a ``prepare`` for ``Executor.each`` whose parts are functions without arguments."""
    return lambda part: part()


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
        width = max(min(self.width, len(parts)), 1)
        with ThreadPoolExecutor(width) as pool:
            while True:
                free = 0 if stopped() else width - len(working)
                begun = islice(waiting, free)
                working |= {pool.submit(make, part): number for number, part in begun}
                if not working:
                    return
                # the timeout notices a stop before the next part is done
                for future in wait(working, timeout=1, return_when=FIRST_COMPLETED).done:
                    yield working.pop(future), future.result()


ONE_THREAD: Final = Threads(1)
