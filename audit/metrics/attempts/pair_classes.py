"""Arrange pairs by classes of equal requests, so that they are counted without comparing each.

A subject's pairs are all rivals of its stratum, less those of its user, less those of its entity,
plus those of both, which were subtracted twice. In each class that requests as much, the rivals
that arrived in its wait are a range. A sum over a tree gives those of them that started before it.
Where classes are many or waits short, it costs less to compare with each rival in turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from audit.kernels.passed_over import Classes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_CLASSES: Final = 2_000
"""With more classes, each subject is compared with each of its rivals in turn."""
LOOKED_UP: Final = 12
"""Cost of one look-up in a segment, in comparisons with a block of rivals."""


class Side(NamedTuple):
    """Subjects or rivals: columns that decide pairs, one element per row of a log."""

    stratum: Ints
    user: Ints
    entity: Ints  # −1: unknown
    need: Ints  # rows × what is compared
    arrival: Ints
    start: Ints


class Swept(NamedTuple):
    """Where subjects are in the log, block by block, and what comparing them would cost."""

    first_row: Ints  # [blocks], the row of its first subject
    begin: Ints  # blocks + 1: the first subject of each block
    row: Ints  # [subjects]
    window: Ints  # [blocks], the blocks of rivals with which it would be compared
    may_sweep: NDArray[np.bool_]  # [blocks]


def classes(side: Side, weight: Floats, subjects: Swept, *, by_user: bool) -> Classes:
    """Return the classes of rivals, all rows with an entity, and the subjects that are swept.

    Args:
        weight: of each rival.
        by_user: whether entities are users.
    """
    from audit.kernels.passed_over import Classes

    n, blocks = len(side.user), len(subjects.first_row)
    block = np.repeat(np.arange(blocks), np.diff(subjects.begin))
    of = _numbered(side.stratum, *side.need.T)
    number = int(of.max(initial=-1)) + 1
    ways = _ways(side, by_user=by_user)
    rivals = np.flatnonzero((side.entity >= 0) & (number <= MOST_CLASSES))
    places = _Places(len(ways), n)
    key = np.stack(
        [places.add(k, way, of, rivals, side.arrival) for k, (_, way) in enumerate(ways)]
    )
    key = np.ascontiguousarray(key[:, subjects.first_row])
    first_segment, of_segment, begins = places.segments()
    looked_up = np.append(np.diff(first_segment), 0)[key].sum(axis=0)  # the last: of no key
    swept = subjects.may_sweep & (len(rivals) > 0)
    swept &= LOOKED_UP * looked_up * np.diff(subjects.begin) < subjects.window
    of_block = np.where(swept, of[subjects.first_row], -1)
    chosen = np.flatnonzero(swept[block])
    start = side.start[subjects.row]
    waiting = chosen[np.lexsort((side.arrival[subjects.row[chosen]], of_block[block[chosen]]))]
    before, after, first = _linked(waiting, of_block[block], number, len(block))
    order = np.concatenate([np.zeros(0, np.int64), *places.order])
    return Classes(
        as_much=_as_much(side, of, number if len(chosen) else 0),
        of_block=of_block,
        block=block,
        swept=chosen[np.argsort(start[chosen], kind="stable")],
        sign=np.array([sign for sign, _ in ways], np.int64),
        key=key,
        first_segment=first_segment,
        of_segment=of_segment,
        segment_begin=begins,
        arrival_at=side.arrival[order],
        sums=np.append(0.0, np.cumsum(weight[order])),
        place=places.place,
        segment=places.segment,
        by_start=rivals[np.argsort(side.start[rivals], kind="stable")],
        of_rival=of,
        arrival=side.arrival,
        user=side.user,
        entity=side.entity,
        weight=weight,
        least=float(weight.min(initial=1.0)),
        first=first,
        before=before,
        after=after,
        started=np.zeros(len(of_segment)),
        tree=np.zeros(len(order)),
    )


def _ways(side: Side, *, by_user: bool) -> list[tuple[int, Ints]]:
    """Return the keys by which rivals are arranged, with their signs."""
    users, entities = int(side.user.max(initial=0)) + 2, int(side.entity.max(initial=0)) + 2
    stratum = _numbered(side.stratum)
    mine, its = stratum * users + side.user, stratum * entities + side.entity
    ways = [(1, stratum), (-1, mine)]
    if not by_user:
        ways += [(-1, its), (1, mine * entities + side.entity)]
    return ways


class _Places:
    """Rivals arranged in several ways, one after the other."""

    def __init__(self, ways: int, n: int) -> None:
        self.place, self.segment = np.full((2, ways, n), -1)
        self.order: list[Ints] = []
        self._keys: list[Ints] = []  # of each segment
        self._of: list[Ints] = []
        self._sizes: list[Ints] = []
        self._places = self._segments = self._key = 0

    def add(self, way: int, key: Ints, of: Ints, rivals: Ints, arrival: Ints) -> Ints:
        """Arrange rivals by key, class and arrival; return the number of each row's key, or −1."""
        order = rivals[np.lexsort((arrival[rivals], of[rivals], key[rivals]))]
        begins = changes(key[order], of[order])
        sizes = np.diff(np.append(begins, len(order)))
        self.place[way, order] = self._places + np.arange(len(order))
        self.segment[way, order] = self._segments + np.repeat(np.arange(len(begins)), sizes)
        known, numbers = np.unique(key[order[begins]], return_inverse=True)
        self.order.append(order)
        self._of.append(of[order[begins]])
        self._sizes.append(sizes)
        self._keys.append(self._key + numbers)
        at = np.minimum(np.searchsorted(known, key), max(len(known) - 1, 0))
        found: Ints = np.full(len(key), -1)
        if len(known):
            found = np.where(known[at] == key, self._key + at, -1)
        self._places += len(order)
        self._segments += len(begins)
        self._key += len(known)
        return found

    def segments(self) -> tuple[Ints, Ints, Ints]:
        """Return the first segment of each key, and of each segment the class and the begin."""
        keys = np.concatenate(self._keys)
        first = np.searchsorted(keys, np.arange(self._key + 1))
        begins = np.cumsum(np.append(0, np.concatenate(self._sizes)))
        return first, np.concatenate(self._of), begins


