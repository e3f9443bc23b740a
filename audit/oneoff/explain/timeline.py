"""The account of one wait as a timeline: its stretches, merged into a few lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import polars as pl

from audit.metrics.queue_sweep import NEVER, Ints
from audit.oneoff.explain.story import Line, Part

LINES: Final = 8
"""Most lines."""
LEAST: Final = 0.02
"""Shorter stretches than this share of the wait are merged with their neighbours."""
_FIRST: Final = 1 / 512

_Cause = tuple[str, str | None]
"""Key of a cause; the rule or the kind of hold."""


@dataclass
class _Group:
    """Stretches that follow each other."""

    begin: int
    end: int
    seconds: Counter[_Cause]
    spans: list[tuple[_Cause, int, int]] = field(default_factory=list)

    @property
    def main(self) -> _Cause:
        """The longest cause."""
        return self.seconds.most_common(1)[0][0]

    @property
    def length(self) -> int:
        return self.end - self.begin

    def absorb(self, other: _Group) -> None:
        """Add the stretches that come next."""
        self.end = other.end
        self.seconds += other.seconds
        self.spans += other.spans


def timeline(traced: pl.DataFrame, queue: pl.DataFrame) -> tuple[Line, ...]:
    """Return the lines of a timeline, ascending, without gaps.

    Args:
        traced: ``account.Account.traced``.
        queue: see ``facts.Scene.queue``.
    """
    groups = [
        _Group(begin, end, Counter({(cause, by): end - begin}), [((cause, by), begin, end)])
        for begin, end, cause, by in traced.select("begin", "end", "cause", "by").iter_rows()
    ]
    if not groups:
        return ()
    wait_s = groups[-1].end - groups[0].begin
    least = _FIRST * wait_s
    groups = _merged(_merged(groups, 0), least)
    while least < LEAST * wait_s or len(groups) > LINES:
        least = min(2 * least, LEAST * wait_s) if least < LEAST * wait_s else 2 * least
        groups = _merged(groups, least)
    behind = _Behind(queue)
    return tuple(Line(group.begin, group.end, _parts(group, behind)) for group in groups)


def _merged(groups: list[_Group], least: float) -> list[_Group]:
    """Merge neighbours of one main cause, and those of which one is shorter than ``least`` s."""
    made = groups[:1]
    for group in groups[1:]:
        last = made[-1]
        if last.main == group.main or min(last.length, group.length) < least:
            last.absorb(group)
        else:
            made.append(group)
    return made


def _parts(group: _Group, behind: _Behind) -> tuple[Part, ...]:
    made = []
    for cause, seconds in group.seconds.most_common():
        spans = np.array([(begin, end) for of, begin, end in group.spans if of == cause])
        made.append(Part(*cause, seconds, behind.jobs(cause[0], spans)))
    return tuple(made)


class _Behind:
    """Counts the jobs that the subject was behind."""

    def __init__(self, queue: pl.DataFrame) -> None:
        arrival, leave, self._start, self._end = (
            queue[name].fill_null(NEVER).to_numpy()
            for name in ("arrival_time", "leave", "start_time", "end")
        )
        self._waiting = (arrival, np.where(queue["waits"].to_numpy(), leave, arrival))
        own, before = queue["own"].to_numpy(), queue["before"].to_numpy()
        subject = queue["subject"].to_numpy()
        self._runs = {"own": own, "earlier": before & ~own, "later": ~before & ~own}
        self._waits = {"own": own & before, "claimed": before & ~own}
        self._none = subject

    def jobs(self, cause: str, spans: Ints) -> int:
        """Return how many ran, or waited ahead, in any of some spans, ascending, [k, 2]."""
        found = np.zeros(len(self._start), np.bool_)
        if cause in self._runs:
            found |= self._runs[cause] & _meets(self._start, self._end, spans)
        if cause in self._waits:
            found |= self._waits[cause] & _meets(*self._waiting, spans)
        return int((found & ~self._none).sum())


def _meets(begin: Ints, end: Ints, spans: Ints) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return whether each [begin, end) overlaps any of the spans."""
    first = np.searchsorted(spans[:, 1], begin, side="right")
    there = first < len(spans)
    later = spans[np.minimum(first, len(spans) - 1), 0]
    meets: np.ndarray[tuple[int], np.dtype[np.bool_]] = there & (later < end) & (begin < end)
    return meets
