# Which cells are hungry, and the stops at the end of each interval (SPEC §11, *Plateaus*).


@cython.final
cdef class Hunger:
    """Which cells and parts (after the cells) are hungry, and for how long in the interval."""

    cdef int64_t[::1] groups  # number of its groups that are hungry
    cdef int64_t[::1] since
    cdef int64_t[::1] seconds
    cdef int64_t[::1] next  # in the list of its entity; itself: in none
    cdef int64_t[::1] stop  # of a cell, in the interval that ends; NOBODY: none
    cdef int64_t[::1] first_cell  # entities: the first of each list
    cdef int64_t[::1] first_part
    cdef int64_t[::1] begin  # entities: the last own start or end
    cdef int64_t[::1] hungry_from  # entities: the first hungry second after it
    cdef int64_t[::1] dropped  # entities × K lists of jobs: past their planned end in the interval
    cdef int64_t[:, ::1] next_dropped  # jobs × K

    def __init__(self, EqualJobs alike, Py_ssize_t jobs):
        """Begin without hungry cells."""
        cdef Py_ssize_t cells = alike.entity_of.shape[0], entities = alike.entities
        self.groups, self.since, self.seconds = np.zeros((3, cells), np.int64)
        self.next = np.arange(cells)
        self.stop = np.full(cells, NOBODY)
        self.first_cell, self.first_part, self.dropped = np.full((3, entities), NOBODY)
        self.begin, self.hungry_from = np.full((2, entities), NEVER)
        self.next_dropped = np.full((jobs, alike.entity.shape[1]), NOBODY)


cdef void _turn(EqualJobs alike, Hunger hunger, int64_t g, int64_t now, int64_t sign) noexcept nogil:
    """Note that a group becomes hungry (sign 1) or is no more (−1)."""
    cdef Py_ssize_t k
    for k in range(alike.entity.shape[1]):
        if alike.cell[g, k] != NOBODY:
            _turn_cell(hunger, alike.entity[g, k], hunger.first_cell, alike.cell[g, k], now, sign)
        if alike.part[g, k] != NOBODY:
            _turn_cell(hunger, alike.entity[g, k], hunger.first_part, alike.part[g, k], now, sign)


cdef inline void _turn_cell(
    Hunger hunger, int64_t e, int64_t[::1] first, int64_t c, int64_t now, int64_t sign
) noexcept nogil:
    hunger.groups[c] += sign
    if sign > 0 and hunger.groups[c] == 1:
        hunger.since[c] = now
        if hunger.next[c] == c:
            hunger.next[c] = first[e]
            first[e] = c
    elif sign < 0 and hunger.groups[c] == 0:
        _accrue(hunger, e, c, now)


cdef inline void _accrue(Hunger hunger, int64_t e, int64_t c, int64_t now) noexcept nogil:
    """Add the time that a hungry cell has been so."""
    if now > hunger.since[c]:
        hunger.hungry_from[e] = min(hunger.hungry_from[e], hunger.since[c])
        hunger.seconds[c] += now - hunger.since[c]
        hunger.since[c] = now


cdef void _flush_all(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t i, int64_t now
) noexcept nogil:
    """End the intervals of the entities of a job that starts or ends."""
    cdef Py_ssize_t k
    cdef int64_t g = jobs.group[i]
    for k in range(alike.entity.shape[1]):
        if alike.entity[g, k] != NOBODY:
            _flush(jobs, alike, levels, hunger, made, alike.entity[g, k], now)


cdef void _flush(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t e, int64_t now
) noexcept nogil:
    """End an interval of an entity: note its stops, and begin the next one."""
    cdef int64_t c = hunger.first_cell[e], interval = NOBODY, kept = NOBODY, following, begin
    cdef int64_t* row
    while c != NOBODY:
        if hunger.groups[c] > 0:
            _accrue(hunger, e, c, now)
        c = hunger.next[c]
    begin = hunger.begin[e] if levels.used[0, e] > 0 else hunger.hungry_from[e]
    c = hunger.first_cell[e]
    while c != NOBODY:
        hunger.stop[c] = NOBODY
        if hunger.seconds[c] >= LEAST_S:
            if interval == NOBODY:
                interval = made.intervals.count
                _note(jobs, alike, levels, hunger, made, e, begin, now)
            hunger.stop[c] = made.stops.count
            row = add_row(made.stops)
            if row != NULL:
                row[0], row[1] = interval, c
        following = hunger.next[c]
        kept = _relink(hunger, c, kept)
        c = following
    hunger.first_cell[e] = kept
    kept = NOBODY
    c = hunger.first_part[e]
    while c != NOBODY:
        if hunger.groups[c] > 0:
            _accrue(hunger, e, c, now)
        if hunger.seconds[c] >= LEAST_S and hunger.stop[alike.cell_of[c]] != NOBODY:
            row = add_row(made.users)
            if row != NULL:
                row[0], row[1] = hunger.stop[alike.cell_of[c]], alike.user_of[c]
        following = hunger.next[c]
        kept = _relink(hunger, c, kept)
        c = following
    hunger.first_part[e] = kept
    hunger.begin[e] = now
    hunger.hungry_from[e] = NEVER
    hunger.dropped[e] = NOBODY


cdef inline int64_t _relink(Hunger hunger, int64_t c, int64_t kept) noexcept nogil:
    """Return the first of the next interval's list, with a cell that is still hungry before it."""
    hunger.seconds[c] = 0
    if hunger.groups[c] > 0:
        hunger.next[c] = kept
        return c
    hunger.next[c] = c
    return kept


cdef void _note(
    QueuedJobs jobs, EqualJobs alike, Scales levels, Hunger hunger, StopTables made, int64_t e, int64_t begin,
    int64_t now
) noexcept nogil:
    """Note an interval with its levels, the remaining amount × time at its middle."""
    cdef int64_t middle = begin + (now - begin) // 2, i = hunger.dropped[e], area, planned
    cdef Py_ssize_t x, k, rows = levels.used.shape[0]
    cdef int64_t* row = add_row(made.intervals)
    if row == NULL:
        return
    row[0], row[1], row[2] = e, begin, now
    for x in range(rows):
        row[3 + x] = levels.used[x, e]
    area = remaining_at(levels, e, middle)
    while i != NOBODY:
        planned = jobs.start[i] + jobs.walltime[i]
        if planned > middle:
            area += alike.request[0, jobs.group[i]] * (planned - middle)
        for k in range(alike.entity.shape[1]):
            if alike.entity[jobs.group[i], k] == e:
                i = hunger.next_dropped[i, k]
                break
    row[3 + rows] = area
