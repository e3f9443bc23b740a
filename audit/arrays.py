"""Lists of the tasks of a job array for which one record stands.

``0-9,15,20-40:4`` names the tasks 0 to 9, 15, and every fourth from 20 to 40. ``0-9,+90`` stands
for 90 more, whose numbers the log does not list: Slurm cuts long ids.
"""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

LARGEST: Final = 4_000_001
"""Most tasks of one array: Slurm's largest MaxArraySize."""

_PIECE: Final = re.compile(r"\+(\d{1,9})|(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?")


class Tasks(NamedTuple):
    """The tasks of a list."""

    listed: NDArray[np.int64]  # ascending, each once
    more: int = 0  # tasks whose numbers are not listed

    @property
    def number(self) -> int:
        """How many they are."""
        return len(self.listed) + self.more

    @property
    def last(self) -> int:
        """The last task that is listed; −1 for none."""
        return int(self.listed[-1]) if len(self.listed) else -1

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The numbers of all tasks; those that are not listed follow the last."""
        return np.append(self.listed, np.arange(self.last + 1, self.last + 1 + self.more))

    @property
    def text(self) -> str:
        """The list that ``read`` reads."""
        breaks = np.flatnonzero(np.diff(self.listed) != 1) + 1
        runs = np.split(self.listed, breaks) if len(self.listed) else []
        pieces = [f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
        return ",".join([*pieces, f"+{self.more}"] if self.more else pieces)

    def without(self, seen: Iterable[int]) -> "Tasks":
        """Return the tasks that are not among ``seen``.

        Tasks that are not listed count until the last listed one or a later one is seen: arrays
        start in order, so that these may be among the seen.
        """
        known = np.unique(np.fromiter(seen, np.int64))
        begun = len(known) > 0 and int(known[-1]) >= self.last
        left = np.setdiff1d(self.listed, known, assume_unique=True)
        return Tasks(left, 0 if begun else self.more)


def read(text: str | None) -> Tasks | None:
    """Return the tasks of a list; None if it is not one, is empty or has more than ``LARGEST``."""
    pieces = [_PIECE.fullmatch(piece) for piece in (text or "").split(",")]
    more, spans = 0, []
    for match in pieces:
        if match is None:
            return None
        unlisted, first, last, step = match.groups()
        if unlisted:
            more += int(unlisted)
        else:
            spans.append(range(int(first), int(last or first) + 1, int(step or 1) or 1))
    if not 0 < more + sum(map(len, spans)) <= LARGEST:
        return None
    listed = [np.arange(span.start, span.stop, span.step, dtype=np.int64) for span in spans]
    if len(listed) == 1:  # in order
        return Tasks(listed[0], more)
    return Tasks(np.unique(np.concatenate(listed)) if listed else np.arange(0), more)


def count(text: str | None) -> int | None:
    """Return the number of tasks of a list; None as ``read``."""
    tasks = read(text)
    return None if tasks is None else tasks.number
