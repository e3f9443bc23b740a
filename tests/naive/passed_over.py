"""SPEC §11, *Passed over*, in slow, plain, exact Python; nothing is shared with the package."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Any, NamedTuple

from tests.naive.attempts import Record, width_class
from tests.naive.similar import walltime_class

Attempts = Sequence[Record]
"""Each with user, account, partition, qos, arrival, start, left (when it left the queue; None: not
yet), size, walltime_s, needs, day and ``subject``; in the order (arrival, submit, sequence)."""
Held = Mapping[int, Sequence[tuple[int, int]]]


class Paired(NamedTuple):
    pairs: Fraction
    lost: Fraction
    pairs_less: Fraction
    lost_less: Fraction
    passed_s: int


Usage = Callable[[Record, int], float]
"""What the owner of an attempt had used at an instant."""


def nothing(one: Record, instant: int) -> float:
    """The usage of all where nobody has any."""
    return 0.0


def usage(
    attempts: Attempts, owners: str, half_life_s: float, shares: Mapping[str, float]
) -> Usage:
    """Decayed usage divided by shares; that of an owner without a share counts a trillionfold."""
    decay = math.log(2) / half_life_s

    def used(one: Record, instant: int) -> float:
        amounts = []
        for other in attempts:
            begin, end = other["start"], other["end_time"]
            if one[owners] is None or other[owners] != one[owners] or begin is None:
                continue
            end = instant if end is None else min(end, instant)
            if begin < end:
                left, at_start = (math.exp(-decay * (instant - t)) for t in (end, begin))
                amounts.append((other["size"] or 0) * (left - at_start) / decay)
        return math.fsum(amounts) / shares.get(one[owners], 1e-12)

    return used


class Judged(NamedTuple):
    attempts: int
    days: int
    share: Fraction | None
    expected: Fraction | None
    passed_s: int
    difference: Fraction | None
    lower: float | None
    p: float | None


def bursts(attempts: Attempts) -> list[int]:
    """The first attempt of each one's burst."""
    first: list[int] = []
    for k, one in enumerate(attempts):
        queued = [
            i
            for i in range(k)
            if attempts[i]["user"] == one["user"]
            and (attempts[i]["left"] is None or attempts[i]["left"] > one["arrival"])
        ]
        first.append(first[queued[0]] if queued else k)
    return first


def of_class(one: Record, kind: str) -> tuple[Any, ...]:
    place = () if kind in ("partition", "qos") else (one["partition"], one["qos"])
    return (*place, width_class(one["size"]), walltime_class(one["walltime_s"]))


def paired(attempts: Attempts, kind: str, held: Held, used: Usage = nothing) -> dict[int, Paired]:
    """Of each subject while whose wait an attempt of another user and entity arrived."""
    first = bursts(attempts)
    parts = [(first[k], of_class(one, "user")) for k, one in enumerate(attempts)]
    found = {}
    for j, one in enumerate(attempts):
        if not one["subject"] or one[kind] is None:
            continue
        rivals = [k for k in range(len(attempts)) if is_rival(one, attempts[k], kind)]
        rivals = [k for k in rivals if not within(held.get(j, ()), attempts[k]["arrival"])]
        if not rivals:
            continue
        asking = [k for k in rivals if asks_as_much(attempts[k], one)]
        lost = [
            k
            for k in asking
            if attempts[k]["start"] is not None and attempts[k]["start"] < one["start"] - 60
        ]
        barred = [k for k in lost if within(held.get(j, ()), attempts[k]["start"])]
        lost = [k for k in lost if k not in barred]
        weights = {k: Fraction(1, parts.count(parts[j]) * parts.count(parts[k])) for k in asking}
        counted = [k for k in asking if k not in barred]
        less = [
            k
            for k in counted
            for at in (attempts[k]["arrival"],)
            if used(attempts[k], at) < used(one, at) * (1 - 1e-9)
        ]
        found[j] = Paired(
            sum((weights[k] for k in counted), Fraction()),
            sum((weights[k] for k in lost), Fraction()),
            sum((weights[k] for k in less), Fraction()),
            sum((weights[k] for k in lost if k in less), Fraction()),
            max((one["start"] - attempts[k]["start"] for k in lost), default=0),
        )
    return found


