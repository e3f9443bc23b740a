# What waits, by blocks and classes.
#
# A *block* holds equal attempts of one user that arrived at once and have had the same decisions so
# far; it is split where these begin to differ. A *class* holds all blocks with equal requests, which
# fit or lack the same at any time: its seconds in each state are kept once. A *group* is what one user
# has in a class. What a block is booked is the difference of such sums between when it joins its class
# and when it parts from it. Sums that count only from some place of the queue on are Fenwick trees.
#
# A block that is *live* has not lapsed: it may claim, and reserve. A held block belongs to its class only
# since its request may exceed the capacity.


# Sums of a block, s
cdef enum:
    FIT  # fits in free(t), before it lapsed
    BEYOND  # of this, not in what claims left
    BEHIND_OWN  # of this, but with the claims of its own user
    FOR_OWN  # of the rest, kept for its own user's first reservation
    AGE  # it could start
    UP  # unavailable
    LACKING  # does not fit in free(t)
    APART  # does not fit on nodes, though in sums
    STILL  # fits in free(t), after it lapsed
    ON_HOLD
    BARRED
    BARRED_FREE
    SUMS


@cython.final
cdef class Waitlist:
    """Everything that waits."""

    cdef bint as_came  # whether the order is that of ``came``
    cdef bint books  # whether seconds are booked: else a block has no sum but AGE
    cdef int64_t lapse  # the age at which an attempt lapses, s
    # Classes
    cdef int64_t[:, ::1] request  # resources × classes
    cdef int32_t[::1] sample  # [classes], an attempt
    cdef int64_t[::1] kind  # [classes], the first kind of its set of nodes
    cdef int32_t[::1] seat  # [attempts], the place in ``seated``
    cdef int32_t[::1] seated  # all that ever wait, by class and order
    cdef int32_t[::1] came_seat  # [attempts], the place in ``came_seated``
    cdef int32_t[::1] came_seated  # places in ``came`` of all that ever wait, by class, ascending
    cdef int64_t[::1] first_seat  # classes + 1
    cdef int64_t[::1] first_leaf  # classes + 1: of trees over the seats, the least estimate of what lives
    cdef int64_t[::1] leaves  # [classes], a power of 2
    cdef int64_t[::1] least
    cdef int32_t[::1] slot_at  # [seats]
    cdef int64_t[::1] living  # [seats]: trees of the number of live attempts
    cdef int64_t[::1] live  # [classes], their number
    cdef int64_t[::1] lapsed  # [classes], the number of attempts that have
    cdef int64_t[::1] first_live  # [classes], a seat; NOBODY: none
    cdef int64_t[::1] free_span  # [classes]: the last stretch in which it was free; NOBODY: none
    cdef int64_t[::1] head  # [classes]: blocks that have joined, in order
    cdef int64_t[::1] tail
    cdef int64_t[::1] active  # classes with any
    cdef int64_t[::1] active_at
    cdef Py_ssize_t actives
    # Groups
    cdef int32_t[::1] group  # [attempts]; NOBODY: its user is unknown
    cdef int32_t[::1] place  # [attempts], its place in ``placed``
    cdef int32_t[::1] placed  # all that ever wait by user, class and order
    cdef int32_t[::1] came_place  # [attempts], its place in ``came_placed``
    cdef int32_t[::1] came_placed  # places in ``came`` of all that ever wait by user, class, ascending
    cdef int64_t[::1] first_place  # groups + 1
    cdef int64_t[::1] class_of  # [groups]
    cdef int64_t[::1] user_of
    cdef int64_t[::1] first_group  # users + 1
    cdef int64_t[::1] waiting  # [groups], blocks that have joined
    cdef int64_t[::1] busy  # groups with any, from first_group of each user on
    cdef int64_t[::1] busy_at
    cdef int64_t[::1] busies  # [users]
    cdef int64_t[::1] first_lapsed  # [users]: blocks that lapsed, in order
    cdef int64_t[::1] last_lapsed
    # Blocks, by slot
    cdef int32_t[::1] slot_of  # [attempts]
    cdef int64_t[::1] first  # the first member that it had since it was split
    cdef int64_t[::1] last  # the last one
    cdef int64_t[::1] front  # the first that waits
    cdef int64_t[::1] number  # members that wait
    cdef int64_t[::1] of  # the class
    cdef uint8_t[::1] joined
    cdef uint8_t[::1] has_lapsed
    cdef uint8_t[::1] held
    cdef int64_t[::1] held_since
    cdef int64_t[::1] stepped  # the last walk in which it could start; negative: it was held by its recorded reason
    cdef int64_t[::1] fresh  # the walk before which it joined
    cdef int64_t[::1] before  # links between blocks of a class
    cdef int64_t[::1] after
    cdef int64_t[::1] lapsed_before  # between blocks of a user that lapsed
    cdef int64_t[::1] lapsed_after
    cdef int64_t[::1] ahead  # between all blocks that are not held
    cdef int64_t[::1] behind
    cdef int64_t[:, ::1] sums  # slots × SUMS
    cdef double[:, ::1] parts  # slots × 3: own running, earlier, idle
    cdef int64_t[:, ::1] forbidden  # slots × rules, s
    cdef uint8_t[:, ::1] forbids  # the same: whether it does now
    cdef int64_t[:, ::1] lacking  # slots × (resources + 2)
    cdef int64_t[::1] span  # its last stretch; NOBODY: none
    cdef int64_t[::1] spare  # free slots
    cdef Py_ssize_t spares
    cdef int64_t front_slot  # of all blocks that are not held
    cdef int64_t back_slot
    cdef int32_t[::1] previous  # [attempts]: links between the members of a block
    cdef int32_t[::1] following
    # Sums over the time up to now, by class, s
    cdef int64_t[::1] fitting
    cdef int64_t[::1] up
    cdef int64_t[::1] lacks
    cdef int64_t[::1] apart
    cdef int64_t[:, ::1] apart_for  # classes × (resources + 2): of this, by what it lacks
    cdef double[::1] idle
    cdef int64_t[::1] beyond  # by seat: trees
    cdef int64_t[::1] behind_own  # by place
    cdef int64_t[::1] for_own

    def __cinit__(
        self, WaitLog log, WalkNodes nodes, Py_ssize_t users, Py_ssize_t most, Py_ssize_t rules,
        int64_t lapse
    ):
        """Make an empty line in which at most ``most`` attempts wait at one time."""
        cdef Py_ssize_t n = log.request.shape[1], resources = log.request.shape[0]
        waiting, user, alike = (
            np.asarray(log.by_arrival), np.asarray(log.user), np.asarray(log.alike)
        )
        self.lapse = lapse
        self.as_came = bool((np.diff(np.asarray(log.came)) > 0).all())
        self.seat, self.place, self.group, self.slot_of = np.full((4, n), NOBODY, np.int32)
        seated = waiting[np.lexsort((waiting, alike[waiting]))]
        begins = _begins(alike[seated][None])
        classes = len(begins)
        self.seated, self.first_seat = seated, np.append(begins, len(seated))
        self.request = np.ascontiguousarray(np.asarray(log.request)[:, seated[begins]])
        self.sample = np.ascontiguousarray(seated[begins])
        self.kind = np.zeros(classes, np.int64)
        if nodes.capacity.shape[1] > 0:
            self.kind = resources * np.asarray(nodes.set_of)[seated[begins]]
        np.asarray(self.seat)[seated] = np.arange(len(seated))
        sizes = np.diff(self.first_seat)
        self.leaves = np.int64(1) << np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
        self.first_leaf = np.cumsum(np.append(0, 2 * np.asarray(self.leaves)))
        self.least = np.full(self.first_leaf[classes], NEVER)
        known = waiting[user[waiting] != UNKNOWN]
        placed = known[np.lexsort((known, alike[known], user[known]))]
        begins = _begins(np.stack((user[placed], alike[placed])))
        self.placed, self.first_place = placed, np.append(begins, len(placed))
        np.asarray(self.place)[placed] = np.arange(len(placed))
        np.asarray(self.group)[placed] = np.repeat(
            np.arange(len(begins)), np.diff(self.first_place)
        )
        self.came_seat, self.came_seated = self.seat, self.seated
        self.came_place, self.came_placed = self.place, self.placed
        if not self.as_came:
            self.came_seat, self.came_seated = _by_came(log, self.seated, self.first_seat)
            self.came_place, self.came_placed = _by_came(log, self.placed, self.first_place)
        firsts = placed[begins]
        self.class_of, self.user_of = alike[firsts].astype(np.int64), user[firsts].astype(np.int64)
        self.first_group = np.searchsorted(self.user_of, np.arange(users + 1))
        self._empty(classes, len(begins), users, resources)
        self._room(n, max(most, 1), rules, resources)

    cdef _empty(self, Py_ssize_t classes, Py_ssize_t groups, Py_ssize_t users, Py_ssize_t resources):
        """Let nothing wait."""
        cdef Py_ssize_t seats = self.seated.shape[0], places = self.placed.shape[0]
        self.slot_at = np.zeros(seats, np.int32)
        self.living, self.beyond = np.zeros((2, seats), np.int64)
        self.behind_own, self.for_own = np.zeros((2, places), np.int64)
        self.first_live, self.head, self.tail, self.free_span = np.full((4, classes), NOBODY)
        self.live, self.lapsed, self.active, self.active_at = np.zeros((4, classes), np.int64)
        self.fitting, self.up, self.lacks, self.apart = np.zeros((4, classes), np.int64)
        self.idle, self.apart_for = np.zeros(classes), np.zeros((classes, resources + 2), np.int64)
        self.waiting, self.busy, self.busy_at = np.zeros((3, groups), np.int64)
        self.busies = np.zeros(users, np.int64)
        self.first_lapsed, self.last_lapsed = np.full((2, users), NOBODY)
        self.front_slot = self.back_slot = NOBODY
        self.actives = 0

    cdef _room(self, Py_ssize_t n, Py_ssize_t most, Py_ssize_t rules, Py_ssize_t resources):
        """Make room for ``most`` blocks."""
        self.first, self.last, self.front, self.number, self.of = np.zeros((5, most), np.int64)
        self.joined, self.has_lapsed, self.held = np.zeros((3, most), np.uint8)
        self.stepped, self.fresh, self.held_since = np.zeros((3, most), np.int64)
        self.before, self.after, self.lapsed_before, self.lapsed_after = np.full((4, most), NOBODY)
        self.ahead, self.behind, self.span = np.full((3, most), NOBODY)
        self.sums, self.parts = np.zeros((most, SUMS), np.int64), np.zeros((most, 3))
        self.forbidden = np.zeros((most, rules), np.int64)
        self.forbids = np.zeros((most, rules), np.uint8)
        self.lacking = np.zeros((most, resources + 2), np.int64)
        self.spare, self.spares = np.arange(most), most
        self.previous, self.following = np.full((2, n), NOBODY, np.int32)


