# The attempts of a pool that wait and run, at an instant of a sweep through its log.
#
# The queue holds *blocks*: equal attempts of one user that follow each other in the order.


cdef enum:
    UNKNOWN = 0  # number of an unknown user: no attempt is known to belong to it
    NOBODY = -1
    FITS = -1  # instead of the short resource
    EXCEEDS = -2
    LENT = 4_096  # entries of a cache


# The order of ``audit.metrics.queue_sweep.BOOKED``.
cdef enum:
    HELD, UNAVAILABLE, RULE, RULE_FREE, OWN_QUEUED, OWN_RUNNING
    CLAIMED, EARLIER, LATER, CYCLE, UNEXPLAINED, KEPT, NODES
    CAUSES  # their number


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Nodes:
    """The nodes of a pool, N; none: all is decided by the pool's sums.

    The *set* of an attempt holds the nodes that it may use. An attempt fits if its parts do: on a
    node, at most ``most`` of them.
    """

    cdef const int64_t[:, ::1] capacity  # resources × N
    cdef const int64_t[::1] first_member  # sets + 1: the nodes of each set, in the order of use
    cdef const int64_t[::1] member
    cdef const int64_t[::1] first_set  # N + 1: the sets of each node
    cdef const int64_t[::1] set
    cdef const int64_t[::1] first  # attempts + 1: the nodes that each used
    cdef const int64_t[::1] node
    cdef const int64_t[:, ::1] amount  # resources × these: how much it used there
    cdef const int64_t[:, ::1] part  # resources × attempts
    cdef const int64_t[::1] parts
    cdef const int64_t[::1] most
    cdef const int64_t[::1] shape  # equal numbers: equal sets, parts and most
    cdef const int64_t[::1] kind  # of each resource: that of which it is a type, or itself
    cdef const int64_t[::1] wide  # [attempts]: the set of each, if it required no features
    # The resources, in the order in which a lacking one is named; their number: features.
    cdef const int64_t[::1] ties
    cdef const int64_t[::1] change_time  # when nodes become unavailable or available, ascending
    cdef const int64_t[::1] change_node
    cdef const int64_t[::1] change  # 1: unavailable, −1: no more


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Log:
    """The attempts of a pool: queued over [arrival, leave), running over [start, end).

    The orders leave out attempts without such a span, and spans of length 0.
    """

    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] leave
    cdef const int64_t[::1] start
    cdef const int64_t[::1] end
    cdef const int64_t[::1] user  # from 1 on, or 0: unknown
    cdef const int64_t[:, ::1] request  # resources × attempts, ≥ 0: what each waits for
    cdef const int64_t[:, ::1] use  # the same while it runs; not used if nodes are known
    cdef const int64_t[::1] set  # of nodes that it may use; 0 for all if no nodes are known
    cdef const int64_t[::1] block  # equal numbers of neighbours in by_arrival: one block
    cdef const int64_t[::1] ready  # when a policy would have started it; NEVER: not
    cdef const int64_t[::1] cycle  # from then on it may wait for the next pass; NEVER: not
    cdef const int64_t[::1] flags  # sums of RECORDED and TRACED
    cdef const int64_t[::1] first_hold  # its holds are [first_hold, last_hold) of Holds
    cdef const int64_t[::1] last_hold
    cdef const int64_t[::1] by_arrival  # of those that wait: ascending
    cdef const int64_t[::1] by_leave  # of the same
    cdef const int64_t[::1] by_start
    cdef const int64_t[::1] by_end


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Times:
    """Events of the pool itself."""

    cdef const int64_t[::1] step  # when the capacity changes, ascending
    cdef const int64_t[:, ::1] change  # steps × resources
    cdef const int64_t[::1] cut  # further instants at which something changes, ascending
    cdef const int64_t[::1] hold_from  # holds of single attempts
    cdef const int64_t[::1] hold_to
    cdef const int64_t[::1] outage_from  # ascending
    cdef const int64_t[::1] outage_to


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False, kw_only=True)
cdef class Rules:
    """Limits, then windows; L and W may be 0."""

    cdef const int64_t[:, ::1] counter  # L × attempts: what counts it, or −1: not in the scope
    cdef const int64_t[:, ::1] amount  # L × attempts: what it adds while it runs
    cdef const int64_t[:, ::1] binding  # L × attempts: 0: it counts, but the limit does not hold it
    cdef const int64_t[::1] most  # L
    cdef const int64_t[::1] valid_from  # L
    cdef const int64_t[::1] valid_to  # L
    cdef const int64_t[:, ::1] reach  # W × attempts: how far it must end before a closing; 0: none
    cdef const int64_t[::1] first_span  # W + 1: the closed spans of each window
    cdef const int64_t[::1] span_from
    cdef const int64_t[::1] span_to
    cdef Py_ssize_t counters


