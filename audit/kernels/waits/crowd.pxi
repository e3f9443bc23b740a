# Everything that waits in a pool without rules and nodes, for an account in near-linear time.
#
# Attempts with equal requests form a *class*. At an instant, all that wait in a class have the same
# state: the request exceeds the capacity, lacks the same resource, or fits. So the seconds of these
# states, and the integral of 1 ÷ use while a resource lacks, are kept once for each class. What an
# attempt is booked is the difference of such sums between when it joins the queue and when it
# leaves. Only claims are walked, and no further than until nothing fits in what is left: in each
# class, those ahead of some attempt (``cut``) claim; behind it, a user with claims of its own may
# have a stretch of attempts that wait for these alone (``open_from`` to ``open_to``).
#
# The parts of a divided second are integrals of amount(t) · dw, where w is the integral of
# 1 ÷ use, and amount changes by δ at each start and end: amount · w at the end, less that at the
# begin, less Σ δ · w of the changes between. Fenwick trees hold these changes by the order of the
# attempts that start and end, since only those ahead of an attempt count as earlier.


CROWD = 1_000  # blocks that wait at one time, from which on this is used: in shorter queues the walk is
# as fast, and its last digits do not depend on where the log begins, as do differences of sums

cdef enum Joined:
    AWAY  # it does not wait, or is held
    JOINED
    SETTLED  # what it is booked counts from some instant on


