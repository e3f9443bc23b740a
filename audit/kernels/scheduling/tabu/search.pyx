"""The tabu search for a better plan of queued attempts; see the ``.pxd``."""

import numpy as np

from audit.kernels.scheduling.pool cimport GAP, UNPLANNED
from audit.kernels.scheduling.profile cimport add_job, copy_profile, earlier, earliest
from audit.kernels.scheduling.rows cimport NEVER


cdef extern from *:
    const double MARGIN "1e-9"  # a weight up to this is none: rounding decides nothing


cdef class Room:
    def __init__(
        self, Pool pool not None, int64_t attempts, int64_t owners, int64_t tabu, stop
    ):
        self.slots = np.zeros(attempts + 1, "i8, i8, i8, i8, i8")
        self.order = np.zeros(attempts + 1, np.int64)
        self.tabu = np.zeros(tabu, np.int64)
        self.profile = Profile(pool.free.shape[0], pool.profile.times.shape[0])
        self.owners = np.zeros(owners, "i8, i8, f8, i8, f8")
        self.known = np.zeros(owners, np.int64)
        self.nuwt = np.zeros(owners)
        self.stop = stop

    def begin_words(self):
        """Begin with the first of new random words."""
        self.words_used = 0


cdef void gather(Pool pool, Room room, Jobs jobs) noexcept nogil:
    """Make the slots of queued attempts with a planned start, and find the owners seen."""
    cdef int64_t number = 0, job, i, k
    for i in range(pool.state.head, pool.state.tail):
        job = pool.queue_job[i]
        if job == GAP or pool.plan[i] == UNPLANNED or pool.plan[i] == NEVER:
            continue
        room.slots[number] = Slot(
            job=job, place=i, start=pool.plan[i], best=pool.plan[i], tabu=0
        )
        room.order[number] = number
        number += 1
    room.slot_number = number
    for k in range(room.owners.shape[0]):
        room.owners[k].area = room.owners[k].used
        room.owners[k].waits = room.owners[k].seen
    for i in range(number):
        job = room.slots[i].job
        room.owners[jobs.owner[job]].area += jobs.estimate[job] * jobs.request[0, job]
        room.owners[jobs.owner[job]].waits += 1
    room.known_number = 0
    for k in range(room.owners.shape[0]):
        if room.owners[k].waits > 0:
            room.known[room.known_number] = k
            room.known_number += 1
    sort(room)


cdef void sort(Room room) noexcept nogil:
    """Sort ``room.order`` by the start in the best schedule; ties by slot."""
    cdef int64_t slot, before, start, i, k
    for i in range(1, room.slot_number):
        slot = room.order[i]
        start = room.slots[slot].best
        k = i
        while k > 0:
            before = room.order[k - 1]
            if room.slots[before].best < start or (
                room.slots[before].best == start and before < slot
            ):
                break
            room.order[k] = before
            k -= 1
        room.order[k] = slot


cdef Measures measure(Room room, Jobs jobs) noexcept nogil:
    """Return the four measures of the schedule that is tried.

    They are sums over the slots, not means: only ratios between schedules of the same slots matter.
    """
    cdef int64_t waited = 0, ran = 0, job, wait, estimate, i, k
    cdef double slowdown = 0.0, mean = 0.0, spread = 0.0, off
    cdef Owner *owner
    for k in range(room.known_number):
        owner = &room.owners[room.known[k]]
        owner.waits = owner.waited
    for i in range(room.slot_number):
        job = room.slots[i].job
        wait = room.slots[i].start - jobs.arrival[job]
        estimate = jobs.estimate[job]
        slowdown += (wait + estimate) / <double> estimate  # ≥ 1, and estimates are ≥ 1 s
        waited += wait
        ran += estimate
        room.owners[jobs.owner[job]].waits += wait
    for k in range(room.known_number):
        owner = &room.owners[room.known[k]]
        room.nuwt[k] = owner.waits / owner.area if owner.area > 0 else 0.0
        mean += room.nuwt[k]
    mean /= max(room.known_number, 1)
    for k in range(room.known_number):
        off = room.nuwt[k] - mean
        spread += off * off
    return Measures(slowdown=slowdown, wait=waited, response=waited + ran, fairness=spread)


cdef bint better(Measures tried, Measures best) noexcept nogil:
    """Return whether the schedule that is tried is better: SELECTBETTER ([K] Algorithm 1)."""
    cdef double weight = 0.0
    weight += gain(tried.slowdown, best.slowdown)
    weight += gain(tried.wait, best.wait)
    weight += gain(tried.response, best.response)
    weight += gain(tried.fairness, best.fairness)
    return weight > MARGIN


cdef double gain(double tried, double best) noexcept nogil:
    """Return by what part of itself a measure has become smaller."""
    if best > 0:
        return (best - tried) / best
    return -1.0 if tried > 0 else 0.0


