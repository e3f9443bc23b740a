"""How far long work is: a bar on a terminal, plain lines in a log. And how it is told to stop."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


QUIET_S: Final = 60
"""A log gets no more lines about the same work than one in so many seconds."""


def printable(text: str) -> str:
    """``text`` for a terminal: names in logs may hold control characters that would steer it."""
    return "".join(
        char if char.isprintable() or char == "\n" else char.encode("unicode_escape").decode()
        for char in text
    )


class Progress:
    """Shows progress on stderr while the ``with`` block runs."""

    def __init__(self) -> None:
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._last_line: dict[str, float] = {}

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bars

            self._bars = Bars(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()

    def update(self, what: str, done: int, of: int) -> None:
        """``done`` of ``of`` units of ``what`` are done."""
        if self._bars is None:
            now = time.monotonic()
            if what not in self._last_line:
                self._last_line[what] = now
                print(f"{printable(what)} …", file=sys.stderr)
            elif done < of and now - self._last_line[what] >= QUIET_S:
                self._last_line[what] = now
                print(f"{printable(what)}: {done:,} of {of:,}", file=sys.stderr)
            return
        if what not in self._tasks:
            self._tasks[what] = self._bars.add_task(printable(what), total=of)
        self._bars.update(self._tasks[what], completed=done, total=of)

    def say(self, text: str) -> None:
        """Prints one line, above the bars where there are any."""
        if self._bars is None:
            print(printable(text), file=sys.stderr)
        else:
            self._bars.console.print(printable(text), markup=False, highlight=False)


@contextmanager
def stopped_by_signals(stop: Event) -> Iterator[None]:
    """Sets ``stop`` at the first SIGTERM or SIGINT; a later one ends the process as usual.

    One that comes within a second is the same one: some send it to the process and to its group.
    """
    signals = (signal.SIGTERM, signal.SIGINT)
    first: list[float] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        stop.set()
        first.append(time.monotonic())
        if first[-1] - first[0] > 1.0:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    before = {number: signal.signal(number, handle) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
