"""Compare attempts with later ones of others that request at least as much.

Attempts come in blocks: those that arrived together, of one user, and equal in all that is compared.
So an array of equal tasks costs little more than one job. Times are in s.
"""

cimport cython
from libc.math cimport exp, expm1
from libc.stdint cimport int64_t, uint8_t

from audit.kernels.fenwick cimport add_at, sum_to
from audit.kernels.sweeps cimport first_above


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Usage:
    """Decayed usage of owners over time, as what they had used at each of their starts and ends."""

    cdef const int64_t[::1] first  # events of owner o: first[o], …, first[o + 1] − 1
    cdef const int64_t[::1] time  # of each event, ascending within an owner
    cdef const double[::1] rate  # use per second from each event on
    cdef double[::1] used  # decayed usage at each event: ``accumulate`` fills it
    cdef const double[::1] share  # of each owner, > 0: usage counts in multiples of it
    cdef double decay  # per second: ln 2 / half-life


def accumulate(Usage usage):
    """Fill ``used`` from times and rates."""
    cdef Py_ssize_t owner, i
    with nogil:
        for owner in range(usage.share.shape[0]):
            for i in range(usage.first[owner], usage.first[owner + 1]):
                usage.used[i] = 0.0
                if i > usage.first[owner]:
                    usage.used[i] = _later(usage, i - 1, usage.time[i])


def used_at(Usage usage, const int64_t[::1] owner, const int64_t[::1] instant, double[::1] used):
    """Write what each owner (−1: unknown) had used at each instant."""
    cdef Py_ssize_t k
    with nogil:
        for k in range(instant.shape[0]):
            used[k] = _used(usage, owner[k], instant[k])


cdef inline double _used(Usage usage, int64_t owner, int64_t instant) noexcept nogil:
    cdef Py_ssize_t place
    if owner < 0:
        return 0.0
    place = first_above(usage.time, usage.first[owner], usage.first[owner + 1], instant)
    if place == usage.first[owner]:
        return 0.0
    return _later(usage, place - 1, instant) / usage.share[owner]


cdef inline double _later(Usage usage, Py_ssize_t event, int64_t instant) noexcept nogil:
    """Return what is left at an instant of the usage at an event, and what has been used since."""
    cdef double decay = usage.decay * (instant - usage.time[event])
    return usage.used[event] * exp(-decay) - usage.rate[event] * expm1(-decay) / usage.decay


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Subjects:
    """The attempts whose pairs are counted, block by block."""

    cdef const int64_t[::1] begin  # first subject of each block, and the end of the last
    cdef const int64_t[::1] arrival  # of each block, as what follows
    cdef const int64_t[::1] user
    cdef const int64_t[::1] entity
    cdef const int64_t[::1] owner  # whose usage counts; −1: unknown
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
    cdef const double[::1] used  # what the owner had used at the arrival
    cdef const double[::1] weight  # of each rival of the block
    cdef const int64_t[::1] start  # of each rival, ascending within a block


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Found:
    """Counts of each subject; ``pairs`` and ``lost`` come as 0.

    Rivals whose owner had used less when they arrived count in row 1, all others in row 0.
    """

    cdef double[:, ::1] pairs  # 2 × subjects, weights of the rivals
    cdef double[:, ::1] lost  # of those that started more than the lead before it
    cdef int64_t[::1] since  # when the first of these started; −1: none did
    cdef uint8_t[::1] met  # whether another entity's attempt arrived while it waited


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Classes:
    """Subjects that are swept, and all rivals, by *class*: those of one stratum that request the same.

    Rivals are arranged by *key* in several ways: by stratum, by user, by entity, … A *segment* holds
    those of one key and class, by arrival.
    """

    cdef const uint8_t[:, ::1] as_much  # classes × classes: 1: the second requests as much
    cdef const int64_t[::1] of_block  # the class of each block of subjects
    cdef const int64_t[::1] block  # [subjects]
    cdef const int64_t[::1] swept  # subjects, by start
    cdef const int64_t[::1] sign  # [ways], 1: rivals with a subject's key count; −1: they do not
    cdef const int64_t[:, ::1] key  # ways × blocks of subjects; −1: no rival has it
    cdef const int64_t[::1] first_segment  # keys + 1
    cdef const int64_t[::1] of_segment  # the class of each
    cdef const int64_t[::1] segment_begin  # segments + 1
    cdef const int64_t[::1] arrival_at  # [places]
    cdef const double[::1] sums  # [places + 1], of the weights before each
    cdef const int64_t[:, ::1] place  # ways × rivals
    cdef const int64_t[:, ::1] segment  # ways × rivals
    cdef const int64_t[::1] by_start  # rivals
    cdef const int64_t[::1] of_rival  # the class of each
    cdef const int64_t[::1] arrival  # of each rival, as what follows
    cdef const int64_t[::1] user
    cdef const int64_t[::1] entity
    cdef const double[::1] weight
    cdef double least  # of the weights
    # Links between the subjects of a class that no rival has passed yet, by arrival; −1: none.
    cdef int64_t[::1] first  # [classes]
    cdef int64_t[::1] before  # [subjects]
    cdef int64_t[::1] after
    # Weights of rivals that have started.
    cdef double[::1] started  # [segments]
    cdef double[::1] tree  # [places], trees of the same


