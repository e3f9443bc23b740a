# Who holds what a class lacks.
#
# The parts of a divided second are integrals of amount(t) · dw, where w is the integral of 1 ÷ use while
# the class lacks a resource, and amount changes by δ at each start and end: amount · w at the end, less
# that at the begin, less Σ δ · w of the changes between. Fenwick trees hold these changes by the order
# of the attempts that start and end, since only those ahead of an attempt count as earlier.


@cython.final
cdef class Holders:
    """Sums of what runs, by class and group."""

    cdef double[:, ::1] weight  # resources × classes: ∫ 1 ÷ use while this is the short resource
    cdef double[::1] ahead  # by seat in ``came_seated``: Σ δ · weight of changes of those before
    cdef double[::1] ahead_of_all  # [classes], of those before all that wait
    cdef double[::1] own_ahead  # by place in ``came_placed``: the same, of the same user
    cdef double[::1] own_ahead_of_all  # [groups]
    cdef double[::1] own  # [groups], of all of the user
    cdef int64_t[::1] running  # resources × attempts: trees of what runs, by ``came``
    cdef int64_t[::1] own_running  # resources × ranks
    cdef int32_t[::1] rank  # [attempts], its place by user and ``came``
    cdef int64_t[::1] first_rank  # users + 1
    cdef WalkNodes nodes
    cdef Floor floor  # with nodes, what runs is summed anew

    def __cinit__(self, WaitLog log, WalkNodes nodes, Floor floor, Waitlist line, Py_ssize_t users):
        """Let nothing run."""
        cdef Py_ssize_t n = log.request.shape[1] if line.books else 0
        cdef Py_ssize_t groups = line.class_of.shape[0], resources = log.request.shape[0]
        user = np.asarray(log.user)[:n]
        by_user = np.lexsort((np.asarray(log.came)[:n], user))
        self.rank = np.empty(n, np.int32)
        np.asarray(self.rank)[by_user] = np.arange(n)
        self.first_rank = np.searchsorted(user[by_user], np.arange(users + 1))
        self.weight = np.zeros((resources, line.live.shape[0]))
        self.ahead, self.own_ahead = np.zeros(line.seated.shape[0]), np.zeros(line.placed.shape[0])
        self.ahead_of_all = np.zeros(line.live.shape[0])
        self.own_ahead_of_all, self.own = np.zeros((2, groups))
        self.running, self.own_running = np.zeros((2, 0 if floor.on else resources * n), np.int64)
        self.nodes, self.floor = nodes, floor


cdef inline void forget(Holders shares, int64_t c) noexcept nogil:
    """Begin the sums of a class anew: only differences matter, and small sums round least."""
    cdef Py_ssize_t x
    shares.ahead_of_all[c] = 0.0
    for x in range(shares.weight.shape[0]):
        shares.weight[x, c] = 0.0


cdef void share_of(
    WaitLog log, Waitlist line, Holders shares, PoolAt state, int64_t slot, int64_t sign,
    double[::1] parts
) noexcept nogil:
    """Add the seconds of a block behind its own user's and behind earlier attempts, or subtract them."""
    cdef int64_t c = line.of[slot], i = line.first[slot], g = line.group[i], user = log.user[i]
    cdef Py_ssize_t x
    cdef double own = 0.0, ahead
    ahead = -shares.ahead_of_all[c] - sum_to(shares.ahead, line.first_seat[c], line.came_seat[i])
    for x in range(log.request.shape[0]):
        if shares.weight[x, c] != 0.0:
            ahead += shares.weight[x, c] * others_ahead(log, line, shares, x, c, i)
    if g != NOBODY:
        own = -shares.own[g]
        ahead += shares.own_ahead_of_all[g]
        ahead += sum_to(shares.own_ahead, line.first_place[g], line.came_place[i])
        for x in range(log.request.shape[0]):
            if shares.weight[x, c] != 0.0:
                own += shares.weight[x, c] * state.by_user[line.kind[c] + x, user]
    parts[0] += sign * own
    parts[1] += sign * ahead


cdef int64_t others_ahead(
    WaitLog log, Waitlist line, Holders shares, Py_ssize_t x, int64_t c, int64_t i
) noexcept nogil:
    """Return what attempts of others that are ahead of ``i`` use of a resource of its class."""
    cdef int64_t user = log.user[i], total = 0, k, n = log.user.shape[0], node
    cdef Py_ssize_t r, place
    if not shares.floor.on:
        total = sum_to(shares.running, x * n, x * n + log.came[i])
        if user != UNKNOWN:
            total -= sum_to(
                shares.own_running, x * n + shares.first_rank[user], x * n + shares.rank[i]
            )
        return total
    for r in range(shares.floor.runs):
        k = shares.floor.run[r]
        if log.came[k] < log.came[i] and (user == UNKNOWN or log.user[k] != user):
            for place in range(shares.nodes.first[k], shares.nodes.first[k + 1]):
                node = shares.nodes.node[place]
                if shares.floor.down[node] == 0 and shares.floor.inside[shares.nodes.set_of[i], node]:
                    total += shares.nodes.amount[x, place]
    return total


cdef void change_shares(
    WaitLog log, Waitlist line, Holders shares, PoolAt state, int64_t i
) noexcept nogil:
    """Note that attempt ``i`` starts or ends, by what it moves."""
    cdef Py_ssize_t x, k, n = log.user.shape[0]
    cdef int64_t c, g, user = log.user[i]
    cdef double change
    for x in range(0 if shares.floor.on else log.request.shape[0]):
        add_at(shares.running, x * n, (x + 1) * n, x * n + log.came[i], state.moved[x])
        if user != UNKNOWN:
            add_at(
                shares.own_running, x * n + shares.first_rank[user],
                x * n + shares.first_rank[user + 1], x * n + shares.rank[i], state.moved[x]
            )
    for k in range(line.actives):
        c = line.active[k]
        change = _weighted(shares, state, c, line.kind[c])
        if change == 0.0:
            continue
        if line.as_came and i < line.first[line.head[c]]:
            shares.ahead_of_all[c] += change
        elif not line.as_came or i < line.first[line.tail[c]]:
            _add_before(shares.ahead, line.came_seated, line.first_seat, c, log.came[i], change)
    for k in range(line.first_group[user], line.first_group[user] + line.busies[user]):
        g = line.busy[k]
        c = line.class_of[g]
        change = _weighted(shares, state, c, line.kind[c])
        shares.own[g] += change
        if line.as_came and i < line.first[line.head[c]]:
            shares.own_ahead_of_all[g] += change
        elif not line.as_came or i < line.first[line.tail[c]]:
            _add_before(
                shares.own_ahead, line.came_placed, line.first_place, g, log.came[i], change
            )


cdef inline void _add_before(
    double[::1] tree, const int32_t[::1] came, const int64_t[::1] firsts, int64_t part,
    int64_t at, double change
) noexcept nogil:
    """Add to a tree's part, ascending by ``came``, from what came after ``at`` on."""
    cdef int64_t begin = firsts[part], end = firsts[part + 1]
    add_at(tree, begin, end, first_above(came, begin, end, at), change)


cdef inline double _weighted(Holders shares, PoolAt state, int64_t c, int64_t kind) noexcept nogil:
    cdef Py_ssize_t x
    cdef double change = 0.0
    for x in range(shares.weight.shape[0]):
        change += state.moved[kind + x] * shares.weight[x, c]
    return change