def _begins(columns):
    """Return the places of columns that differ from the one before, and of the first."""
    differs = np.ones(columns.shape[1], np.bool_)
    differs[1:] = (columns[:, 1:] != columns[:, :-1]).any(axis=0)
    return np.flatnonzero(differs)


def _by_came(WaitLog log, members, firsts):
    """Return the places of attempts in parts that ascend by ``came``, and these parts, [members].

    The part k of ``members`` (attempts) is [firsts[k], firsts[k + 1]).
    """
    came, attempt = np.asarray(log.came), np.asarray(members)
    part = np.repeat(np.arange(len(firsts) - 1), np.diff(firsts))
    order = np.lexsort((came[attempt], part))
    places = np.full(len(came), NOBODY, np.int32)
    places[attempt[order]] = np.arange(len(attempt))
    return places, came[attempt[order]]


cdef void _set_least(Waitlist line, int64_t c, int64_t seat, int64_t estimate) noexcept nogil:
    """Write the estimate of the live block at a seat; NEVER: there is none."""
    cdef int64_t base = line.first_leaf[c], k = seat - line.first_seat[c] + line.leaves[c], value
    line.least[base + k] = estimate
    k >>= 1
    while k > 0:
        value = min(line.least[base + 2 * k], line.least[base + 2 * k + 1])
        if line.least[base + k] == value:
            return
        line.least[base + k] = value
        k >>= 1


