"""Slurm's multifactor priority as slurmctld keeps it: the order ``multifactor`` (SPEC §7).

slurmctld recalculates at *ticks*. At a tick it books what ran since the tick before, makes
fairshare of the usage that it has booked by then, and with it the priority of all that wait, whose
age is as of that tick. What ends is booked at once, and counts from the next tick on. So between
two ticks nothing changes but for those who arrive, and a priority depends on the tick alone: here
ticks are gone through when somebody asks, many at a time.

An *account* is here a node of the share tree to which attempts are charged; ``metrics.slurm.usage``
and ``metrics.slurm.shares`` have the formulas.
"""

import math
from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import Floats, FloatTable, Ints, IntTable
from audit.kernels.compiled import inner, kernel

# Rows of Books.amount, an element per node.
USED = 0  # booked by the last tick, and decayed to it
ENDED = 1  # booked since, by what ended: counts from the next tick on
RATE = 2  # what runs since before that tick uses per second
FRESH = 3  # what the next tick will book of what began since,
FRESH_RATE = 4  # and what that uses per second
AMOUNTS = 5
# Rows of Books.number: whole numbers of the same.
TICK = 0  # the number of that tick
RUNNING = 1  # how many attempts run
NUMBERS = 2

# Rows of Books.figures, an element per node.
TOTAL = 0  # usage with all below it, at the tick for which fairshare was made
LEVEL = 1  # Fair Tree: what siblings are ranked by; classic: EffectvUsage
FACTOR = 2  # fairshare, 0 to 1; 0 of accounts
FIGURES = 3

# Rows of Books.walk, an element per level: where the ranking is.
NODE = 0
AT = 1  # the next of its members
TIED = 2  # 1: its first member shares the rank of who was ranked last
WALKS = 3

# Codes of Slurm.algorithm.
FAIR_TREE, CLASSIC = range(2)

NEVER_RATED = -(1 << 62)
GRID = 2.0**32  # logarithms of LevelFS closer to each other than half of 1/GRID are equal
UNUSED = 2.0**60  # such a logarithm where nothing is used,
NO_SHARE = -UNUSED  # and where there is no share
UNSET = float(
    math.floor(math.log(4_294_967_294.0) * GRID + 0.5)
)  # an account with fairshare=parent
HIGHEST = 4_294_967_295.0


class Slurm(NamedTuple):
    """How priorities are made, and what the observed schedule used."""

    fixed: Floats  # [attempts]: the parts of a priority that stay
    tier: Ints  # [attempts]: who has a greater one comes first, whatever the priority
    age_weight: float
    max_age: float  # s, > 0
    fairshare_weight: float
    algorithm: int
    dampening: float
    parent: Ints  # [nodes], each after its own
    over: Ints  # [nodes]: to whose members it belongs; root: itself
    norm: Floats  # [nodes]: NormShares
    part: Floats  # [nodes]: share of its siblings', 0 where they have none; −1: fairshare=parent
    is_user: Ints  # [nodes]
    users: int
    first: Ints  # [nodes + 1]: where the members of each begin
    member: Ints  # in the order of ``sshare``
    entry: Ints  # [nodes + 1]: where what was observed of each begins
    time: Ints  # [entries]: when somebody began or ended; ascending for each node
    observed: FloatTable  # AMOUNTS × entries: as of then
    observed_tick: Ints  # [entries]


class Books(NamedTuple):
    """What a simulation has booked."""

    amount: FloatTable
    number: IntTable
    figures: FloatTable
    place: Ints  # [members]: which member stands where by LevelFS, by its place in Slurm.member
    walk: IntTable
    rated: Ints  # [1]: the tick for which fairshare was made, or NEVER_RATED
    period: int  # s
    phase: int  # an instant of a tick
    rate: float  # ln of what is left of usage after a second, ≤ 0
    resets: Ints  # numbers of the ticks that dropped all usage, ascending


