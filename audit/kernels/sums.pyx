"""Sums of values by group, and sums and quantiles of bootstrap resamples.

A *unit* is what is resampled: a user or a day. Sums run in the given order, term by term, so they
do not depend on the number of threads.
"""

from libc.math cimport NAN
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

DIGITS = 66
"""Digits of 32 bits each: enough for every sum of 2^30 doubles, the smallest of which is 2^-1074."""


def add_ints(const int64_t[::1] groups, const int64_t[::1] values, int64_t[::1] out):
    """Add each value to the element of ``out`` that its group names."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(groups.shape[0]):
            out[groups[k]] += values[k]


def add_to_digits(const int64_t[::1] groups, const int64_t[::1] bits, int64_t[:, ::1] digits):
    """Add doubles to Σ digit_k · 2^(32 k − 1074) without rounding.

    Args:
        groups: the row of ``digits`` that each double is added to.
        bits: the doubles, as their bits.
        digits: groups × DIGITS. Digits may be negative or beyond 32 bits: carries are left to the
            caller.

    Returns:
        False, with meaningless digits, if a double is infinite or NaN.

    Source: R. M. Neal, Fast Exact Summation Using Small and Large Superaccumulators (2015).
    """
    cdef int64_t implicit_bit = <int64_t> 1 << 52
    cdef int64_t exponent, mantissa, shift, low, high, sign
    cdef Py_ssize_t k, at, group
    cdef bint finite = True
    with nogil:
        for k in range(bits.shape[0]):
            exponent = (bits[k] >> 52) & 2047
            if exponent == 2047:
                finite = False
                break
            mantissa = bits[k] & (implicit_bit - 1)
            if exponent > 0:
                mantissa += implicit_bit
                exponent -= 1
            at = exponent >> 5
            shift = exponent & 31
            low = <int64_t> <uint32_t> mantissa << shift
            high = (mantissa >> 32) << shift
            sign = -1 if bits[k] < 0 else 1
            group = groups[k]
            digits[group, at] += sign * <uint32_t> low
            digits[group, at + 1] += sign * ((low >> 32) + <uint32_t> high)
            digits[group, at + 2] += sign * (high >> 32)
    return finite


def count_draws(const uint32_t[::1] bits, int64_t done, uint8_t[:, ::1] by_unit):
    """Draw units with random bits and count them; return the total number of draws made.

    The draws are those of numpy's ``Generator.integers``: n · bits / 2^32. Bits that would make
    some units likelier than others are skipped.

    Args:
        bits: random bits; the function returns when they or the resamples end.
        done: number of draws made before this call.
        by_unit: units × resamples, how often each resample drew each unit; incremented.

    Source: D. Lemire, Fast Random Integer Generation in an Interval (2019).
    """
    cdef uint64_t units = by_unit.shape[0], place
    cdef uint64_t uneven = (<uint64_t> 1 << 32) % units
    cdef int64_t resample = done // <int64_t> units
    cdef int64_t left = units - done % <int64_t> units
    cdef Py_ssize_t k
    with nogil:
        for k in range(bits.shape[0]):
            place = bits[k] * units
            if <uint32_t> place < uneven:
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


def weighted_sums(
    const uint8_t[:, ::1] by_unit, const int64_t[::1] units, const double[:, ::1] values,
    double[:, ::1] out
):
    """Write each resample's Σ weight · value.

    Args:
        by_unit: all units × resamples, the weights.
        units: the distinct units of this sum.
        values: terms × ``units``.
        out: terms × resamples; overwritten.
    """
    with nogil:
        _add_up(by_unit, units, values, 0, units.shape[0], out)


cdef void _add_up(
    const uint8_t[:, ::1] by_unit, const int64_t[::1] units, const double[:, ::1] values,
    Py_ssize_t begin, Py_ssize_t end, double[:, ::1] out
) noexcept nogil:
    """Write the sums over some of the units; see ``weighted_sums``."""
    cdef Py_ssize_t terms = values.shape[0]
    cdef Py_ssize_t term
    out[:] = 0.0
    for term in range(0, terms - 3, 4):
        _add_four_terms(by_unit, units, values, begin, end, term, out)
    for term in range(terms - terms % 4, terms):
        _add_one_term(by_unit, units, values, begin, end, term, out)


cdef void _add_four_terms(
    const uint8_t[:, ::1] by_unit, const int64_t[::1] units, const double[:, ::1] values,
    Py_ssize_t begin, Py_ssize_t end, Py_ssize_t term, double[:, ::1] out
) noexcept nogil:
    """Add up four terms from ``term`` on, reading each weight once for all of them."""
    cdef double a, b, c, d, weight
    cdef Py_ssize_t k, resample
    for k in range(begin, end):
        a, b = values[term, k], values[term + 1, k]
        c, d = values[term + 2, k], values[term + 3, k]
        if a == 0.0 and b == 0.0 and c == 0.0 and d == 0.0:
            continue
        for resample in range(by_unit.shape[1]):
            weight = by_unit[units[k], resample]
            out[term, resample] += weight * a
            out[term + 1, resample] += weight * b
            out[term + 2, resample] += weight * c
            out[term + 3, resample] += weight * d


cdef void _add_one_term(
    const uint8_t[:, ::1] by_unit, const int64_t[::1] units, const double[:, ::1] values,
    Py_ssize_t begin, Py_ssize_t end, Py_ssize_t term, double[:, ::1] out
) noexcept nogil:
    cdef double value
    cdef Py_ssize_t k, resample
    for k in range(begin, end):
        value = values[term, k]
        if value != 0.0:
            for resample in range(by_unit.shape[1]):
                out[term, resample] += by_unit[units[k], resample] * value


def ratio_intervals(
    const uint8_t[:, ::1] by_unit, const int64_t[::1] units, const int64_t[::1] begin,
    const double[:, ::1] values, const int64_t[::1] above, const int64_t[::1] below,
    int64_t fewest, int64_t lower, int64_t upper, double[:, :, ::1] out
):
    """Write two nearest-rank quantiles of resampled ratios Σ above / Σ below, for each part.

    Args:
        by_unit: all units × resamples, the weights.
        units: the distinct units of each part, part by part.
        begin: where each part begins in ``units``, and the end of the last one.
        values: terms × ``units``.
        above, below: the term of each numerator and denominator.
        fewest: number of units below which a part has no quantiles.
        lower, upper: the quantiles, in thousandths.
        out: parts × ratios × 2; NaN where no resample has the ratio.
    """
    cdef double[:, ::1] sums = np.empty((values.shape[0], by_unit.shape[1]))
    cdef double[::1] ratios = np.empty(by_unit.shape[1])
    cdef double[::1] least = np.empty(by_unit.shape[1])
    cdef Py_ssize_t part, ratio, resample, count
    with nogil:
        out[:] = NAN
        for part in range(begin.shape[0] - 1):
            if begin[part + 1] - begin[part] < fewest:
                continue
            _add_up(by_unit, units, values, begin[part], begin[part + 1], sums)
            for ratio in range(above.shape[0]):
                count = 0
                for resample in range(sums.shape[1]):
                    if sums[below[ratio], resample] > 0:
                        ratios[count] = sums[above[ratio], resample] / sums[below[ratio], resample]
                        count += 1
                _quantiles(ratios[:count], lower, upper, least, out[part, ratio])


def quantiles(const double[::1] figures, int64_t lower, int64_t upper, double[::1] out):
    """Write two nearest-rank quantiles (thousandths) of figures, NaN without any."""
    _quantiles(figures, lower, upper, np.empty(figures.shape[0]), out)


cdef void _quantiles(
    const double[::1] figures, int64_t lower, int64_t upper, double[::1] least, double[::1] out
) noexcept nogil:
    """Write two quantiles near the least and the greatest figure, without sorting all of them."""
    cdef Py_ssize_t count = figures.shape[0]
    if count == 0:
        out[:] = NAN
        return
    out[0] = _nth(figures, max(1, (count * lower + 999) // 1000), 1.0, least)
    out[1] = -_nth(figures, count + 1 - max(1, (count * upper + 999) // 1000), -1.0, least)


cdef double _nth(
    const double[::1] figures, Py_ssize_t nth, double sign, double[::1] least
) noexcept nogil:
    """Return the nth least of ``sign`` times the figures, from 1 on.

    ``least`` is working space, of ``nth`` elements: a heap of the least figures, the greatest first.
    """
    cdef Py_ssize_t count = 0, place, child, k
    cdef double figure
    for k in range(figures.shape[0]):
        figure = sign * figures[k]
        if count < nth:
            place = count
            count += 1
            while place > 0 and least[(place - 1) >> 1] < figure:
                least[place] = least[(place - 1) >> 1]
                place = (place - 1) >> 1
            least[place] = figure
        elif figure < least[0]:
            place = 0
            while True:
                child = 2 * place + 1
                if child + 1 < nth and least[child + 1] > least[child]:
                    child += 1
                if child >= nth or least[child] <= figure:
                    break
                least[place] = least[child]
                place = child
            least[place] = figure
    return least[0]


def weighted_quantiles(
    const int64_t[:, ::1] weights, const int64_t[:, ::1] blocks, int64_t block_length,
    const int64_t[::1] units, const double[::1] values, const int64_t[::1] thousandths,
    double[:, ::1] out
):
    """Write each resample's nearest-rank quantiles; NaN where it drew none of the values.

    Args:
        weights: resamples × units.
        blocks: blocks × units, how many of each ``block_length`` consecutive values each unit has;
            most values are skipped a block at a time.
        block_length: number of values in a block; the last block may have fewer.
        units: the unit of each value.
        values: ascending.
        thousandths: the quantiles, ascending.
        out: resamples × quantiles; overwritten.
    """
    cdef int64_t[::1] totals = np.empty(blocks.shape[0], np.int64)
    cdef Py_ssize_t resample
    with nogil:
        for resample in range(weights.shape[0]):
            _quantiles_of(
                weights[resample], blocks, block_length, units, values, thousandths, totals,
                out[resample],
            )


cdef void _quantiles_of(
    const int64_t[::1] weights, const int64_t[:, ::1] blocks, int64_t block_length,
    const int64_t[::1] units, const double[::1] values, const int64_t[::1] thousandths,
    int64_t[::1] totals, double[::1] out
) noexcept nogil:
    """Write the quantiles of one resample; ``totals`` is working space, one element per block."""
    cdef int64_t count = 0, passed = 0, seen, rank, total
    cdef Py_ssize_t block, unit, q, k
    for block in range(blocks.shape[0]):
        total = 0
        for unit in range(blocks.shape[1]):
            total += weights[unit] * blocks[block, unit]
        totals[block] = total
        count += total
    if count == 0:
        out[:] = NAN
        return
    block = 0
    for q in range(thousandths.shape[0]):
        rank = max(1, (count * thousandths[q] + 999) // 1000)
        while passed + totals[block] < rank:
            passed += totals[block]
            block += 1
        seen = passed
        k = block * block_length - 1
        while seen < rank:
            k += 1
            seen += weights[units[k]]
        out[q] = values[k]
