"""The usage of owners, for the orders that depend on it: observed, and from a snapshot simulated.

Attempts *outside* use without taking part in the simulation: they start and end as observed.

Source: SPEC §4, *Queue order*.
"""

cimport cython
from libc.stdint cimport int64_t

import numpy as np

from audit.kernels.scheduling.model cimport Order
from audit.kernels.scheduling.multifactor cimport (
    NEVER_RATED, book_end, book_start, open_accounts, rate_users, tick_of
)
from audit.kernels.scheduling.owners cimport AFTER_ALL, charge_owner, open_ledger
from audit.kernels.scheduling.queue cimport rate_owner


@cython.final
cdef class OutsideUse:
    """Attempts that use as observed, without taking part; of NUWT only ends matter."""

    def __init__(self, owner, charge, arrival, start, end):
        count = len(start)
        self.owner, self.charge, self.arrival = owner, charge, arrival
        self.start, self.end = start, end
        time, ends = np.concatenate((end, start)), np.arange(2 * count) < count
        order = np.lexsort((~ends, time))
        self.event, self.who = time[order], order % max(count, 1)
        self.ends = ends[order].astype(np.uint8)
        self.running, self.spot = np.zeros((2, count), np.int64)


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class UsageOrder:
    """An order of the queue by what owners have used (NUWT: and waited)."""


cdef void open_observed(UsageOrder by) noexcept nogil:
    """Begin to rate owners by what was observed."""
    open_ledger(by.ledger, AFTER_ALL)
    by.ledger.books.rated = NEVER_RATED


cdef void observe_until(UsageOrder by, int64_t now) noexcept nogil:
    """Let what was observed until now count."""
    if by.order == Order.NUWT:
        by.ledger.since = now
        by.ledger.serial += 1
    elif by.order == Order.MULTIFACTOR and by.ledger.books.rated != tick_of(by.ledger.books, now):
        open_accounts(by.owners.slurm, by.ledger.books, now)


cdef void open_usage(UsageOrder by, int64_t since) noexcept nogil:
    """Begin a simulation that continues the observed use at an instant, not before the last."""
    cdef int64_t i, k
    open_ledger(by.ledger, since)
    if by.order == Order.MULTIFACTOR:
        open_accounts(by.owners.slurm, by.ledger.books, since)
    move_snapshot(by.outside, since)
    if by.order != Order.NUWT:
        for i in range(by.outside.number):
            k = by.outside.running[i]
            enter_start(by, by.outside.owner[k], by.outside.charge[k], by.outside.start[k])


cdef void move_snapshot(OutsideUse outside, int64_t since) noexcept nogil:
    """Find what runs outside at an instant."""
    cdef int64_t k, i
    while outside.passed < outside.event.shape[0] and outside.event[outside.passed] <= since:
        k = outside.who[outside.passed]
        if outside.ends[outside.passed]:
            outside.number -= 1
            i = outside.spot[k]
            outside.running[i] = outside.running[outside.number]
            outside.spot[outside.running[i]] = i
        else:
            outside.running[outside.number], outside.spot[k] = k, outside.number
            outside.number += 1
        outside.passed += 1
    outside.at = outside.passed


cdef void pass_outside(UsageOrder by, int64_t now) noexcept nogil:
    """Enter what has started and ended outside until now."""
    cdef int64_t k
    while by.outside.at < by.outside.event.shape[0] and by.outside.event[by.outside.at] <= now:
        k = by.outside.who[by.outside.at]
        if by.outside.ends[by.outside.at]:
            enter_end(
                by, by.outside.owner[k], by.outside.charge[k], by.outside.arrival[k],
                by.outside.start[k], by.outside.end[k]
            )
        else:
            enter_start(by, by.outside.owner[k], by.outside.charge[k], by.outside.start[k])
        by.outside.at += 1


cdef void enter_start(
    UsageOrder by, int64_t owner, double charge, int64_t start
) noexcept nogil:
    """Enter a start; before the snapshot, its use until then is known."""
    if by.order == Order.FAIRSHARE:
        charge_owner(by.ledger, owner, charge, max(start, by.ledger.since))
    elif by.order == Order.MULTIFACTOR:
        book_start(by.ledger.books, owner, charge, start)


cdef void enter_end(
    UsageOrder by, int64_t owner, double charge, int64_t arrival, int64_t start, int64_t end
) noexcept nogil:
    """Enter an end after the snapshot."""
    if by.order == Order.FAIRSHARE:
        charge_owner(by.ledger, owner, -charge, end)
    elif by.order == Order.MULTIFACTOR:
        book_end(by.ledger.books, owner, charge, start, end, True)
    else:
        by.ledger.accounts[owner].waited += start - arrival
        by.ledger.accounts[owner].used += charge


cdef void rate_all(UsageOrder by, int64_t now) noexcept nogil:
    """Find the keys of all owners, where they are found together."""
    if by.order == Order.MULTIFACTOR:
        rate_users(by.owners.slurm, by.ledger.books, now)


cdef void rate_one(UsageOrder by, int64_t job, int64_t now) noexcept nogil:
    """Find the keys of the owner of an attempt, where they are found one by one."""
    if by.order != Order.MULTIFACTOR:
        rate_owner(by.order, by.owners, by.ledger, by.owner[job], now)
