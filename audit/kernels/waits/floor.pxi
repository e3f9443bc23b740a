# What runs on nodes, and the plan by nodes: the same as plan.pxi, on what single nodes have.


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class WalkNodes:
    """The nodes of a pool, N; none: all is decided by the pool's sums.

    The *set* of an attempt holds the nodes that it may use. An attempt fits if its parts do: on a
    node, at most ``most`` of them. Amounts of a set are *kinds*: resource x of set s is s · R + x.
    """

    cdef const int64_t[:, ::1] capacity  # resources × N
    cdef const int64_t[::1] first_member  # sets + 1: the nodes of each set, in the order of use
    cdef const int64_t[::1] member
    cdef const int64_t[::1] first_set  # N + 1: the sets of each node
    cdef const int64_t[::1] set
    cdef const int64_t[::1] home  # [sets]: the sum of 2 ** part over the parts that each is in
    cdef const int64_t[::1] set_of  # [attempts]
    cdef const int64_t[::1] first  # attempts + 1: the nodes that each used
    cdef const int64_t[::1] node
    cdef const int64_t[:, ::1] amount  # resources × these: how much it used there
    cdef const int64_t[:, ::1] part  # resources × attempts
    cdef const int64_t[::1] parts
    cdef const int64_t[::1] most
    cdef const int64_t[::1] kind  # of each resource: that of which it is a type, or itself
    cdef const int64_t[::1] wide  # [attempts]: the set of each, if it required no features
    cdef const uint8_t[::1] bound  # [attempts]: whether it requests GPUs
    cdef bint consecutive  # whether nodes are chosen by runs; else:
    cdef bint least_loaded  # whether nodes with most free come first, not those with least
    # The resources, in the order in which a lacking one is named; their number: features.
    cdef const int64_t[::1] ties
    cdef const int64_t[::1] change_time  # when nodes become unavailable or available, ascending
    cdef const int64_t[::1] change_node
    cdef const int64_t[::1] change  # 1: unavailable, −1: no more


cdef enum:
    RETURNS  # what runs is expected to end
    GIVES_BACK  # a claim
    TAKES  # a reservation begins
    LEAVES


cdef enum:
    THEN  # in ``then_on``
    LEAST  # in ``least_on``
    STAGES


@cython.final
cdef class Floor:
    """The nodes at an instant, and the plan of one walk."""

    cdef bint on  # whether there are nodes
    cdef Py_ssize_t resources
    cdef int64_t[:, ::1] free_on  # resources × nodes
    cdef int64_t[:, ::1] left_on  # after the claims of the walk
    cdef int64_t[:, ::1] then_on  # working space: at a later time
    cdef int64_t[:, ::1] later_on
    cdef int64_t[:, ::1] least_on  # the least over a time
    cdef int64_t[:, ::1] held_on  # STAGES × nodes: how many parts of an attempt each holds,
    cdef int64_t[::1] held  # and all of its set together
    cdef int64_t[::1] down  # [nodes]: the reasons for which it is unavailable
    cdef int64_t changes  # how often nodes became unavailable or available
    cdef uint8_t[:, ::1] inside  # sets × nodes
    cdef Choice choice
    cdef int64_t[::1] run  # what runs, by expected end
    cdef Py_ssize_t runs
    # What claims and reservations take: node, then amounts of each resource
    cdef GrowingTable taken
    cdef int64_t[::1] claim_item  # [2 · claims]: where the items of each begin and end
    cdef int64_t[::1] kept_item  # [2 · reservations]
    # Changes of the plan, ascending; kept only while there are reservations
    cdef Py_ssize_t edges
    cdef int64_t[::1] edge_time
    cdef int64_t[::1] edge_kind
    cdef int64_t[::1] edge_of  # the attempt, claim or reservation
    cdef int64_t last_taken  # when the last reservation begins

    def __cinit__(self, WalkNodes nodes, Py_ssize_t running, Py_ssize_t most, Py_ssize_t depth):
        """Make empty nodes, on which at most ``running`` attempts run at one time."""
        cdef Py_ssize_t count = nodes.capacity.shape[1]
        cdef Py_ssize_t s, kept = min(depth, most) + 1
        self.on, self.resources = count > 0, nodes.capacity.shape[0]
        self.free_on, self.left_on = np.array(nodes.capacity), np.array(nodes.capacity)
        self.then_on, self.least_on = np.array(nodes.capacity), np.array(nodes.capacity)
        self.later_on = np.array(nodes.capacity)
        self.held_on, self.held = np.zeros((STAGES, count), np.int64), np.zeros(STAGES, np.int64)
        self.down = np.zeros(count, np.int64)
        self.choice = Choice(count)
        inside = np.zeros((nodes.first_member.shape[0] - 1, count), np.uint8)
        for s in range(len(inside)):
            inside[s, nodes.member[nodes.first_member[s]: nodes.first_member[s + 1]]] = 1
        self.inside = inside
        if not self.on:
            running = most = kept = 0
        self.run = np.zeros(running + 1, np.int64)
        self.claim_item, self.kept_item = np.zeros(2 * most + 4, np.int64), np.zeros(2 * kept + 4, np.int64)
        self.edge_time, self.edge_kind, self.edge_of = np.zeros(
            (3, running + most + 2 * kept + 4), np.int64
        )
        self.taken = GrowingTable(self.resources + 1)
        self.runs = self.edges = self.changes = 0


