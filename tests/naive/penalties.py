"""Penalties as [M] writes them down, in slow plain Python: exact, or to 60 digits under a root."""

import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

Record = Mapping[str, Any]
DIGITS = Context(prec=60)


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    """base^exponent, for a base from 0 to 1 and an exponent above 0."""
    if base in (0, 1):
        return base
    return Fraction(DIGITS.power(_decimal(base), _decimal(exponent)))


def _decimal(value: Fraction) -> Decimal:
    return DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator))


def _times(factors: Sequence[Fraction]) -> Fraction:
    result = Fraction(1)
    for factor in factors:
        result *= factor
    return result


def penalty(  # noqa: PLR0911 - a formula each
    name: str,
    held: Mapping[str, Fraction],
    weights: Mapping[str, Fraction],
    exempt: Collection[str] = (),
) -> Fraction:
    """P at fractions ``held``; the number is that of the formula in [M]."""
    w = {x: weights.get(x, Fraction(1)) for x in held}
    whole = sum(w.values(), Fraction())
    r = len(held)
    weighed = [w[x] * q for x, q in held.items()]
    match name:
        case "cpu":  # 2
            return held["cpus"]
        case "max" | "pe":  # 3
            return max(held.values())
        case "max_capped":  # 4
            return min(Fraction(1), max(weighed))
        case "max_scaled":  # 5
            return max(weighed) / max(w.values())
        case "product":  # 7
            return _times(list(held.values()))
        case "product_weighted":  # 8
            return _power(_times([_power(q, w[x]) for x, q in held.items()]), 1 / whole)
        case "sum":  # 9
            return sum(held.values(), Fraction()) / r
        case "sum_weighted":  # 10
            return sum(weighed, Fraction()) / whole
        case "root" if not exempt:  # 11
            return 1 - _power(_times([1 - q for q in held.values()]), Fraction(1, r))
        case "root_weighted" if not exempt:  # 12
            left = _times([_power(1 - q, w[x]) for x, q in held.items()])
            return 1 - _power(left, 1 / whole)
        case "root" | "root_weighted":
            return 1 - _times(
                [
                    1 - q * w[x] / whole if x in exempt else _power(1 - q, w[x] / whole)
                    for x, q in held.items()
                ]
            )
    raise AssertionError(name)


def of_attempt(
    request: Record,
    name: str,
    available: Mapping[str, int],
    pool_nodes: int | None,
    weights: Mapping[str, Fraction],
    exempt: Collection[str] = (),
) -> Fraction:
    """P of one attempt; ``available`` on a node where ``pool_nodes`` is given, else in the pool."""
    nodes = 1 if pool_nodes is None else request["nodes"] or 0
    if nodes == 0:
        return Fraction()
    held = {
        x: min(Fraction(request[x] or 0, nodes * amount), Fraction(1))
        for x, amount in available.items()
    }
    whole = penalty(name, held, weights, exempt)
    if pool_nodes is not None:
        whole *= min(Fraction(nodes, pool_nodes), Fraction(1))
    if name == "pe":
        whole *= available["cpus"] * (pool_nodes or 1)
    return whole


# The five rules, [M] §3: by comparing all points of a grid with one another

Point = tuple[Fraction, ...]
Penalty = Callable[[Point], Fraction]
TENTHS = [Fraction(i, 10) for i in range(11)]
EXACT = Fraction(1, 10**40)


def keeps(penalty: Penalty, resources: int, levels: Sequence[Fraction] = TENTHS) -> list[bool]:
    """Rules 1 to 4."""
    known = {point: penalty(point) for point in itertools.product(levels, repeat=resources)}
    axes = range(resources)

    def moved(point: Point, x: int, level: Fraction) -> Point:
        return (*point[:x], level, *point[x + 1 :])

    def others(point: Point, x: int) -> Fraction:
        return max(point[:x] + point[x + 1 :])

    def inside(point: Point) -> bool:
        return all(0 < q < 1 for q in point)

    heeded = [
        any(
            abs(known[moved(point, x, level)] - known[point]) > EXACT
            for point in known
            for level in levels
        )
        for x in axes
    ]
    grows = all(
        known[moved(point, x, level)] - known[point] > EXACT
        for point in known
        if inside(point)
        for x in axes
        for level in levels
        if point[x] < level < others(point, x)
    )
    extremes = all(
        (abs(known[point] - 1) <= EXACT) == (1 in point)
        and (abs(known[point]) <= EXACT) == (max(point) == 0)
        for point in known
    )
    middles = {(low, high): (low + high) / 2 for low, high in itertools.combinations(levels, 2)}
    affine = all(
        abs(
            known[moved(point, x, low)]
            - 2 * known[moved(point, x, middle)]
            + known[moved(point, x, high)]
        )
        <= 4 * EXACT
        for point in known
        for x in axes
        if point[x] == levels[0]  # of each line one point
        for (low, high), middle in middles.items()
        if low >= others(point, x) and middle in levels
    )
    homogeneous = all(
        abs(penalty(tuple(part * q for q in point)) - part * known[point]) <= EXACT
        for point in known
        for part in (Fraction(1, 2), Fraction(1, 10))
    )
    return [sum(heeded) > 1, grows, extremes, affine and homogeneous]


# What the choice of a penalty changes


def parts(
    charged_by: Mapping[str, Sequence[Record]], kind: str, from_time: int, to_time: int, now: int
) -> dict[str, dict[str | None, Fraction]]:
    """Return each user's part of the use in [from_time, to_time), by penalty."""
    result = {}
    for name, records in charged_by.items():
        used: dict[str | None, Fraction] = {}
        for record in records:
            if record["start_time"] is None:
                continue
            end = now if record["end_time"] is None else record["end_time"]
            seconds = max(min(end, to_time) - max(record["start_time"], from_time), 0)
            owner = record[kind]
            used[owner] = used.get(owner, Fraction()) + Fraction(record["penalty"]) * seconds
        total = sum(used.values(), Fraction())
        result[name] = {
            owner: amount / total if total else Fraction() for owner, amount in used.items()
        }
    return result