cdef int64_t next_live(Waitlist line, int64_t c, int64_t seat, int64_t longest) noexcept nogil:
    """Return the first seat from one on with a live block of at most this estimate; NOBODY: none."""
    cdef int64_t base = line.first_leaf[c], leaves = line.leaves[c]
    cdef int64_t k = seat - line.first_seat[c] + leaves
    longest = min(longest, NEVER - 1)
    if seat >= line.first_seat[c + 1]:
        return NOBODY
    if line.least[base + k] <= longest:
        return seat
    while k > 1:
        if k & 1 == 0 and line.least[base + k + 1] <= longest:
            k += 1
            while k < leaves:
                k = 2 * k if line.least[base + 2 * k] <= longest else 2 * k + 1
            return line.first_seat[c] + k - leaves
        k >>= 1
    return NOBODY


cdef inline int64_t seat_from(Waitlist line, int64_t c, int64_t i) noexcept nogil:
    """Return the first seat of a class that is not before attempt ``i``."""
    return first_above(line.seated, line.first_seat[c], line.first_seat[c + 1], i - 1)


cdef void _set_live(WaitLog log, Waitlist line, int64_t slot, int64_t sign) noexcept nogil:
    """Let a block live (1), or no longer (−1)."""
    cdef int64_t c = line.of[slot], seat = line.seat[line.first[slot]]
    line.live[c] += sign * line.number[slot]
    add_at(
        line.living, line.first_seat[c], line.first_seat[c + 1], seat, sign * line.number[slot]
    )
    if sign > 0:
        line.slot_at[seat] = slot
        _set_least(line, c, seat, log.estimate[line.first[slot]])
        if line.first_live[c] == NOBODY or seat < line.first_live[c]:
            line.first_live[c] = seat
    else:
        _set_least(line, c, seat, NEVER)
        if line.first_live[c] == seat:
            line.first_live[c] = next_live(line, c, seat, NEVER)


