"""Slurm's multifactor priority as slurmctld keeps it: the order MULTIFACTOR (SPEC §7).

slurmctld recalculates at *ticks*. At a tick it books what ran since the tick before, computes
fairshare from the usage booked by then, and from that the priority of all queued attempts, whose
age is as of that tick. What ends is booked at once, and counts from the next tick on. Between two
ticks only new arrivals change anything, and a priority depends on the tick alone. So ticks are
computed when somebody asks, many at a time.

An *account* is a node of the share tree to which attempts are charged; ``metrics.slurm.usage`` and
``metrics.slurm.shares`` have the formulas.
"""

from libc.stdint cimport int64_t


cdef enum Algorithm:
    FAIR_TREE
    CLASSIC


cdef struct Usage:
    double used  # booked by the last tick, and decayed to it
    double ended  # booked since by what ended: counts from the next tick on
    double rate  # use per second of what runs since before that tick
    double fresh  # what the next tick will book of what began since,
    double fresh_rate  # and the use per second of that
    int64_t tick  # number of that tick
    int64_t running  # how many attempts run


cdef struct Level:
    int64_t account
    int64_t next  # place of its next member to be ranked
    int64_t tied  # whether its first member shares the rank of the last one that was ranked


cdef class Slurm:
    """How priorities are computed, and what the observed schedule used."""
    cdef const double[::1] fixed  # [attempts], the parts of a priority that stay
    cdef const int64_t[::1] tier  # [attempts], PriorityTier: compared before the priority
    cdef double age_weight
    cdef double max_age  # s, > 0
    cdef double fairshare_weight
    cdef Algorithm algorithm
    cdef double dampening
    cdef const int64_t[::1] parent  # [nodes], each after its own
    cdef const int64_t[::1] over  # [nodes], to whose members it belongs; root: itself
    cdef const double[::1] norm  # [nodes], NormShares
    cdef const double[::1] part  # [nodes], share among siblings, 0: none; −1: fairshare=parent
    cdef const int64_t[::1] is_user  # [nodes]
    cdef int64_t users
    cdef const int64_t[::1] first  # [nodes + 1], where the members of each begin
    cdef const int64_t[::1] member  # in the order of ``sshare``
    cdef const int64_t[::1] entry  # [nodes + 1], where the observations of each begin
    cdef const int64_t[::1] time  # [entries], of a start or end; ascending for each node
    cdef Usage[::1] observed  # [entries], as of then


cdef class Books:
    """What a simulation has booked."""
    cdef Usage[::1] usage  # [nodes]
    cdef double[::1] total  # [nodes], usage with all below it, as of ``rated``
    cdef double[::1] level  # [nodes], Fair Tree: what siblings are ranked by; classic: EffectvUsage
    cdef double[::1] factor  # [nodes], fairshare, 0 to 1; 0 of accounts
    cdef int64_t[::1] place  # [members], which member is where by LevelFS: indices of Slurm.member
    cdef Level[::1] walk  # [levels], where the ranking is
    cdef int64_t rated  # the tick for which fairshare was computed, or NEVER_RATED
    cdef int64_t period  # s
    cdef int64_t phase  # an instant of a tick
    cdef double rate  # ln of what is left of usage after a second, ≤ 0
    cdef const int64_t[::1] resets  # numbers of the ticks that dropped all usage, ascending


cdef int64_t tick_of(Books books, int64_t instant) noexcept nogil
cdef void book_start(Books books, int64_t node, double charge, int64_t start) noexcept nogil
cdef void book_end(
    Books books, int64_t node, double charge, int64_t start, int64_t end, bint counts
) noexcept nogil
cdef void open_accounts(Slurm slurm, Books books, int64_t since) noexcept nogil
cdef void rate_users(Slurm slurm, Books books, int64_t now) noexcept nogil
cdef double priority_of(
    Slurm slurm, Books books, int64_t job, int64_t node, int64_t arrival
) noexcept nogil