cdef int64_t count_on(
    WalkNodes nodes, Floor floor, const int64_t[:, ::1] free, int64_t i, int64_t chosen, Py_ssize_t but
) noexcept nogil:
    """Return how many parts of attempt ``i``, up to all, fit on the nodes of a set."""
    cdef Py_ssize_t place
    cdef int64_t count = 0, node
    for place in range(nodes.first_member[chosen], nodes.first_member[chosen + 1]):
        node = nodes.member[place]
        if floor.down[node] == 0:
            count += parts_on(nodes.part, i, nodes.most[i], free, node, but)
            if count >= nodes.parts[i]:
                return nodes.parts[i]
    return count


cdef inline bint fits_on(
    WalkNodes nodes, Floor floor, const int64_t[:, ::1] free, int64_t i
) noexcept nogil:
    """Return whether attempt ``i`` fits on the nodes of its set."""
    return count_on(nodes, floor, free, i, nodes.set_of[i], NOBODY) >= nodes.parts[i]


cdef bint hold_on(
    WalkNodes nodes, Floor floor, const int64_t[:, ::1] free, int64_t i, Py_ssize_t stage
) noexcept nogil:
    """Count the parts of attempt ``i`` that each node of its set holds; return whether all fit."""
    cdef Py_ssize_t place
    cdef int64_t s = nodes.set_of[i], node, count = 0
    for place in range(nodes.first_member[s], nodes.first_member[s + 1]):
        node = nodes.member[place]
        floor.held_on[stage, node] = 0
        if floor.down[node] == 0:
            floor.held_on[stage, node] = parts_on(
                nodes.part, i, nodes.most[i], free, node, NOBODY
            )
        count += floor.held_on[stage, node]
    floor.held[stage] = count
    return count >= nodes.parts[i]


cdef inline void hold_anew(
    WalkNodes nodes, Floor floor, const int64_t[:, ::1] free, int64_t i, Py_ssize_t stage,
    int64_t node
) noexcept nogil:
    """Count the parts that a node holds once more."""
    if floor.down[node] == 0 and floor.inside[nodes.set_of[i], node]:
        floor.held[stage] -= floor.held_on[stage, node]
        floor.held_on[stage, node] = parts_on(nodes.part, i, nodes.most[i], free, node, NOBODY)
        floor.held[stage] += floor.held_on[stage, node]


cdef Py_ssize_t lacking_on(WalkNodes nodes, Floor floor, int64_t i) noexcept nogil:
    """Return without which resource attempt ``i`` would fit; then features, then several."""
    cdef Py_ssize_t k, x, y
    for k in range(nodes.ties.shape[0]):
        x = nodes.ties[k]
        if x == floor.resources:
            if count_on(nodes, floor, floor.free_on, i, nodes.wide[i], NOBODY) >= nodes.parts[i]:
                return x
            continue
        if nodes.part[x, i] == 0:
            continue
        # without GPUs, types of GPUs do not matter either
        floor.then_on[:, :] = floor.free_on
        for y in range(nodes.kind.shape[0]):
            if nodes.kind[y] == x:
                floor.then_on[y, :] = NEVER
        if count_on(nodes, floor, floor.then_on, i, nodes.set_of[i], x) >= nodes.parts[i]:
            return x
    return floor.resources + 1