cdef void enter(Waitlist line, int64_t slot) noexcept nogil:
    """Put a block in its place among all that are not held."""
    cdef int64_t back = line.back_slot, front = line.front_slot, next_slot = NOBODY
    while back != NOBODY and line.first[back] > line.first[slot]:
        if line.first[front] > line.first[slot]:
            next_slot, back = front, line.ahead[front]
            break
        front = line.behind[front]
        next_slot, back = back, line.ahead[back]
    line.ahead[slot], line.behind[slot] = back, next_slot
    if back == NOBODY:
        line.front_slot = slot
    else:
        line.behind[back] = slot
    if next_slot == NOBODY:
        line.back_slot = slot
    else:
        line.ahead[next_slot] = slot


cdef void quit(Waitlist line, int64_t slot) noexcept nogil:
    """Take a block out of all that are not held."""
    cdef int64_t ahead = line.ahead[slot], behind = line.behind[slot]
    if ahead == NOBODY:
        line.front_slot = behind
    else:
        line.behind[ahead] = behind
    if behind == NOBODY:
        line.back_slot = ahead
    else:
        line.ahead[behind] = ahead


cdef void _link(WaitLog log, Waitlist line, int64_t slot) noexcept nogil:
    """Add a block to those of its class and group."""
    cdef int64_t c = line.of[slot], i = line.first[slot], g = line.group[i], user = log.user[i]
    cdef int64_t before = line.tail[c], after = NOBODY, front = line.head[c]
    while before != NOBODY and line.first[before] > i:
        if line.first[front] > i:
            after, before = front, line.before[front]
            break
        front = line.after[front]
        after, before = before, line.before[before]
    line.before[slot], line.after[slot] = before, after
    if before == NOBODY:
        line.head[c] = slot
    else:
        line.after[before] = slot
    if after == NOBODY:
        line.tail[c] = slot
    else:
        line.before[after] = slot
    if g != NOBODY:
        if line.waiting[g] == 0:
            line.busy_at[g] = line.first_group[user] + line.busies[user]
            line.busy[line.busy_at[g]] = g
            line.busies[user] += 1
        line.waiting[g] += 1


