"""SPEC §11, *Passed over*, in slow, plain, exact Python; nothing is shared with the package."""

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from tests.naive.attempts import Record
from tests.naive.similar import walltime_class

Attempts = Sequence[Record]
"""Started ones, each with user, account, partition, qos, arrival, start, end_time (None: it runs),
size, walltime_s, needs, day, midnight (the local one before its arrival), ``subject`` and
``marked_from`` (None: never); in the order (arrival, submit, sequence)."""
Barred = Mapping[int, Sequence[tuple[int, int]]]
WEEK = 7 * 86_400


class Paired(NamedTuple):
    pairs: Fraction
    lost: Fraction
    pairs_more: Fraction
    lost_more: Fraction
    pairs_less: Fraction
    lost_less: Fraction
    passed_s: int
    passed_else_s: int


def usage(
    attempts: Attempts,
    one: Record,
    instant: int,
    shares: Mapping[str, float],
    owners: str,
    half_life_s: int,
) -> float:
    """What the user (account) of an attempt had recently used, divided by its share."""
    decay = math.log(2) / half_life_s
    amounts = []
    for other in attempts:
        begin, end = other["start"], other["end_time"]
        if other[owners] == one[owners] is not None:
            end = instant if end is None else min(end, instant)
            if begin < end:
                left, at_start = (math.exp(-decay * (instant - t)) for t in (end, begin))
                amounts.append((other["size"] or 0) * (left - at_start) / decay)
    return math.fsum(amounts) / (shares.get(one[owners], 1e-12) if shares else 1.0)


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
    width = (one["size"] - 1).bit_length() if one["size"] else None
    return (*place, width, walltime_class(one["walltime_s"]))