cdef void move_on(WalkNodes nodes, Floor floor, PoolAt state, int64_t i, int64_t sign) noexcept nogil:
    """Take what attempt ``i`` uses from its nodes, or return it.

    Writes what that is by kind, of nodes that are available.
    """
    cdef Py_ssize_t place, x, kind
    cdef int64_t node
    state.moved[:] = 0
    for place in range(nodes.first[i], nodes.first[i + 1]):
        node = nodes.node[place]
        for x in range(floor.resources):
            floor.free_on[x, node] -= sign * nodes.amount[x, place]
        if floor.down[node] == 0:
            move_at(nodes, floor, state, place, sign)
    for kind in range(state.free.shape[0]):
        state.free[kind] -= state.moved[kind]


cdef inline void move_at(
    WalkNodes nodes, Floor floor, PoolAt state, Py_ssize_t place, int64_t sign
) noexcept nogil:
    """Add what an attempt uses at one of its places to what is moved by kind."""
    cdef Py_ssize_t x, s
    for s in range(nodes.first_set[nodes.node[place]], nodes.first_set[nodes.node[place] + 1]):
        for x in range(floor.resources):
            state.moved[nodes.set[s] * floor.resources + x] += sign * nodes.amount[x, place]


cdef int64_t set_down(
    WalkNodes nodes, Floor floor, PoolAt state, int64_t node, int64_t change
) noexcept nogil:
    """Count one reason more (1) or less (−1) for which a node is unavailable.

    Returns:
        −1: from now on it is; 1: it no longer is; 0: neither.
    """
    cdef Py_ssize_t x, s, kind
    cdef int64_t sign = 0
    if floor.down[node] == 0:
        sign = -1
    elif floor.down[node] + change == 0:
        sign = 1
    floor.down[node] += change
    floor.changes += sign != 0
    for x in range(floor.resources):
        for s in range(nodes.first_set[node], nodes.first_set[node + 1]):
            kind = nodes.set[s] * floor.resources + x
            state.capacity[kind] += sign * nodes.capacity[x, node]
            state.free[kind] += sign * floor.free_on[x, node]
    return sign


cdef void note_run(WaitLog log, Floor floor, int64_t i, int64_t sign) noexcept nogil:
    """Add an attempt to what runs (1), or remove it (−1)."""
    cdef Py_ssize_t k = floor.runs, place
    cdef int64_t due = log.due[i]
    if sign > 0:
        while k > 0 and log.due[floor.run[k - 1]] > due:
            floor.run[k] = floor.run[k - 1]
            k -= 1
        floor.run[k] = i
        floor.runs += 1
        return
    k = 0
    while floor.run[k] != i:
        k += 1
    floor.runs -= 1
    for place in range(k, floor.runs):
        floor.run[place] = floor.run[place + 1]


cdef void begin_floor(Floor floor) noexcept nogil:
    floor.left_on[:, :] = floor.free_on
    floor.edges = floor.taken.count = 0
    floor.last_taken = -1
    floor.claim_item[0] = floor.kept_item[0] = 0


cdef void _add_edge(Floor floor, int64_t time, int64_t kind, int64_t of) noexcept nogil:
    cdef Py_ssize_t k = floor.edges
    while k > 0 and floor.edge_time[k - 1] > time:
        floor.edge_time[k] = floor.edge_time[k - 1]
        floor.edge_kind[k] = floor.edge_kind[k - 1]
        floor.edge_of[k] = floor.edge_of[k - 1]
        k -= 1
    floor.edge_time[k], floor.edge_kind[k], floor.edge_of[k] = time, kind, of
    floor.edges += 1