def books(nodes: int, period: int, phase: int, rate: float, resets: Ints) -> Books:
    """Room for a tree of so many nodes."""
    return Books(
        amount=np.zeros((AMOUNTS, nodes), np.float64),
        number=np.zeros((NUMBERS, nodes), np.int64),
        figures=np.zeros((FIGURES, nodes), np.float64),
        place=np.arange(nodes),
        walk=np.zeros((WALKS, nodes + 1), np.int64),
        rated=np.full(1, NEVER_RATED),
        period=period,
        phase=phase,
        rate=rate,
        resets=resets,
    )


# Usage


@inner
def tick_of(books: Books, instant: int) -> int:
    """The number of the last tick at or before an instant."""
    return (instant - books.phase) // books.period


@inner
def weighed(books: Books, seconds: int) -> float:
    """What is booked of so many seconds: d · f^d."""
    if seconds <= 0:
        return 0.0
    return seconds * math.exp(books.rate * seconds)


@inner
def last_reset(books: Books, tick: int) -> int:
    """The last tick up to ``tick`` that dropped all usage; NEVER_RATED: there was none."""
    low = 0
    high = len(books.resets)
    while low < high:
        middle = (low + high) // 2
        if books.resets[middle] <= tick:
            low = middle + 1
        else:
            high = middle
    return NEVER_RATED if low == 0 else books.resets[low - 1]


@inner
def book(books: Books, node: int, tick: int) -> None:
    """Books what a node used up to a tick; nothing where that is done."""
    amount = books.amount
    at: int = books.number[TICK, node]
    if tick <= at:
        return
    reset: int = last_reset(books, tick)
    if reset > at:
        if reset - 1 > at:
            amount[RATE, node] += amount[FRESH_RATE, node]
            amount[FRESH, node] = 0.0
            amount[FRESH_RATE, node] = 0.0
            at = reset - 1
        amount[USED, node] = 0.0
        amount[ENDED, node] = 0.0
    of_period = weighed(books, books.period)
    kept = math.exp(books.rate * books.period)
    amount[USED, node] = (
        (amount[USED, node] + amount[ENDED, node]) * kept
        + amount[RATE, node] * of_period
        + amount[FRESH, node]
    )
    amount[RATE, node] += amount[FRESH_RATE, node]
    amount[ENDED, node] = 0.0
    amount[FRESH, node] = 0.0
    amount[FRESH_RATE, node] = 0.0
    further = tick - at - 1
    if further > 0:
        ticks = 1.0 * further
        kept = 1.0
        if books.rate < 0.0:  # a geometric series
            decay = books.rate * books.period
            ticks = math.expm1(decay * further) / math.expm1(decay)
            kept = math.exp(decay * further)
        amount[USED, node] *= kept
        amount[USED, node] += amount[RATE, node] * of_period * ticks
    books.number[TICK, node] = tick


@inner
def book_start(books: Books, node: int, charge: float, start: int) -> None:
    """From ``start`` on a node uses ``charge`` more per second."""
    tick: int = tick_of(books, start)
    book(books, node, tick)
    books.number[RUNNING, node] += 1
    if tick < books.number[TICK, node]:
        books.amount[RATE, node] += charge
        return
    until = books.phase + (tick + 1) * books.period
    books.amount[FRESH, node] += charge * weighed(books, until - start)
    books.amount[FRESH_RATE, node] += charge


@inner
def book_end(books: Books, node: int, charge: float, start: int, end: int, counts: bool) -> None:
    """From ``end`` on it uses that much less; ``counts``: what it used since the last tick is new.

    What ends in the second of a tick is booked before it.
    """
    amount = books.amount
    before: int = tick_of(books, end - 1)
    book(books, node, before)
    if counts:
        since = max(start, books.phase + before * books.period)
        amount[ENDED, node] += charge * weighed(books, end - since)
    tick: int = tick_of(books, start)
    if tick < books.number[TICK, node]:
        amount[RATE, node] -= charge
    else:
        until = books.phase + (tick + 1) * books.period
        amount[FRESH, node] -= charge * weighed(books, until - start)
        amount[FRESH_RATE, node] -= charge
    books.number[RUNNING, node] -= 1
    if books.number[RUNNING, node] == 0:  # nothing runs: what is left is rounding
        amount[RATE, node] = 0.0
        amount[FRESH, node] = 0.0
        amount[FRESH_RATE, node] = 0.0


