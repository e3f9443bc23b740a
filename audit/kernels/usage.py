"""Usage over time, one owner after the other: windows, exponential decay, ranks.

Attempts come grouped by owner: those of owner o are the elements ``offsets[o]`` up to
``offsets[o + 1]`` of ``start``, ``end`` and ``penalty``, in any order (quickest in that of time).
What an attempt adds to each span between two instants is entered where it starts and ends, and as a
rate for the spans that it fills, so the cost is attempts + owners · instants.

Sums are kept as unevaluated pairs of doubles and rounded once at the end, so they do not depend on
the order of rows or owners; a rate is exactly 0 where nothing fills a span.
"""

import math
from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import BoolTable, Codes, Floats, FloatTable, Ints, IntTable
from audit.kernels.compiled import inner, kernel
from audit.kernels.sorting import sort_by
from audit.kernels.sums import add, two_sum

LN_2 = math.log(2.0)
BEFORE_ALL = -(1 << 62)
CROWD = 32  # keys in one bucket beyond which moving them one by one would be slow


class Spans(NamedTuple):
    """What one owner uses in the spans between instants; an element per span."""

    part: Floats
    """By those that fill a span in part, decayed to its end."""
    part_low: Floats
    rate: Floats
    """By how much more is used per second from a span on by those that fill it."""
    rate_low: Floats
    filling: Ints
    """By how many more they are."""


def spans(number: int) -> Spans:
    """Working space for so many spans."""
    part, part_low, rate, rate_low = np.empty((4, number))
    return Spans(part, part_low, rate, rate_low, np.empty(number, np.int64))


def number(hashes: Ints, codes: Codes, firsts: Ints, counts: Ints) -> int:
    """Numbers the distinct hashes in the order of their appearance; returns how many there are.

    ``codes`` gets each element's number, ``firsts`` and ``counts`` where each number occurs first,
    and how often.
    """
    size = 4_096
    while True:
        distinct = number_in(np.full(size, -1), hashes, codes, firsts, counts)
        if distinct >= 0:
            return distinct
        size *= 4


@kernel
def number_in(slots: Ints, hashes: Ints, codes: Codes, firsts: Ints, counts: Ints) -> int:
    """As ``number``, in an open-addressed table; −1: it is too small.

    ``slots`` are the table, all −1, a power of two; it is filled at most by half.
    """
    size = len(slots)
    distinct = 0
    for j in range(len(hashes)):
        slot = hashes[j] & (size - 1)
        while slots[slot] >= 0 and hashes[firsts[slots[slot]]] != hashes[j]:
            slot = (slot + 1) & (size - 1)
        code = slots[slot]
        if code < 0:
            code = distinct
            slots[slot] = code
            firsts[code] = j
            counts[code] = 0
            distinct += 1
        codes[j] = code
        counts[code] += 1
        if 2 * distinct > size:
            return -1
    return distinct


@kernel
def group_by_owner(
    codes: Codes,
    start: Ints,
    end: Ints,
    penalty: Floats,
    places: Ints,
    start_out: Ints,
    end_out: Ints,
    penalty_out: Floats,
) -> None:
    """Writes the attempts owner by owner, in their order; ``places`` says where each code's go.

    It is used up: afterwards it says where they end.
    """
    for j in range(len(codes)):
        code = codes[j]
        place = places[code]
        places[code] = place + 1
        start_out[place] = start[j]
        end_out[place] = end[j]
        penalty_out[place] = penalty[j]


@kernel
def last_at_or_before(times: Ints, instant: int, near: int) -> int:
    """Index of the last of the ascending ``times`` ≤ ``instant``; −1 where all are later.

    Looks near the index ``near`` first, in steps that double: quick for neighbours, and never worse
    than twice a bisection.
    """
    count = len(times)
    low = -1  # times[low] ≤ instant
    high = count  # times[high] > instant
    step = 1
    if times[near] <= instant:
        low = near
        while low + step < high and times[low + step] <= instant:
            low += step
            step *= 2
        high = min(high, low + step)
    else:
        high = near
        while high - step > low and times[high - step] > instant:
            high -= step
            step *= 2
        low = max(low, high - step)
    while high - low > 1:
        middle = (low + high) // 2
        if times[middle] <= instant:
            low = middle
        else:
            high = middle
    return low


