"""What commands print: results on stdout, the rest on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from audit.progress import printable

if TYPE_CHECKING:
    from audit.cluster.inference import Fact
    from audit.progress import Progress


def show(result: object) -> None:
    """Prints one line of what was asked for."""
    print(printable(str(result)))


def say(text: str) -> None:
    """Says something on stderr, whatever it is made of."""
    with suppress(OSError):  # on a full disk, say: what is done, and the exit code, matter more
        print(printable(text), file=sys.stderr)


def warn(warnings: Iterable[str]) -> None:
    """Says what may be wrong with the results."""
    for warning in warnings:
        say(f"warning: {warning}")


def described(fact: Fact) -> str:
    """What was inferred, and from what."""
    return f"{fact.what}: {fact.value} (from {fact.source})"


def tell(progress: Progress) -> Callable[[Fact], None]:
    """Says facts above the bars of what is under way."""
    return lambda fact: progress.say(described(fact))


@contextmanager
def at_work() -> Iterator[Progress]:
    """Long work, which shows how far it is."""
    from audit.progress import Progress

    with Progress() as progress:
        yield progress
