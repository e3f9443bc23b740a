"""The tabu search for a better plan of queued attempts; see the ``.pxd``."""

import numpy as np

from audit.kernels.scheduling.pool cimport GAP, UNPLANNED
from audit.kernels.scheduling.profile cimport add_job, copy_profile, earlier, earliest
from audit.kernels.scheduling.rows cimport NEVER


cdef extern from *:
    const double MARGIN "1e-9"  # a weight up to this is none: rounding decides nothing


cdef class Workspace:
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


cdef void gather(Pool pool, Workspace space, Jobs jobs) noexcept nogil:
    """Make the slots of queued attempts with a planned start, and find the owners seen."""
    cdef int64_t number = 0, job, i, k
    for i in range(pool.state.head, pool.state.tail):
        job = pool.queue_job[i]
        if job == GAP or pool.plan[i] == UNPLANNED or pool.plan[i] == NEVER:
            continue
        space.slots[number] = Slot(
            job=job, place=i, start=pool.plan[i], best=pool.plan[i], tabu=0
        )
        space.order[number] = number
        number += 1
    space.slot_number = number
    for k in range(space.owners.shape[0]):
        space.owners[k].area = space.owners[k].used
        space.owners[k].waits = space.owners[k].seen
    for i in range(number):
        job = space.slots[i].job
        space.owners[jobs.owner[job]].area += jobs.estimate[job] * jobs.request[0, job]
        space.owners[jobs.owner[job]].waits += 1
    space.known_number = 0
    for k in range(space.owners.shape[0]):
        if space.owners[k].waits > 0:
            space.known[space.known_number] = k
            space.known_number += 1
    sort(space)


cdef void sort(Workspace space) noexcept nogil:
    """Sort ``space.order`` by the start in the best schedule; ties by slot."""
    cdef int64_t slot, before, start, i, k
    for i in range(1, space.slot_number):
        slot = space.order[i]
        start = space.slots[slot].best
        k = i
        while k > 0:
            before = space.order[k - 1]
            if space.slots[before].best < start or (
                space.slots[before].best == start and before < slot
            ):
                break
            space.order[k] = before
            k -= 1
        space.order[k] = slot


cdef Measures measure(Workspace space, Jobs jobs) noexcept nogil:
    """Return the four measures of the schedule that is tried.

    They are sums over the slots, not means: only ratios between schedules of the same slots matter.
    """
    cdef int64_t waited = 0, ran = 0, job, wait, estimate, i, k
    cdef double slowdown = 0.0, mean = 0.0, spread = 0.0, off
    cdef Owner *owner
    for k in range(space.known_number):
        owner = &space.owners[space.known[k]]
        owner.waits = owner.waited
    for i in range(space.slot_number):
        job = space.slots[i].job
        wait = space.slots[i].start - jobs.arrival[job]
        estimate = jobs.estimate[job]
        slowdown += (wait + estimate) / <double> estimate  # ≥ 1, and estimates are ≥ 1 s
        waited += wait
        ran += estimate
        space.owners[jobs.owner[job]].waits += wait
    for k in range(space.known_number):
        owner = &space.owners[space.known[k]]
        space.nuwt[k] = owner.waits / owner.area if owner.area > 0 else 0.0
        mean += space.nuwt[k]
    mean /= max(space.known_number, 1)
    for k in range(space.known_number):
        off = space.nuwt[k] - mean
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


cdef int64_t draw(Workspace space, const uint64_t[::1] words) noexcept nogil:
    """Return a random slot that is not tabu, in order of the best schedule; −1: there is none."""
    cdef int64_t left = 0, index, slot, i = 0, k
    for k in range(space.slot_number):
        left += 1 - space.slots[k].tabu
    if left == 0:
        return -1
    index = ((words[space.words_used] >> 32) * <uint64_t> left) >> 32
    space.words_used += 1
    while True:
        slot = space.order[i]
        index -= 1 - space.slots[slot].tabu
        if index < 0:
            return slot
        i += 1


cdef void plan(Pool pool, int64_t job, int64_t start, int64_t sign, Jobs jobs) noexcept nogil:
    """Add ``sign`` times what an attempt holds when it starts at ``start`` to what is free."""
    add_job(pool.profile, start, start + jobs.estimate[job], jobs, job, sign)


