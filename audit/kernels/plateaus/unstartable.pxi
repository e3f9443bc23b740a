# Jobs that enough capacity never starts (SPEC §11, *Unstartable*).


cdef enum:
    UNSTARTABLE_S = 3_600


@cython.final
cdef class Marks:
    """Output: when each job was marked; and the state of groups.

    The first job of a group is *watched* while it is hungry and would fit beside the requests of all
    startable jobs of other users. Without users nothing is marked.
    """

    cdef readonly object made
    cdef int64_t[::1] marked  # of each job; NEVER
    cdef const int64_t[::1] user  # G: from 1 on; 0: unknown, which is no job's own
    cdef int64_t[:, ::1] wanted  # users × R: the requests of startable jobs that wait
    cdef int64_t[::1] of_all  # R
    cdef uint8_t[::1] unstartable  # G
    cdef int64_t[::1] seconds  # G: for which its first job was watched
    cdef int64_t[::1] watched_to  # G
    cdef int64_t[::1] watched  # the list of these groups
    cdef Py_ssize_t number
    cdef int64_t next  # the next instant at which a job is marked

    def __init__(self, const int64_t[::1] user, Py_ssize_t jobs, Py_ssize_t resources):
        """Begin with an empty queue."""
        cdef Py_ssize_t groups = user.shape[0]
        self.made = np.full(jobs if groups else 0, NEVER)
        self.marked, self.user = self.made, user
        self.wanted = np.zeros((np.max(user, initial=0) + 1, resources), np.int64)
        self.of_all = np.zeros(resources, np.int64)
        self.unstartable = np.zeros(groups, np.uint8)
        self.seconds, self.watched_to, self.watched = np.zeros((3, groups), np.int64)
        self.number, self.next = 0, NEVER


cdef inline void _want(EqualJobs alike, Marks marks, int64_t g, int64_t jobs) noexcept nogil:
    """Add the requests of startable jobs of a group; negative: take them out."""
    cdef Py_ssize_t x
    for x in range(marks.of_all.shape[0]):
        marks.wanted[marks.user[g], x] += jobs * alike.request[x, g]
        marks.of_all[x] += jobs * alike.request[x, g]


cdef void _mark_joined(QueuedJobs jobs, EqualJobs alike, Marks marks, int64_t i, int64_t now) noexcept nogil:
    cdef int64_t g = jobs.group[i]
    if marks.user.shape[0] == 0:
        return
    if marks.unstartable[g]:
        marks.marked[i] = now
    else:
        _want(alike, marks, g, 1)


cdef void _mark_left(
    QueuedJobs jobs, EqualJobs alike, Waiting queue, Marks marks, int64_t i, int64_t now
) noexcept nogil:
    """Note that a job is about to leave the queue; the next one is watched anew."""
    cdef int64_t g = jobs.group[i]
    if marks.user.shape[0] == 0:
        return
    if not marks.unstartable[g]:
        _want(alike, marks, g, -1)
    if queue.oldest[g] == i:
        marks.seconds[g], marks.watched_to[g] = 0, now
    if queue.count[g] == 1:
        marks.unstartable[g] = 0


cdef void _mark_started(
    QueuedJobs jobs, EqualJobs alike, Waiting queue, Marks marks, int64_t i
) noexcept nogil:
    """Count the rest of a group as startable again after a start, unless its first job is not."""
    cdef int64_t g = jobs.group[i]
    if marks.user.shape[0] == 0:
        return
    if marks.unstartable[g] and marks.seconds[g] < UNSTARTABLE_S:
        marks.unstartable[g] = 0
        _want(alike, marks, g, queue.count[g])


cdef void _mark(QueuedJobs jobs, EqualJobs alike, Waiting queue, Marks marks, int64_t now) noexcept nogil:
    """Mark the jobs of groups that have been watched for long enough; then watch none."""
    cdef Py_ssize_t place
    cdef int64_t g, i
    for place in range(marks.number):
        g = marks.watched[place]
        if queue.count[g] == 0:
            continue
        marks.seconds[g] += now - marks.watched_to[g]
        if marks.seconds[g] < UNSTARTABLE_S:
            continue
        marks.unstartable[g] = 1
        _want(alike, marks, g, -queue.count[g])
        i = queue.oldest[g]
        while i != NOBODY:
            marks.marked[i] = min(marks.marked[i], now)
            i = queue.newer[i]
    marks.number, marks.next = 0, NEVER


cdef void _watch(EqualJobs alike, Waiting queue, Marks marks, int64_t g, int64_t now) noexcept nogil:
    """Watch a hungry group whose first job would fit beside all startable jobs of others."""
    cdef Py_ssize_t x
    cdef int64_t others
    if marks.user.shape[0] == 0 or marks.unstartable[g]:
        return
    for x in range(queue.free.shape[0]):
        others = marks.of_all[x] - (marks.wanted[marks.user[g], x] if marks.user[g] > 0 else alike.request[x, g])
        if alike.request[x, g] > 0 and others + alike.request[x, g] > queue.free[x]:
            return
    marks.watched_to[g] = now
    marks.watched[marks.number] = g
    marks.number += 1
    marks.next = min(marks.next, now + UNSTARTABLE_S - marks.seconds[g])
