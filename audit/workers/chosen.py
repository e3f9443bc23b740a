"""The crew that config.toml asks for."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from audit.config import Compute
from audit.errors import WorkersError
from audit.progress import printable
from audit.workers.crew import PARTS, Crew, Made, Part, Shared, Stopped, Threads
from audit.workers.on_dask import OF_EACH, Dask


def say(text: str) -> None:
    """Prints one line on stderr."""
    print(printable(text), file=sys.stderr)


@contextmanager
def crew(
    asked: Compute, threads: int | None = None, said: Callable[[str], None] = say
) -> Iterator[Crew]:
    """The crew that is asked for, while the block runs.

    Workers elsewhere are looked for when something is first to be done that this process has not
    done within ``alone_s``, and let go in the end.

    Args:
        asked: what config.toml says.
        threads: of this process, where it works itself; None or 0: one for each core.
        said: told which workers there are, and what became of them.
    """
    own = Threads(threads or len(os.sched_getaffinity(0)))
    if asked.engine == "local":
        yield own
        return
    dask = Dask(asked, said)
    try:
        elsewhere = WithFallback(dask, own, said) if asked.fallback else dask
        parts = max(OF_EACH * asked.threads, PARTS)
        yield HereFirst(own, elsewhere, asked.alone_s, parts) if asked.alone_s else elsewhere
    finally:
        dask.close()


class HereFirst:
    """One crew, and another one for what the first has not done within some seconds in all.

    The clock decides who works, not what comes out.
    """

    def __init__(
        self,
        here: Crew,
        elsewhere: Crew,
        alone_s: float,
        parts: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``parts``: into how many work is cut before it is known who does it."""
        self._here = here
        self._elsewhere = elsewhere
        self._left_s = alone_s
        self._parts = parts
        self._clock = clock

    @property
    def width(self) -> int:
        """See ``Crew``."""
        return self._now.width

    @property
    def parts(self) -> int:
        """See ``Crew``."""
        return self._parts if self._now is self._here else self._now.parts

    @property
    def _now(self) -> Crew:
        return self._here if self._left_s > 0 else self._elsewhere

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """See ``Crew``."""
        left = dict.fromkeys(range(len(parts)))
        if self._left_s > 0:
            until = self._clock() + self._left_s

            def enough() -> bool:
                return stopped() or self._clock() >= until

            for number, made in self._here.each(prepare, shared, parts, enough):
                del left[number]
                yield number, made
            self._left_s = until - self._clock()
        if left and not stopped():
            rest = list(left)
            others = [parts[number] for number in rest]
            for number, made in self._elsewhere.each(prepare, shared, others, stopped):
                yield rest[number], made


class WithFallback:
    """A crew, and another one that does what the first can do no more."""

    def __init__(self, first: Crew, other: Crew, said: Callable[[str], None] = say) -> None:
        """``said`` is told when the other one takes over."""
        self._first = first
        self._other = other
        self._said = said
        self._now = first

    @property
    def width(self) -> int:
        """See ``Crew``."""
        return self._told(lambda: self._now.width)

    @property
    def parts(self) -> int:
        """See ``Crew``."""
        return self._told(lambda: self._now.parts)

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """See ``Crew``."""
        left = dict.fromkeys(range(len(parts)))
        try:
            for number, made in self._now.each(prepare, shared, parts, stopped):
                del left[number]
                yield number, made
        except WorkersError as error:
            self._give_up(error)
            rest = list(left)
            again = self._now.each(prepare, shared, [parts[k] for k in rest], stopped)
            for number, made in again:
                yield rest[number], made

    def _told(self, ask: Callable[[], int]) -> int:
        try:
            return ask()
        except WorkersError as error:
            self._give_up(error)
            return ask()

    def _give_up(self, error: WorkersError) -> None:
        """Lets the other crew take over; what fails there, fails."""
        if self._now is self._other:
            raise error
        self._said(f"warning: {error}; this process goes on alone (compute.fallback)")
        self._now = self._other