@kernel
def observe(
    slurm: Slurm, books: Books, node: Ints, charge: Floats, start: Ints, time: Ints, ends: Ints
) -> None:
    """Writes what was observed, entry by entry.

    Args:
        slurm: its entries are written.
        books: working space, of which nothing is left.
        node: [entries], ascending; whose.
        charge: [entries], per second.
        start: [entries], when who begins or ends began.
        time: [entries], ascending for each node; ends before starts.
        ends: [entries], 1: somebody ends.
    """
    for i in range(len(node)):
        here = node[i]
        if i == slurm.entry[here]:
            for row in range(AMOUNTS):
                books.amount[row, here] = 0.0
            books.number[TICK, here] = tick_of(books, time[i])
            books.number[RUNNING, here] = 0
        if ends[i] == 1:
            book_end(books, here, charge[i], start[i], time[i], True)
        else:
            book_start(books, here, charge[i], time[i])
        for row in range(AMOUNTS):
            slurm.observed[row, i] = books.amount[row, here]
        slurm.observed_tick[i] = books.number[TICK, here]


@inner
def open_accounts(slurm: Slurm, books: Books, since: int) -> None:
    """Begins with what the observed schedule had used by ``since``; nothing runs yet."""
    tick: int = tick_of(books, since)
    books.rated[0] = NEVER_RATED
    for node in range(len(slurm.parent)):
        low: int = slurm.entry[node]
        high: int = slurm.entry[node + 1]
        first = low
        while low < high:
            middle = (low + high) // 2
            if slurm.time[middle] <= since:
                low = middle + 1
            else:
                high = middle
        if low == first:
            for row in range(AMOUNTS):
                books.amount[row, node] = 0.0
            books.number[TICK, node] = tick
        else:
            for row in range(AMOUNTS):
                books.amount[row, node] = slurm.observed[row, low - 1]
            books.number[TICK, node] = slurm.observed_tick[low - 1]
            book(books, node, tick)
            for row in range(RATE, AMOUNTS):
                books.amount[row, node] = 0.0
        books.number[RUNNING, node] = 0


# Fairshare


@inner
def rate_users(slurm: Slurm, books: Books, now: int) -> None:
    """Makes fairshare as of the last tick."""
    tick: int = tick_of(books, now)
    if books.rated[0] == tick:
        return
    books.rated[0] = tick
    figures = books.figures
    nodes = len(slurm.parent)
    for node in range(nodes):
        book(books, node, tick)
        figures[TOTAL, node] = books.amount[USED, node]
    for node in range(nodes - 1, 0, -1):
        figures[TOTAL, slurm.parent[node]] += figures[TOTAL, node]
    if slurm.algorithm == FAIR_TREE:
        for node in range(1, nodes):
            figures[LEVEL, node] = level_of(slurm, books, node)
        for node in range(nodes):
            put_in_order(slurm, books, node)
        rank_users(slurm, books)
    else:
        rate_classic(slurm, books)


@inner
def level_of(slurm: Slurm, books: Books, node: int) -> float:
    """What a node is ranked by among its siblings: the logarithm of LevelFS, on a grid."""
    if slurm.part[node] < 0.0:
        return UNUSED if slurm.is_user[node] == 1 else UNSET
    if slurm.norm[node] == 0.0:
        return NO_SHARE
    of_all = books.figures[TOTAL, slurm.over[node]]
    used = books.figures[TOTAL, node]
    if used <= 0.0 or of_all <= 0.0:
        return UNUSED
    level: float = math.floor(math.log(slurm.norm[node] / (used / of_all)) * GRID + 0.5)
    return level


