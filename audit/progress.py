"""Progress of long work, as a bar on a terminal or plain lines in a log, and stopping it."""

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING, Final, Self

from audit.timings import Timings

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

OnProgress = Callable[[str, int, int], None]
"""Called with what is done, how many units of it are, and of how many."""


def silent(what: str, done: int, of: int) -> None:
    """Report no progress."""


QUIET_S: Final = 60
"""Minimum seconds between two lines about the same work in a log."""
SAID_S: Final = 1
"""Work that took as long is reported with its duration when it is done."""


def printable(text: str) -> str:
    """Escape control characters, which a name in a log may hold, so that it is one line."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def printable_lines(text: str) -> str:
    """Escape control characters of ``text``, except newlines."""
    return "\n".join(map(printable, text.split("\n")))


class Progress:
    """Shows progress on stderr while its ``with`` block runs.

    With ``lines``, steps are printed where stderr is no terminal. With ``timings``, a table of what
    each stage cost follows.
    """

    def __init__(self, *, lines: bool = True, timings: bool = False) -> None:
        self._lines = lines
        self._timings = Timings() if timings else None
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}
        self._last_line: dict[str, float] = {}
        self._begun: dict[str, float] = {}

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bars

            text = TextColumn("{task.description}", markup=False)
            console = Console(stderr=True)
            self._bars = Bars(
                text, BarColumn(), TimeElapsedColumn(), console=console, transient=True
            )
            self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._bars is not None:
            self._bars.stop()
        if self._timings is not None:
            self._timings.end()
            for line in self._timings.lines():
                print(printable(line), file=sys.stderr)

    def update(self, what: str, done: int, of: int) -> None:
        """Report that ``done`` of ``of`` units of ``what`` are done."""
        if self._timings is not None:
            self._timings.update(what, done, of)
        now = time.monotonic()
        begun = self._begun.setdefault(what, now)
        if self._bars is not None:
            if what not in self._tasks:
                self._tasks[what] = self._bars.add_task(printable(what), total=of)
            self._bars.update(self._tasks[what], completed=done, total=of)
        elif not self._lines:
            return
        elif what not in self._last_line:
            print(f"{printable(what)} …", file=sys.stderr)
            self._last_line[what] = now
        elif done < of and now - self._last_line[what] >= QUIET_S:
            print(f"{printable(what)}: {done:,} of {of:,}", file=sys.stderr)
            self._last_line[what] = now
        if done >= of:
            del self._begun[what]
            if now - begun >= SAID_S:
                self.say(f"{what}: {now - begun:.0f} s")

    def say(self, text: str) -> None:
        """Print one line, above the bars if there are any."""
        if self._bars is None:
            print(printable(text), file=sys.stderr)
        else:
            self._bars.console.print(printable(text), markup=False, highlight=False)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM interrupt the block as Ctrl-C does; when it has cleaned up, end the process.

    Further ones are ignored meanwhile.
    """
    ours = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if not ours or current_thread() is not main_thread():
        yield
        return
    came = Event()

    def interrupt(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, signal.SIG_IGN)
        came.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if came.is_set():
            signal.raise_signal(signal.SIGTERM)


@contextmanager
def stopped_by_signals(stop: Event) -> Iterator[None]:
    """Set ``stop`` at the first SIGTERM or SIGINT; let a later one end the process.

    Signals within one second count as one: some senders signal both the process and its group.
    """
    first: list[float] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        stop.set()
        first.append(time.monotonic())
        if first[-1] - first[0] > 1.0:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
