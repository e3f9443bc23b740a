"""A bound on the wall-clock time of what looks at a flag now and then: the core has no clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock, Thread

import numpy as np
from numpy.typing import NDArray

from audit.errors import UsageError


@dataclass(frozen=True)
class Stopwatch:
    """Sets a flag so many seconds after it was started last.

    Raises:
        UsageError: ``seconds`` is below 0, or no number.
    """

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise UsageError(f"a search of {self.seconds} s: give at least 0")

    def __str__(self) -> str:
        return f"{self.seconds:g} s"

    @contextmanager
    def __call__(self, flag: NDArray[np.int64]) -> Iterator[Callable[[], None]]:
        """Watches while the block runs, which is given what starts the watch, and resets the flag.

        One thread looks at the clock ten times in as many seconds; one for each start would take
        longer than a search.

        Args:
            flag: its first element becomes 1 when the time is over, 0 at each start.
        """
        until, lock, ended = float("inf"), Lock(), Event()

        def start() -> None:
            nonlocal until
            with lock:
                until = time.monotonic() + self.seconds
                flag[0] = self.seconds == 0  # nothing is left to chance

        def watch() -> None:
            while not ended.wait(min(max(self.seconds / 10, 0.001), 1.0)):
                with lock:
                    if time.monotonic() >= until:
                        flag[0] = 1

        watching = Thread(target=watch, name="fairaudit-stopwatch", daemon=True)
        watching.start()
        try:
            yield start
        finally:
            ended.set()
            watching.join()
