"""A pool under conservative backfilling whose plan a tabu search optimises ([K] §4; SPEC §8, *TS*).

A *slot* is a queued attempt with a planned start, by place in the queue. ``start`` is its
start in the schedule being tried, ``best`` that in the best one so far. The profile of the
pool goes with the former, that of the workspace with the latter.
"""

import numpy as np
from libc.stdint cimport int64_t, uint64_t

from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.loop cimport arrive, happen, next_instant, run_passes
from audit.kernels.scheduling.model cimport Jobs, Model
from audit.kernels.scheduling.plans cimport foresee
from audit.kernels.scheduling.pool cimport GAP, UNPLANNED, Pool, PoolState, reset
from audit.kernels.scheduling.profile cimport Profile, add_job, copy_profile, earlier, forget_past


cdef extern from *:
    const double MARGIN "1e-9"  # smaller weights are rounding, and decide nothing


cdef struct PlannedStart:
    int64_t job
    int64_t place  # in the queue
    int64_t start  # in the schedule being tried
    int64_t best  # in the best schedule
    int64_t tabu  # 1: on the tabu list


cdef struct Measures:
    double slowdown
    double wait
    double response
    double fairness


cdef struct OwnerWait:
    int64_t seen  # number of its attempts that have ended or run
    int64_t waited  # by those
    double used  # resource·s, by ended attempts, and by estimate of running ones
    int64_t waits  # ``waited`` and what the schedule adds to it
    double area  # ``used`` and queued attempts, by estimate


cdef class Workspace:
    """Working space of a search, and what it knows of owners."""
    cdef int64_t slot_number
    cdef PlannedStart[::1] slots
    cdef int64_t[::1] order  # of the slots, by their start in the best schedule
    cdef int64_t[::1] tabu  # the slots moved last, a ring as long as the tabu list
    cdef int64_t tabu_number
    cdef int64_t oldest  # place of the oldest element of the tabu list
    cdef Profile profile  # of the best schedule
    cdef Measures best
    cdef Measures tried
    cdef OwnerWait[::1] owners
    cdef int64_t[::1] known  # the owners seen, including those of queued attempts
    cdef int64_t known_number
    cdef double[::1] nuwt  # of each of those
    cdef readonly int64_t words_used  # random words used so far,
    cdef readonly int64_t words_needed  # and needed by the search that is due
    cdef const int64_t[::1] stop  # [1], another thread sets it to end the search
    cdef readonly int64_t searches
    cdef readonly int64_t moves  # plans made by moving an attempt
    cdef readonly int64_t accepted  # those of them that were better

    def __init__(self, Pool pool not None, int64_t attempts, int64_t owners, int64_t tabu, stop):
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


# --- the simulation ------------------------------------------------------------------------------


cdef class Pursuit:
    """A simulation with tabu search, which pauses when it needs random words or a clock.

    It begins with an empty pool at ``origin``, when all attempts are still to come.

    Args:
        pool: its ``begun`` holds the starts of blocked attempts, and gets the others.
        model: first come, first served, CONSERVATIVE. ``owner`` numbers users, and ``charge`` is
            the total use of an attempt.
        space: working space of the search.
        origin: epoch s.
        every: seconds between searches, since ``origin``.
        turns: iterations of a search for each queued attempt.
        timed: whether to pause before each search, so that the caller can bound its time.
    """
    cdef Pool pool
    cdef Model model
    cdef Workspace space
    cdef int64_t origin
    cdef int64_t every
    cdef int64_t turns
    cdef bint timed
    cdef bint interrupted
    cdef int64_t[::1] arrived  # attempts that have arrived and not been seen to end,
    cdef int64_t[::1] runs  # and whether each has been seen to run
    cdef int64_t arrived_number

    def __init__(
        self, Pool pool not None, Model model not None, Workspace space not None, *,
        const int64_t[::1] capacity, int64_t origin, int64_t every, int64_t turns, bint timed
    ):
        cdef int64_t attempts = model.jobs.arrival.shape[0]
        self.pool, self.model, self.space = pool, model, space
        self.origin, self.every, self.turns, self.timed = origin, every, turns, timed
        self.arrived, self.runs = np.zeros((2, attempts + 1), np.int64)
        reset(pool, capacity)
        pool.state.now = origin
        pool.state.until = attempts
        foresee(pool, model)

    @property
    def now(self):
        """The instant that it has come to, epoch s."""
        return self.pool.state.now

    def go_on(self, const uint64_t[::1] words):
        """Simulate until nothing waits and nothing arrives any more.

        Args:
            words: random words, of which ``space.words_used`` have been used.

        Returns:
            Whether it came to the end. If not, a search is due that needs ``space.words_needed``
            words; call again with them. While it searches, another thread may set ``space.stop``:
            the search then ends with the best plan so far.
        """
        cdef bint done
        with nogil:
            done = _go_on(self, words)
        return done