def is_rival(j: Record, k: Record, kind: str) -> bool:
    """Whether k arrived while j waited, and is of another user and entity."""
    same_place = kind in ("partition", "qos") or (
        (j["partition"], j["qos"]) == (k["partition"], k["qos"])
    )
    return bool(
        same_place
        and k[kind] not in (None, j[kind])
        and k["user"] != j["user"]
        and j["arrival"] < k["arrival"] < j["start"]
    )


def asks_as_much(k: Record, j: Record) -> bool:
    unlimited = k["walltime_s"] is None
    longer = unlimited or (j["walltime_s"] is not None and k["walltime_s"] >= j["walltime_s"])
    return longer and all(a >= b for a, b in zip(k["needs"], j["needs"], strict=True))


def within(intervals: Iterable[tuple[int, int]], instant: int) -> bool:
    return any(begin <= instant <= end for begin, end in intervals)


def judged(attempts: Attempts, kind: str, held: Held, least: tuple[int, int]) -> dict[str, Judged]:
    """The result for each entity with a subject during whose wait another attempt arrived."""
    found = paired(attempts, kind, held)
    made = {}
    for entity in sorted({attempts[j][kind] for j in found}):
        mine = [j for j in found if attempts[j][kind] == entity and found[j].pairs]
        others = [j for j in found if attempts[j][kind] != entity and found[j].pairs]
        days = sorted({attempts[j]["day"] for j in mine})
        pairs, lost = sums(found, mine)
        all_pairs, all_lost = sums(found, others)
        share = lost / pairs if mine else None
        passed_s = sum(found[j].passed_s for j in mine)
        expected = difference = lower = p = None
        if mine and others:
            due = {}
            for j in mine:
                alike = of_class(attempts[j], kind)
                pairs_, lost_ = sums(
                    found, [i for i in others if of_class(attempts[i], kind) == alike]
                )
                due[j] = found[j].pairs * (lost_ + 5 * all_lost / all_pairs) / (pairs_ + 5)
            expected = sum(due.values(), Fraction()) / pairs
            if len(mine) >= least[0] and len(days) >= max(least[1], 2):
                difference = sum((found[j].lost - due[j] for j in mine), Fraction()) / pairs
                without = []
                for block in blocks(days):
                    kept = [j for j in mine if attempts[j]["day"] not in block]
                    above = sum((found[j].lost - due[j] for j in kept), Fraction())
                    without.append(above / sums(found, kept)[0])
                lower, p = tested(difference, without)
        made[entity] = Judged(len(mine), len(days), share, expected, passed_s, difference, lower, p)
    return made


def sums(found: Mapping[int, Paired], rows: Iterable[int]) -> tuple[Fraction, Fraction]:
    kept = [found[j] for j in rows]
    zero = Fraction()
    return sum((one.pairs for one in kept), zero), sum((one.lost for one in kept), zero)


def blocks(days: Sequence[int]) -> list[list[int]]:
    """Up to 20 groups of consecutive days, of which the first may have one more than the others."""
    number = min(20, len(days))
    short, longer = divmod(len(days), number)
    block = [g for g in range(number) for _ in range(short + (g < longer))]
    paired_ = zip(block, days, strict=True)
    return [[day for _, day in group] for _, group in groupby(paired_, key=lambda one: one[0])]


def tested(value: Fraction, without: Sequence[Fraction]) -> tuple[float, float]:
    """The one-sided 95 % lower bound, and p."""
    count = len(without)
    mean = sum(without, Fraction()) / count
    variance = Fraction(count - 1, count) * sum((one - mean) ** 2 for one in without)
    if variance == 0:
        return float(value), 0.0 if value > 0 else 1.0
    deviation = math.sqrt(variance)
    low, high = 0.0, 10.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle, count - 1) > 0.05 else (low, middle)
    return float(value) - low * deviation, above(float(value) / deviation, count - 1)


def above(t: float, freedom: int) -> float:
    """The chance that Student's t exceeds t: Simpson's rule over its density, in atan(t/√n)."""
    begin, steps = math.atan(t / math.sqrt(freedom)), 200
    width = (math.pi / 2 - begin) / steps
    heights = [math.cos(begin + k * width) ** (freedom - 1) for k in range(steps + 1)]
    area = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
    constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
    return constant / math.sqrt(math.pi) * area * width / 3