@cython.final
cdef class State:
    """The pool at an instant, and working space for one walk through its queue.

    Amounts are those of sets of nodes: resource x of set s is number s · R + x of S · R *kinds*.
    """

    cdef int64_t[::1] capacity  # [kinds]
    cdef int64_t[::1] free  # capacity − use; may be negative
    cdef int64_t[::1] used
    cdef int64_t[::1] moved  # by the attempt that starts or ends
    cdef int64_t[:, ::1] by_user  # kinds × users: use by each
    cdef int64_t[:, ::1] free_on  # resources × nodes
    cdef int64_t[:, ::1] left_on  # the same after earlier claims of the walk
    cdef int64_t[:, ::1] without_on  # working space: the same with enough of one resource
    cdef int64_t[::1] unavailable  # [nodes]: 0: in service
    # What is known in a walk of shapes, and of shapes behind claims of a user: valid where the
    # stamp is that of the walk. ``lent`` holds key, stamp, number of claims and result.
    cdef int64_t[::1] fit_stamp  # [shapes]
    cdef int64_t[::1] fit
    cdef int64_t[::1] full_stamp
    cdef int64_t[:, ::1] lent
    cdef Table claims  # of the walk on nodes: node, user, then amounts of each resource
    cdef int64_t[::1] counted  # [counters]: what runs
    cdef int64_t[::1] span  # [W]: the closed span at or after the instant
    cdef Py_ssize_t running  # attempts
    cdef Py_ssize_t outage
    cdef bint out  # whether an outage lasts
    # The walk: ``left`` is ``free`` without earlier claims. Claims of users and counters are valid
    # if their stamp is that of the walk.
    cdef int64_t[::1] left
    cdef int64_t[::1] ahead  # use by attempts before in the order
    cdef int64_t[:, ::1] claimed  # kinds × users
    cdef int64_t[::1] claimed_stamp
    cdef int64_t[::1] counting  # [counters]
    cdef int64_t[::1] counting_stamp
    cdef int64_t walk

    def __cinit__(self, Rules rules, const int64_t[::1] capacity, Nodes nodes, Py_ssize_t users):
        """Make a pool of this capacity, or of these nodes, in which nothing runs."""
        cdef Py_ssize_t kinds = capacity.shape[0]
        self.capacity, self.free = np.array(capacity), np.array(capacity)
        self.free_on, self.left_on = np.array(nodes.capacity), np.array(nodes.capacity)
        self.without_on = np.array(nodes.capacity)
        self.unavailable = np.zeros(nodes.capacity.shape[1], np.int64)
        self.used, self.moved = np.zeros((2, kinds), np.int64)
        self.by_user, self.claimed = np.zeros((2, kinds, users), np.int64)
        self.left, self.ahead = np.zeros((2, kinds), np.int64)
        self.claims = Table(nodes.capacity.shape[0] + 2)
        self.fit_stamp, self.fit, self.full_stamp = np.zeros(
            (3, int(np.max(nodes.shape, initial=-1)) + 1), np.int64
        )
        self.lent = np.zeros((LENT, 4), np.int64)
        self.claimed_stamp = np.zeros(users, np.int64)
        self.counted, self.counting, self.counting_stamp = np.zeros(
            (3, rules.counters), np.int64
        )
        self.span = np.array(rules.first_span[: rules.first_span.shape[0] - 1])
        self.walk = 0
        self.running = self.outage = 0
        self.out = False


