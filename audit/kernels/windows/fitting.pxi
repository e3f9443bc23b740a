# What fits and claims under the rules in force.


def fitting_spans(
    Log log not None, Rules rules not None, Table claims not None, Table fitting not None,
    Table stretches not None
):
    """Add the spans in which attempts would have fitted and no rule forbade their start.

    A *stretch* is the time, without a gap, in which an attempt's request was free. An attempt
    claims while its request also fits beside the claims of those before it. A span that does not
    end has the greatest int64 as its end.

    Args:
        log: the attempts.
        rules: what is in force.
        claims: a row (``Span``) is added for each time in which an attempt claims, by ``until``.
        fitting: the same, of the whole times in which they would have fitted.
        stretches: a row of attempt and begin is added for each, by the latter. They are numbered
            from 1 on.
    """
    cdef Walk walk = Walk(log, rules)
    with nogil:
        _sweep(log, rules, walk, claims, fitting, stretches)


cdef void _sweep(
    Log log, Rules rules, Walk walk, Table claims, Table fitting, Table stretches
) noexcept nogil:
    cdef int32_t job
    cdef Py_ssize_t k, first
    walk.now = next_time(log, rules, &walk.coming)
    while walk.now != NEVER:
        first = happen(log, rules, walk)
        for k in range(first, walk.coming.start):
            _change(walk, log.by_start[k], OUT, claims, fitting)
        if next_time(log, rules, &walk.coming) == NEVER:
            walk.now = NEVER
            job = walk.head
            while job != NOBODY:
                _change(walk, job, OUT, claims, fitting)
                job = walk.behind[job]
            return
        if walk.head != NOBODY:
            if outage(rules, walk):
                job = walk.head
                while job != NOBODY:
                    _change(walk, job, OUT, claims, fitting)
                    walk.stretch[job] = 0
                    job = walk.behind[job]
                walk.idle = False
            else:
                _queue_claims(log, rules, walk, claims, fitting, stretches)
        walk.now = next_time(log, rules, &walk.coming)


cdef bint outage(Rules rules, Walk walk) noexcept nogil:
    """Return whether no attempt waits now."""
    cdef Py_ssize_t* k = &walk.coming.outage
    while k[0] < rules.outage.shape[1] and rules.outage[1, k[0]] <= walk.now:
        k[0] += 1
    return k[0] < rules.outage.shape[1] and rules.outage[0, k[0]] <= walk.now


cdef void _queue_claims(
    Log log, Rules rules, Walk walk, Table claims, Table fitting, Table stretches
) noexcept nogil:
    """Walk the queue."""
    cdef int32_t job = walk.head
    cdef State state
    cdef bint free
    if walk.idle and walk.free[0] < walk.least and walk.least > 0:
        return
    walk.idle, walk.least = True, NEVER
    walk.left[:] = walk.free
    while job != NOBODY:
        state = OUT
        walk.least = min(walk.least, log.request[0, job])
        free = fits(log.request, job, walk.free)
        if free:
            walk.idle = False
            if walk.stretch[job] == 0:
                walk.stretch[job] = _begin_stretch(stretches, job, walk.now)
            if not forbidden(rules, walk, job):
                state = FITS
                if fits(log.request, job, walk.left):
                    state = CLAIMS
                    claim(log, rules, walk, job)
        _change(walk, job, state, claims, fitting)
        if not free:
            walk.stretch[job] = 0  # not before: its last span tells its stretch
        job = walk.behind[job]
    if walk.claimed.shape[0] > 0:
        walk.claimed[:] = 0


cdef inline int32_t _begin_stretch(Table stretches, int64_t job, int64_t now) noexcept nogil:
    """Return the number of a new stretch."""
    cdef int64_t* place = add_row(stretches)
    if place != NULL:
        place[0], place[1] = job, now
    return stretches.count


cdef inline void claim(Log log, Rules rules, Walk walk, Py_ssize_t job) noexcept nogil:
    """Let an attempt claim its request."""
    cdef Py_ssize_t x
    add(walk.left, log.request, job, -1)
    for x in range(rules.first[job], rules.first[job + 1]):
        walk.claimed[rules.counter[x]] += rules.amount[x]


cdef inline bint forbidden(Rules rules, Walk walk, Py_ssize_t job) noexcept nogil:
    """Return whether a rule forbids a start, given what runs and what has claimed."""
    cdef Py_ssize_t x
    cdef int64_t counter
    for x in range(rules.first[job], rules.first[job + 1]):
        counter = rules.counter[x]
        if (
            rules.binding[x]
            and walk.used[counter] + walk.claimed[counter] + rules.amount[x] > rules.most[counter]
        ):
            return True
    return False


cdef inline void _change(
    Walk walk, int64_t job, State state, Table claims, Table fitting
) noexcept nogil:
    """Set the state of an attempt from now on, and write the span of the one before."""
    cdef uint8_t before = walk.state[job]
    if before == state:
        return
    if before == CLAIMS:
        keep(claims, walk, job, walk.since[job])
    if state == OUT:
        keep(fitting, walk, job, walk.fits_since[job])
    elif before == OUT:
        walk.fits_since[job] = walk.now
    walk.state[job] = state
    walk.since[job] = walk.now


cdef inline void keep(Table out, Walk walk, int64_t job, int64_t since) noexcept nogil:
    """Add a span of an attempt that ends now, unless enough are kept."""
    cdef Span* place = <Span*> add_row(out)
    if place != NULL:
        place.job, place.stretch = job, walk.stretch[job]
        place.since, place.until = since, walk.now