def compare(
    Subjects subjects, Rivals rivals, Usage usage, Classes classes, int64_t lead, Found found
):
    """Fill ``found``.

    Args:
        classes: the subjects that are swept. None of them is held, and no usage is known.
    """
    cdef Py_ssize_t block
    with nogil:
        _sweep(subjects, rivals, classes, lead, found)
        for block in range(subjects.arrival.shape[0]):
            if classes.of_block[block] >= 0:
                continue
            if subjects.held_begin[block] < subjects.held_end[block]:
                _held(block, subjects, rivals, usage, lead, found)
            else:
                _free(block, subjects, rivals, usage, lead, found)


cdef void _sweep(
    Subjects subjects, Rivals rivals, Classes classes, int64_t lead, Found found
) noexcept nogil:
    """Count the pairs of the swept subjects, each when the last rival that passes it has started."""
    cdef Py_ssize_t k, way, next_rival = 0
    cdef int64_t i, rival, segment
    for k in range(classes.swept.shape[0]):
        i = classes.swept[k]
        while next_rival < classes.by_start.shape[0]:
            rival = classes.by_start[next_rival]
            if rivals.start[rival] >= subjects.start[i] - lead:
                break
            for way in range(classes.sign.shape[0]):
                segment = classes.segment[way, rival]
                classes.started[segment] += classes.weight[rival]
                add_at(
                    classes.tree, classes.segment_begin[segment],
                    classes.segment_begin[segment + 1], classes.place[way, rival],
                    classes.weight[rival]
                )
            _note_passed(subjects, rivals, classes, rival, found)
            next_rival += 1
        for way in range(classes.sign.shape[0]):
            _look_up(subjects, classes, way, i, found)
        _finish(subjects, rivals, classes, i, found)


cdef inline void _unlink(Classes classes, int64_t c, int64_t i) noexcept nogil:
    """Remove subject ``i`` from those of its class that no rival has passed."""
    cdef int64_t before = classes.before[i], after = classes.after[i]
    if before >= 0:
        classes.after[before] = after
    elif classes.first[c] == i:
        classes.first[c] = after
    else:
        return  # it was removed before
    if after >= 0:
        classes.before[after] = before
    classes.before[i] = classes.after[i] = -1


cdef void _note_passed(
    Subjects subjects, Rivals rivals, Classes classes, int64_t rival, Found found
) noexcept nogil:
    """Note the start of a rival for those subjects of which it is the first that passes them."""
    cdef Py_ssize_t c
    cdef int64_t i, after, block
    for c in range(classes.first.shape[0]):
        if not classes.as_much[c, classes.of_rival[rival]]:
            continue
        i = classes.first[c]
        while i >= 0:
            block = classes.block[i]
            if subjects.arrival[block] >= classes.arrival[rival]:
                break
            after = classes.after[i]
            if (
                subjects.user[block] != classes.user[rival]
                and subjects.entity[block] != classes.entity[rival]
            ):
                found.since[i] = rivals.start[rival]
                _unlink(classes, c, i)
            i = after


cdef void _look_up(
    Subjects subjects, Classes classes, Py_ssize_t way, int64_t i, Found found
) noexcept nogil:
    """Add the rivals with one of its keys to the pairs of subject ``i``, or take them off."""
    cdef int64_t block = classes.block[i], c = classes.of_block[block], key
    cdef int64_t segment, begin, end, low, high
    cdef double started
    key = classes.key[way, block]
    if key < 0:
        return
    for segment in range(classes.first_segment[key], classes.first_segment[key + 1]):
        if not classes.as_much[c, classes.of_segment[segment]]:
            continue
        begin, end = classes.segment_begin[segment], classes.segment_begin[segment + 1]
        low = first_above(classes.arrival_at, begin, end, subjects.arrival[block])
        high = first_above(classes.arrival_at, low, end, subjects.start[i] - 1)
        if low < high:
            started = classes.started[segment] - sum_to(classes.tree, begin, low - 1)
            found.pairs[0, i] += classes.sign[way] * (classes.sums[high] - classes.sums[low])
            found.lost[0, i] += classes.sign[way] * started


