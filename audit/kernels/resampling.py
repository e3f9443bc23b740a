"""Figures of bootstrap resamples, which are told by how often each unit was drawn.

``weights`` has one row per resample and one column per unit, ``by_unit`` is the other way round.
Sums run in the order given, one after the other, so that they do not depend on the machine's
threads.
"""

import numpy as np

from audit.kernels.arrays import CountTable, Floats, FloatTable, Ints, IntTable
from audit.kernels.compiled import kernel


@kernel
def count_draws(draws: IntTable, first: int, by_unit: CountTable) -> None:
    """Adds to ``by_unit`` how often each unit occurs in each row of ``draws``.

    The rows are those of resamples from ``first`` on. A few at a time, for which each unit's counts
    lie together, go quickest.
    """
    for row in range(draws.shape[0]):
        for k in range(draws.shape[1]):
            by_unit[draws[row, k], first + row] += 1


@kernel
def weighted_sums(by_unit: CountTable, units: Ints, values: FloatTable, out: FloatTable) -> None:
    """Writes each resample's Σ weight · value over the given units, for each row of ``values``."""
    for term in range(len(values)):
        sums = out[term]
        sums[:] = 0.0
        for k in range(len(units)):
            value = values[term, k]
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
