"""The books of Slurm's multifactor priority."""

from libc.math cimport floor
from libc.stdint cimport int64_t

from audit.kernels.scheduling.instants cimport floor_divide


cdef extern from *:
    const int64_t NEVER_RATED "(-(INT64_C(1) << 62))"
    const double GRID "4294967296.0"  # values that differ by less than 0.5/GRID are equal
    const double HIGHEST "4294967295.0"


cdef struct NodeUsage:
    double used  # booked by the last tick, and decayed to it
    double ended  # booked since at ends: counts from the next tick on
    double rate  # use per second of attempts that have run since before that tick
    double fresh  # what the next tick will book of later starts,
    double fresh_rate  # and the use per second of those
    int64_t tick  # number of that tick
    int64_t running  # number of running attempts


cdef struct Level:
    int64_t account
    int64_t next  # place of its next member to be ranked
    int64_t tied  # whether its first member shares the rank of the last one ranked


cdef class SlurmPriority:
    cdef const double[::1] fixed  # [attempts], the constant parts of a priority
    cdef const int64_t[::1] tier  # [attempts], PriorityTier: compared before the priority
    cdef double age_weight
    cdef double max_age  # s, > 0
    cdef double fairshare_weight
    cdef bint classic  # instead of Fair Tree
    cdef double dampening
    cdef const int64_t[::1] parent  # [nodes], each after its parent
    cdef const int64_t[::1] over  # [nodes], to whose members it belongs; root: itself
    cdef const double[::1] norm  # [nodes], NormShares
    cdef const double[::1] part  # [nodes], share among siblings, 0: none; −1: fairshare=parent
    cdef const int64_t[::1] is_user  # [nodes]
    cdef const int64_t[::1] first  # [nodes + 1], where the members of each begin
    cdef const int64_t[::1] member  # in the order of ``sshare``
    cdef const int64_t[::1] entry  # [nodes + 1], where the observations of each begin
    cdef const int64_t[::1] time  # [entries], of a start or end; ascending for each node
    cdef NodeUsage[::1] observed  # [entries], as of then; see ``observe``


cdef class Books:
    cdef NodeUsage[::1] usage  # [nodes]
    cdef double[::1] total  # [nodes], usage with all below it, as of ``rated``
    cdef double[::1] level  # [nodes], Fair Tree: the rank among siblings; classic: EffectvUsage
    cdef double[::1] factor  # [nodes], fairshare, 0 to 1; 0 of accounts
    cdef int64_t[::1] place  # [members], indices of SlurmPriority.member, by LevelFS
    cdef Level[::1] walk  # [levels], the position of the ranking
    cdef int64_t rated  # the tick for which fairshare was computed, or NEVER_RATED
    cdef int64_t period  # s
    cdef int64_t phase  # an instant of a tick
    cdef double rate  # ln of what is left of usage after a second, ≤ 0
    cdef double kept  # part of usage that is left after a period
    cdef double booked  # what a tick books of a use of 1 per second
    cdef const int64_t[::1] resets  # numbers of the ticks that dropped all usage, ascending


cdef void book_start(Books books, int64_t node, double charge, int64_t start) noexcept nogil
cdef void book_end(
    Books books, int64_t node, double charge, int64_t start, int64_t end, bint counts
) noexcept nogil
cdef void open_accounts(SlurmPriority slurm, Books books, int64_t since) noexcept nogil
cdef void rate_users(SlurmPriority slurm, Books books, int64_t now) noexcept nogil


cdef inline int64_t tick_of(Books books, int64_t instant) noexcept nogil:
    """Return the number of the last tick at or before an instant."""
    return floor_divide(instant - books.phase, books.period)


cdef inline double priority_of(
    SlurmPriority slurm, Books books, int64_t job, int64_t node, int64_t arrival
) noexcept nogil:
    """Return an attempt's priority, a whole number, as of the tick of the fairshare."""
    cdef int64_t age = max(books.phase + books.rated * books.period - arrival, 0)
    cdef double whole = slurm.age_weight * min(age / slurm.max_age, 1.0)
    whole += slurm.fairshare_weight * books.factor[node]
    whole += slurm.fixed[job]
    return floor(min(max(whole, 1.0), HIGHEST))