def _linked(waiting: Ints, of: Ints, number: int, count: int) -> tuple[Ints, Ints, Ints]:
    """Return links within each class, in the given order: before, after; and the first of each."""
    before, after = np.full((2, count), -1)
    first = np.full(number, -1)
    same = of[waiting[1:]] == of[waiting[:-1]]
    before[waiting[1:][same]] = waiting[:-1][same]
    after[waiting[:-1][same]] = waiting[1:][same]
    begins = waiting[changes(of[waiting])]
    first[of[begins]] = begins
    return before, after, first


def _as_much(side: Side, of: Ints, number: int) -> NDArray[np.bool_]:
    """Return whether the second class of each two is of the stratum, and requests as much."""
    _, one = np.unique(of, return_index=True)
    one = one[:number]
    stratum = side.stratum[one]
    made: NDArray[np.bool_] = stratum[:, None] == stratum[None, :]
    for need in side.need[one].T:
        made &= need[:, None] <= need[None, :]
    return made


def _numbered(*columns: Ints) -> Ints:
    """Number rows from 0 on; equal ones alike."""
    order = np.lexsort(columns)
    numbers = np.zeros(len(order), np.int64)
    begins = np.zeros(len(order), np.int64)
    begins[changes(*(column[order] for column in columns))] = 1
    numbers[order] = np.cumsum(begins) - 1
    return numbers


def changes(*columns: Ints) -> Ints:
    """Return the places of elements that differ from the one before, and of the first."""
    differs = np.ones(len(columns[0]), np.bool_)
    differs[1:] = False
    for column in columns:
        unequal = column[1:] != column[:-1]
        differs[1:] |= unequal if column.ndim == 1 else unequal.any(axis=1)
    return np.flatnonzero(differs)