cdef bint _go_on(Pursuit self, const uint64_t[::1] words) noexcept nogil:
    cdef PoolState *state = &self.pool.state
    cdef int64_t since_search, first, instant
    cdef bint resumed, news
    while True:
        resumed = self.interrupted
        if not resumed:
            news = happen(self.pool, self.model)
            first = state.arriving
            arrive(self.pool, self.model)
            note_arrivals(self, first, state.arriving)
            run_passes(self.pool, self.model, news, False)
        since_search = (state.now - self.origin) % self.every
        if state.waiting > 0 and since_search == 0:
            if must_ask(self, words.shape[0], resumed):
                return False
            forget_past(self.pool.profile, state.now)
            account_owners(self, self.model.jobs)
            optimise(self.pool, self.space, self.model.jobs, self.turns, words)
            run_passes(self.pool, self.model, False, False)
        instant = next_instant(self.pool, self.model)
        if instant == NEVER:
            return True
        if state.waiting > 0:
            instant = min(instant, state.now + self.every - since_search)
        state.now = instant


cdef bint must_ask(Pursuit self, int64_t words, bint resumed) noexcept nogil:
    """Return whether to return to the caller before a search, and note that."""
    self.space.words_needed = self.turns * self.pool.state.waiting
    self.interrupted = (
        self.space.words_used + self.space.words_needed > words or (self.timed and not resumed)
    )
    return self.interrupted


cdef void note_arrivals(Pursuit self, int64_t first, int64_t beyond) noexcept nogil:
    """Note arrivals from index ``first`` on: queued attempts, and blocked ones that start."""
    cdef int64_t job
    for job in range(first, beyond):
        if self.model.jobs.rank[job] >= 0 or self.pool.begun[job] != NEVER:
            self.arrived[self.arrived_number] = job
            self.runs[self.arrived_number] = False
            self.arrived_number += 1


cdef void account_owners(Pursuit self, Jobs jobs) noexcept nogil:
    """Add the attempts that have started or ended by now to their owners."""
    cdef int64_t now = self.pool.state.now, kept = 0, runs, job, begun, i
    cdef double expected
    cdef OwnerWait *owner
    for i in range(self.arrived_number):
        job = self.arrived[i]
        runs = self.runs[i]
        begun = self.pool.begun[job]
        if begun <= now:
            owner = &self.space.owners[jobs.owner[job]]
            expected = jobs.estimate[job] * jobs.request[0, job]
            if not runs:
                runs = True
                owner.seen += 1
                owner.waited += begun - jobs.arrival[job]
                owner.used += expected
            if begun + jobs.occupancy[job] <= now:
                owner.used += jobs.charge[job] - expected
                continue
        self.arrived[kept] = job
        self.runs[kept] = runs
        kept += 1
    self.arrived_number = kept


# --- the search ----------------------------------------------------------------------------------