cdef bint tighten(Pool pool, Workspace space, int64_t leaving, Jobs jobs) noexcept nogil:
    """Plan all slots but ``leaving``, in order of start, for the earliest start that fits.

    None moves later. Return whether any has moved.
    """
    cdef int64_t now = pool.state.now, start, i
    cdef bint moved = False
    cdef Slot *slot
    for i in range(space.slot_number):
        slot = &space.slots[space.order[i]]
        if space.order[i] == leaving or slot.start <= now:
            continue
        start = earlier(pool.profile, now, slot.start, NEVER, jobs, slot.job, 0, 0)
        if start < slot.start:
            plan(pool, slot.job, slot.start, 1, jobs)
            plan(pool, slot.job, start, -1, jobs)
            slot.start = start
            moved = True
    return moved


cdef bint try_out(Pool pool, Workspace space, int64_t k, Jobs jobs) noexcept nogil:
    """Take slot ``k`` out, compress, and put it back at the earliest start that is left.

    Return whether this makes another schedule.
    """
    cdef Slot *slot = &space.slots[k]
    cdef int64_t planned = slot.start
    cdef bint moved
    plan(pool, slot.job, planned, 1, jobs)
    moved = tighten(pool, space, k, jobs)
    slot.start = earliest(pool.profile, pool.state.now, jobs, slot.job, 0, 0)
    if slot.start != NEVER:
        plan(pool, slot.job, slot.start, -1, jobs)
    return moved or slot.start != planned


cdef bint choose(Pool pool, Workspace space, int64_t slot, Jobs jobs) noexcept nogil:
    """Keep the schedule that is tried if it is better than the best; return whether it is."""
    cdef int64_t i
    cdef bint accepted = False
    if space.slots[slot].start != NEVER:
        space.tried = measure(space, jobs)
        accepted = better(space.tried, space.best)
    if accepted:
        for i in range(space.slot_number):
            space.slots[i].best = space.slots[i].start
        space.best = space.tried
        copy_profile(pool.profile, space.profile)
        sort(space)
    else:
        for i in range(space.slot_number):
            space.slots[i].start = space.slots[i].best
        copy_profile(space.profile, pool.profile)
    return accepted


cdef void forbid(Workspace space, int64_t slot) noexcept nogil:
    """Put a slot on the tabu list, from which the oldest is removed if it is full."""
    cdef int64_t length = space.tabu.shape[0]
    if space.tabu_number == length:
        space.slots[space.tabu[space.oldest]].tabu = 0
        space.tabu[space.oldest] = slot
        space.oldest = (space.oldest + 1) % length
    else:
        space.tabu[(space.oldest + space.tabu_number) % length] = slot
        space.tabu_number += 1
    space.slots[slot].tabu = 1


cdef void allow_all(Workspace space) noexcept nogil:
    """Empty the tabu list."""
    cdef int64_t k
    for k in range(space.slot_number):
        space.slots[k].tabu = 0
    space.tabu_number = space.oldest = 0


cdef void optimise(
    Pool pool, Workspace space, Jobs jobs, int64_t turns, const uint64_t[::1] words
) noexcept nogil:
    """Search for a better plan of what waits, and adopt the best: TABUSEARCH ([K] Algorithm 2)."""
    cdef int64_t accepted = 0, slot, i
    gather(pool, space, jobs)
    space.best = measure(space, jobs)
    copy_profile(pool.profile, space.profile)
    allow_all(space)
    space.searches += 1
    for i in range(turns * space.slot_number):
        if space.stop[0] > 0:
            break
        slot = draw(space, words)
        if slot < 0:
            allow_all(space)
            continue
        space.moves += 1
        if try_out(pool, space, slot, jobs):
            accepted += choose(pool, space, slot, jobs)
        forbid(space, slot)
    if accepted > 0:
        space.accepted += accepted
        pool.state.freed = NEVER  # any of them may move at the next compression
        for i in range(space.slot_number):
            pool.plan[space.slots[i].place] = space.slots[i].best
