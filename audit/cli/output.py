"""Output of the commands: results on stdout, everything else on stderr."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from audit.progress import Progress, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from audit.cluster.inference import Fact

at_work = Progress
"""Shows the progress of long work in a ``with`` block."""


def show(result: object) -> None:
    """Print one line of the result."""
    print(printable(str(result)))


def say(text: str) -> None:
    """Print a line on stderr."""
    with suppress(OSError):  # the exit code matters more than a full disk here
        print(printable(text), file=sys.stderr)


def warn(warnings: Iterable[str]) -> None:
    """Print warnings on stderr."""
    for warning in warnings:
        say(f"warning: {warning}")


def described(fact: Fact) -> str:
    """Return an inferred value and its source."""
    return f"{fact.what}: {fact.value} (from {fact.source})"


def tell(progress: Progress) -> Callable[[Fact], None]:
    """Return a callback that prints facts above the progress bars."""
    return lambda fact: progress.say(described(fact))
