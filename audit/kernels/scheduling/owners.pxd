"""What owners have used and waited for, and whose turn that makes it (SPEC §4, *Queue order*).

Under FAIRSHARE an owner is a node of a share tree. One account holds what was used below each node,
and another what the node and its siblings used: entries of when the rate of use changed, what had
been used by then, and the use per second from then on. The arrays of ``Owners`` hold what the
observed schedule used up to ``Ledger.since``, account by account in order of time. What the
simulation adds is entered in the ``Ledger`` as it happens, as a chain of entries for each account.
Both are searched from where the last search ended, separately for each bound of an account's
windows.

Under NUWT an owner's account is what its ended attempts waited and used. MULTIFACTOR keeps all of
it in ``multifactor``.
"""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.multifactor cimport Books, Slurm


cdef enum:
    NOTHING = -1


cdef struct Account:
    int64_t oldest  # its chain of entries
    int64_t newest
    int64_t stamp  # the serial for which its usage is known
    int64_t rated  # of an owner: the serial for which its keys are known
    int64_t line_from  # its usage in windows is a line between these instants:
    int64_t line_until
    double line  # usage at ``line_from``,
    double slope  # and its growth per second
    double used  # by the last recalculation; NUWT: by what has ended in the simulation
    double priority  # of a node among its siblings
    double waited  # NUWT: by what has ended in the simulation
    double used_before  # NUWT: as observed
    double waited_before
    int64_t seen  # of an owner, while the queue is dealt out: how many of its attempts wait,
    int64_t dealt  # and the place of the next one


cdef struct Entry:
    int64_t time  # when the rate of use changed
    int64_t next  # the entry of the same account after it
    double value  # what had been used by then
    double rate  # use per second from then on


cdef class Owners:
    """Who they are, how they are ranked, and what the observed schedule used."""
    cdef const double[::1] target  # [nodes], among siblings
    cdef int64_t operator
    cdef const double[::1] weights  # [depth], of windows, the latest first
    cdef int64_t interval  # length of a window, s
    cdef int64_t origin
    cdef int64_t recalculation  # s
    cdef const int64_t[::1] first  # [accounts + 1], where the entries of each begin
    cdef const int64_t[::1] time  # [entries], ascending for each account
    cdef const double[::1] value  # what had been used (NUWT: waited) by then
    cdef const double[::1] rate  # use per second from then on (NUWT: what had been used by then)
    cdef Slurm slurm  # all that MULTIFACTOR uses, instead of the others


cdef class Ledger:
    """What a simulation adds."""
    cdef const int64_t[:, ::1] path  # nodes × levels, from below the root to the node; −1 beyond it
    cdef const int64_t[::1] siblings  # [nodes], the account of what a node and its siblings use
    cdef Account[::1] accounts
    cdef Entry[::1] entries
    cdef int64_t[:, ::1] simulated  # accounts × bounds, the entry that each had got to,
    cdef int64_t[:, ::1] observed  # and the same among those of ``Owners``
    cdef double[:, ::1] keys  # levels × nodes, what owners are compared by
    cdef double half_life  # s; 0: windows
    cdef Books books  # of MULTIFACTOR
    cdef int64_t since  # the observed schedule counts until then, the simulation after it
    cdef int64_t serial  # of the latest rating
    cdef int64_t tick  # of the recalculation that owners were last rated for
    cdef int64_t number  # of entries


cdef extern from *:
    const int64_t AFTER_ALL "(INT64_C(1) << 62)"


cdef void open_ledger(Ledger ledger, int64_t since) noexcept nogil
cdef void charge_owner(Ledger ledger, int64_t owner, double charge, int64_t now) noexcept nogil
cdef void rate_owner(Owners owners, Ledger ledger, int64_t owner, int64_t now) noexcept nogil
cdef void rate_waits(Owners owners, Ledger ledger, int64_t owner) noexcept nogil


cdef inline int64_t compare(Ledger ledger, int64_t one, int64_t other) noexcept nogil:
    """Return 1 if the first owner's turn is before the second's, −1 if after it, 0 if neither."""
    cdef int64_t level
    if one == other:
        return 0
    for level in range(ledger.keys.shape[0]):
        if ledger.keys[level, one] > ledger.keys[level, other]:
            return 1
        if ledger.keys[level, one] < ledger.keys[level, other]:
            return -1
    return 0