@cython.final
cdef class Queue:
    """The waiting blocks, in their order, at the places ``head``, …, ``tail`` − 1.

    It has more than twice as many places as are ever taken, so it is seldom moved to its beginning.
    """

    cdef Py_ssize_t head
    cdef Py_ssize_t tail
    cdef int64_t[::1] attempt  # the first member that ever was in it
    cdef int64_t[::1] user
    cdef int64_t[::1] slot
    cdef int64_t[::1] set
    cdef int64_t[:, ::1] request  # resources × places
    # kinds × places: use by attempts that arrived before this one, but not before the place
    # before.
    cdef int64_t[:, ::1] ahead
    cdef int64_t[::1] total  # [kinds], the sum of these
    # resources × attempts: use of its set by attempts of the same user that arrived before.
    cdef int64_t[:, ::1] own_ahead
    # Links between the waiting blocks of a user, by their first members; NOBODY: none.
    cdef int64_t[::1] last  # of each user
    cdef int64_t[::1] before
    cdef int64_t[::1] after
    # Of the members of a block: the first, by slot; links between those that wait.
    cdef int64_t[::1] front
    cdef int64_t[::1] previous
    cdef int64_t[::1] following
    cdef int64_t[::1] spare  # free slots
    cdef Py_ssize_t spares
    # By slot: the bookings of all members of the block.
    cdef double[:, ::1] booked
    cdef int64_t[:, ::1] forbidden
    cdef int64_t[:, ::1] lacking
    cdef int64_t[::1] span  # its last stretch; NOBODY: none

    def __cinit__(
        self, Rules rules, Log log, Py_ssize_t kinds, Py_ssize_t users, Py_ssize_t most
    ):
        """Make an empty queue, in which at most ``most`` blocks wait."""
        cdef Py_ssize_t places = 2 * most + 1
        cdef Py_ssize_t resources = log.request.shape[0], count = log.request.shape[1]
        self.head = self.tail = 0
        self.attempt, self.user, self.slot, self.set = np.empty((4, places), np.int64)
        self.request = np.empty((resources, places), np.int64)
        self.ahead = np.empty((kinds, places), np.int64)
        self.total = np.zeros(kinds, np.int64)
        self.own_ahead = np.empty((resources, count), np.int64)
        self.last = np.full(users, NOBODY, np.int64)
        self.before, self.after, self.previous, self.following = np.empty((4, count), np.int64)
        self.front = np.empty(most, np.int64)
        self.spare = np.arange(most)
        self.span = np.full(most, NOBODY, np.int64)
        self.spares = most
        self.booked = np.zeros((most, CAUSES))
        self.forbidden = np.zeros(
            (most, rules.most.shape[0] + rules.first_span.shape[0] - 1), np.int64
        )
        self.lacking = np.zeros((most, resources + 2), np.int64)


cdef inline bint is_held(Log log, Times times, int64_t i, int64_t at) noexcept nogil:
    """Return whether a known hold of attempt ``i`` lasts at an instant."""
    cdef Py_ssize_t hold
    for hold in range(log.first_hold[i], log.last_hold[i]):
        if times.hold_from[hold] <= at < times.hold_to[hold]:
            return True
    return False


cdef inline bint is_forbidden(Rules rules, State state, int64_t i, int64_t at) noexcept nogil:
    """Return whether a rule forbids attempt ``i``, given what runs and what has claimed."""
    cdef Py_ssize_t rule
    for rule in range(rules.most.shape[0] + state.span.shape[0]):
        if forbids(rules, state, rule, i, at):
            return True
    return False


cdef inline bint forbids(
    Rules rules, State state, Py_ssize_t rule, int64_t i, int64_t at
) noexcept nogil:
    """Return whether a rule (limits, then windows) forbids attempt ``i``."""
    cdef Py_ssize_t limits = rules.most.shape[0]
    if rule < limits:
        return exceeds(rules, state, rule, i, at)
    return is_closed(rules, state, rule - limits, i, at)


cdef inline bint exceeds(
    Rules rules, State state, Py_ssize_t rule, int64_t i, int64_t at
) noexcept nogil:
    """Return whether a limit forbids attempt ``i``."""
    cdef int64_t counter = rules.counter[rule, i], amount
    if counter < 0 or not rules.binding[rule, i]:
        return False
    if not rules.valid_from[rule] <= at < rules.valid_to[rule]:
        return False
    amount = state.counted[counter] + rules.amount[rule, i]
    if state.counting_stamp[counter] == state.walk:
        amount += state.counting[counter]
    return amount > rules.most[rule]


