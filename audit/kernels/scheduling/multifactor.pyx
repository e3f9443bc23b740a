"""Slurm's multifactor priority as slurmctld keeps it: the order MULTIFACTOR (SPEC §7).

slurmctld recalculates at *ticks*. At a tick it books what ran since the tick before, computes
fairshare from the usage booked by then, and from that the priorities of queued attempts, whose
age is as of that tick. An attempt that ends is booked at once, and counts from the next tick on.
A priority depends on its tick alone, so ticks are computed on demand, many at a time.

An *account* is a node of the share tree to which attempts are charged; ``metrics.slurm.usage``
and ``metrics.slurm.shares`` have the formulas.
"""

import numpy as np
cimport cython
from libc.math cimport exp, expm1, floor, log, pow
from libc.stdint cimport int64_t

from audit.kernels.sweeps cimport first_above


cdef extern from *:
    const double UNUSED "1152921504606846976.0"  # the logarithm of LevelFS without usage


cdef double UNSET = floor(log(4_294_967_294.0) * GRID + 0.5)  # an account with fairshare=parent
USAGE = "f8, f8, f8, f8, f8, i8, i8"


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class SlurmPriority:
    """How priorities are computed, and what the observed schedule used."""

    observed = cython.dataclasses.field(init=False)


cdef class Books:
    """The usage that a simulation has booked."""

    def __init__(self, int64_t nodes, int64_t period, int64_t phase, double rate, resets):
        self.usage = np.zeros(nodes, USAGE)
        self.total, self.level, self.factor = np.zeros((3, nodes))
        self.place = np.arange(nodes)
        self.walk = np.zeros(nodes + 1, "i8, i8, i8")
        self.rated = NEVER_RATED
        self.period, self.phase, self.rate, self.resets = period, phase, rate, resets
        self.kept, self.booked = exp(rate * period), weighed(self, period)


# --- usage ---------------------------------------------------------------------------------------


cdef double weighed(Books books, int64_t seconds) noexcept nogil:
    """Return what is booked for d seconds: d · f^d."""
    return seconds * exp(books.rate * seconds) if seconds > 0 else 0.0


cdef double kept_at(Books books, int64_t tick) noexcept nogil:
    """Return the part of what was booked before a tick that is left at it."""
    cdef int64_t k = first_above(books.resets, 0, books.resets.shape[0], tick)
    if k > 0 and books.resets[k - 1] == tick:
        return 0.0
    return books.kept


cdef void book(Books books, int64_t node, int64_t tick) noexcept nogil:
    """Book what a node used up to a tick, unless that is done."""
    cdef NodeUsage *usage = &books.usage[node]
    cdef int64_t at = usage.tick, reset = NEVER_RATED, further, k
    cdef double kept, ticks, decay
    if tick <= at:
        return
    if usage.running == 0 and usage.used == 0.0 and usage.ended == 0.0:
        usage.tick = tick
        return
    k = first_above(books.resets, 0, books.resets.shape[0], tick)
    if k > 0:
        reset = books.resets[k - 1]
    if reset > at:
        if reset - 1 > at:
            usage.rate += usage.fresh_rate
            usage.fresh = usage.fresh_rate = 0.0
            at = reset - 1
        usage.used = usage.ended = 0.0
    usage.used = (usage.used + usage.ended) * books.kept + usage.rate * books.booked + usage.fresh
    usage.rate += usage.fresh_rate
    usage.ended = usage.fresh = usage.fresh_rate = 0.0
    further = tick - at - 1
    if further > 0:
        ticks, kept = 1.0 * further, 1.0
        if books.rate < 0.0:  # a geometric series
            decay = books.rate * books.period
            ticks = expm1(decay * further) / expm1(decay)
            kept = exp(decay * further)
        usage.used *= kept
        usage.used += usage.rate * books.booked * ticks
    usage.tick = tick


cdef void book_start(Books books, int64_t node, double charge, int64_t start) noexcept nogil:
    """Let a node use ``charge`` more per second from ``start`` on."""
    cdef NodeUsage *usage = &books.usage[node]
    cdef int64_t tick = tick_of(books, start)
    book(books, node, tick)
    usage.running += 1
    if tick < usage.tick:
        usage.rate += charge
        return
    usage.fresh += charge * weighed(books, books.phase + (tick + 1) * books.period - start)
    usage.fresh_rate += charge


