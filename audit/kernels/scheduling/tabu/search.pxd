"""The tabu search for a better plan of queued attempts ([K] §4; SPEC §8, *TS*).

A *slot* is a queued attempt with a planned start, by place in the queue. ``Slot.start`` is its
start in the schedule that is being tried, ``Slot.best`` that in the best one so far;
``Workspace.order`` has the slots by their start in the latter. The profile of the pool goes with
the former, that of the workspace with the latter.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t

from audit.kernels.scheduling.model cimport Jobs
from audit.kernels.scheduling.pool cimport Pool
from audit.kernels.scheduling.profile cimport Profile


cdef struct Slot:
    int64_t job
    int64_t place  # in the queue
    int64_t start  # in the schedule that is tried
    int64_t best  # in the best schedule
    int64_t tabu  # 1: on the tabu list


cdef struct Measures:
    double slowdown
    double wait
    double response
    double fairness


cdef struct Owner:
    int64_t seen  # how many of its attempts have ended or run
    int64_t waited  # by what has ended or runs
    double used  # resource·s, by what has ended, and by estimate of what runs
    int64_t waits  # ``waited`` and what the schedule adds to it
    double area  # ``used`` and what waits, by estimate


cdef class Workspace:
    """Working space of a search, and what it knows of owners."""
    cdef int64_t slot_number
    cdef Slot[::1] slots
    cdef int64_t[::1] order
    cdef int64_t[::1] tabu  # the slots moved last, a ring as long as the tabu list
    cdef int64_t tabu_number
    cdef int64_t oldest  # place of the oldest element of the tabu list
    cdef Profile profile  # of the best schedule
    cdef Measures best
    cdef Measures tried
    cdef Owner[::1] owners
    cdef int64_t[::1] known  # the owners seen, what waits included
    cdef int64_t known_number
    cdef double[::1] nuwt  # of each of those
    # Random words: how many have been used, and how many the search needs that is due.
    cdef readonly int64_t words_used
    cdef readonly int64_t words_needed
    cdef const int64_t[::1] stop  # [1], another thread sets it to end the search
    # What the searches came to:
    cdef readonly int64_t searches
    cdef readonly int64_t moves  # plans that were made by moving an attempt
    cdef readonly int64_t accepted  # those of them that were better


cdef void optimise(
    Pool pool, Workspace space, Jobs jobs, int64_t turns, const uint64_t[::1] words
) noexcept nogil
