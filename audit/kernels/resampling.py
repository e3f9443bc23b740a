"""Figures of bootstrap resamples, which are told by how often each unit was drawn.

``weights`` has one row per resample and one column per unit, ``by_unit`` is the other way round.
Sums run in the order given, one after the other, so that they do not depend on the machine's
threads.
"""

from typing import Final

import numpy as np

from audit.kernels.arrays import Codes, CountTable, Floats, FloatTable, Ints, IntTable
from audit.kernels.compiled import inner, kernel

_LOW: Final = (1 << 32) - 1


@kernel
def count_draws(bits: Codes, done: int, by_unit: CountTable) -> int:
    """Draws units by random bits, and adds to ``by_unit`` how often each resample drew each.

    One resample draws as many as there are units, then the next; ``done`` draws were made before.
    Ends where the bits do, or all resamples are drawn; gives how many draws are made then. Draws
    are those of numpy's ``Generator.integers``: n · bits / 2^32, bits being passed over where some
    units would be drawn more often than others.

    Source: D. Lemire, Fast Random Integer Generation in an Interval (2019).
    """
    units = by_unit.shape[0]
    uneven = (_LOW + 1) % units
    resample = done // units
    left = units - done % units
    for k in range(len(bits)):
        place = int(bits[k]) * units
        if (place & _LOW) < uneven:
            continue
        if resample == by_unit.shape[1]:
            break
        by_unit[place >> 32, resample] += 1
        done += 1
        left -= 1
        if left == 0:
            resample += 1
            left = units
    return done


@kernel
def weighted_sums(by_unit: CountTable, units: Ints, values: FloatTable, out: FloatTable) -> None:
    """Writes each resample's Σ weight · value over the given units, for each row of ``values``."""
    terms = len(values)
    for first in range(0, terms - 3, 4):
        add_four(by_unit, units, values, first, out)
    for term in range(terms - terms % 4, terms):
        add_one(by_unit, units, values[term], out[term])


@inner
def add_four(
    by_unit: CountTable, units: Ints, values: FloatTable, first: int, out: FloatTable
) -> None:
    """The sums of four rows of ``values``, from ``first`` on: weights are read once for all."""
    one, two = out[first], out[first + 1]
    three, four = out[first + 2], out[first + 3]
    one[:] = 0.0
    two[:] = 0.0
    three[:] = 0.0
    four[:] = 0.0
    for k in range(len(units)):
        a, b = values[first, k], values[first + 1, k]
        c, d = values[first + 2, k], values[first + 3, k]
        if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
            continue
        weights = by_unit[units[k]]
        for resample in range(len(weights)):
            weight = float(weights[resample])
            one[resample] += weight * a
            two[resample] += weight * b
            three[resample] += weight * c
            four[resample] += weight * d


@inner
def add_one(by_unit: CountTable, units: Ints, values: Floats, sums: Floats) -> None:
    """The sums of one row of values."""
    sums[:] = 0.0
    for k in range(len(units)):
        value = values[k]
        if value != 0.0:
            weights = by_unit[units[k]]
            for resample in range(len(sums)):
                sums[resample] += weights[resample] * value


def weighted_quantiles(
    weights: IntTable,
    blocks: IntTable,
    block_length: int,
    units: Ints,
    values: Floats,
    thousandths: Ints,
    out: FloatTable,
) -> None:
    """Writes each resample's nearest-rank quantiles, one column per element of ``thousandths``.

    ``values`` and ``thousandths`` ascend; ``units`` says whose each value is. ``blocks`` counts how
    many of each ``block_length`` consecutive values each unit has (one row per block), so that most
    values are passed over a block at a time. A resample that drew none of them gets NaN.
    """
    totals = np.empty(len(blocks), np.int64)
    quantiles(weights, blocks, block_length, units, values, thousandths, totals, out)


@kernel
def quantiles(
    weights: IntTable,
    blocks: IntTable,
    block_length: int,
    units: Ints,
    values: Floats,
    thousandths: Ints,
    totals: Ints,
    out: FloatTable,
) -> None:
    """As ``weighted_quantiles``; ``totals`` is working space with an element per block."""
    for resample in range(weights.shape[0]):
        count = 0
        for block in range(len(blocks)):
            totals[block] = 0
            for unit in range(blocks.shape[1]):
                totals[block] += weights[resample, unit] * blocks[block, unit]
            count += totals[block]
        if count == 0:
            for q in range(len(thousandths)):
                out[resample, q] = np.nan
            continue
        passed = 0
        block = 0
        for q in range(len(thousandths)):
            rank = max(1, (count * thousandths[q] + 999) // 1000)
            while passed + totals[block] < rank:
                passed += totals[block]
                block += 1
            seen = passed
            k = block * block_length - 1
            while seen < rank:
                k += 1
                seen += weights[resample, units[k]]
            out[resample, q] = values[k]