cdef void _finish(
    Subjects subjects, Rivals rivals, Classes classes, int64_t i, Found found
) noexcept nogil:
    """Complete what was found for subject ``i``, which no rival passes any more."""
    cdef int64_t block = classes.block[i], k = subjects.first[block]
    _unlink(classes, classes.of_block[block], i)
    # what is left of sums that cancel out
    if found.pairs[0, i] < classes.least / 2:
        found.pairs[0, i] = 0.0
    if found.lost[0, i] < classes.least / 2:
        found.lost[0, i] = 0.0
    while k < subjects.last[block] and not _other(block, k, subjects, rivals):
        k = rivals.run[k]
    found.met[i] = k < subjects.last[block] and rivals.arrival[k] < subjects.start[i]


cdef void _free(
    Py_ssize_t block, Subjects subjects, Rivals rivals, Usage usage, int64_t lead, Found found
) noexcept nogil:
    """Compare a block of subjects that could start at any time.

    Each rival counts for all subjects from some place on. Its weight is added at that place, and
    running sums are taken at the end. If a block has more rivals than there are subjects, each
    subject is looked up among the rivals instead.
    """
    cdef Py_ssize_t begin = subjects.begin[block], end = subjects.begin[block + 1]
    cdef int64_t latest = subjects.start[end - 1], earliest = -1, first_met = -1, start
    cdef Py_ssize_t k = subjects.first[block], i, before, passed, less
    while k < subjects.last[block] and rivals.arrival[k] < latest:
        if not _other(block, k, subjects, rivals):
            k = rivals.run[k]
            continue
        if first_met < 0:
            first_met = rivals.arrival[k]
        if not _as_much(block, k, subjects, rivals):
            k = rivals.run[k]
            continue
        less = _used_less(block, k, subjects, rivals, usage)
        i = first_above(subjects.start, begin, end, rivals.arrival[k])
        found.pairs[less, i] += rivals.weight[k] * (rivals.end[k] - rivals.begin[k])
        start = rivals.start[rivals.begin[k]]
        if start + lead < latest and (earliest < 0 or start < earliest):
            earliest = start
        if rivals.end[k] - rivals.begin[k] <= end - begin:
            for i in range(rivals.begin[k], rivals.end[k]):
                if rivals.start[i] >= latest - lead:
                    break
                passed = first_above(subjects.start, begin, end, rivals.start[i] + lead)
                found.lost[less, passed] += rivals.weight[k]
        else:
            before = rivals.begin[k]
            for i in range(begin, end):
                passed = first_above(
                    rivals.start, before, rivals.end[k], subjects.start[i] - lead - 1
                )
                found.lost[less, i] += rivals.weight[k] * (passed - before)
                before = passed
        k += 1
    for i in range(begin, end):
        if i > begin:
            for less in range(2):
                found.pairs[less, i] += found.pairs[less, i - 1]
                found.lost[less, i] += found.lost[less, i - 1]
        found.since[i] = earliest if 0 <= earliest < subjects.start[i] - lead else -1
        found.met[i] = 0 <= first_met < subjects.start[i]


cdef void _held(
    Py_ssize_t block, Subjects subjects, Rivals rivals, Usage usage, int64_t lead, Found found
) noexcept nogil:
    """Compare a subject that could not start at some times.

    There is no pair with a rival that arrived at such a time, or started then before the subject.
    """
    cdef Py_ssize_t own = subjects.begin[block], k = subjects.first[block], i, less
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
        less = _used_less(block, k, subjects, rivals, usage)
        for i in range(rivals.begin[k], rivals.end[k]):
            if rivals.start[i] >= start - lead:
                found.pairs[less, own] += rivals.weight[k] * (rivals.end[k] - i)
                break
            if not _held_at(block, subjects, rivals.start[i]):
                found.pairs[less, own] += rivals.weight[k]
                found.lost[less, own] += rivals.weight[k]
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


cdef inline Py_ssize_t _used_less(
    Py_ssize_t block, Py_ssize_t k, Subjects subjects, Rivals rivals, Usage usage
) noexcept nogil:
    """Return 1 if the rivals' owner had used less than the subjects' when they arrived, else 0.

    A difference of rounding is none.
    """
    return rivals.used[k] < _used(usage, subjects.owner[block], rivals.arrival[k]) * (1 - 1e-9)


cdef inline bint _held_at(Py_ssize_t block, Subjects subjects, int64_t instant) noexcept nogil:
    cdef Py_ssize_t first = subjects.held_begin[block]
    cdef Py_ssize_t place = first_above(subjects.held_from, first, subjects.held_end[block], instant)
    return place > first and instant <= subjects.held_to[place - 1]
