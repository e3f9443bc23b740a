# What claims under a window on trial.


@cython.final
cdef class JobSet:
    """A set of attempts."""

    cdef int32_t[::1] job
    cdef int32_t[::1] place  # [attempts], of each in ``job``, or NOBODY
    cdef int32_t number

    def __init__(self, Py_ssize_t count):
        self.job, self.place = np.full((2, count), NOBODY, np.int32)


cdef inline void put(JobSet chosen, int32_t job) noexcept nogil:
    """Add an attempt that is not in the set."""
    chosen.job[chosen.number] = job
    chosen.place[job] = chosen.number
    chosen.number += 1


cdef inline void drop(JobSet chosen, int32_t job) noexcept nogil:
    """Remove an attempt."""
    chosen.number -= 1
    chosen.job[chosen.place[job]] = chosen.job[chosen.number]
    chosen.place[chosen.job[chosen.number]] = chosen.place[job]
    chosen.place[job] = NOBODY


@cython.final
cdef class TrialWalk:
    """What claims with and without the trial."""

    cdef JobSet claiming
    cdef JobSet without  # what claims without the trial
    cdef Py_ssize_t begun  # claims without the trial, by ``since``, that have begun
    cdef Py_ssize_t ended  # those that have ended
    cdef Py_ssize_t stretch  # stretches that have begun
    cdef Py_ssize_t window  # the first that opens later
    cdef int32_t[::1] begun_before  # [attempts], the window that opened next when each began to claim
    cdef int64_t furthest  # longest reach
    cdef int32_t[::1] walked  # [attempts], the last walk in which each claimed
    cdef int32_t walks
    cdef bint differs  # the last instant was walked: what claims may not be what claims without
    cdef int64_t until  # then the trial forbids one that claims more than at the last instant
    cdef int64_t[::1] spare  # [resources], beyond what each that the trial forbids would claim

    def __init__(self, Log log not None, Trial trial not None):
        count = len(trial.inside)
        self.spare = np.zeros(len(log.capacity), np.int64)
        self.claiming, self.without = JobSet(count), JobSet(count)
        self.walked, self.begun_before = np.zeros((2, count), np.int32)
        self.furthest = np.max(np.asarray(trial.reach), initial=0)


def trial_spans(
    Log log not None, Rules rules not None, Trial trial not None, WithoutTrial base not None,
    Table out not None
):
    """Add the spans in which attempts would claim if those that a window forbids claimed nothing.

    A span of an attempt that it forbids is one in which the attempt would claim without it. The
    queue is walked only where one of these claims without the trial; elsewhere nothing differs.
    Spans are left out that end more than an hour before the window forbids, or would forbid, a
    start of their attempt.

    Args:
        log: the attempts.
        rules: what is in force.
        trial: the window.
        base: what ``fitting_spans`` found.
        out: rows are added as to ``claims`` there.
    """
    cdef Walk walk = Walk(log, rules)
    cdef TrialWalk tried = TrialWalk(log, trial)
    with nogil:
        _sweep_trial(log, rules, trial, base, walk, tried, out)


cdef void _sweep_trial(
    Log log, Rules rules, Trial trial, WithoutTrial base, Walk walk, TrialWalk tried, Table out
) noexcept nogil:
    cdef bint same
    cdef int64_t closing  # how long until the window closes; ≤ 0: it is closed
    cdef Py_ssize_t first, windows = trial.opens.shape[0]
    cdef Next before
    while True:
        walk.now = next_time(log, rules, &walk.coming)
        if walk.now == NEVER:
            return
        if tried.window < windows:
            walk.now = min(walk.now, trial.opens[tried.window])
        before = walk.coming
        first = happen(log, rules, walk)
        closing = trial.closes[tried.window] - walk.now if tried.window < windows else NEVER
        same = (
            tried.differs and walk.now < tried.until and walk.coming.step == before.step
            and walk.coming.edge == before.edge and walk.coming.end == before.end
        )
        same &= _start(log, rules, trial, walk, tried, first, closing, out)
        while tried.window < windows and trial.opens[tried.window] <= walk.now:
            tried.window += 1
            closing = trial.closes[tried.window] - walk.now if tried.window < windows else NEVER
            same = False
        _advance(base, trial, walk, tried, out)
        if closing < tried.furthest and _any_withheld(trial, tried.without, closing):
            if same:
                _walk_on(log, rules, trial, walk, tried, before.arrival, closing)
            else:
                _walk_again(log, rules, trial, walk, tried, closing, out)
            tried.differs = True
        elif tried.differs:
            _as_without(trial, walk, tried, out)
            tried.differs = False


cdef inline bint _start(
    Log log, Rules rules, Trial trial, Walk walk, TrialWalk tried, Py_ssize_t first,
    int64_t closing, Table out
) noexcept nogil:
    """Let attempts start, from the first of ``by_start`` on; return whether no other claim changes.

    None does where each takes what it claimed, and leaves enough to those that the trial forbids.
    """
    cdef bint same = True
    cdef Py_ssize_t k, x
    cdef int64_t job
    for k in range(first, walk.coming.start):
        job = log.by_start[k]
        same &= (
            tried.claiming.place[job] != NOBODY and not _withheld(trial, job, closing)
            and rules.first[job] == rules.first[job + 1]
        )
        for x in range(log.request.shape[0]):
            tried.spare[x] -= log.request[x, job]
            same &= tried.spare[x] >= 0
        _end_claim(trial, walk, tried, job, out)
    return same