def paired(
    attempts: Attempts,
    kind: str,
    barred: Sequence[Barred] = (),
    shares: Mapping[str, float] | None = None,
    most: int = 2_000,
    own: bool = False,
    usage_by: tuple[str, int, float] = ("user", WEEK, 1.2),
) -> dict[int, Paired]:
    """Of each subject with pairs that count.

    Args:
        shares: None: nobody had used anything.
        usage_by: the kind of owners, the half-life, and from which factor on one had used more.
    """
    owners, half_life_s, much = usage_by
    first = bursts(attempts)
    parts = [(first[k], of_class(one, kind)) for k, one in enumerate(attempts)]
    found = {}
    for j, one in enumerate(attempts):
        if not one["subject"] or one[kind] is None or one["start"] - one["arrival"] <= 60:
            continue
        rivals = [
            k
            for k, other in enumerate(attempts)
            if is_rival(one, other, kind, own) and asks_as_much(other, one)
        ]
        rivals = rivals[:: -(-len(rivals) // most) or 1]
        lost = [k for k in rivals if attempts[k]["start"] < one["start"] - 60]
        kept = [k for k in rivals if k not in lost and one["marked_from"] is None]
        lost = [k for k in lost if could_start(j, one, attempts[k]["start"], barred)]
        weights = {
            k: Fraction(1, parts.count(parts[j]) * parts.count(parts[k])) for k in (*lost, *kept)
        }
        more, less = set(), set()
        for k in weights if shares is not None else ():
            at = attempts[k]["midnight"]
            mine, theirs = (
                usage(attempts, x, at, shares or {}, owners, half_life_s)
                for x in (one, attempts[k])
            )
            more |= {k} if mine > much * theirs else set()
            less |= {k} if theirs > much * mine else set()

        def total(of: Iterable[int], weights: Mapping[int, Fraction] = weights) -> Fraction:
            return sum((weights[k] for k in of), Fraction())

        if weights:
            found[j] = Paired(
                total(weights),
                total(lost),
                total(more),
                total(more & {*lost}),
                total(less),
                total(less & {*lost}),
                max((one["start"] - attempts[k]["start"] for k in lost), default=0),
                max((one["start"] - attempts[k]["start"] for k in {*lost} - more), default=0),
            )
    return found


def could_start(j: int, one: Record, instant: int, barred: Sequence[Barred]) -> bool:
    """Whether j was neither marked nor barred."""
    marked = one["marked_from"] is not None and one["marked_from"] <= instant
    return not marked and not any(within(of.get(j, ()), instant) for of in barred)


def is_rival(j: Record, k: Record, kind: str, own: bool) -> bool:
    """Whether k arrived while j waited, and is of another user and entity, or of the same user."""
    same_place = kind in ("partition", "qos") or (
        (j["partition"], j["qos"]) == (k["partition"], k["qos"])
    )
    other = k[kind] not in (None, j[kind]) and k["user"] != j["user"]
    return bool(
        same_place
        and (k["user"] == j["user"] if own else other)
        and j["arrival"] < k["arrival"] < j["start"]
    )


def asks_as_much(k: Record, j: Record) -> bool:
    unlimited = k["walltime_s"] is None
    longer = unlimited or (j["walltime_s"] is not None and k["walltime_s"] >= j["walltime_s"])
    return longer and all(a >= b for a, b in zip(k["needs"], j["needs"], strict=True))


def within(intervals: Iterable[tuple[int, int]], instant: int) -> bool:
    return any(begin <= instant <= end for begin, end in intervals)


def judged(attempts: Attempts, kind: str, least: tuple[int, int]) -> dict[str, Judged]:
    """The result for each entity with a subject that has pairs."""
    found = paired(attempts, kind)
    made = {}
    for entity in sorted({attempts[j][kind] for j in found}):
        mine = [j for j in found if attempts[j][kind] == entity]
        others = [j for j in found if attempts[j][kind] != entity]
        days = sorted({attempts[j]["day"] for j in mine})
        pairs, lost = sums(found, mine)
        all_pairs, all_lost = sums(found, others)
        passed_s = sum(found[j].passed_s for j in mine)
        expected = difference = lower = p = None
        if others:
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
                for stretch in stretches(days):
                    kept = [j for j in mine if attempts[j]["day"] not in stretch]
                    above = sum((found[j].lost - due[j] for j in kept), Fraction())
                    without.append(above / sums(found, kept)[0])
                lower, p = tested(difference, without)
        made[entity] = Judged(
            len(mine), len(days), lost / pairs, expected, passed_s, difference, lower, p
        )
    return made


def sums(found: Mapping[int, Paired], rows: Iterable[int]) -> tuple[Fraction, Fraction]:
    kept = [found[j] for j in rows]
    zero = Fraction()
    return sum((one.pairs for one in kept), zero), sum((one.lost for one in kept), zero)


def stretches(days: Sequence[int]) -> list[list[int]]:
    """The days in each of up to 20 equal stretches of the time from the first to the last."""
    first, behind = days[0], days[-1] + 1
    number = min(20, behind - first)
    edges = [first + Fraction((behind - first) * k, number) for k in range(number + 1)]
    found = [[day for day in days if low <= day < high] for low, high in pairwise(edges)]
    return [stretch for stretch in found if stretch]


def forbidden(
    jobs: Sequence[Record], limits: Sequence[Mapping[str, Any]], instant: int
) -> dict[int, bool]:
    """Whether a limit forbids each job that waits, after its user's earlier ones took theirs.

    Args:
        jobs: user, account, arrival, start (None: never), end, leave, cpus, jobs (1), walltime; in
            the order of the queue.
        limits: most, what (cpus or jobs), per (user or account), and whether it is of remaining
            time.
    """
    waiting = [k for k, one in enumerate(jobs) if one["arrival"] <= instant < one["leave"]]
    took: list[int] = []
    found = {}

    def left(one: Record, limit: Mapping[str, Any]) -> int:
        whole = limit["most"]
        for other in jobs:
            runs = other["start"] is not None and other["start"] <= instant < other["end"]
            if runs and other[limit["per"]] == one[limit["per"]]:
                rest = max(other["start"] + other["walltime"] - instant, 0)
                whole -= other[limit["what"]] * (rest if limit["remaining"] else 1)
        for k in took:
            if (jobs[k]["user"], jobs[k][limit["per"]]) == (one["user"], one[limit["per"]]):
                whole -= adds(jobs[k], limit)
        return int(whole)

    def adds(one: Record, limit: Mapping[str, Any]) -> int:
        return int(one[limit["what"]] * (one["walltime"] if limit["remaining"] else 1))

    for j in waiting:
        counting = [of for of in limits if jobs[j][of["per"]] is not None]
        found[j] = any(adds(jobs[j], of) > left(jobs[j], of) for of in counting)
        if not found[j]:
            took.append(j)
    return found


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