cdef inline bint is_closed(
    Rules rules, State state, Py_ssize_t window, int64_t i, int64_t at
) noexcept nogil:
    """Return whether attempt ``i`` may not start now because of a window."""
    cdef int64_t reach = rules.reach[window, i], span = state.span[window]
    if reach == 0 or span == rules.first_span[window + 1]:
        return False
    return rules.span_from[span] < at + reach


cdef inline bint fits_left(
    const int64_t[:, ::1] request, Py_ssize_t k, State state, int64_t user
) noexcept nogil:
    """Return whether column ``k`` of requests fits in what is left, and in the claims of a user."""
    cdef int64_t left
    cdef Py_ssize_t x
    for x in range(request.shape[0]):
        left = state.left[x]
        if user > UNKNOWN and state.claimed_stamp[user] == state.walk:
            left += state.claimed[x, user]
        if request[x, k] > left and request[x, k] > 0:
            return False
    return True


cdef inline Py_ssize_t short_of(
    const int64_t[:, ::1] request, Py_ssize_t k, int64_t set, State state
) noexcept nogil:
    """Return the first kind of a set of nodes that lacks most of its capacity; FITS; or EXCEEDS.

    A request, column ``k``, that exceeds a capacity does so even where that resource is not the
    short one.
    """
    cdef Py_ssize_t short = FITS, x, kind
    cdef double most = 0.0, lack
    for x in range(request.shape[0]):
        kind = set * request.shape[0] + x
        if request[x, k] > state.free[kind] and request[x, k] > 0:
            if request[x, k] > state.capacity[kind]:
                return EXCEEDS
            lack = <double> (request[x, k] - state.free[kind]) / state.capacity[kind]
            if lack > most:
                most = lack
                short = kind
    return short


cdef inline int64_t largest_part(int64_t own, int64_t earlier, int64_t used) noexcept nogil:
    """Return the cause that names a divided stretch."""
    if 3 * own >= used:
        return OWN_RUNNING
    return EARLIER if 2 * earlier >= used - own else LATER


cdef Py_ssize_t join(
    Log log, State state, Queue queue, Py_ssize_t coming, int64_t before
) noexcept nogil:
    """Append the blocks that arrive before an instant; return the next attempt to arrive.

    Everything that runs arrived before them.
    """
    cdef Py_ssize_t place, x
    cdef int64_t i, user, previous
    while time_at(log.arrival, log.by_arrival, coming) < before:
        if queue.tail == queue.attempt.shape[0]:
            _move_up(queue)
        place = queue.tail
        i = log.by_arrival[coming]
        user = log.user[i]
        queue.attempt[place] = i
        queue.user[place] = user
        queue.spares -= 1
        queue.slot[place] = queue.spare[queue.spares]
        queue.set[place] = log.set[i]
        for x in range(log.request.shape[0]):
            queue.request[x, place] = log.request[x, i]
            queue.own_ahead[x, i] = state.by_user[log.set[i] * log.request.shape[0] + x, user]
        for x in range(state.free.shape[0]):
            queue.ahead[x, place] = state.used[x] - queue.total[x]
            queue.total[x] = state.used[x]
        previous = queue.last[user]
        queue.before[i] = previous
        queue.after[i] = NOBODY
        if previous != NOBODY:
            queue.after[previous] = i
        queue.last[user] = i
        queue.tail += 1
        coming = _link(log, queue, coming, queue.slot[place])
    return coming


cdef Py_ssize_t _link(Log log, Queue queue, Py_ssize_t coming, int64_t slot) noexcept nogil:
    """Link the members of the block that begins at ``coming``; return where the next begins."""
    cdef int64_t i = log.by_arrival[coming], previous = NOBODY, block = log.block[i]
    queue.front[slot] = i
    while coming < log.by_arrival.shape[0] and log.block[log.by_arrival[coming]] == block:
        i = log.by_arrival[coming]
        queue.previous[i] = previous
        queue.following[i] = NOBODY
        if previous != NOBODY:
            queue.following[previous] = i
        previous = i
        coming += 1
    return coming


