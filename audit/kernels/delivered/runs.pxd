"""Simulations from a snapshot of the observed schedule."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t

from audit.kernels.delivered.lines cimport JobHeap, JobLine, append_place
from audit.kernels.delivered.model cimport DeliveredCapacity, ObservedPool, PassRule
from audit.kernels.delivered.passes cimport PassScene


@cython.final
cdef class ForkedRun:
    cdef PassScene scene
    cdef JobHeap ends  # of what runs
    cdef JobHeap expected  # working space: what runs, by expected end
    cdef int64_t[::1] begun  # [n], starts in the simulation; NEVER before the first
    cdef int64_t[::1] waits  # [n], in which simulation each was queued last; 0: it has started
    cdef int64_t number  # of simulations until now
    cdef int64_t since  # the instant of the snapshot
    cdef int64_t pin  # place in ``by_start`` of the next that may be pinned
    cdef int64_t subject  # starts when it was observed to at the latest; or NOBODY
    cdef int64_t[::1] later  # attempts that arrive after the snapshot
    cdef int64_t later_at, later_number
    cdef int64_t i  # the last of ``instants``
    cdef int64_t need  # the least that must be free for a start
    cdef bint settled  # whether this was found by a pass, and not merely what waits
    cdef int64_t until  # when this may change by itself
    cdef int64_t[::1] change  # [m], the next of ``instants`` at which capacities change
    cdef bint plans
    cdef bint settles  # a pass need only be repeated when more is free, or anything else changes
    cdef LastRun last  # the run that this one continues, where ``continues``
    cdef bint continues
    # Under kept order the queue is read from the line by rank as far as passes come.
    cdef JobLine ranked
    cdef int64_t unread, unread_end  # places there that may have to be queued:
    cdef int64_t unread_since  # what has not begun before in the last run


cdef extern from *:
    const int64_t LONG_AGO "(-(INT64_C(1) << 60))"


@cython.final
cdef class LastRun:
    cdef int64_t known  # the attempts before this one take part in the last run,
    cdef int64_t included  # and those before this one in the next
    cdef int64_t horizon  # the last run is known in the blocks before this one,
    cdef int64_t until  # and the next is needed up to this instant
    cdef int64_t[::1] block  # [n], in which each starts; the number of blocks: in none known
    cdef int64_t[::1] starts  # [blocks + 1], number of those; from ``at`` on, not yet in the next
    # What could start in each block besides: under NONE, any attempt of a rank below ``reach``;
    # else, one whose size has so many bits, if its estimate is at most ``longest``.
    cdef int64_t[::1] reach  # [blocks]
    cdef int64_t[:, ::1] longest  # blocks × WIDTHS
    cdef int64_t[::1] deepest  # [blocks + 1]: no greater rank starts up to the end of each
    cdef int64_t deep  # no greater rank has started so far
    cdef int64_t at  # the block that the next run has come to
    cdef int64_t fresh  # number of its starts in there
    cdef int64_t lag  # number of starts in blocks before that it has not yet made
    cdef int64_t[::1] unlike  # attempts that start at another instant in the next run,
    cdef int64_t[::1] before  # and when they do in the last
    cdef int64_t unlikes


cdef void open_run(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule, int64_t since,
    int64_t now, int64_t subject
) noexcept nogil
cdef void fork(
    ForkedRun simulation, PassScene scene, JobLine ranked, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j, int64_t d
) noexcept nogil
cdef void arrive(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule, int64_t job
) noexcept nogil
cdef void begin_expected(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule
) noexcept nogil
cdef int64_t simulate(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered, int64_t j
) noexcept nogil
cdef void read_on(ForkedRun run, PassScene scene, int64_t number) noexcept nogil
cdef void step(
    ForkedRun simulation, PassScene scene, ObservedPool log, PassRule rule,
    DeliveredCapacity delivered
) noexcept nogil
cdef void go_on(
    ForkedRun simulation, PassScene scene, ObservedPool log, DeliveredCapacity delivered
) noexcept nogil


cdef inline bint pinned(
    ForkedRun simulation, ObservedPool log, DeliveredCapacity delivered, int64_t job
) noexcept nogil:
    """Return whether an attempt of the queue starts when it was observed to, at the latest."""
    return (
        not delivered.free
        or log.start[job] <= simulation.since
        or delivered.always[job]
        or job == simulation.subject
    )


cdef inline void enqueue(
    ForkedRun simulation, PassScene scene, JobLine ranked, int64_t i
) noexcept nogil:
    """Let the attempt at place ``i`` of the line by rank wait, behind the others."""
    append_place(scene.queue, ranked, i)
    simulation.waits[ranked.job[i]] = simulation.number
    scene.least = min(scene.least, ranked.size[i])


cdef inline void leave_unread(ForkedRun run, int64_t i, int64_t since) noexcept nogil:
    """Read the line by rank from place ``i`` on later: none of it runs."""
    run.unread, run.unread_end, run.unread_since = i, run.ranked.tail, since


cdef inline void add_unlike(LastRun last, int64_t job, int64_t before) noexcept nogil:
    last.unlike[last.unlikes], last.before[last.unlikes] = job, before
    last.unlikes += 1