cdef void _advance(
    WithoutTrial base, Trial trial, Walk walk, TrialWalk tried, Table out
) noexcept nogil:
    """Find the stretches, and what claims without the trial, as of now."""
    cdef int32_t job
    while tried.stretch < base.stretches.shape[0]:
        if base.stretches[tried.stretch, 1] > walk.now:
            break
        walk.stretch[base.stretches[tried.stretch, 0]] = tried.stretch + 1
        tried.stretch += 1
    while tried.ended < base.claims.shape[0] and base.claims[tried.ended].until <= walk.now:
        job = base.claims[tried.ended].job
        drop(tried.without, job)
        if not tried.differs:
            _end_claim(trial, walk, tried, job, out)
        tried.ended += 1
    while tried.begun < base.claims.shape[0]:
        if base.claims[base.by_since[tried.begun]].since > walk.now:
            break
        job = base.claims[base.by_since[tried.begun]].job
        put(tried.without, job)
        if not tried.differs:
            _begin_claim(walk, tried, job)
        tried.begun += 1


cdef inline bint _any_withheld(Trial trial, JobSet chosen, int64_t closing) noexcept nogil:
    """Return whether the trial forbids any of the attempts to start."""
    cdef Py_ssize_t k
    for k in range(chosen.number):
        if _withheld(trial, chosen.job[k], closing):
            return True
    return False


cdef inline bint _withheld(Trial trial, Py_ssize_t job, int64_t closing) noexcept nogil:
    """Return whether the trial forbids a start."""
    return trial.inside[job] and closing < trial.reach[job]


cdef void _walk_again(
    Log log, Rules rules, Trial trial, Walk walk, TrialWalk tried, int64_t closing, Table out
) noexcept nogil:
    """Walk the queue under the trial."""
    cdef int32_t job = walk.head
    cdef int64_t least = NEVER
    cdef Py_ssize_t k
    tried.walks += 1
    tried.until = NEVER
    tried.spare[:] = NEVER
    walk.left[:] = walk.free
    if walk.claimed.shape[0] > 0:
        walk.claimed[:] = 0
    while job != NOBODY and (walk.least <= 0 or walk.left[0] >= walk.least):
        least = min(least, log.request[0, job])
        if fits(log.request, job, walk.left) and not forbidden(rules, walk, job):
            tried.walked[job] = tried.walks
            _claim_on_trial(log, rules, trial, walk, tried, job, closing)
        job = walk.behind[job]
    if job == NOBODY:
        walk.least = least
    for k in range(tried.claiming.number - 1, -1, -1):
        if tried.walked[tried.claiming.job[k]] != tried.walks:
            _end_claim(trial, walk, tried, tried.claiming.job[k], out)


cdef void _walk_on(
    Log log, Rules rules, Trial trial, Walk walk, TrialWalk tried, int64_t first, int64_t closing
) noexcept nogil:
    """Walk those that arrived, from the first on: the rest of the queue claims what it claimed."""
    cdef int32_t job
    for job in range(first, walk.coming.arrival):
        if (
            walk.before[job] != OUTSIDE and fits(log.request, job, walk.left)
            and not forbidden(rules, walk, job)
        ):
            _claim_on_trial(log, rules, trial, walk, tried, job, closing)


cdef inline void _claim_on_trial(
    Log log, Rules rules, Trial trial, Walk walk, TrialWalk tried, int32_t job, int64_t closing
) noexcept nogil:
    """Let an attempt claim, of its request if the trial does not forbid its start."""
    cdef Py_ssize_t x
    if tried.claiming.place[job] == NOBODY:
        _begin_claim(walk, tried, job)
    if _withheld(trial, job, closing):
        for x in range(log.request.shape[0]):
            if log.request[x, job] > 0:
                tried.spare[x] = min(tried.spare[x], walk.left[x] - log.request[x, job])
        return
    claim(log, rules, walk, job)
    if trial.inside[job]:
        tried.until = min(tried.until, walk.now + closing - trial.reach[job] + 1)


cdef void _as_without(
    Trial trial, Walk walk, TrialWalk tried, Table out
) noexcept nogil:
    """Let the attempts claim that claim without the trial."""
    cdef Py_ssize_t k
    for k in range(tried.claiming.number - 1, -1, -1):
        if tried.without.place[tried.claiming.job[k]] == NOBODY:
            _end_claim(trial, walk, tried, tried.claiming.job[k], out)
    for k in range(tried.without.number):
        if tried.claiming.place[tried.without.job[k]] == NOBODY:
            _begin_claim(walk, tried, tried.without.job[k])


cdef inline void _begin_claim(Walk walk, TrialWalk tried, int32_t job) noexcept nogil:
    put(tried.claiming, job)
    walk.since[job] = walk.now
    tried.begun_before[job] = tried.window


cdef inline void _end_claim(
    Trial trial, Walk walk, TrialWalk tried, int32_t job, Table out
) noexcept nogil:
    """End the span of an attempt, if it claims."""
    cdef int32_t window = tried.begun_before[job]
    if tried.claiming.place[job] == NOBODY:
        return
    drop(tried.claiming, job)
    if (
        window < trial.closes.shape[0]
        and walk.now > trial.closes[window] - trial.reach[job] - HOUR_S
    ):
        keep(out, walk, job, walk.since[job])
