"""Compare attempts with later ones of others that request at least as much.

Attempts come in blocks: those that arrived together, of one user, and equal in all that is compared.
So an array of equal tasks costs little more than one job. Times are in s.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from audit.kernels.sweeps cimport first_above


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Subjects:
    """The attempts whose pairs are counted, block by block."""

    cdef const int64_t[::1] begin  # first subject of each block, and the end of the last
    cdef const int64_t[::1] arrival  # of each block, as what follows
    cdef const int64_t[::1] user
    cdef const int64_t[::1] entity
    cdef const int64_t[:, ::1] need  # blocks × resources
    cdef const int64_t[::1] first  # the blocks of rivals it is compared with: all arrived later
    cdef const int64_t[::1] last
    cdef const int64_t[::1] start  # of each subject, ascending within a block
    cdef const int64_t[::1] held_begin  # intervals of each block: held_begin, …, held_end − 1;
    cdef const int64_t[::1] held_end  # a block with any has one subject
    cdef const int64_t[::1] held_from  # closed, ascending and disjoint within a block
    cdef const int64_t[::1] held_to


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Rivals:
    """The attempts that they are compared with, in blocks by arrival within each stratum."""

    cdef const int64_t[::1] begin  # rivals of each block: begin, …, end − 1
    cdef const int64_t[::1] end
    cdef const int64_t[::1] arrival  # of each block, as what follows
    cdef const int64_t[::1] user
    cdef const int64_t[::1] entity
    cdef const int64_t[:, ::1] need  # blocks × resources
    cdef const int64_t[::1] run  # the first block behind those of the same owner and need
    cdef const double[::1] weight  # of each rival of the block
    cdef const int64_t[::1] start  # of each rival, ascending within a block


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Found:
    """Counts of each subject; ``pairs`` and ``lost`` come as 0."""

    cdef double[::1] pairs  # weights of the rivals
    cdef double[::1] lost  # of those that started more than the lead before it
    cdef int64_t[::1] since  # when the first of these started; −1: none did
    cdef uint8_t[::1] met  # whether another entity's attempt arrived while it waited


def compare(Subjects subjects, Rivals rivals, int64_t lead, Found found):
    """Fill ``found``."""
    cdef Py_ssize_t block
    with nogil:
        for block in range(subjects.arrival.shape[0]):
            if subjects.held_begin[block] < subjects.held_end[block]:
                _held(block, subjects, rivals, lead, found)
            else:
                _free(block, subjects, rivals, lead, found)


cdef void _free(
    Py_ssize_t block, Subjects subjects, Rivals rivals, int64_t lead, Found found
) noexcept nogil:
    """Compare a block of subjects that could start at any time.

    Each rival counts for all subjects from some place on. Its weight is added at that place, and
    running sums are taken at the end. If a block has more rivals than there are subjects, each
    subject is looked up among the rivals instead.
    """
    cdef Py_ssize_t begin = subjects.begin[block], end = subjects.begin[block + 1]
    cdef int64_t latest = subjects.start[end - 1], earliest = -1, first_met = -1, start
    cdef Py_ssize_t k = subjects.first[block], i, before, passed
    cdef double pairs = 0.0, lost = 0.0
    while k < subjects.last[block] and rivals.arrival[k] < latest:
        if not _other(block, k, subjects, rivals):
            k = rivals.run[k]
            continue
        if first_met < 0:
            first_met = rivals.arrival[k]
        if not _as_much(block, k, subjects, rivals):
            k = rivals.run[k]
            continue
        i = first_above(subjects.start, begin, end, rivals.arrival[k])
        found.pairs[i] += rivals.weight[k] * (rivals.end[k] - rivals.begin[k])
        start = rivals.start[rivals.begin[k]]
        if start + lead < latest and (earliest < 0 or start < earliest):
            earliest = start
        if rivals.end[k] - rivals.begin[k] <= end - begin:
            for i in range(rivals.begin[k], rivals.end[k]):
                if rivals.start[i] >= latest - lead:
                    break
                found.lost[first_above(subjects.start, begin, end, rivals.start[i] + lead)] += (
                    rivals.weight[k]
                )
        else:
            before = rivals.begin[k]
            for i in range(begin, end):
                passed = first_above(
                    rivals.start, before, rivals.end[k], subjects.start[i] - lead - 1
                )
                found.lost[i] += rivals.weight[k] * (passed - before)
                before = passed
        k += 1
    for i in range(begin, end):
        pairs += found.pairs[i]
        lost += found.lost[i]
        found.pairs[i] = pairs
        found.lost[i] = lost
        found.since[i] = earliest if 0 <= earliest < subjects.start[i] - lead else -1
        found.met[i] = 0 <= first_met < subjects.start[i]


cdef void _held(
    Py_ssize_t block, Subjects subjects, Rivals rivals, int64_t lead, Found found
) noexcept nogil:
    """Compare a subject that could not start at some times.

    There is no pair with a rival that arrived at such a time, or started then before the subject.
    """
    cdef Py_ssize_t own = subjects.begin[block], k = subjects.first[block], i
    cdef Py_ssize_t interval = subjects.held_begin[block], behind = subjects.held_end[block]
    cdef int64_t start = subjects.start[own]
    found.since[own] = -1
    found.met[own] = False
    while k < subjects.last[block] and rivals.arrival[k] < start:
        while interval < behind and subjects.held_to[interval] < rivals.arrival[k]:
            interval += 1
        if interval < behind and subjects.held_from[interval] <= rivals.arrival[k]:
            k = first_above(rivals.arrival, k, subjects.last[block], subjects.held_to[interval])
            continue
        if not _other(block, k, subjects, rivals):
            k = rivals.run[k]
            continue
        found.met[own] = True
        if not _as_much(block, k, subjects, rivals):
            k = rivals.run[k]
            continue
        for i in range(rivals.begin[k], rivals.end[k]):
            if rivals.start[i] >= start - lead:
                found.pairs[own] += rivals.weight[k] * (rivals.end[k] - i)
                break
            if not _held_at(block, subjects, rivals.start[i]):
                found.pairs[own] += rivals.weight[k]
                found.lost[own] += rivals.weight[k]
                if found.since[own] < 0 or rivals.start[i] < found.since[own]:
                    found.since[own] = rivals.start[i]
        k += 1


cdef inline bint _other(
    Py_ssize_t block, Py_ssize_t k, Subjects subjects, Rivals rivals
) noexcept nogil:
    """Return whether a block of rivals is of another user and another entity."""
    return rivals.user[k] != subjects.user[block] and rivals.entity[k] != subjects.entity[block]


cdef inline bint _as_much(
    Py_ssize_t block, Py_ssize_t k, Subjects subjects, Rivals rivals
) noexcept nogil:
    """Return whether rivals ask for at least as much of everything."""
    cdef Py_ssize_t resource
    for resource in range(rivals.need.shape[1]):
        if rivals.need[k, resource] < subjects.need[block, resource]:
            return False
    return True


cdef inline bint _held_at(Py_ssize_t block, Subjects subjects, int64_t instant) noexcept nogil:
    cdef Py_ssize_t first = subjects.held_begin[block]
    cdef Py_ssize_t place = first_above(subjects.held_from, first, subjects.held_end[block], instant)
    return place > first and instant <= subjects.held_to[place - 1]