@inner
def put_in_order(slurm: Slurm, books: Books, account: int) -> None:
    """Sorts the members of an account: greatest LevelFS first, users before accounts.

    Little changes from one tick to the next, so each is moved from where it was.
    """
    place = books.place
    first: int = slurm.first[account]
    for i in range(first + 1, slurm.first[account + 1]):
        moving = place[i]
        k = i
        while k > first and stands_before(slurm, books, moving, place[k - 1]):
            place[k] = place[k - 1]
            k -= 1
        place[k] = moving


@inner
def stands_before(slurm: Slurm, books: Books, one: int, other: int) -> bool:
    """Whether a member, by its place in ``Slurm.member``, is ranked before another."""
    left: int = slurm.member[one]
    right: int = slurm.member[other]
    difference: float = books.figures[LEVEL, left] - books.figures[LEVEL, right]
    if difference != 0.0:
        return difference > 0.0
    if slurm.is_user[left] != slurm.is_user[right]:
        is_user: bool = slurm.is_user[left] == 1
        return is_user
    return one < other


@inner
def rank_users(slurm: Slurm, books: Books) -> None:
    """FairShare of each user: rank / users, depth first; see ``metrics.slurm.shares``."""
    walk = books.walk
    rank = slurm.users
    untied = slurm.users
    depth = 0
    walk[NODE, 0] = 0
    walk[AT, 0] = slurm.first[0]
    walk[TIED, 0] = 0
    while depth >= 0:
        account: int = walk[NODE, depth]
        at: int = walk[AT, depth]
        if at == slurm.first[account + 1]:
            depth -= 1
            continue
        node: int = slurm.member[books.place[at]]
        tied: bool = walk[TIED, depth] == 1
        if at > slurm.first[account]:
            before = slurm.member[books.place[at - 1]]
            tied = books.figures[LEVEL, before] == books.figures[LEVEL, node]
        walk[AT, depth] += 1
        if slurm.is_user[node] == 1:
            if not tied:
                rank = untied
            books.figures[FACTOR, node] = rank / slurm.users
            untied -= 1
            continue
        depth += 1
        walk[NODE, depth] = node
        walk[AT, depth] = slurm.first[node]
        walk[TIED, depth] = 1 if tied else 0


@inner
def rate_classic(slurm: Slurm, books: Books) -> None:
    """FairShare of each user: 2^(−EffectvUsage / NormShares / dampening)."""
    figures = books.figures
    of_all = figures[TOTAL, 0]
    figures[LEVEL, 0] = 1.0
    for node in range(1, len(slurm.parent)):
        parent = slurm.over[node]
        used = 0.0
        if of_all > 0.0:
            used = min(figures[TOTAL, node] / of_all, 1.0)
        if parent != 0:
            above = figures[LEVEL, parent]
            if slurm.part[node] < 0.0:
                used = above
            else:
                used += (above - used) * slurm.part[node]
        figures[LEVEL, node] = used
        figures[FACTOR, node] = 0.0
        if slurm.is_user[node] == 1 and slurm.norm[node] > 0.0:
            figures[FACTOR, node] = 2.0 ** -(used / slurm.norm[node] / slurm.dampening)


# Priorities


@inner
def priority_of(slurm: Slurm, books: Books, job: int, node: int, arrival: int) -> float:
    """The priority of an attempt as of the tick for which fairshare was made; a whole number."""
    age = max(books.phase + books.rated[0] * books.period - arrival, 0)
    whole: float = slurm.age_weight * min(age / slurm.max_age, 1.0)
    whole += slurm.fairshare_weight * books.figures[FACTOR, node]
    whole += slurm.fixed[job]
    return float(math.floor(min(max(whole, 1.0), HIGHEST)))