cdef void _apply(
    WalkNodes nodes, Floor floor, int64_t[:, ::1] free, Py_ssize_t edge, int64_t i
) noexcept nogil:
    """Change what is free on nodes as an edge says; count where attempt ``i`` fits THEN."""
    cdef Py_ssize_t place, x
    cdef int64_t of = floor.edge_of[edge], kind = floor.edge_kind[edge], sign, first, last
    cdef int64_t* item
    if kind == RETURNS:
        for place in range(nodes.first[of], nodes.first[of + 1]):
            for x in range(floor.resources):
                free[x, nodes.node[place]] += nodes.amount[x, place]
            if i != NOBODY:
                hold_anew(nodes, floor, free, i, THEN, nodes.node[place])
        return
    sign = -1 if kind == TAKES else 1
    if kind == GIVES_BACK:
        first, last = floor.claim_item[2 * of], floor.claim_item[2 * of + 1]
    else:
        first, last = floor.kept_item[2 * of], floor.kept_item[2 * of + 1]
    for place in range(first, last):
        item = floor.taken.held + place * floor.taken.width
        for x in range(floor.resources):
            free[x, item[0]] += sign * item[1 + x]
        if i != NOBODY:
            hold_anew(nodes, floor, free, i, THEN, item[0])


cdef void _lower(
    WalkNodes nodes, Floor floor, const int64_t[:, ::1] free, Py_ssize_t edge, int64_t i
) noexcept nogil:
    """Lower the least free amounts where a reservation begins; count where attempt ``i`` fits."""
    cdef Py_ssize_t place, x
    cdef int64_t of = floor.edge_of[edge]
    cdef int64_t* item
    for place in range(floor.kept_item[2 * of], floor.kept_item[2 * of + 1]):
        item = floor.taken.held + place * floor.taken.width
        for x in range(floor.resources):
            floor.least_on[x, item[0]] = min(floor.least_on[x, item[0]], free[x, item[0]])
        hold_anew(nodes, floor, floor.least_on, i, LEAST, item[0])


cdef int64_t longest_on(
    WalkNodes nodes, Floor floor, int64_t[:, ::1] free, int64_t i, Py_ssize_t edge, int64_t now,
    int64_t until
) noexcept nogil:
    """Return for how long attempt ``i`` fits from ``now`` on, up to ``until``; NEVER: to the end.

    ``free`` holds what is free now, and changes with the edges from ``edge`` on. ``least_on`` is then
    the least over that time.
    """
    cdef Py_ssize_t first
    cdef int64_t time
    cdef bint lowered
    floor.least_on[:, :] = free
    if not hold_on(nodes, floor, floor.least_on, i, LEAST):
        return 0
    until = min(until, floor.last_taken + 1)  # then nothing becomes less
    while edge < floor.edges and floor.edge_time[edge] < until:
        first, time, lowered = edge, floor.edge_time[edge], False
        while edge < floor.edges and floor.edge_time[edge] == time:
            _apply(nodes, floor, free, edge, NOBODY)
            edge += 1
        while first < edge:
            if floor.edge_kind[first] == TAKES:
                _lower(nodes, floor, free, first, i)
                lowered = True
            first += 1
        if lowered and floor.held[LEAST] < nodes.parts[i]:
            return time - now
    return NEVER


cdef int64_t room_on(
    WalkNodes nodes, Floor floor, int64_t i, int64_t now, int64_t until
) noexcept nogil:
    """Return for how long attempt ``i`` fits from now on, up to ``until``; NEVER: to the end."""
    floor.then_on[:, :] = floor.left_on
    return longest_on(nodes, floor, floor.then_on, i, 0, now, until)