@inner
def window_sum(
    amount: Floats, high: Floats, low: Floats, bounds: IntTable, k: int, weights: Floats
) -> float:
    """For instant k, Σ weights[i] · (what was used from bounds[k, i + 1] to bounds[k, i]).

    ``amount`` is what was used in each span, ``high`` + ``low`` what was used up to each edge;
    ``bounds`` are indices of edges.
    """
    total = 0.0
    for i in range(len(weights)):
        until = bounds[k, i]
        since = bounds[k, i + 1]
        if until == since + 1:
            total += weights[i] * amount[since]
        elif until > since:
            most, rest = two_sum(high[until], low[until], -high[since])
            total += weights[i] * (most + (rest - low[since]))
    return total


@inner
def used_in_part(penalty: float, begin: int, stop: int, span_end: int, decay: float) -> float:
    """What is used over [begin, stop), decayed to the end of the span that this lies in.

    Without decay (0), penalty · length. Else the penalty comes divided by ``decay``, per second.
    """
    if decay == 0.0:
        return penalty * (stop - begin)
    return penalty * remaining(float(span_end - stop), float(stop - begin), decay)


@inner
def remaining(age: float, length: float, decay: float) -> float:
    """What is left of constant use: decay · ∫ exp(−decay · t) dt, t from age to age + length."""
    return -math.exp(-age * decay) * math.expm1(-length * decay)


@kernel
def enter(
    start: Ints,
    end: Ints,
    penalty: Floats,
    first_attempt: int,
    beyond: int,
    edges: Ints,
    decay: float,
    spans: Spans,
) -> None:
    """Writes what the attempts of one owner, ``first_attempt`` to ``beyond``, add to the spans.

    Where use decays, penalties are taken divided by ``decay``, per second, which ``remaining`` is
    multiplied by.
    """
    part, part_low, rate, rate_low, filling = spans
    last_edge = len(edges) - 1
    part[:] = 0.0
    part_low[:] = 0.0
    rate[:] = 0.0
    rate_low[:] = 0.0
    filling[:] = 0
    near = 0
    for j in range(first_attempt, beyond):
        begin = max(start[j], edges[0])
        stop = min(end[j], edges[last_edge])
        if stop <= begin:
            continue
        p = penalty[j] / decay if decay > 0.0 else penalty[j]
        near = last_at_or_before(edges, begin, near)
        first = near
        first_end = edges[first + 1]
        if stop <= first_end:
            add(part, part_low, first, used_in_part(p, begin, stop, first_end, decay))
            continue
        add(part, part_low, first, used_in_part(p, begin, first_end, first_end, decay))
        last = last_at_or_before(edges, stop - 1, first)
        used = used_in_part(p, edges[last], stop, edges[last + 1], decay)
        add(part, part_low, last, used)
        if first + 1 < last:
            add(rate, rate_low, first + 1, p)
            add(rate, rate_low, last, -p)
            filling[first + 1] += 1
            filling[last] -= 1


@inner
def flow_through(
    s: int, spans: Spans, now: float, now_low: float, count: int
) -> tuple[float, float, int]:
    """What is used per second in span ``s`` by those that fill it, as a pair, and how many.

    The last three arguments say the same of the span before. Exactly 0 where nothing fills it.
    """
    count += spans.filling[s]
    if count == 0:
        return 0.0, 0.0, 0
    now, now_low = two_sum(now, now_low + spans.rate_low[s], spans.rate[s])
    return now, now_low, count


def window_usage(
    offsets: Ints,
    start: Ints,
    end: Ints,
    penalty: Floats,
    edges: Ints,
    bounds: IntTable,
    weights: Floats,
    usage: FloatTable,
    total: Floats,
) -> None:
    """Writes each owner's weighted sum over windows at each instant, and everyone's.

    ``edges`` ascend, at least one; ``bounds[k]`` are the indices of those that bound the windows of
    instant k, the latest first, one more than there are ``weights``. ``usage`` has a row per
    instant and a column per owner, ``total`` an element per instant.
    """
    number = len(edges) - 1
    every = np.zeros((2, number))
    up_to = np.zeros((2, number + 1))
    attempts = offsets, start, end, penalty
    sum_windows(*attempts, edges, bounds, weights, spans(number), every, up_to, usage, total)


