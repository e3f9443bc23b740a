# What attempts take from nodes, and whether their parts fit there.


cdef void _move_nodes(Nodes nodes, State state, int64_t i, int64_t sign) noexcept nogil:
    """Take what attempt ``i`` uses from its nodes, or return it; write what that is by kind."""
    cdef Py_ssize_t place, x, s, kind, resources = nodes.capacity.shape[0]
    cdef int64_t node, amount
    state.moved[:] = 0
    for place in range(nodes.first[i], nodes.first[i + 1]):
        node = nodes.node[place]
        for x in range(resources):
            amount = sign * nodes.amount[x, place]
            state.free_on[x, node] -= amount
            for s in range(nodes.first_set[node], nodes.first_set[node + 1]):
                kind = nodes.set[s] * resources + x
                state.moved[kind] += amount
                if state.unavailable[node] == 0:
                    state.free[kind] -= amount


cdef void set_available(Nodes nodes, State state, Py_ssize_t node, int64_t change) noexcept nogil:
    """Count one reason more (1) or less (−1) for which a node is unavailable."""
    cdef Py_ssize_t x, s, kind, resources = nodes.capacity.shape[0]
    cdef int64_t sign = 0
    if state.unavailable[node] == 0:
        sign = -1
    elif state.unavailable[node] + change == 0:
        sign = 1
    state.unavailable[node] += change
    for x in range(resources):
        for s in range(nodes.first_set[node], nodes.first_set[node + 1]):
            kind = nodes.set[s] * resources + x
            state.capacity[kind] += sign * nodes.capacity[x, node]
            state.free[kind] += sign * state.free_on[x, node]


cdef bint fits_nodes(
    Log log, Nodes nodes, State state, const int64_t[:, ::1] free, int64_t i, Py_ssize_t but
) noexcept nogil:
    """Return whether the parts of attempt ``i`` fit in what is free on the nodes of its set."""
    return fits_set(nodes, state, free, i, but, log.set[i])


cdef bint fits_set(
    Nodes nodes, State state, const int64_t[:, ::1] free, int64_t i, Py_ssize_t but, int64_t chosen
) noexcept nogil:
    """Return whether the parts of attempt ``i`` fit in what is free on the nodes of a set."""
    cdef Py_ssize_t place
    cdef int64_t count = 0, node
    for place in range(nodes.first_member[chosen], nodes.first_member[chosen + 1]):
        node = nodes.member[place]
        if state.unavailable[node] == 0:
            count += parts_on(nodes.part, i, nodes.most[i], free, node, but)
            if count >= nodes.parts[i]:
                return True
    return False


cdef Py_ssize_t fit_of(Log log, Nodes nodes, State state, int64_t i) noexcept nogil:
    """Return whether attempt ``i`` fits on free nodes: 1; 0: it does not; EXCEEDS: on no empty ones."""
    cdef int64_t shape = nodes.shape[i], fit = 1
    if state.fit_stamp[shape] != state.walk:
        if not fits_nodes(log, nodes, state, state.free_on, i, NOBODY):
            fit = 0
            if not fits_nodes(log, nodes, state, nodes.capacity, i, NOBODY):
                fit = EXCEEDS
        state.fit_stamp[shape] = state.walk
        state.fit[shape] = fit
    return state.fit[shape]


cdef bint fits_left_on(Log log, Nodes nodes, State state, int64_t i) noexcept nogil:
    """Return whether attempt ``i`` fits in what is left; what does not fit never will in a walk."""
    cdef int64_t shape = nodes.shape[i]
    if state.full_stamp[shape] == state.walk:
        return False
    if fits_nodes(log, nodes, state, state.left_on, i, NOBODY):
        return True
    state.full_stamp[shape] = state.walk
    return False


cdef bint fits_claimed(
    Log log, Nodes nodes, State state, int64_t i, int64_t user
) noexcept nogil:
    """Return whether attempt ``i`` fits in what is left and in the claims of a user."""
    cdef int64_t key = nodes.shape[i] * state.claimed_stamp.shape[0] + user
    cdef int64_t[::1] known = state.lent[key % LENT]
    if user == UNKNOWN or state.claimed_stamp[user] != state.walk:
        return False
    if known[0] == key and known[1] == state.walk:
        # what does not fit never will in a walk: others only claim more
        if known[3] == 0 or known[2] == state.claims.count:
            return known[3] == 1
    _lend(state, user, 1)
    known[0], known[1], known[2] = key, state.walk, state.claims.count
    known[3] = fits_nodes(log, nodes, state, state.left_on, i, NOBODY)
    _lend(state, user, -1)
    return known[3] == 1


cdef void _lend(State state, int64_t user, int64_t sign) noexcept nogil:
    """Return the claims of a user on nodes (1), or take them again (−1)."""
    cdef Py_ssize_t k, x
    cdef int64_t* claim
    for k in range(state.claims.count):
        claim = state.claims.held + k * state.claims.width
        if claim[1] == user and user > UNKNOWN:
            for x in range(state.left_on.shape[0]):
                state.left_on[x, claim[0]] += sign * claim[2 + x]


cdef void claim_nodes(Log log, Nodes nodes, State state, int64_t i) noexcept nogil:
    """Let attempt ``i``, which fits, claim its parts on the first nodes that hold some.

    If not all parts of it must be on nodes of their own, nodes with most free come first.
    """
    cdef int64_t missing = nodes.parts[i], node, count, best, most
    cdef Py_ssize_t place
    while missing > 0:
        most, best = 0, NOBODY
        for place in range(nodes.first_member[log.set[i]], nodes.first_member[log.set[i] + 1]):
            node = nodes.member[place]
            if state.unavailable[node] > 0:
                continue
            count = parts_on(nodes.part, i, nodes.most[i], state.left_on, node, NOBODY)
            if count == 0 or nodes.most[i] > 1 and count <= most:
                continue
            most, best = count, node
            if nodes.most[i] == 1:
                _claim_node(nodes, state, i, node, 1, log.user[i])
                missing -= 1
                if missing == 0:
                    return
        if nodes.most[i] == 1 or best == NOBODY:
            return
        count = min(most, missing)
        _claim_node(nodes, state, i, best, count, log.user[i])
        missing -= count


cdef void _claim_node(
    Nodes nodes, State state, int64_t i, int64_t node, int64_t count, int64_t user
) noexcept nogil:
    """Note that attempt ``i`` claims parts on a node."""
    cdef int64_t* claim = add_row(state.claims)
    cdef Py_ssize_t x
    if claim == NULL:
        return
    claim[0], claim[1] = node, user
    for x in range(nodes.capacity.shape[0]):
        claim[2 + x] = count * nodes.part[x, i]
        state.left_on[x, node] -= claim[2 + x]
