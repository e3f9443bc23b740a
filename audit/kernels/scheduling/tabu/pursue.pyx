"""A pool under conservative backfilling whose plan a tabu search optimises (SPEC §8, *TS*)."""

import numpy as np
from libc.stdint cimport int64_t, uint64_t

from audit.kernels.scheduling.loop cimport arrive, end_due, happen, next_instant
from audit.kernels.scheduling.model cimport Jobs, Model
from audit.kernels.scheduling.passes.planned cimport foresee, pass_conservative
from audit.kernels.scheduling.pool cimport Pool, State, reset
from audit.kernels.scheduling.profile cimport forget_past
from audit.kernels.scheduling.rows cimport NEVER
from audit.kernels.scheduling.tabu.search cimport Owner, Workspace, optimise


cdef class Pursuit:
    """A simulation with tabu search, which pauses when it needs random words or a clock.

    It begins with an empty pool at ``origin``, when all attempts are still to come.

    Args:
        pool: its ``begun`` holds the starts of blocked attempts, and gets the others.
        model: first come, first served, CONSERVATIVE. ``owner`` numbers users, and ``charge`` is
            what an attempt uses in all.
        space: working space of the search.
        capacity: [resources], before any step.
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
        self,
        Pool pool not None,
        Model model not None,
        Workspace space not None,
        *,
        const int64_t[::1] capacity,
        int64_t origin,
        int64_t every,
        int64_t turns,
        bint timed,
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
    cdef State *state = &self.pool.state
    cdef int64_t since_search, first, instant
    cdef bint resumed, news
    while True:
        resumed = self.interrupted
        if not resumed:
            news = happen(self.pool, self.model)
            first = state.arriving
            arrive(self.pool, self.model)
            note_arrivals(self, first, state.arriving)
            run_passes(self.pool, self.model, news)
        since_search = (state.now - self.origin) % self.every
        if state.waiting > 0 and since_search == 0:
            if must_ask(self, words.shape[0], resumed):
                return False
            forget_past(self.pool.profile, state.now)
            account(self, self.model.jobs)
            optimise(self.pool, self.space, self.model.jobs, self.turns, words)
            run_passes(self.pool, self.model, False)
        instant = next_instant(self.pool, self.model)
        if instant == NEVER:
            return True
        if state.waiting > 0:
            instant = min(instant, state.now + self.every - since_search)
        state.now = instant


cdef bint must_ask(Pursuit self, int64_t words, bint resumed) noexcept nogil:
    """Return whether to ask the caller before a search, and note that it is asked."""
    self.space.words_needed = self.turns * self.pool.state.waiting
    self.interrupted = (
        self.space.words_used + self.space.words_needed > words or (self.timed and not resumed)
    )
    return self.interrupted


cdef void run_passes(Pool pool, Model model, bint news) noexcept nogil:
    """Make passes of CONSERVATIVE until one starts nothing that ends at once."""
    cdef bint again = pool.state.waiting > 0
    while again:
        again = pass_conservative(pool, model, news)
        if again:
            news = end_due(pool, model)


cdef void note_arrivals(Pursuit self, int64_t first, int64_t beyond) noexcept nogil:
    """Note arrivals from index ``first`` on: queued attempts, and blocked ones that start."""
    cdef int64_t job
    for job in range(first, beyond):
        if self.model.jobs.rank[job] >= 0 or self.pool.begun[job] != NEVER:
            self.arrived[self.arrived_number] = job
            self.runs[self.arrived_number] = False
            self.arrived_number += 1


cdef void account(Pursuit self, Jobs jobs) noexcept nogil:
    """Enter with their owners what has started or ended by now."""
    cdef int64_t now = self.pool.state.now, kept = 0, runs, job, begun, i
    cdef double expected
    cdef Owner *owner
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
