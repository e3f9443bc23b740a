"""The attempts of a pool that wait and run, at an instant of a sweep through its log.

Attempts are numbered in the order (arrival, submit, sequence); times are in s. The queue holds
*blocks*: equal attempts of one user that follow each other in the order.
"""

from libc.stdint cimport int64_t


cdef enum:
    UNKNOWN = 0  # number of an unknown user, to whom no attempt is known to belong
    NOBODY = -1
    FITS = -1  # instead of the short resource
    EXCEEDS = -2


# The order of ``audit.metrics.queue_sweep.BOOKED``.
cdef enum:
    HELD, UNAVAILABLE, RULE, RULE_FREE, OWN_QUEUED, OWN_RUNNING
    CLAIMED, EARLIER, LATER, CYCLE, UNEXPLAINED, KEPT, NODES
    CAUSES  # their number


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
    cdef const int64_t[::1] change_time  # when nodes become unavailable or available, ascending
    cdef const int64_t[::1] change_node
    cdef const int64_t[::1] change  # 1: unavailable, −1: no more


cdef class Log:
    """The attempts of a pool: queued over [arrival, leave), running over [start, end).

    The orders leave out attempts without such a span, and spans of length 0.
    """

    cdef const int64_t[::1] arrival
    cdef const int64_t[::1] leave
    cdef const int64_t[::1] start
    cdef const int64_t[::1] end
    cdef const int64_t[::1] user  # from 1 on, or 0: unknown
    cdef const int64_t[:, ::1] request  # resources × attempts, ≥ 0
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


cdef class Times:
    """What happens to the pool itself."""

    cdef const int64_t[::1] step  # when the capacity changes, ascending
    cdef const int64_t[:, ::1] change  # steps × resources
    cdef const int64_t[::1] cut  # further instants at which something changes, ascending
    cdef const int64_t[::1] hold_from  # holds of single attempts
    cdef const int64_t[::1] hold_to
    cdef const int64_t[::1] outage_from  # ascending
    cdef const int64_t[::1] outage_to


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
    cdef int64_t[::1] unavailable  # [nodes]: 0: in service
    cdef Claims claims
    cdef int64_t[::1] counted  # [counters]: what runs
    cdef int64_t[::1] span  # [W]: the closed span at or after the instant
    cdef Py_ssize_t running  # attempts
    cdef Py_ssize_t outage
    cdef bint out  # whether the instant lies in an outage
    # Of the walk: ``left`` is what earlier claims leave of ``free``. Claims of users and counters
    # are valid where their stamp is that of the walk.
    cdef int64_t[::1] left
    cdef int64_t[::1] ahead  # use by attempts before in the order
    cdef int64_t[:, ::1] claimed  # kinds × users
    cdef int64_t[::1] claimed_stamp
    cdef int64_t[::1] counting  # [counters]
    cdef int64_t[::1] counting_stamp
    cdef int64_t walk


cdef class Claims:
    """What the attempts of a walk claimed on nodes: node, user, then amounts of each resource."""

    cdef int64_t* held
    cdef Py_ssize_t width
    cdef Py_ssize_t count
    cdef Py_ssize_t places  # −1: there was no memory


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
    # By slot: what all members of the block have waited for so far.
    cdef double[:, ::1] booked
    cdef int64_t[:, ::1] forbidden
    cdef int64_t[:, ::1] lacking
    cdef int64_t[::1] span  # its last stretch; NOBODY: none


cdef Py_ssize_t join(
    Log log, State state, Queue queue, Py_ssize_t coming, int64_t before
) noexcept nogil
cdef void close_gap(Log log, Queue queue, Py_ssize_t place) noexcept nogil
cdef Py_ssize_t place_of(Queue queue, int64_t i) noexcept nogil
cdef void occupy(
    Log log, Nodes nodes, Rules rules, State state, Queue queue, int64_t i, int64_t sign
) noexcept nogil
cdef bint fits_nodes(
    Log log, Nodes nodes, State state, const int64_t[:, ::1] free, int64_t i, Py_ssize_t but
) noexcept nogil
cdef bint fits_claimed(
    Log log, Nodes nodes, State state, int64_t i, int64_t user
) noexcept nogil
cdef void claim_nodes(Log log, Nodes nodes, State state, int64_t i) noexcept nogil
cdef void set_available(Nodes nodes, State state, Py_ssize_t node, int64_t change) noexcept nogil
cdef void turn(Times times, Rules rules, State state, int64_t now) noexcept nogil


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
    Queue queue, Py_ssize_t place, State state, int64_t user
) noexcept nogil:
    """Return whether a block's request fits in what is left, and in the claims of ``user``."""
    cdef int64_t left
    cdef Py_ssize_t x
    for x in range(queue.request.shape[0]):
        left = state.left[x]
        if user > UNKNOWN and state.claimed_stamp[user] == state.walk:
            left += state.claimed[x, user]
        if queue.request[x, place] > left and queue.request[x, place] > 0:
            return False
    return True


cdef inline Py_ssize_t short_of(Queue queue, Py_ssize_t place, State state) noexcept nogil:
    """Return the first kind that lacks most of its capacity; FITS; or EXCEEDS.

    A request that exceeds a capacity does so even where that resource is not the short one.
    """
    cdef Py_ssize_t short = FITS, x, kind
    cdef int64_t request
    cdef double most = 0.0, lack
    for x in range(queue.request.shape[0]):
        request = queue.request[x, place]
        kind = queue.set[place] * queue.request.shape[0] + x
        if request > state.free[kind] and request > 0:
            if request > state.capacity[kind]:
                return EXCEEDS
            lack = <double> (request - state.free[kind]) / state.capacity[kind]
            if lack > most:
                most = lack
                short = kind
    return short