cdef void optimise(
    Pool pool, Workspace space, Jobs jobs, int64_t turns, const uint64_t[::1] words
) noexcept nogil:
    """Search for a better plan of the queue, and adopt the best: TABUSEARCH ([K] Algorithm 2)."""
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


cdef void gather(Pool pool, Workspace space, Jobs jobs) noexcept nogil:
    """Make the slots of queued attempts with a planned start, and find the owners seen."""
    cdef int64_t number = 0, job, i, k
    for i in range(pool.state.head, pool.state.tail):
        job = pool.queue_job[i]
        if job == GAP or pool.plan[i] == UNPLANNED or pool.plan[i] == NEVER:
            continue
        space.slots[number] = PlannedStart(
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
    sort_slots(space)


cdef void sort_slots(Workspace space) noexcept nogil:
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
    """Return the four measures of the schedule being tried.

    They are sums over the slots, not means: only ratios between schedules of the same slots matter.
    """
    cdef int64_t waited = 0, ran = 0, job, wait, estimate, i, k
    cdef double slowdown = 0.0, mean = 0.0, spread = 0.0, off
    cdef OwnerWait *owner
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
    """Return whether the schedule being tried is better: SELECTBETTER ([K] Algorithm 1)."""
    cdef double weight = 0.0
    weight += gain(tried.slowdown, best.slowdown)
    weight += gain(tried.wait, best.wait)
    weight += gain(tried.response, best.response)
    weight += gain(tried.fairness, best.fairness)
    return weight > MARGIN


cdef double gain(double tried, double best) noexcept nogil:
    """Return the relative decrease of a measure."""
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


cdef void add_plan(Pool pool, int64_t job, int64_t start, int64_t sign, Jobs jobs) noexcept nogil:
    """Add ``sign`` times the request of an attempt that starts at ``start`` to the profile."""
    add_job(pool.profile, start, start + jobs.estimate[job], jobs, job, sign)


cdef bint tighten(Pool pool, Workspace space, int64_t leaving, Jobs jobs) noexcept nogil:
    """Plan all slots but ``leaving``, in order of start, for the earliest start that fits.

    None moves later. Return whether any has moved.
    """
    cdef int64_t now = pool.state.now, start, i
    cdef bint moved = False
    cdef PlannedStart *slot
    for i in range(space.slot_number):
        slot = &space.slots[space.order[i]]
        if space.order[i] == leaving or slot.start <= now:
            continue
        start = earlier(pool.profile, now, slot.start, NEVER, jobs, slot.job, 0, 0)
        if start < slot.start:
            add_plan(pool, slot.job, slot.start, 1, jobs)
            add_plan(pool, slot.job, start, -1, jobs)
            slot.start = start
            moved = True
    return moved


cdef bint try_out(Pool pool, Workspace space, int64_t k, Jobs jobs) noexcept nogil:
    """Take slot ``k`` out, compress, and put it back at the earliest start that is left.

    Return whether this makes another schedule.
    """
    cdef PlannedStart *slot = &space.slots[k]
    cdef int64_t planned = slot.start
    cdef bint moved
    add_plan(pool, slot.job, planned, 1, jobs)
    moved = tighten(pool, space, k, jobs)
    slot.start = earlier(pool.profile, pool.state.now, NEVER, NEVER, jobs, slot.job, 0, 0)
    if slot.start != NEVER:
        add_plan(pool, slot.job, slot.start, -1, jobs)
    return moved or slot.start != planned


cdef bint choose(Pool pool, Workspace space, int64_t slot, Jobs jobs) noexcept nogil:
    """Keep the schedule being tried if it is better than the best; return whether it is."""
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
        sort_slots(space)
    else:
        for i in range(space.slot_number):
            space.slots[i].start = space.slots[i].best
        copy_profile(space.profile, pool.profile)
    return accepted


cdef void forbid(Workspace space, int64_t slot) noexcept nogil:
    """Put a slot on the tabu list; a full list loses its oldest."""
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