@cython.final
cdef class Crowd:
    """Everything that waits, by class; a *group* is what one user has in a class."""

    cdef int64_t[:, ::1] request  # resources × classes
    cdef int64_t[::1] of  # [attempts], the class
    cdef int64_t[::1] seat  # [attempts], its place in ``seated``
    cdef int64_t[::1] seated  # all that ever wait, by class and order
    cdef int64_t[::1] first_seat  # classes + 1
    cdef int64_t[::1] group  # [attempts]; NOBODY: its user is unknown
    cdef int64_t[::1] place  # [attempts], its place in ``placed``
    cdef int64_t[::1] placed  # the same by user, class and order
    cdef int64_t[::1] first_place  # groups + 1
    cdef int64_t[::1] class_of  # [groups]
    cdef int64_t[::1] user_of
    cdef int64_t[::1] first_group  # users + 1
    # Orders of those for which an instant in the wait matters, and of holds
    cdef int64_t[::1] by_cycle
    cdef int64_t[::1] by_ready
    cdef int64_t[::1] by_hold
    cdef int64_t[::1] by_release
    cdef int64_t[::1] held  # [holds], the attempt
    cdef int64_t traced  # NOBODY: none
    cdef int64_t[::1] rank  # [attempts], its place in the order by user
    cdef int64_t[::1] first_rank  # users + 1
    # What waits now. Links within a class; NOBODY: none.
    cdef int64_t[::1] before  # [attempts]
    cdef int64_t[::1] after
    cdef uint8_t[::1] joined  # [attempts], a Joined
    cdef int64_t[::1] first  # [classes]
    cdef int64_t[::1] last
    cdef int64_t[::1] count
    cdef int64_t[::1] active  # classes with any
    cdef int64_t[::1] active_at
    cdef Py_ssize_t actives
    cdef int64_t[::1] waiting  # [groups], their number
    cdef int64_t[::1] busy  # groups with any, from first_group of each user on
    cdef int64_t[::1] busy_at
    cdef int64_t[::1] busies  # [users]
    # Sums over the time up to ``since``
    cdef int64_t since
    cdef int64_t[::1] unavailable  # [classes], s
    cdef int64_t[::1] fitting
    cdef int64_t[::1] lacking
    cdef int64_t[::1] not_claiming  # by seat: trees whose sums are s in which it fits, and claims nothing
    cdef int64_t[::1] own_queued  # by place: s in which only claims of its user are in its way
    cdef double[:, ::1] weight  # resources × classes: ∫ 1 ÷ use while this is the short resource
    cdef double[::1] ahead  # by seat: Σ δ · weight of changes of those ahead
    cdef double[::1] ahead_of_all  # [classes], of those ahead of all that wait
    cdef double[::1] own_ahead  # by place: the same, of the same user
    cdef double[::1] own_ahead_of_all  # [groups]
    cdef double[::1] own  # [groups], of all of the user
    cdef int64_t[::1] running  # resources × attempts: trees of what runs, in the order
    cdef int64_t[::1] own_running  # resources × ranks
    # The last walk
    cdef int64_t[::1] short  # [classes], the short resource, FITS or EXCEEDS
    cdef int64_t[::1] cut  # [classes], the first that claims nothing; NEVER: none
    cdef int64_t[::1] alive  # classes that may still claim
    cdef Py_ssize_t alives
    cdef int64_t[::1] upcoming  # [classes], the next to be walked
    cdef int64_t[::1] behind  # [classes], how many are not walked yet
    cdef int64_t[::1] rest  # [resources], what these request together
    cdef int64_t[::1] claimants  # users
    cdef Py_ssize_t claiming
    cdef int64_t[::1] open  # groups whose own claims alone are in the way
    cdef Py_ssize_t opens
    cdef int64_t[::1] open_walk  # [groups], in which this was so
    cdef int64_t[::1] open_from
    cdef int64_t[::1] open_to
    cdef Py_ssize_t span  # the last stretch of the traced attempt; NOBODY: none

    def __cinit__(self, Log log, Times times, Py_ssize_t users):
        """Arrange the attempts of a log; nothing waits yet."""
        cdef Py_ssize_t n = log.request.shape[1]
        waiting, user, request = (
            np.asarray(log.by_arrival), np.asarray(log.user), np.asarray(log.request)
        )
        self.of, self.seat, self.group, self.place = np.full((4, n), NOBODY)
        order = np.lexsort((waiting, *request[:, waiting]))
        seated = waiting[order]
        begins = _begins(request[:, seated])
        self.seated, self.first_seat = seated, np.append(begins, len(seated))
        self.request = np.ascontiguousarray(request[:, seated[begins]])
        np.asarray(self.seat)[seated] = np.arange(len(seated))
        of = np.asarray(self.of)
        of[seated] = np.repeat(np.arange(len(begins)), np.diff(self.first_seat))
        known = waiting[user[waiting] != UNKNOWN]
        placed = known[np.lexsort((known, of[known], user[known]))]
        begins = _begins(np.stack((user[placed], of[placed])))
        self.placed, self.first_place = placed, np.append(begins, len(placed))
        np.asarray(self.place)[placed] = np.arange(len(placed))
        np.asarray(self.group)[placed] = np.repeat(np.arange(len(begins)), np.diff(self.first_place))
        self.class_of, self.user_of = of[placed[begins]], user[placed[begins]]
        self.first_group = np.searchsorted(self.user_of, np.arange(users + 1))
        by_user = np.argsort(user, kind="stable")
        self.rank = np.empty(n, np.int64)
        np.asarray(self.rank)[by_user] = np.arange(n)
        self.first_rank = np.searchsorted(user[by_user], np.arange(users + 1))
        self._order(log, times)
        self._empty(n, log.request.shape[0], users)

    cdef _order(self, Log log, Times times):
        """Sort the instants that matter for single attempts."""
        waiting, traced = np.asarray(log.by_arrival), np.asarray(log.flags) & TRACED > 0
        self.traced = max(waiting[traced[waiting]], default=NOBODY)
        self.by_cycle = _in_wait(log, np.asarray(log.cycle))
        self.by_ready = _in_wait(log, np.asarray(log.ready))
        lasts = np.asarray(times.hold_from) < np.asarray(times.hold_to)
        holds = np.subtract(log.last_hold, log.first_hold)
        self.held = np.repeat(np.arange(len(holds)), holds)
        waits = np.zeros(len(holds), np.bool_)
        waits[waiting] = True
        chosen = np.flatnonzero(lasts & waits[self.held])
        self.by_hold = chosen[np.argsort(np.asarray(times.hold_from)[chosen], kind="stable")]
        self.by_release = chosen[np.argsort(np.asarray(times.hold_to)[chosen], kind="stable")]

    cdef _empty(self, Py_ssize_t n, Py_ssize_t resources, Py_ssize_t users):
        """Let nothing wait and nothing run."""
        cdef Py_ssize_t classes = self.request.shape[1], groups = self.class_of.shape[0]
        self.before, self.after = np.full((2, n), NOBODY)
        self.joined = np.zeros(n, np.uint8)
        self.first, self.last = np.full((2, classes), NOBODY)
        self.active, self.active_at, self.alive, self.upcoming = np.zeros((4, classes), np.int64)
        self.count, self.behind, self.short, self.cut = np.zeros((4, classes), np.int64)
        self.unavailable, self.fitting, self.lacking = np.zeros((3, classes), np.int64)
        self.waiting, self.busy, self.busy_at, self.open = np.zeros((4, groups), np.int64)
        self.open_walk, self.open_from, self.open_to = np.zeros((3, groups), np.int64)
        self.busies, self.claimants = np.zeros((2, users), np.int64)
        self.not_claiming = np.zeros(self.seated.shape[0], np.int64)
        self.own_queued = np.zeros(self.placed.shape[0], np.int64)
        self.ahead, self.own_ahead = np.zeros(self.seated.shape[0]), np.zeros(self.placed.shape[0])
        self.ahead_of_all = np.zeros(classes)
        self.own_ahead_of_all, self.own = np.zeros((2, groups))
        self.weight, self.rest = np.zeros((resources, classes)), np.zeros(resources, np.int64)
        self.running, self.own_running = np.zeros((2, resources * n), np.int64)
        self.actives = self.alives = self.claiming = self.opens = self.since = 0
        self.span = NOBODY


def _in_wait(Log log, instant):
    """Return the attempts that wait at given instants of theirs, by these."""
    waiting = np.asarray(log.by_arrival)
    at, arrival, leave = instant[waiting], np.asarray(log.arrival), np.asarray(log.leave)
    waiting = waiting[(arrival[waiting] < at) & (at <= leave[waiting])]
    return waiting[np.argsort(instant[waiting], kind="stable")]