cdef void _unlink(WaitLog log, Waitlist line, int64_t slot) noexcept nogil:
    """Remove a block from those of its class and group."""
    cdef int64_t c = line.of[slot], i = line.first[slot], g = line.group[i], user = log.user[i]
    cdef int64_t before = line.before[slot], after = line.after[slot], moved
    if before == NOBODY:
        line.head[c] = after
    else:
        line.after[before] = after
    if after == NOBODY:
        line.tail[c] = before
    else:
        line.before[after] = before
    if line.head[c] == NOBODY:
        line.actives -= 1
        moved = line.active[line.actives]
        line.active[line.active_at[c]] = moved
        line.active_at[moved] = line.active_at[c]
    if g != NOBODY:
        line.waiting[g] -= 1
        if line.waiting[g] == 0:
            line.busies[user] -= 1
            moved = line.busy[line.first_group[user] + line.busies[user]]
            line.busy[line.busy_at[g]] = moved
            line.busy_at[moved] = line.busy_at[g]


cdef void _link_lapsed(Waitlist line, int64_t user, int64_t slot) noexcept nogil:
    """Add a block to those of its user that lapsed."""
    cdef int64_t before = line.last_lapsed[user], after = NOBODY
    while before != NOBODY and line.first[before] > line.first[slot]:
        before, after = line.lapsed_before[before], before
    line.lapsed_before[slot], line.lapsed_after[slot] = before, after
    if before == NOBODY:
        line.first_lapsed[user] = slot
    else:
        line.lapsed_after[before] = slot
    if after == NOBODY:
        line.last_lapsed[user] = slot
    else:
        line.lapsed_before[after] = slot


cdef void _unlink_lapsed(Waitlist line, int64_t user, int64_t slot) noexcept nogil:
    cdef int64_t before = line.lapsed_before[slot], after = line.lapsed_after[slot]
    if before == NOBODY:
        line.first_lapsed[user] = after
    else:
        line.lapsed_after[before] = after
    if after == NOBODY:
        line.last_lapsed[user] = before
    else:
        line.lapsed_before[after] = before


cdef void join(WaitLog log, Waitlist line, Holders shares, PoolAt state, int64_t slot) noexcept nogil:
    """Add a block to its class; from now on its class's sums count for it."""
    cdef int64_t c = line.of[slot], user = log.user[line.first[slot]]
    if line.head[c] == NOBODY:
        line.active[line.actives] = c
        line.active_at[c] = line.actives
        line.actives += 1
        forget(shares, c)
    _link(log, line, slot)
    line.joined[slot] = 1
    line.fresh[slot] = state.walk + 1
    if line.held[slot]:
        pass
    elif line.has_lapsed[slot]:
        line.lapsed[c] += line.number[slot]
        if user != UNKNOWN:
            _link_lapsed(line, user, slot)
    else:
        _set_live(log, line, slot, 1)
    settle(log, line, shares, state, slot, -1, line.sums[slot], line.parts[slot])


cdef void part(WaitLog log, Waitlist line, Holders shares, PoolAt state, int64_t slot) noexcept nogil:
    """Remove a block from its class; what its class's sums tell is added to its own."""
    cdef int64_t c = line.of[slot], user = log.user[line.first[slot]]
    settle(log, line, shares, state, slot, 1, line.sums[slot], line.parts[slot])
    if line.held[slot]:
        pass
    elif line.has_lapsed[slot]:
        line.lapsed[c] -= line.number[slot]
        if user != UNKNOWN:
            _unlink_lapsed(line, user, slot)
    else:
        _set_live(log, line, slot, -1)
    line.joined[slot] = 0
    _unlink(log, line, slot)


