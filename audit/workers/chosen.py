"""The executor that config.toml asks for."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from audit.config import Compute
from audit.errors import WorkersError
from audit.progress import printable
from audit.workers.executors import PARTS, Executor, Made, Part, Shared, Stopped, Threads
from audit.workers.on_dask import OF_EACH, Dask


def say(text: str) -> None:
    """Prints one line on stderr."""
    print(printable(text), file=sys.stderr)


@contextmanager
def executor(
    asked: Compute, threads: int | None = None, said: Callable[[str], None] = say
) -> Iterator[Executor]:
    """The executor that is asked for, while the block runs.

    Workers elsewhere are looked for when this process has not done something within ``alone_s``.

    Args:
        threads: of this process, where it works itself; None or 0: one for each core.
    """
    own = Threads(threads or len(os.sched_getaffinity(0)))
    if asked.engine == "local":
        yield own
        return
    dask = Dask(asked, said)
    parts = max(OF_EACH * asked.threads, PARTS)
    try:
        yield Staged(own, dask, asked.alone_s, parts, fallback=asked.fallback, said=said)
    finally:
        dask.close()


class Staged:
    """Threads of this process for the first seconds of work, then workers elsewhere.

    If these are lost and a fallback is allowed, this process does the rest. The clock decides who
    works, not what comes out.
    """

    def __init__(
        self,
        here: Executor,
        elsewhere: Executor,
        alone_s: float,
        parts: int,
        *,
        fallback: bool = False,
        said: Callable[[str], None] = say,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``parts``: into how many work is cut before it is known who does it."""
        self._here = here
        self._elsewhere = elsewhere
        self._left_s = alone_s
        self._parts = parts
        self._fallback = fallback
        self._said = said
        self._clock = clock

    @property
    def width(self) -> int:
        """See ``Executor``."""
        return self._here.width if self._left_s > 0 else self._ask(lambda: self._elsewhere.width)

    @property
    def parts(self) -> int:
        """See ``Executor``."""
        return self._parts if self._left_s > 0 else self._ask(lambda: self._elsewhere.parts)

    def each(
        self,
        prepare: Callable[[Shared], Callable[[Part], Made]],
        shared: Shared,
        parts: Sequence[Part],
        stopped: Stopped = lambda: False,
    ) -> Iterator[tuple[int, Made]]:
        """See ``Executor``."""
        left = dict.fromkeys(range(len(parts)))

        def done(executor: Executor, stopped: Stopped) -> Iterator[tuple[int, Made]]:
            rest = list(left)
            for place, made in executor.each(prepare, shared, [parts[k] for k in rest], stopped):
                del left[rest[place]]
                yield rest[place], made

        if self._left_s > 0:
            until = self._clock() + self._left_s
            yield from done(self._here, lambda: stopped() or self._clock() >= until)
            self._left_s = until - self._clock()
        if left and not stopped():
            try:
                yield from done(self._elsewhere, stopped)
            except WorkersError as error:
                self._give_up(error)
                yield from done(self._elsewhere, stopped)

    def _ask(self, what: Callable[[], int]) -> int:
        try:
            return what()
        except WorkersError as error:
            self._give_up(error)
            return what()

    def _give_up(self, error: WorkersError) -> None:
        """Let this process take over; what fails there, fails."""
        if not self._fallback or self._elsewhere is self._here:
            raise error
        self._said(f"warning: {error}; this process goes on alone (compute.fallback)")
        self._elsewhere = self._here