cdef void close_gap(Log log, Queue queue, Py_ssize_t place) noexcept nogil:
    """Remove the block at ``place`` and close the gap from the nearer end."""
    cdef Py_ssize_t gap, x
    cdef int64_t i = queue.attempt[place], previous = queue.before[i], following = queue.after[i]
    for x in range(queue.total.shape[0]):
        if place + 1 < queue.tail:
            queue.ahead[x, place + 1] += queue.ahead[x, place]
        else:
            queue.total[x] -= queue.ahead[x, place]
    if place - queue.head < queue.tail - place:
        for gap in range(place, queue.head, -1):
            _copy_place(queue, gap - 1, gap)
        queue.head += 1
    else:
        for gap in range(place, queue.tail - 1):
            _copy_place(queue, gap + 1, gap)
        queue.tail -= 1
    if previous != NOBODY:
        queue.after[previous] = following
    if following != NOBODY:
        queue.before[following] = previous
    else:
        queue.last[log.user[i]] = previous


cdef Py_ssize_t place_of(Queue queue, int64_t i) noexcept nogil:
    """Return the first place of a block that begins with attempt ``i`` or a later one."""
    cdef Py_ssize_t low = queue.head, high = queue.tail, middle
    while low < high:
        middle = (low + high) // 2
        if queue.attempt[middle] < i:
            low = middle + 1
        else:
            high = middle
    return low


cdef void _move_up(Queue queue) noexcept nogil:
    """Move everything that waits to the beginning of the queue."""
    cdef Py_ssize_t place
    for place in range(queue.head, queue.tail):
        _copy_place(queue, place, place - queue.head)
    queue.tail -= queue.head
    queue.head = 0


cdef inline void _copy_place(Queue queue, Py_ssize_t source, Py_ssize_t target) noexcept nogil:
    queue.attempt[target] = queue.attempt[source]
    queue.user[target] = queue.user[source]
    queue.slot[target] = queue.slot[source]
    queue.set[target] = queue.set[source]
    copy_column(queue.request, target, queue.request, source)
    copy_column(queue.ahead, target, queue.ahead, source)


cdef void occupy(
    Log log, Nodes nodes, Rules rules, State state, Queue queue, int64_t i, int64_t sign
) noexcept nogil:
    """Let attempt ``i``, which does not wait, take its resources (1) or return them (−1)."""
    cdef int64_t user = log.user[i], amount, own
    # Blocks that begin after it: for its own block it is neither ahead nor behind.
    cdef Py_ssize_t place = place_of(queue, i + 1), x, rule, resources = log.request.shape[0]
    state.running += sign
    for rule in range(rules.most.shape[0]):
        if rules.counter[rule, i] >= 0:
            state.counted[rules.counter[rule, i]] += sign * rules.amount[rule, i]
    if nodes.capacity.shape[1] > 0:
        _move_nodes(nodes, state, i, sign)
    else:
        for x in range(resources):
            state.moved[x] = sign * log.use[x, i]
            state.free[x] -= state.moved[x]
    for x in range(state.free.shape[0]):
        amount = state.moved[x]
        state.used[x] += amount
        if place < queue.tail:
            queue.ahead[x, place] += amount
            queue.total[x] += amount
        if user != UNKNOWN:
            state.by_user[x, user] += amount
    if user != UNKNOWN:
        own = queue.last[user]
        while own > i:
            for x in range(resources):
                queue.own_ahead[x, own] += state.moved[log.set[own] * resources + x]
            own = queue.before[own]


cdef void turn(Times times, Rules rules, State state, int64_t now) noexcept nogil:
    """Move on to the outage and the closed spans that come at or after ``now``."""
    cdef Py_ssize_t w
    while state.outage < times.outage_to.shape[0] and times.outage_to[state.outage] <= now:
        state.outage += 1
    state.out = (
        state.outage < times.outage_to.shape[0] and times.outage_from[state.outage] <= now
    )
    for w in range(state.span.shape[0]):
        while state.span[w] < rules.first_span[w + 1] and rules.span_to[state.span[w]] <= now:
            state.span[w] += 1
