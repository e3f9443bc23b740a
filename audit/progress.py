"""How far long work is: a bar on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
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
        self._said: dict[str, float] = {}

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
            if what not in self._said:
                self._said[what] = now
                print(f"{printable(what)} …", file=sys.stderr)
            elif done < of and now - self._said[what] >= QUIET_S:
                self._said[what] = now
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