cdef void book_end(
    Books books, int64_t node, double charge, int64_t start, int64_t end, bint counts
) noexcept nogil:
    """Let a node use ``charge`` less per second from ``end`` on.

    ``counts``: book what it used since the last tick. An end at the instant of a tick is booked
    before it, also if the tick has booked the attempt as running.
    """
    cdef NodeUsage *usage = &books.usage[node]
    cdef int64_t before = tick_of(books, end - 1), tick
    cdef double since
    book(books, node, before)
    if counts:
        since = charge * weighed(books, end - max(start, books.phase + before * books.period))
        if usage.tick == before:
            usage.ended += since
        else:
            usage.used -= since * (1.0 - kept_at(books, usage.tick))
            books.rated = NEVER_RATED
    tick = tick_of(books, start)
    if tick < usage.tick:
        usage.rate -= charge
    else:
        usage.fresh -= charge * weighed(books, books.phase + (tick + 1) * books.period - start)
        usage.fresh_rate -= charge
    usage.running -= 1
    if usage.running == 0:  # the rest is rounding
        usage.rate = usage.fresh = usage.fresh_rate = 0.0


def observe(
    SlurmPriority slurm not None, Books books not None, const int64_t[::1] node,
    const double[::1] charge,
    const int64_t[::1] start, const int64_t[::1] time, const int64_t[::1] ends
):
    """Write the observed schedule's usage to ``slurm``, entry by entry.

    Args:
        books: working space.
        node: [entries], ascending; whose usage changes.
        charge: [entries], per second.
        start: [entries], of the attempt that starts or ends.
        time: [entries], ascending for each node; ends before starts.
        ends: [entries], 1: an attempt ends.
    """
    cdef int64_t i
    slurm.observed = np.zeros(node.shape[0], USAGE)
    with nogil:
        for i in range(node.shape[0]):
            if i == slurm.entry[node[i]]:
                books.usage[node[i]] = empty(tick_of(books, time[i]))
            if ends[i] == 1:
                book_end(books, node[i], charge[i], start[i], time[i], True)
            else:
                book_start(books, node[i], charge[i], time[i])
            slurm.observed[i] = books.usage[node[i]]


cdef NodeUsage empty(int64_t tick) noexcept nogil:
    """Return the usage of a node that has used nothing."""
    return NodeUsage(used=0.0, ended=0.0, rate=0.0, fresh=0.0, fresh_rate=0.0, tick=tick, running=0)


cdef void open_accounts(SlurmPriority slurm, Books books, int64_t since) noexcept nogil:
    """Begin with what the observed schedule had used by ``since``; nothing runs yet."""
    cdef int64_t tick = tick_of(books, since), node, k
    cdef NodeUsage *usage
    books.rated = NEVER_RATED
    for node in range(slurm.parent.shape[0]):
        usage = &books.usage[node]
        k = first_above(slurm.time, slurm.entry[node], slurm.entry[node + 1], since)
        if k == slurm.entry[node]:
            usage[0] = empty(tick)
        else:
            usage[0] = slurm.observed[k - 1]
            book(books, node, tick)
            usage.rate = usage.fresh = usage.fresh_rate = 0.0
        usage.running = 0


# --- fairshare -----------------------------------------------------------------------------------


cdef void rate_users(SlurmPriority slurm, Books books, int64_t now) noexcept nogil:
    """Compute fairshare as of the last tick."""
    cdef int64_t tick = tick_of(books, now), nodes = slurm.parent.shape[0], node
    if books.rated == tick:
        return
    books.rated = tick
    for node in range(nodes):
        book(books, node, tick)
        books.total[node] = books.usage[node].used
    for node in range(nodes - 1, 0, -1):
        books.total[slurm.parent[node]] += books.total[node]
    if slurm.classic:
        rate_classic(slurm, books)
        return
    for node in range(1, nodes):
        books.level[node] = level_of(slurm, books, node)
    for node in range(nodes):
        put_in_order(slurm, books, node)
    rank_users(slurm, books)


