"""Dominant-resource fairness (SPEC §12, *Measures*) in slow, plain Python, second by second.

Nothing here is shared with the package.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

Amounts = tuple[int, ...]


class One(NamedTuple):
    """An attempt: it demands its request in [arrival, end), and uses it from its start on."""

    owner: str
    request: Amounts
    arrival: int
    start: int | None
    end: int
    held: Sequence[range] = ()


def dominant(amounts: Sequence[int], capacity: Amounts) -> Fraction:
    """The greatest fraction of the capacity."""
    parts = zip(amounts, capacity, strict=True)
    return max((Fraction(a, c) for a, c in parts if c > 0), default=Fraction())


def allocation(
    demands: Mapping[str, Amounts], capacity: Amounts, weights: Mapping[str, int]
) -> dict[str, Fraction]:
    """The dominant shares that progressive filling gives."""
    share = {name: Fraction() for name in demands}
    growing = {
        name
        for name, demand in demands.items()
        if weights[name]
        and any(demand)
        and all(c > 0 for d, c in zip(demand, capacity, strict=True) if d)
    }
    most = {name: dominant(demands[name], capacity) for name in growing}
    pace = {
        name: [
            Fraction(d, c) / most[name] if d else Fraction()
            for d, c in zip(demands[name], capacity, strict=True)
        ]
        for name in growing
    }
    while growing:
        # how much longer until one has all, or a resource is used up
        full = [(most[n] - share[n]) / weights[n] for n in growing]
        for x in range(len(capacity)):
            speed = sum(weights[n] * pace[n][x] for n in growing)
            taken = sum(share[n] * pace[n][x] for n in pace)
            if speed:
                full.append((1 - taken) / speed)
        step = min(full)
        for name in growing:
            share[name] += weights[name] * step
        used_up = {x for x in range(len(capacity)) if sum(share[n] * pace[n][x] for n in pace) == 1}
        growing = {
            n for n in growing if share[n] < most[n] and not any(pace[n][x] for x in used_up)
        }
    return share


class Second(NamedTuple):
    """What an owner has and should have in a second."""

    held: Fraction
    entitled: Fraction

    @property
    def lacks(self) -> Fraction:
        return max(self.entitled - self.held, Fraction())


def deficits(
    log: Sequence[One],
    capacity_at: Mapping[int, Amounts],
    weights: Mapping[str, int],
) -> dict[str, Fraction]:
    """The sum over the seconds of ``capacity_at`` of what each owner lacks."""
    lacks = dict.fromkeys((one.owner for one in log), Fraction())
    for each in seconds(log, capacity_at, weights).values():
        for name, one in each.items():
            lacks[name] += one.lacks
    return lacks


def seconds(
    log: Sequence[One],
    capacity_at: Mapping[int, Amounts],
    weights: Mapping[str, int],
) -> dict[int, dict[str, Second]]:
    """What each owner holds and is entitled to in each second of ``capacity_at``."""
    made = {}
    for t, capacity in capacity_at.items():
        demand = {one.owner: (0,) * len(capacity) for one in log}
        used = dict(demand)
        for one in log:
            if one.arrival <= t < one.end and not any(t in span for span in one.held):
                demand[one.owner] = _plus(demand[one.owner], one.request)
            if one.start is not None and one.start <= t < one.end:
                used[one.owner] = _plus(used[one.owner], one.request)
        fair = allocation(demand, capacity, weights)
        made[t] = {name: Second(dominant(used[name], capacity), fair[name]) for name in demand}
    return made


def _plus(a: Amounts, b: Amounts) -> Amounts:
    return tuple(x + y for x, y in zip(a, b, strict=True))
