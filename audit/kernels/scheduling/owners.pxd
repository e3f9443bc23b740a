"""Usage and waits of owners."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.multifactor cimport Books, SlurmPriority


cdef extern from *:
    const int64_t AFTER_ALL "(INT64_C(1) << 62)"


cdef struct OwnerBalance:
    int64_t oldest  # first and last entry of its chain
    int64_t newest
    int64_t stamp  # the serial for which its usage is known
    int64_t rated  # of an owner: the serial for which its keys are known
    int64_t line_from  # its usage in windows is a line between these instants:
    int64_t line_until
    double line  # usage at ``line_from``,
    double slope  # and its growth per second
    double used  # by the last recalculation; NUWT: by ends in the simulation
    double priority  # of a node among its siblings
    double waited  # NUWT: by ends in the simulation
    double used_before  # NUWT: as observed
    double waited_before
    int64_t seen  # while ``deal`` sorts the queue: the number of the owner's queued attempts,
    int64_t dealt  # and the place of the next one


cdef struct RateChange:
    int64_t time  # when the rate of use changed
    int64_t next  # the entry of the same account after it
    double value  # what had been used by then
    double rate  # use per second from then on


cdef class Owners:
    cdef const double[::1] target  # [nodes], among siblings
    cdef int64_t operator
    cdef const double[::1] weights  # [depth], of windows, the latest first
    cdef int64_t interval  # length of a window, s
    cdef int64_t origin
    cdef int64_t recalculation  # s
    cdef const int64_t[::1] first  # [accounts + 1], where the entries of each begin
    cdef const int64_t[::1] time  # [entries], ascending for each account
    cdef const double[::1] value  # used (NUWT: waited) by then
    cdef const double[::1] rate  # use per second from then on (NUWT: used by then)
    cdef SlurmPriority slurm  # of MULTIFACTOR, instead of all others


cdef class Ledger:
    cdef const int64_t[:, ::1] path  # nodes × levels, from below the root to the node; −1 beyond it
    cdef const int64_t[::1] siblings  # [nodes], the account of a node and its siblings
    cdef OwnerBalance[::1] accounts
    cdef RateChange[::1] entries
    cdef int64_t[:, ::1] simulated  # accounts × bounds, where the last search in ``entries`` ended
    cdef int64_t[:, ::1] observed  # the same in the entries of ``Owners``
    cdef double[:, ::1] keys  # levels × nodes, by which owners are compared
    cdef double half_life  # s; 0: windows
    cdef Books books  # of MULTIFACTOR
    cdef int64_t since  # the observed schedule counts until then, the simulation after it
    cdef int64_t serial  # of the latest rating
    cdef int64_t tick  # of the recalculation for which owners were last rated
    cdef int64_t number  # of entries


cdef void open_ledger(Ledger ledger, int64_t since) noexcept nogil
cdef void charge_owner(Ledger ledger, int64_t owner, double charge, int64_t now) noexcept nogil
cdef void rate_usage(Owners owners, Ledger ledger, int64_t owner, int64_t now) noexcept nogil
cdef void rate_waits(Owners owners, Ledger ledger, int64_t owner) noexcept nogil


cdef inline int64_t compare(Ledger ledger, int64_t one, int64_t other) noexcept nogil:
    """Return 1 if the first owner's turn is before the second's, −1 if after it, else 0."""
    cdef int64_t level
    if one == other:
        return 0
    for level in range(ledger.keys.shape[0]):
        if ledger.keys[level, one] > ledger.keys[level, other]:
            return 1
        if ledger.keys[level, one] < ledger.keys[level, other]:
            return -1
    return 0