cdef double level_of(SlurmPriority slurm, Books books, int64_t node) noexcept nogil:
    """Return the logarithm of a node's LevelFS, on a grid: its siblings are ranked by it."""
    cdef double of_all, used = books.total[node]
    if slurm.part[node] < 0.0:
        return UNUSED if slurm.is_user[node] == 1 else UNSET
    if slurm.norm[node] == 0.0:  # no share
        return -UNUSED
    of_all = books.total[slurm.over[node]]
    if used <= 0.0 or of_all <= 0.0:
        return UNUSED
    return floor(log(slurm.norm[node] / (used / of_all)) * GRID + 0.5)


cdef void put_in_order(SlurmPriority slurm, Books books, int64_t account) noexcept nogil:
    """Sort the members of an account by insertion, since their order changes little."""
    cdef int64_t first = slurm.first[account], i, k, moving
    for i in range(first + 1, slurm.first[account + 1]):
        moving = books.place[i]
        k = i
        while k > first and ranks_before(slurm, books, moving, books.place[k - 1]):
            books.place[k] = books.place[k - 1]
            k -= 1
        books.place[k] = moving


cdef bint ranks_before(SlurmPriority slurm, Books books, int64_t one, int64_t other) noexcept nogil:
    """Return whether a member ranks before another: greatest LevelFS, then users first."""
    cdef int64_t left = slurm.member[one], right = slurm.member[other]
    cdef double difference = books.level[left] - books.level[right]
    if difference != 0.0:
        return difference > 0.0
    if slurm.is_user[left] != slurm.is_user[right]:
        return slurm.is_user[left] == 1
    return one < other


cdef void rank_users(SlurmPriority slurm, Books books) noexcept nogil:
    """Compute the FairShare of each user, rank / users, depth first (``metrics.slurm.shares``)."""
    cdef int64_t users = 0, depth = 0, rank, untied, node, before
    cdef bint tied
    cdef Level *level
    for node in range(slurm.is_user.shape[0]):
        users += slurm.is_user[node]
    rank = untied = users
    books.walk[0] = Level(account=0, next=slurm.first[0], tied=False)
    while depth >= 0:
        level = &books.walk[depth]
        if level.next == slurm.first[level.account + 1]:
            depth -= 1
            continue
        node = slurm.member[books.place[level.next]]
        tied = level.tied == 1
        if level.next > slurm.first[level.account]:
            before = slurm.member[books.place[level.next - 1]]
            tied = books.level[before] == books.level[node]
        level.next += 1
        if slurm.is_user[node] == 1:
            if not tied:
                rank = untied
            books.factor[node] = rank / <double> users
            untied -= 1
            continue
        depth += 1
        books.walk[depth] = Level(account=node, next=slurm.first[node], tied=tied)


cdef void rate_classic(SlurmPriority slurm, Books books) noexcept nogil:
    """Compute the FairShare of each user: 2^(−EffectvUsage / NormShares / dampening)."""
    cdef int64_t node, parent
    cdef double of_all = books.total[0], used, above
    books.level[0] = 1.0
    for node in range(1, slurm.parent.shape[0]):
        parent = slurm.over[node]
        used = min(books.total[node] / of_all, 1.0) if of_all > 0.0 else 0.0
        if parent != 0:
            above = books.level[parent]
            if slurm.part[node] < 0.0:
                used = above
            else:
                used += (above - used) * slurm.part[node]
        books.level[node] = used
        books.factor[node] = 0.0
        if slurm.is_user[node] == 1 and slurm.norm[node] > 0.0:
            books.factor[node] = pow(2.0, -(used / slurm.norm[node] / slurm.dampening))


# --- priorities ----------------------------------------------------------------------------------


def priorities(
    SlurmPriority slurm not None, Books books not None, int64_t now, const int64_t[::1] node,
    const int64_t[::1] arrival
):
    """Return each node's observed usage by the last tick, and each attempt's priority as of it.

    ``books`` is working space; ``node`` is where each attempt is charged.
    """
    cdef int64_t k
    open_accounts(slurm, books, now)
    rate_users(slurm, books, now)
    return [books.usage[k].used for k in range(books.usage.shape[0])], [
        priority_of(slurm, books, k, node[k], arrival[k]) for k in range(node.shape[0])
    ]