cdef void settle(
    WaitLog log, Waitlist line, Holders shares, PoolAt state, int64_t slot, int64_t sign,
    int64_t[::1] sums, double[::1] parts
) noexcept nogil:
    """Add the sums of its class to those of a block, or subtract them (−1)."""
    cdef int64_t c = line.of[slot], i = line.first[slot], g = line.group[i]
    cdef Py_ssize_t x
    if not line.books:
        return
    sums[UP] += sign * line.up[c]
    if line.held[slot]:
        sums[ON_HOLD] += sign * (state.now - line.up[c])
        return
    if line.has_lapsed[slot]:
        sums[STILL] += sign * line.fitting[c]
        parts[2] += sign * line.idle[c]
    else:
        sums[FIT] += sign * line.fitting[c]
        sums[BEYOND] += sign * sum_to(line.beyond, line.first_seat[c], line.seat[i])
        if g != NOBODY:
            sums[BEHIND_OWN] += sign * sum_to(line.behind_own, line.first_place[g], line.place[i])
            sums[FOR_OWN] += sign * sum_to(line.for_own, line.first_place[g], line.place[i])
    sums[LACKING] += sign * line.lacks[c]
    sums[APART] += sign * line.apart[c]
    if line.apart[c] > 0:
        for x in range(line.lacking.shape[1]):
            line.lacking[slot, x] += sign * line.apart_for[c, x]
    share_of(log, line, shares, state, slot, sign, parts)


cdef void lapse(WaitLog log, Waitlist line, Holders shares, PoolAt state, int64_t slot) noexcept nogil:
    """Let a block lapse."""
    part(log, line, shares, state, slot)
    line.has_lapsed[slot] = 1
    join(log, line, shares, state, slot)


cdef int64_t split(
    WaitLog log, Waitlist line, Holders shares, PoolAt state, int64_t slot, int64_t count
) noexcept nogil:
    """Split the first ``count`` members that wait from a live block; return their slot."""
    cdef int64_t made, k, member = line.front[slot], c = line.of[slot]
    cdef Py_ssize_t x
    line.spares -= 1
    made = line.spare[line.spares]
    _set_live(log, line, slot, -1)
    line.first[made], line.front[made], line.number[made] = line.first[slot], member, count
    line.of[made], line.joined[made] = c, 1
    line.has_lapsed[made] = line.held[made] = 0
    line.stepped[made], line.fresh[made] = line.stepped[slot], line.fresh[slot]
    line.sums[made, :] = line.sums[slot]
    line.parts[made, :] = line.parts[slot]
    line.forbidden[made, :] = line.forbidden[slot]
    line.forbids[made, :] = line.forbids[slot]
    line.lacking[made, :] = line.lacking[slot]
    line.span[made] = line.span[slot] = NOBODY
    for k in range(count):
        line.slot_of[member] = made
        line.last[made] = member
        member = line.following[member]
    line.following[line.last[made]] = line.previous[member] = NOBODY
    line.first[slot] = line.front[slot] = member
    line.number[slot] -= count
    line.before[made], line.after[made] = line.before[slot], slot
    if line.before[slot] == NOBODY:
        line.head[c] = made
    else:
        line.after[line.before[slot]] = made
    line.before[slot] = made
    line.ahead[made], line.behind[made] = line.ahead[slot], slot
    if line.ahead[slot] == NOBODY:
        line.front_slot = made
    else:
        line.behind[line.ahead[slot]] = made
    line.ahead[slot] = made
    if line.group[member] != NOBODY:
        line.waiting[line.group[member]] += 1
    _set_live(log, line, made, 1)
    _set_live(log, line, slot, 1)
    return made
