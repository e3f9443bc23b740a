"""The executor that config.toml selects."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from audit.config import Compute
from audit.errors import WorkersError
from audit.progress import printable
from audit.words import plural
from audit.workers import clusters
from audit.workers.executors import PARTS, Executor, Made, Part, Shared, Stopped, Threads, computed
from audit.workers.on_dask import OF_EACH, Dask


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr)


@contextmanager
def executor(
    options: Compute,
    threads: int | None = None,
    say: Callable[[str], None] = _say,
    warned: Callable[[str], None] = lambda text: None,
) -> Iterator[Executor]:
    """The executor that the options select, while the block runs.

    Workers do the parts that this process has not done within ``alone_s`` seconds. This process
    uses ``threads`` threads; None or 0: one for each core.

    Args:
        say: called with the number of workers, each failure of them, and their share of the work.
        warned: called in the end if workers failed; nothing is lost, but a person should know.
    """
    own = Threads(threads or len(os.sched_getaffinity(0)))
    if options.engine == "local":
        yield own
        return
    dask = Dask(options, say)
    parts = max(OF_EACH * options.threads, PARTS)
    staged = Staged(own, dask, options.alone_s, parts, fallback=options.fallback, say=say)
    try:
        yield staged
    finally:
        dask.close()
        if dask.used and staged.done:
            say(f"{plural(len(dask.used), 'worker')} did {staged.shares}: {dask.where}")
        for address, why in dask.left_out.items():
            warned(f"{dask.where}: worker {address} was left out: {why}")
        if staged.gave_up is not None:
            warned(staged.gave_up)


def tried(options: Compute) -> str:
    """Try the workers that the options select, each with a small task; return what was found.

    Raises WorkersError if no worker can be used, if one would be left out, or if others may use the
    key.
    """
    dask = Dask(options)
    try:
        threads = dask.width
        for _ in dask.each(computed, None, [partial(pow, 2, k) for k in range(threads)]):
            pass
        faults = [f"worker {address}: {why}" for address, why in dask.left_out.items()]
        if faults:
            raise WorkersError(f"{dask.where}: {'; '.join(faults)}")
        if exposed := clusters.exposed(options):
            raise WorkersError(exposed)
        found = f"{plural(len(dask.used), 'worker')} with {plural(threads, 'thread')}"
    finally:
        dask.close()
    folder = "" if options.folder is None else f", which can use {options.folder}"
    return f"{dask.where}: {found} and this version{folder}"


@dataclass
class Staged:
    """Threads of this process for the first ``left_s`` seconds of work, then workers elsewhere.

    If the workers are lost and a fallback is allowed, this process does the rest. The clock decides
    where parts are computed, never their results. ``own_parts`` is the number of parts for threads.
    """

    here: Executor
    elsewhere: Executor
    left_s: float
    own_parts: int
    fallback: bool = False
    say: Callable[[str], None] = _say
    clock: Callable[[], float] = time.monotonic
    gave_up: str | None = None
    """Why this process continued without workers."""
    done: int = 0
    """Number of parts done, by this process or elsewhere."""
    done_here: int = 0

    @property
    def shares(self) -> str:
        """The share of the parts that were done elsewhere."""
        away = self.done - self.done_here
        return f"{away:,} of {plural(self.done, 'part')} ({100 * away / max(self.done, 1):.0f} %)"

    @property
    def width(self) -> int:
        """See ``Executor``."""
        return self.here.width if self.left_s > 0 else self._ask(lambda: self.elsewhere.width)

    @property
    def parts(self) -> int:
        """See ``Executor``."""
        return self.own_parts if self.left_s > 0 else self._ask(lambda: self.elsewhere.parts)

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
                self.done += 1
                self.done_here += executor is self.here
                yield rest[place], made

        if self.left_s > 0:
            until = self.clock() + self.left_s
            yield from done(self.here, lambda: stopped() or self.clock() >= until)
            self.left_s = until - self.clock()
        if left and not stopped():
            try:
                yield from done(self.elsewhere, stopped)
            except WorkersError as error:
                self._give_up(error)
                yield from done(self.elsewhere, stopped)

    def _ask(self, what: Callable[[], int]) -> int:
        try:
            return what()
        except WorkersError as error:
            self._give_up(error)
            return what()

    def _give_up(self, error: WorkersError) -> None:
        """Let this process take over; its errors are final."""
        if not self.fallback or self.elsewhere is self.here:
            raise error
        self.gave_up = f"{error}; this process continued without workers (compute.fallback)"
        self.say(f"warning: {error}; this process continues without workers (compute.fallback)")
        self.elsewhere = self.here