def _begins(columns):
    """Return the places of columns that differ from the one before, and of the first."""
    differs = np.ones(columns.shape[1], np.bool_)
    differs[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    return np.flatnonzero(differs)


cdef void _join(Log log, Crowd crowd, int64_t i) noexcept nogil:
    """Add attempt ``i`` to those of its class that wait."""
    cdef int64_t c = crowd.of[i], g = crowd.group[i], user = log.user[i]
    cdef int64_t ahead = crowd.last[c], behind = NOBODY, front = crowd.first[c]
    cdef Py_ssize_t x
    if crowd.count[c] == 0:
        crowd.active[crowd.actives] = c
        crowd.active_at[c] = crowd.actives
        crowd.actives += 1
        crowd.ahead_of_all[c] = 0.0
        for x in range(crowd.weight.shape[0]):  # differences alone matter: small sums round least
            crowd.weight[x, c] = 0.0
    # one whose hold ends belongs between others: look from both ends
    while ahead > i and front < i:
        behind, ahead, front = ahead, crowd.before[ahead], crowd.after[front]
    if ahead > i:
        behind, ahead = front, crowd.before[front]
    crowd.before[i], crowd.after[i] = ahead, behind
    crowd.joined[i] = JOINED
    if ahead == NOBODY:
        crowd.first[c] = i
    else:
        crowd.after[ahead] = i
    if behind == NOBODY:
        crowd.last[c] = i
    else:
        crowd.before[behind] = i
    crowd.count[c] += 1
    if g != NOBODY:
        if crowd.waiting[g] == 0:
            crowd.busy_at[g] = crowd.first_group[user] + crowd.busies[user]
            crowd.busy[crowd.busy_at[g]] = g
            crowd.busies[user] += 1
        crowd.waiting[g] += 1


cdef void _part(Log log, Crowd crowd, int64_t i) noexcept nogil:
    """Remove attempt ``i`` from those of its class that wait."""
    cdef int64_t c = crowd.of[i], g = crowd.group[i], user = log.user[i], moved
    cdef int64_t ahead = crowd.before[i], behind = crowd.after[i]
    if ahead == NOBODY:
        crowd.first[c] = behind
    else:
        crowd.after[ahead] = behind
    if behind == NOBODY:
        crowd.last[c] = ahead
    else:
        crowd.before[behind] = ahead
    crowd.joined[i] = AWAY
    crowd.count[c] -= 1
    if crowd.count[c] == 0:
        crowd.actives -= 1
        moved = crowd.active[crowd.actives]
        crowd.active[crowd.active_at[c]] = moved
        crowd.active_at[moved] = crowd.active_at[c]
    if g != NOBODY:
        crowd.waiting[g] -= 1
        if crowd.waiting[g] == 0:
            crowd.busies[user] -= 1
            moved = crowd.busy[crowd.first_group[user] + crowd.busies[user]]
            crowd.busy[crowd.busy_at[g]] = moved
            crowd.busy_at[moved] = crowd.busy_at[g]


cdef void _occupy_for(
    Log log, State state, Crowd crowd, int64_t i, int64_t sign
) noexcept nogil:
    """Let attempt ``i`` take its resources (1) or return them (−1)."""
    cdef Py_ssize_t x, k, n = log.user.shape[0], resources = log.request.shape[0]
    cdef int64_t c, g, user = log.user[i]
    cdef double change
    state.running += sign
    for x in range(resources):
        state.moved[x] = sign * log.use[x, i]
        state.free[x] -= state.moved[x]
        state.used[x] += state.moved[x]
        add_at(crowd.running, x * n, (x + 1) * n, x * n + i, state.moved[x])
        if user != UNKNOWN:
            state.by_user[x, user] += state.moved[x]
            add_at(
                crowd.own_running, x * n + crowd.first_rank[user],
                x * n + crowd.first_rank[user + 1], x * n + crowd.rank[i], state.moved[x]
            )
    for k in range(crowd.actives):
        c = crowd.active[k]
        change = _weighted(state, crowd, c)
        if change == 0.0:
            continue
        if i < crowd.first[c]:
            crowd.ahead_of_all[c] += change
        elif i < crowd.last[c]:
            add_at(
                crowd.ahead, crowd.first_seat[c], crowd.first_seat[c + 1],
                first_above(crowd.seated, crowd.first_seat[c], crowd.first_seat[c + 1], i), change
            )
    for k in range(crowd.first_group[user], crowd.first_group[user] + crowd.busies[user]):
        g = crowd.busy[k]
        c = crowd.class_of[g]
        change = _weighted(state, crowd, c)
        crowd.own[g] += change
        if i < crowd.first[c]:
            crowd.own_ahead_of_all[g] += change
        elif i < crowd.last[c]:
            add_at(
                crowd.own_ahead, crowd.first_place[g], crowd.first_place[g + 1],
                first_above(crowd.placed, crowd.first_place[g], crowd.first_place[g + 1], i), change
            )


cdef inline double _weighted(State state, Crowd crowd, int64_t c) noexcept nogil:
    cdef Py_ssize_t x
    cdef double change = 0.0
    for x in range(state.moved.shape[0]):
        change += state.moved[x] * crowd.weight[x, c]
    return change
