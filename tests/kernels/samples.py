"""Kernels that use each thing of Python that kernels may, to be compiled by a test."""

import math
from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import Bools, Codes, FloatTable, IntCube, Ints, IntTable, Words
from audit.kernels.compiled import inner, kernel

FAR = 1 << 62
HALF = 0.5
ROW = 1


class Pair(NamedTuple):
    low: Ints
    high: int


class Nest(NamedTuple):
    pair: Pair
    share: float


@kernel
def divide(a: int, b: int) -> tuple[int, int]:
    return a // b, a % b


@kernel
def numbers(x: float, n: int, is_odd: bool) -> float:
    word = np.uint64(n & 255) << np.uint64(3)
    big = FAR if is_odd else -FAR
    least = min(n, 7, big)
    total = (
        (n + 1) / 7 + float(np.int64(word)) + int(x) + abs(-x) + least % 5 + int(is_odd) + bool(n)
    )
    total += math.copysign(math.floor(x), -1.0) if 0 <= n < 9 and not is_odd else x / 3
    total *= 2.0 ** (n / 40)
    if n in (1, 2) or math.isnan(x):
        return -1.0
    return float(total)


@kernel
def rows(table: FloatTable, cube: IntCube, codes: Codes, words: Words, out: FloatTable) -> None:
    line = table[ROW]
    line[:] = HALF
    for i in range(len(table)):
        for k in range(table.shape[1] - 1, -1, -1):
            out[i, k] = table[i, k] * codes[k]
    for sign in range(-1, 2, 2):
        out[0, 0] += sign * cube[1, 0, cube.shape[2] - 1]
    out[1, 0] = float(words[0] >> np.uint64(40))
    out[1, 1] = np.nan


@kernel
def swaps(one: Ints, other: Ints, marks: Bools) -> int:
    first, second = one, other
    seen = False
    _, found = 3, 0
    while True:
        first, second = second, first
        found += 1
        if found == 3:
            break
        if found == 2:
            continue
        seen |= marks[0]
    fill(first[1:3], found)
    marks[0] = not seen
    return found if seen else -found


@inner
def fill(part: Ints, value: int) -> None:
    part[:] = value


@kernel
def nested(nest: Nest, more: Ints) -> float:
    here = nest.pair
    if nest.share > HALF:
        here = Pair(more, 4)
    both = Nest(here, 2.0 * nest.share)
    low, high = both.pair
    return both.share * weigh(both.pair) + len(low) + high


@inner
def weigh(pair: Pair) -> int:
    total: int = 0
    for i in range(len(pair.low)):
        total += pair.low[i] * pair.high
    return total


@kernel
def asked(table: IntTable, i: int) -> bool:
    for k in range(len(table)):  # noqa: SIM110 (kernels know no any)
        if table[k, 0] == i:
            return True
    return False