cdef int64_t draw(Room room, const uint64_t[::1] words) noexcept nogil:
    """Return a random slot that is not tabu, in order of the best schedule; −1: there is none."""
    cdef int64_t left = 0, index, slot, i = 0, k
    for k in range(room.slot_number):
        left += 1 - room.slots[k].tabu
    if left == 0:
        return -1
    index = ((words[room.words_used] >> 32) * <uint64_t> left) >> 32
    room.words_used += 1
    while True:
        slot = room.order[i]
        index -= 1 - room.slots[slot].tabu
        if index < 0:
            return slot
        i += 1


cdef void plan(Pool pool, int64_t job, int64_t start, int64_t sign, Jobs jobs) noexcept nogil:
    """Add ``sign`` times what an attempt holds when it starts at ``start`` to what is free."""
    add_job(pool.profile, start, start + jobs.estimate[job], jobs, job, sign)


cdef bint tighten(Pool pool, Room room, int64_t leaving, Jobs jobs) noexcept nogil:
    """Plan all slots but ``leaving``, in order of start, for the earliest start that fits.

    None moves later. Return whether any has moved.
    """
    cdef int64_t now = pool.state.now, start, i
    cdef bint moved = False
    cdef Slot *slot
    for i in range(room.slot_number):
        slot = &room.slots[room.order[i]]
        if room.order[i] == leaving or slot.start <= now:
            continue
        start = earlier(pool.profile, now, slot.start, NEVER, jobs, slot.job, 0, 0)
        if start < slot.start:
            plan(pool, slot.job, slot.start, 1, jobs)
            plan(pool, slot.job, start, -1, jobs)
            slot.start = start
            moved = True
    return moved


cdef bint try_out(Pool pool, Room room, int64_t k, Jobs jobs) noexcept nogil:
    """Take slot ``k`` out, compress, and put it back at the earliest start that is left.

    Return whether this makes another schedule.
    """
    cdef Slot *slot = &room.slots[k]
    cdef int64_t planned = slot.start
    cdef bint moved
    plan(pool, slot.job, planned, 1, jobs)
    moved = tighten(pool, room, k, jobs)
    slot.start = earliest(pool.profile, pool.state.now, jobs, slot.job, 0, 0)
    if slot.start != NEVER:
        plan(pool, slot.job, slot.start, -1, jobs)
    return moved or slot.start != planned


cdef bint choose(Pool pool, Room room, int64_t slot, Jobs jobs) noexcept nogil:
    """Keep the schedule that is tried if it is better than the best; return whether it is."""
    cdef int64_t i
    cdef bint accepted = False
    if room.slots[slot].start != NEVER:
        room.tried = measure(room, jobs)
        accepted = better(room.tried, room.best)
    if accepted:
        for i in range(room.slot_number):
            room.slots[i].best = room.slots[i].start
        room.best = room.tried
        copy_profile(pool.profile, room.profile)
        sort(room)
    else:
        for i in range(room.slot_number):
            room.slots[i].start = room.slots[i].best
        copy_profile(room.profile, pool.profile)
    return accepted


cdef void forbid(Room room, int64_t slot) noexcept nogil:
    """Put a slot on the tabu list, from which the oldest is removed if it is full."""
    cdef int64_t length = room.tabu.shape[0]
    if room.tabu_number == length:
        room.slots[room.tabu[room.oldest]].tabu = 0
        room.tabu[room.oldest] = slot
        room.oldest = (room.oldest + 1) % length
    else:
        room.tabu[(room.oldest + room.tabu_number) % length] = slot
        room.tabu_number += 1
    room.slots[slot].tabu = 1


cdef void allow_all(Room room) noexcept nogil:
    """Empty the tabu list."""
    cdef int64_t k
    for k in range(room.slot_number):
        room.slots[k].tabu = 0
    room.tabu_number = room.oldest = 0


cdef void optimise(
    Pool pool, Room room, Jobs jobs, int64_t turns, const uint64_t[::1] words
) noexcept nogil:
    """Search for a better plan of what waits, and adopt the best: TABUSEARCH ([K] Algorithm 2)."""
    cdef int64_t accepted = 0, slot, i
    gather(pool, room, jobs)
    room.best = measure(room, jobs)
    copy_profile(pool.profile, room.profile)
    allow_all(room)
    room.searches += 1
    for i in range(turns * room.slot_number):
        if room.stop[0] > 0:
            break
        slot = draw(room, words)
        if slot < 0:
            allow_all(room)
            continue
        room.moves += 1
        if try_out(pool, room, slot, jobs):
            accepted += choose(pool, room, slot, jobs)
        forbid(room, slot)
    if accepted > 0:
        room.accepted += accepted
        pool.state.freed = NEVER  # any of them may move at the next compression
        for i in range(room.slot_number):
            pool.plan[room.slots[i].place] = room.slots[i].best