@kernel
def sum_windows(
    offsets: Ints,
    start: Ints,
    end: Ints,
    penalty: Floats,
    edges: Ints,
    bounds: IntTable,
    weights: Floats,
    spans: Spans,
    every: FloatTable,
    up_to: FloatTable,
    usage: FloatTable,
    total: Floats,
) -> None:
    """As ``window_usage``; ``every`` comes as 0 and gets what everyone used in each span.

    ``up_to`` gets what was used up to each edge. Both hold pairs of doubles.
    """
    part, part_low, _, _, _ = spans
    everyone, everyone_low = every[0], every[1]
    high, low = up_to[0], up_to[1]
    for o in range(len(offsets) - 1):
        enter(start, end, penalty, offsets[o], offsets[o + 1], edges, 0.0, spans)
        now, now_low, running = 0.0, 0.0, 0
        for s in range(len(edges) - 1):
            now, now_low, running = flow_through(s, spans, now, now_low, running)
            if running > 0:
                add(part, part_low, s, (now + now_low) * (edges[s + 1] - edges[s]))
            if part[s] > 0.0:
                add(everyone, everyone_low, s, part[s])
                everyone_low[s] += part_low[s]
        run_up(part, part_low, high, low)
        for k in range(len(bounds)):
            usage[k, o] = window_sum(part, high, low, bounds, k, weights)
    run_up(everyone, everyone_low, high, low)
    for k in range(len(bounds)):
        total[k] = window_sum(everyone, high, low, bounds, k, weights)


@inner
def run_up(amount: Floats, amount_low: Floats, up_to: Floats, up_to_low: Floats) -> None:
    """Writes what was used up to each edge; and rounds what was used in each span."""
    high = 0.0
    low = 0.0
    for s in range(len(amount)):
        if amount[s] > 0.0:
            high, low = two_sum(high, low + amount_low[s], amount[s])
            amount[s] += amount_low[s]
        up_to[s + 1] = high
        up_to_low[s + 1] = low


def half_life_usage(
    offsets: Ints,
    start: Ints,
    end: Ints,
    penalty: Floats,
    instants: Ints,
    half_life: float,
    usage: FloatTable,
    total: Floats,
) -> None:
    """Writes each owner's exponentially decayed usage at each instant, and everyone's.

    ``instants`` ascend, at least one. ``usage`` has a row per instant and a column per owner,
    ``total`` an element per instant. Span k reaches from the instant before up to instant k; span 0
    has no beginning.
    """
    edges = np.concatenate(([BEFORE_ALL], instants))
    count = len(instants)
    attempts = offsets, start, end, penalty
    decay_all(*attempts, edges, half_life, spans(count), np.zeros((3, count)), usage, total)


@kernel
def decay_all(
    offsets: Ints,
    start: Ints,
    end: Ints,
    penalty: Floats,
    edges: Ints,
    half_life: float,
    spans: Spans,
    spare: FloatTable,
    usage: FloatTable,
    total: Floats,
) -> None:
    """As ``half_life_usage``; instant k is edge k + 1. ``spare`` comes as 0."""
    count = len(edges) - 1
    decay = LN_2 / half_life
    total[:] = 0.0
    part, part_low = spans.part, spans.part_low
    total_low = spare[0]
    keeps = spare[1]
    fills = spare[2]
    for k in range(1, count):
        lasts = float(edges[k + 1] - edges[k])
        keeps[k] = 2.0 ** (-lasts / half_life)
        fills[k] = remaining(0.0, lasts, decay)
    for o in range(len(offsets) - 1):
        enter(start, end, penalty, offsets[o], offsets[o + 1], edges, decay, spans)
        held, now, now_low, running = 0.0, 0.0, 0.0, 0
        for k in range(count):
            now, now_low, running = flow_through(k, spans, now, now_low, running)
            held = held * keeps[k] + (part[k] + part_low[k]) + (now + now_low) * fills[k]
            usage[k, o] = held
            add(total, total_low, k, held)
    for k in range(count):
        total[k] += total_low[k]


