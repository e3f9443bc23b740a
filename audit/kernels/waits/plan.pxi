# What a walk leaves free, and what it expects to be free later.
#
# Free at s ≥ t is left + due(s) + moved(s): ``due`` is what runs and is expected to end by s (it only
# grows), and ``moved`` what claims return minus what reservations take. ``moved`` is constant between
# edges. So a request that fits at an edge fits up to the next one.


cdef extern from *:
    const int64_t NOTHING_LACKS "(-(INT64_C(1) << 62))"


@cython.final
cdef class WalkPlan:
    """The plan of one walk at t. Edges are kept only while there are reservations."""

    cdef int64_t now
    cdef int64_t[::1] left  # [resources]
    cdef int64_t[::1] sums  # working space
    cdef Py_ssize_t reservations
    # Edges, ascending; the first is t
    cdef Py_ssize_t edges
    cdef int64_t[::1] at
    cdef int64_t[:, ::1] due  # resources × edges
    cdef int64_t[:, ::1] moved
    # Claims of the walk, in its order
    cdef Py_ssize_t claims
    cdef int64_t[::1] claim_last  # the last attempt of the block that claims
    cdef int64_t[::1] claim_of
    cdef int64_t[::1] claim_user
    cdef int64_t[::1] claim_count
    cdef int64_t[::1] claim_length
    # Trees over the different expected ends: what ends then, one for each resource
    cdef int64_t[:, ::1] ends
    cdef Py_ssize_t top  # the greatest power of 2 that is at most the number of ends
    cdef Py_ssize_t found  # the place of the last end that was found,
    cdef int64_t found_at  # and its time; NEVER: none

    def __cinit__(self, Py_ssize_t resources, Py_ssize_t ends, Py_ssize_t most, Py_ssize_t depth):
        """Make the plan of an empty pool with room for ``most`` blocks that wait."""
        cdef Py_ssize_t edges = 2 * min(depth, most) + most + 4
        self.left, self.sums = np.zeros((2, resources), np.int64)
        self.at = np.zeros(edges, np.int64)
        self.due, self.moved = np.zeros((2, resources, edges), np.int64)
        self.claim_last, self.claim_of, self.claim_user = np.zeros((3, most + 1), np.int64)
        self.claim_count, self.claim_length = np.zeros((2, most + 1), np.int64)
        self.ends = np.zeros((resources, ends + 1), np.int64)
        self.top = 1
        while 2 * self.top <= ends:
            self.top *= 2
        self.edges = self.claims = self.reservations = self.found = 0
        self.found_at = NEVER


cdef inline void begin_plan(WalkPlan plan, const int64_t[::1] free, int64_t now) noexcept nogil:
    cdef Py_ssize_t x
    plan.now = now
    plan.edges = plan.claims = plan.reservations = 0
    for x in range(plan.left.shape[0]):
        plan.left[x] = free[x]


cdef inline void expect_end(
    WalkPlan plan, const int64_t[:, ::1] use, int64_t i, int64_t due, int64_t sign
) noexcept nogil:
    """Note that attempt ``i`` runs (1), or no longer (−1)."""
    cdef Py_ssize_t x, k
    for x in range(use.shape[0]):
        k = due + 1
        while k < plan.ends.shape[1]:
            plan.ends[x, k] += sign * use[x, i]
            k += k & -k


cdef inline bint fits_left(const int64_t[:, ::1] request, int64_t i, WalkPlan plan) noexcept nogil:
    """Return whether a request, column ``i``, fits in what is left."""
    cdef Py_ssize_t x
    for x in range(request.shape[0]):
        if request[x, i] > plan.left[x] and request[x, i] > 0:
            return False
    return True


cdef inline bint _fits_edge(
    WalkPlan plan, const int64_t[:, ::1] request, int64_t i, Py_ssize_t edge, Py_ssize_t due
) noexcept nogil:
    """Return whether a request fits with the moves of an edge and what is due at another."""
    cdef Py_ssize_t x
    for x in range(request.shape[0]):
        if request[x, i] > 0 and (
            request[x, i] > plan.left[x] + plan.due[x, due] + plan.moved[x, edge]
        ):
            return False
    return True


cdef int64_t longest(WalkPlan plan, const int64_t[:, ::1] request, int64_t i) noexcept nogil:
    """Return the longest estimate with which a request that fits in what is left may start now."""
    cdef Py_ssize_t edge
    for edge in range(plan.edges):
        if not _fits_edge(plan, request, i, edge, edge):
            return plan.at[edge] - plan.now
    return NEVER


