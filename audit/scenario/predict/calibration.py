"""How intervals are corrected by those decided before, and when they are withheld (SPEC §13).

A correction counts from the instant at which it is decided, not from when the prediction is made.
"""

import heapq
from bisect import bisect_left
from collections import OrderedDict
from enum import StrEnum
from itertools import islice
from operator import truediv
from typing import Final, Generic, NamedTuple, TypeVar

from audit.scenario.workload import NEVER

CONTESTED_S: Final = 60  # a prediction is contested if its median is further ahead, s
TOLERANCE_S: Final = 60  # an interval is right if the start is within it, give or take
GROUPS: Final = 50
FEWEST_GROUPS: Final = 20
LEAST_COVERAGE: Final = 0.70
MISS: Final = 0.1  # the share of starts that should lie beyond each bound
BINS: Final = (0, 600, 3_600, 14_400, 43_200, 129_600)
"""Longest modelled waits of the bins that are corrected apart, s."""

Event = TypeVar("Event")


class Withheld(StrEnum):
    """Why a prediction has no interval."""

    HELD = "held"  # it waits for something other than its turn
    UNSCHEDULABLE = "unschedulable"  # its request is unknown, or more than the pool ever allows
    NEVER_STARTS = "never_starts"  # the model never starts it
    FEW_SIMILAR = "few_similar"
    FEW_DECIDED = "few_decided"  # too few intervals have been decided
    MISCALIBRATED = "miscalibrated"  # too few of them were right


class Bounds(NamedTuple):
    """An interval of the start and its median, epoch s."""

    p10: int
    p50: int
    p90: int


class Life(NamedTuple):
    """When an attempt started and left the queue, epoch s; NEVER: not yet, or never."""

    start: int
    leaves: int  # its start, or when it was cancelled


class Later(Generic[Event]):
    """Events that are decided later."""

    def __init__(self) -> None:
        """Begin with none."""
        self._heap: list[tuple[int, int, Event]] = []
        self._serial = 0

    def add(self, instant: int, event: Event) -> None:
        """Add an event that is decided at ``instant``."""
        self._serial += 1
        heapq.heappush(self._heap, (instant, self._serial, event))

    def before(self, now: int) -> list[Event]:
        """Remove and return the events that were decided before ``now``."""
        found = []
        while self._heap and self._heap[0][0] < now:
            found.append(heapq.heappop(self._heap)[2])
        return found


class _Correction:
    """A number for the lower and the upper bound, by bin, that decided starts move.

    A start beyond a bound moves its number by rate · (1 − ``MISS``), another by −rate · ``MISS``,
    within the limits.
    """

    def __init__(
        self,
        begin: tuple[float, float],
        rates: tuple[float, float],
        limits: tuple[tuple[float, float], tuple[float, float]],
        bins: int = 1,
    ) -> None:
        self._values = [[value] * bins for value in begin]
        self._rates, self._limits = rates, limits
        self._later = Later[tuple[bool, int, bool]]()

    def _numbers(self, now: int, bin_: int = 0) -> tuple[float, float]:
        """Return the numbers of a bin for intervals made at ``now``."""
        for upper, of, missed in self._later.before(now):
            low, high = self._limits[upper]
            moved = self._values[upper][of] + self._rates[upper] * (missed - MISS)
            self._values[upper][of] = min(max(moved, low), high)
        return self._values[False][bin_], self._values[True][bin_]

    def _note(self, bounds: Bounds, life: Life, bin_: int = 0) -> None:
        """Take note of an interval; a cancelled attempt decides no later bound."""
        for upper, bound in ((False, bounds.p10), (True, bounds.p90)):
            if life.start == NEVER and life.leaves < bound:
                continue
            missed = life.start > bound if upper else life.start < bound
            self._later.add(min(life.start, bound), (upper, bin_, missed))


class Levels(_Correction):
    """The levels of the bounds of contested predictions, by modelled wait."""

    def __init__(self) -> None:
        """Begin with 0.1 and 0.9."""
        limits = ((0.02, 0.2), (0.8, 0.98))
        super().__init__((MISS, 1 - MISS), (-0.01, 0.01), limits, len(BINS) + 1)

    def at(self, now: int, wait: int, contested: bool) -> tuple[float, float]:
        """Return the levels for a modelled wait, s."""
        found = self._numbers(now, bisect_left(BINS, wait))
        return found if contested else (MISS, 1 - MISS)

    def made(self, bounds: Bounds, life: Life, wait: int, contested: bool) -> None:
        """Take note of an interval."""
        if contested:
            self._note(bounds, life, bisect_left(BINS, wait))


class Shifts(_Correction):
    """By how much the bounds of remaining waits move outward, as logarithms."""

    def __init__(self) -> None:
        """Begin with none."""
        super().__init__((0.0, 0.0), (0.05, 0.05), ((-1.0, 3.0), (-1.0, 3.0)))

    def at(self, now: int) -> tuple[float, float]:
        """Return the shifts of the lower and the upper bound."""
        return self._numbers(now)

    def made(self, bounds: Bounds, life: Life) -> None:
        """Take note of an interval."""
        self._note(bounds, life)


Group = tuple[int, int]
"""A user and an hour or a day, whose predictions are one observation."""


class Record:
    """How often intervals of one kind were right."""

    def __init__(self) -> None:
        """Begin with no interval."""
        self._groups: OrderedDict[Group, list[int]] = OrderedDict()
        self._later = Later[tuple[Group, bool]]()

    def made(self, group: Group, bounds: Bounds, life: Life) -> None:
        """Take note of an interval."""
        low, high = bounds.p10 - TOLERANCE_S, bounds.p90 + TOLERANCE_S
        if life.start <= high:
            self._later.add(life.start, (group, life.start >= low))
        elif life.leaves > high:
            self._later.add(high, (group, False))

    def verdict(self, now: int) -> Withheld | None:
        """Return why an interval made at ``now`` is withheld; None: it is not."""
        for group, right in self._later.before(now):
            counts = self._groups.setdefault(group, [0, 0])
            counts[0] += right
            counts[1] += 1
            self._groups.move_to_end(group)
        while len(self._groups) > 4 * GROUPS:
            self._groups.popitem(last=False)
        last = list(islice(reversed(self._groups.values()), GROUPS))
        if len(last) < FEWEST_GROUPS:
            return Withheld.FEW_DECIDED
        rights, totals = zip(*last, strict=True)
        by_group = sum(map(truediv, rights, totals)) / len(last)
        by_job = sum(rights) / sum(totals)
        return Withheld.MISCALIBRATED if min(by_group, by_job) < LEAST_COVERAGE else None