cdef void _place(WalkNodes nodes, Floor floor, int64_t i, bint now) noexcept nogil:
    """Note what attempt ``i`` takes of the nodes with enough in ``least_on``; nothing if it lacks.

    Now, they are those of the stated placement; later, those with least left now. If parts may
    share nodes, those that hold most come first.
    """
    cdef int64_t s = nodes.set_of[i], missing = nodes.parts[i], node, count, key, sum = 0
    cdef Py_ssize_t place, k, x
    cdef bint by_runs = now and nodes.consecutive
    cdef int64_t* item
    floor.choice.candidates = 0
    for place in range(nodes.first_member[s], nodes.first_member[s + 1]):
        node = nodes.member[place]
        if floor.down[node] > 0:
            continue
        count = parts_on(nodes.part, i, nodes.most[i], floor.least_on, node, NOBODY)
        if count == 0:
            continue
        key = max(floor.left_on[0, node], 0)
        if by_runs and nodes.bound[i]:
            key = min(count, missing) * nodes.part[0, i]
        elif not by_runs and nodes.most[i] > 1:
            key = -count
        elif now and nodes.least_loaded:
            key = -key
        add_candidate(floor.choice, node, count, key)
        sum += min(count, missing)
    if sum < missing:
        return
    if by_runs:
        choose_by_runs(floor.choice, missing)
    else:
        choose_by_key(floor.choice, missing)
    for k in range(floor.choice.number):
        item = add_row(floor.taken)
        if item == NULL:
            return
        item[0] = floor.choice.node[k]
        for x in range(floor.resources):
            item[1 + x] = floor.choice.parts[k] * nodes.part[x, i]


cdef void claim_on(
    WaitLog log, WalkNodes nodes, Floor floor, Py_ssize_t k, int64_t i, int64_t now, bint used
) noexcept nogil:
    """Let claim ``k``, of attempt ``i``, take nodes: those that it used, or a place in ``least_on``."""
    cdef Py_ssize_t place, x
    cdef int64_t* item
    floor.claim_item[2 * k] = floor.taken.count
    if used:
        for place in range(nodes.first[i], nodes.first[i + 1]):
            item = add_row(floor.taken)
            if item != NULL:
                item[0] = nodes.node[place]
                for x in range(floor.resources):
                    item[1 + x] = nodes.amount[x, place]
    else:
        _place(nodes, floor, i, True)
    floor.claim_item[2 * k + 1] = floor.taken.count
    for place in range(floor.claim_item[2 * k], floor.claim_item[2 * k + 1]):
        item = floor.taken.held + place * floor.taken.width
        for x in range(floor.resources):
            floor.left_on[x, item[0]] -= item[1 + x]
    if floor.edges > 0:
        _add_edge(floor, now + log.estimate[i], GIVES_BACK, k)


cdef void take_claim(Floor floor, Py_ssize_t k) noexcept nogil:
    """Take what a claim takes from ``then_on``."""
    cdef Py_ssize_t place, x
    cdef int64_t* item
    for place in range(floor.claim_item[2 * k], floor.claim_item[2 * k + 1]):
        item = floor.taken.held + place * floor.taken.width
        for x in range(floor.resources):
            floor.then_on[x, item[0]] -= item[1 + x]


cdef bint reserve_on(
    WaitLog log, WalkNodes nodes, Floor floor, WalkPlan plan, int64_t i, int64_t now
) noexcept nogil:
    """Reserve the earliest start at which attempt ``i`` fits for its estimate; return whether it does."""
    cdef Py_ssize_t k, edge = 0, r = plan.reservations
    cdef int64_t time = now, length
    if floor.edges == 0:
        for k in range(floor.runs):
            _add_edge(floor, log.expected[log.due[floor.run[k]]], RETURNS, floor.run[k])
        for k in range(plan.claims):
            _add_edge(floor, now + plan.claim_length[k], GIVES_BACK, k)
    floor.then_on[:, :] = floor.left_on
    hold_on(nodes, floor, floor.then_on, i, THEN)
    while True:
        if floor.held[THEN] >= nodes.parts[i]:
            floor.later_on[:, :] = floor.then_on
            length = longest_on(
                nodes, floor, floor.later_on, i, edge, time, time + log.estimate[i]
            )
            if length == NEVER:
                break
        if edge == floor.edges:
            return False
        time = floor.edge_time[edge]
        while edge < floor.edges and floor.edge_time[edge] == time:
            _apply(nodes, floor, floor.then_on, edge, i)
            edge += 1
    floor.kept_item[2 * r] = floor.taken.count
    _place(nodes, floor, i, False)
    floor.kept_item[2 * r + 1] = floor.taken.count
    _add_edge(floor, time, TAKES, r)
    floor.last_taken = max(floor.last_taken, time)
    _add_edge(floor, time + log.estimate[i], LEAVES, r)
    plan.reservations += 1
    return True