cdef int64_t claimable(
    WalkPlan plan, const int64_t[:, ::1] request, int64_t i, int64_t estimate, int64_t count
) noexcept nogil:
    """Return how many of ``count`` equal requests, of which one may start, may start now."""
    cdef Py_ssize_t x, edge
    for x in range(request.shape[0]):
        if request[x, i] > 0:
            count = min(count, plan.left[x] // request[x, i])
            for edge in range(plan.edges):
                if plan.at[edge] >= plan.now + estimate:
                    break
                count = min(
                    count, (plan.left[x] + plan.due[x, edge] + plan.moved[x, edge]) // request[x, i]
                )
    return count


cdef void claim(
    WalkPlan plan, const int64_t[:, ::1] request, int64_t i, int64_t estimate, int64_t count,
    int64_t last, int64_t user, const int64_t[::1] expected
) noexcept nogil:
    """Let equal requests take what they need for [now, now + estimate)."""
    cdef Py_ssize_t x, k = plan.claims
    plan.claim_last[k], plan.claim_of[k], plan.claim_user[k] = last, i, user
    plan.claim_count[k], plan.claim_length[k] = count, estimate
    plan.claims += 1
    for x in range(plan.left.shape[0]):
        plan.left[x] -= count * request[x, i]
    if plan.edges > 0:
        _return_claim(plan, request, k, expected)


cdef void _return_claim(
    WalkPlan plan, const int64_t[:, ::1] request, Py_ssize_t k, const int64_t[::1] expected
) noexcept nogil:
    """Let claim ``k`` return what it took when it is expected to end."""
    cdef Py_ssize_t x, edge, begin = _edge_at(plan, plan.now + plan.claim_length[k], expected)
    for x in range(request.shape[0]):
        for edge in range(begin, plan.edges):
            plan.moved[x, edge] += plan.claim_count[k] * request[x, plan.claim_of[k]]


cdef bint reserve(
    WalkPlan plan, const int64_t[:, ::1] request, int64_t i, int64_t estimate,
    const int64_t[::1] expected
) noexcept nogil:
    """Reserve the earliest start at which a request fits for its estimate; return whether it ever does."""
    cdef Py_ssize_t x, edge, begin, end, k
    cdef int64_t start
    if plan.edges == 0:
        plan.edges = 1
        plan.at[0] = plan.now
        for x in range(request.shape[0]):
            plan.due[x, 0] = plan.moved[x, 0] = 0
        for k in range(plan.claims):
            _return_claim(plan, request, k, expected)
    start = _earliest(plan, request, i, estimate, expected)
    if start == NEVER:
        return False
    begin = _edge_at(plan, start, expected)
    end = _edge_at(plan, start + estimate, expected)
    for x in range(request.shape[0]):
        for edge in range(begin, end):
            plan.moved[x, edge] -= request[x, i]
    plan.reservations += 1
    return True


cdef int64_t _earliest(
    WalkPlan plan, const int64_t[:, ::1] request, int64_t i, int64_t estimate,
    const int64_t[::1] expected
) noexcept nogil:
    """Return the earliest start at which a request fits for its estimate; NEVER: it never does."""
    cdef Py_ssize_t edge = 0, later
    cdef int64_t start
    while True:
        if _fits_edge(plan, request, i, edge, edge):
            start = plan.at[edge]
        else:
            start = NEVER
            if edge + 1 == plan.edges or _fits_edge(plan, request, i, edge, edge + 1):
                start = _first_due(plan, request, i, edge, expected)
            if edge + 1 < plan.edges and start >= plan.at[edge + 1]:
                edge += 1
                continue
            if start == NEVER:
                return NEVER
        later = edge + 1
        while later < plan.edges and plan.at[later] < start + estimate:
            if not _fits_edge(plan, request, i, later, later):
                break
            later += 1
        else:
            return start
        edge = later


cdef int64_t _first_due(
    WalkPlan plan, const int64_t[:, ::1] request, int64_t i, Py_ssize_t edge,
    const int64_t[::1] expected
) noexcept nogil:
    """Return the first expected end by which enough is due, with the moves of an edge."""
    cdef Py_ssize_t place = 0, step = plan.top, width = plan.ends.shape[1], x
    cdef Py_ssize_t resources = request.shape[0]
    cdef bint short
    cdef int64_t* lack = &plan.sums[0]
    cdef const int64_t* ends = &plan.ends[0, 0]
    for x in range(resources):
        lack[x] = NOTHING_LACKS
        if request[x, i] > 0:
            lack[x] = request[x, i] - plan.left[x] - plan.moved[x, edge]
    while step > 0:
        if place + step < width:
            short = ends[place + step] < lack[0]
            for x in range(1, resources):
                short = short or ends[x * width + place + step] < lack[x]
            if short:
                place += step
                for x in range(resources):
                    lack[x] -= ends[x * width + place]
        step >>= 1
    if place == expected.shape[0]:
        return NEVER
    plan.found, plan.found_at = place, expected[place]
    return plan.found_at


cdef Py_ssize_t _edge_at(WalkPlan plan, int64_t time, const int64_t[::1] expected) noexcept nogil:
    """Return the place of the edge at a time, which is added if there is none."""
    cdef Py_ssize_t edge = plan.edges, x, place
    cdef int64_t total
    while plan.at[edge - 1] >= time:
        edge -= 1
    if edge < plan.edges and plan.at[edge] == time:
        return edge
    for place in range(plan.edges, edge, -1):
        plan.at[place] = plan.at[place - 1]
    plan.at[edge] = time
    plan.edges += 1
    for x in range(plan.left.shape[0]):
        for place in range(plan.edges - 1, edge, -1):
            plan.due[x, place] = plan.due[x, place - 1]
            plan.moved[x, place] = plan.moved[x, place - 1]
        plan.moved[x, edge] = plan.moved[x, edge - 1]
        plan.due[x, edge] = 0
    place = plan.found + 1
    if time != plan.found_at:
        place = first_above(expected, 0, expected.shape[0], time)
    while place > 0:
        for x in range(plan.left.shape[0]):
            plan.due[x, edge] += plan.ends[x, place]
        place &= place - 1
    return edge