@inner
def sort_members(
    keys: Floats, bits: Ints, members: Ints, count: int, order: Ints, places: Ints, spare: Ints
) -> None:
    """Writes to ``order`` the first ``count`` of ``members``, by ascending ``bits``, all > 0.

    They are put into buckets over the range of their bits, which is that of their logarithms, and
    then moved within these; where many crowd together, they are sorted by merging. The number of
    ``places`` is a power of two; ``spare`` is working space.
    """
    lowest = bits[members[0]]
    highest = lowest
    for i in range(1, count):
        lowest = min(lowest, bits[members[i]])
        highest = max(highest, bits[members[i]])
    shift = 0
    while (highest - lowest) >> shift >= len(places):
        shift += 1
    places[:] = 0
    for i in range(count):
        places[(bits[members[i]] - lowest) >> shift] += 1
    place = 0
    crowd = 0
    for bucket in range(len(places)):
        here = places[bucket]
        places[bucket] = place
        place += here
        crowd = max(crowd, here)
    if crowd > CROWD and highest > lowest:
        for i in range(count):
            order[i] = members[i]
        sort_by(keys, order, spare, count)
        return
    for i in range(count):
        bucket = (bits[members[i]] - lowest) >> shift
        order[places[bucket]] = members[i]
        places[bucket] += 1
    for i in range(1, count):
        moving = order[i]
        k = i
        while k > 0 and bits[order[k - 1]] > bits[moving]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = moving


def ranks(keys: FloatTable, ranked: BoolTable, out: IntTable) -> None:
    """Writes each row's ranks from 1 on: one more than the number of keys that are smaller.

    Keys are ≥ 0, no −0 and no NaN among them; only those that ``ranked`` marks take part, the
    others get rank 0.
    """
    bits = keys.view(np.int64)  # of numbers ≥ 0: in the same order as the numbers
    columns = keys.shape[1]
    places = np.empty(1 << max(4, (2 * columns - 1).bit_length()), np.int64)
    rank_rows(keys, bits, ranked, places, np.empty((3, columns), np.int64), out)


@kernel
def rank_rows(
    keys: FloatTable,
    all_bits: IntTable,
    ranked: BoolTable,
    places: Ints,
    spare: IntTable,
    out: IntTable,
) -> None:
    """As ``ranks``; the number of ``places`` is a power of two, ``spare`` has three rows."""
    columns = keys.shape[1]
    members, order = spare[0], spare[1]
    for k in range(len(keys)):
        bits = all_bits[k]
        count = 0
        zeros = 0
        for column in range(columns):
            if not ranked[k, column]:
                out[k, column] = 0
            elif bits[column] == 0:
                out[k, column] = 1
                zeros += 1
            else:
                members[count] = column
                count += 1
        if count == 0:
            continue
        sort_members(keys[k], bits, members, count, order, places, spare[2])
        rank = 0
        for i in range(count):
            if i == 0 or bits[order[i]] != bits[order[i - 1]]:
                rank = zeros + i + 1
            out[k, order[i]] = rank


@kernel
def keep_present(
    present: BoolTable,
    instants: Ints,
    usage: FloatTable,
    fraction: FloatTable,
    rank: IntTable,
    as_of: Ints,
    column: Codes,
    usage_out: Floats,
    fraction_out: Floats,
    rank_out: Ints,
) -> None:
    """Writes, row by row, the elements that ``present`` marks, with their instant and column."""
    place = 0
    for k in range(present.shape[0]):
        for c in range(present.shape[1]):
            if present[k, c]:
                as_of[place] = instants[k]
                column[place] = c
                usage_out[place] = usage[k, c]
                fraction_out[place] = fraction[k, c]
                rank_out[place] = rank[k, c]
                place += 1
