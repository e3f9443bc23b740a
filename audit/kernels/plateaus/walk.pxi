# The queue by groups, and the walk through it (SPEC §11, *Plateaus*).


@cython.final
cdef class Waiting:
    """The queue, by groups."""

    cdef int64_t[::1] order  # the groups that wait, by their oldest job
    cdef Py_ssize_t groups
    cdef int64_t[::1] oldest  # of each group; its list of jobs
    cdef int64_t[::1] newest
    cdef int64_t[::1] older  # of each job
    cdef int64_t[::1] newer
    cdef int64_t[::1] count  # of each group
    cdef int64_t[::1] of_size  # number of jobs by rank
    cdef Py_ssize_t least  # no rank below it has jobs
    # Hungry groups, and their state.
    cdef int64_t[:, ::1] hungry  # 2 lists, of which the walks use one after the other
    cdef Py_ssize_t number
    cdef Py_ssize_t list
    cdef int64_t[::1] stamp  # the last walk in which a group was hungry
    cdef int64_t[::1] age  # s of hunger since a job of the group started
    cdef int64_t[::1] aged_to
    cdef uint8_t[::1] lapsed
    cdef int64_t walk
    cdef int64_t next_lapse

    def __init__(self, EqualJobs alike, Py_ssize_t jobs):
        """Begin with an empty queue."""
        cdef Py_ssize_t groups = alike.request.shape[1]
        self.order, self.count, self.age, self.aged_to = np.zeros((4, groups), np.int64)
        self.stamp, self.oldest, self.newest = np.full((3, groups), NOBODY)
        self.older, self.newer = np.full((2, jobs), NOBODY)
        self.of_size = np.zeros(alike.sizes.shape[0] + 1, np.int64)
        self.least = alike.sizes.shape[0]
        self.hungry = np.zeros((2, groups), np.int64)
        self.lapsed = np.zeros(groups, np.uint8)
        self.groups, self.number, self.list, self.walk = 0, 0, 0, 0
        self.next_lapse = NEVER


cdef void _join(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t i, int64_t now
) noexcept nogil:
    """Add a job, which is newer than all that wait."""
    cdef int64_t g = jobs.group[i], rank = alike.rank[g]
    queue.older[i] = queue.newest[g]
    queue.newer[i] = NOBODY
    if queue.count[g] == 0:
        queue.oldest[g] = i
        queue.order[queue.groups] = g
        queue.groups += 1
    else:
        queue.newer[queue.newest[g]] = i
    queue.newest[g] = i
    queue.count[g] += 1
    queue.of_size[rank] += 1
    queue.least = min(queue.least, rank)
    _mark_joined(jobs, alike, nodes, marks, i, now)


cdef void _leave(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, Waiting queue, Marks marks, int64_t i, int64_t now
) noexcept nogil:
    """Remove a job, and keep the groups in order."""
    cdef int64_t g = jobs.group[i], older = queue.older[i], newer = queue.newer[i], rank = alike.rank[g]
    cdef Py_ssize_t place, target
    _mark_left(jobs, alike, nodes, queue, marks, i, now)
    queue.count[g] -= 1
    queue.of_size[rank] -= 1
    while queue.least < alike.sizes.shape[0] and queue.of_size[queue.least] == 0:
        queue.least += 1
    if newer != NOBODY:
        queue.older[newer] = older
    else:
        queue.newest[g] = older
    if older != NOBODY:
        queue.newer[older] = newer
        return
    place = _place(queue, i)
    target = queue.groups if newer == NOBODY else _place(queue, newer)
    queue.oldest[g] = newer
    if place + 1 < target:
        memmove(&queue.order[place], &queue.order[place + 1], (target - place - 1) * sizeof(int64_t))
    if newer == NOBODY:
        queue.groups -= 1
        queue.lapsed[g] = 0
        queue.age[g] = 0
    else:
        queue.order[target - 1] = g


cdef Py_ssize_t _place(Waiting queue, int64_t i) noexcept nogil:
    """Return the place of the first group whose oldest job is ``i`` or newer."""
    cdef Py_ssize_t low = 0, high = queue.groups, middle
    while low < high:
        middle = (low + high) // 2
        if queue.oldest[queue.order[middle]] < i:
            low = middle + 1
        else:
            high = middle
    return low


cdef void _walk(
    QueuedJobs jobs, EqualJobs alike, NodeSets nodes, FreeNodes room, Barriers barriers, Scales counters,
    Hunger hunger, Waiting queue, Marks marks, int64_t now
) noexcept nogil:
    """Decide which groups are hungry from now on."""
    cdef Py_ssize_t place, number = 0, old = queue.list
    cdef int64_t g, most
    queue.walk += 1
    queue.list = 1 - old
    queue.next_lapse = NEVER
    _begin_walk(nodes, room, queue.groups)
    most = _most_left(room)
    for place in range(queue.groups):
        if most < alike.sizes[queue.least]:
            break
        g = queue.order[place]
        if not _fits(alike, nodes, room, g) or _is_barred(jobs, barriers, counters, queue, g, now):
            continue
        if queue.stamp[g] != queue.walk - 1:
            queue.aged_to[g] = now
            _turn(alike, hunger, g, now, 1)
        queue.stamp[g] = queue.walk
        queue.hungry[queue.list, number] = g
        number += 1
        _watch(alike, nodes, room, marks, g, now)
        queue.age[g] += now - queue.aged_to[g]
        queue.aged_to[g] = now
        if queue.lapsed[g] or queue.age[g] >= LAPSE_S:
            queue.lapsed[g] = 1
            continue
        queue.next_lapse = min(queue.next_lapse, now + LAPSE_S - queue.age[g])
        _take(alike, nodes, room, g, queue.count[g])
        most = _most_left(room)
    for place in range(queue.number):
        g = queue.hungry[old, place]
        if queue.stamp[g] != queue.walk:
            queue.age[g] = queue.age[g] + now - queue.aged_to[g] if queue.count[g] > 0 else 0
            _turn(alike, hunger, g, now, -1)
    queue.number = number


cdef inline bint _is_barred(
    QueuedJobs jobs, Barriers barriers, Scales counters, Waiting queue, int64_t g, int64_t now
) noexcept nogil:
    """Return whether a rule in force forbids the jobs of a group."""
    cdef Py_ssize_t k
    cdef int64_t c, adds, used
    for k in range(barriers.first[g], barriers.first[g + 1]):
        c = barriers.counter[k]
        adds, used = barriers.amount[k], counters.used[0, c]
        if barriers.remaining[c]:
            adds *= jobs.walltime[queue.oldest[g]]
            used += remaining_at(counters, c, now)
        if barriers.binding[k] and adds <= barriers.most[c] < used + adds:
            return True
    return False
