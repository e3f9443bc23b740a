"""The usage of owners, for the orders that depend on it."""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from audit.kernels.scheduling.model cimport Order
from audit.kernels.scheduling.multifactor cimport SlurmPriority, priority_of
from audit.kernels.scheduling.owners cimport Ledger, Owners, compare


@cython.final
cdef class OutsideUse:
    cdef const int64_t[::1] owner  # [outside]
    cdef const double[::1] charge  # [outside]
    cdef const int64_t[::1] arrival  # [outside]
    cdef const int64_t[::1] start  # [outside]
    cdef const int64_t[::1] end  # [outside]
    cdef const int64_t[::1] event  # [2 outside], when one starts or ends; ends first
    cdef const int64_t[::1] who  # [2 outside], which one,
    cdef const uint8_t[::1] ends  # [2 outside], and whether it ends
    cdef int64_t at  # number of events that have passed,
    cdef int64_t passed  # and of those up to the last snapshot
    cdef int64_t[::1] running  # what ran at that,
    cdef int64_t[::1] spot  # [outside], and where each of it is
    cdef int64_t number


@cython.final
cdef class UsageOrder:
    cdef Order order  # FAIRSHARE, NUWT or MULTIFACTOR
    cdef Owners owners
    cdef Ledger ledger
    cdef const int64_t[::1] place  # [n], of each attempt among those of ``owners``
    cdef const int64_t[::1] owner  # [n]
    cdef const double[::1] charge  # [n] ≥ 0, per second, or (NUWT) in all
    cdef OutsideUse outside


cdef void open_observed(UsageOrder by) noexcept nogil
cdef void observe_until(UsageOrder by, int64_t now) noexcept nogil
cdef void open_usage(UsageOrder by, int64_t since) noexcept nogil
cdef void pass_outside(UsageOrder by, int64_t now) noexcept nogil
cdef void enter_start(
    UsageOrder by, int64_t owner, double charge, int64_t start
) noexcept nogil
cdef void enter_end(
    UsageOrder by, int64_t owner, double charge, int64_t arrival, int64_t start, int64_t end
) noexcept nogil
cdef void rate_all(UsageOrder by, int64_t now) noexcept nogil
cdef void rate_one(UsageOrder by, int64_t job, int64_t now) noexcept nogil


cdef inline bint has_turn_before(
    UsageOrder by, SlurmPriority slurm, const int64_t[::1] arrival, int64_t one, int64_t other
) noexcept nogil:
    """Return whether attempt ``one`` is served before ``other``; ties by index."""
    cdef int64_t left, right
    cdef double first, second
    if by.order != Order.MULTIFACTOR:
        left = compare(by.ledger, by.owner[one], by.owner[other])
        return left > 0 or (left == 0 and one < other)
    left, right = by.place[one], by.place[other]
    if slurm.tier[left] != slurm.tier[right]:
        return slurm.tier[left] > slurm.tier[right]
    first = priority_of(slurm, by.ledger.books, left, by.owner[one], arrival[one])
    second = priority_of(slurm, by.ledger.books, right, by.owner[other], arrival[other])
    return first > second or (first == second and one < other)
