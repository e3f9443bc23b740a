"""The amounts that planners expect to be free from now on."""

import numpy as np
from libc.stdint cimport int64_t

from audit.kernels.rows cimport move, move_rows
from audit.kernels.scheduling.instants cimport NEVER, next_multiple
from audit.kernels.scheduling.model cimport Jobs, Steps


cdef class Profile:
    """The amounts that planners expect to be free: ``levels[:, k]`` from ``times[k]`` to ``times[k + 1]``.

    That holds for k from ``first`` up to ``beyond``; the last level lasts for ever. Levels may be
    negative.
    """

    def __init__(self, int64_t resources, int64_t breakpoints):
        self.times = np.zeros(breakpoints, np.int64)
        self.levels = np.zeros((resources, breakpoints), np.int64)


cdef void copy_profile(Profile source, Profile target) noexcept nogil:
    """Copy the levels of a profile."""
    target.first, target.beyond = 0, source.beyond - source.first
    move(target.times, 0, source.times, source.first, target.beyond)
    move_rows(target.levels, 0, source.levels, source.first, target.beyond)


cdef int64_t cut(Profile profile, int64_t instant) noexcept nogil:
    """Make ``instant``, not before the profile begins, a breakpoint; return its index."""
    cdef int64_t low = profile.first, high = profile.beyond, middle, past
    while low < high:
        middle = (low + high) >> 1
        if profile.times[middle] < instant:
            low = middle + 1
        else:
            high = middle
    if low < profile.beyond and profile.times[low] == instant:
        return low
    if profile.beyond == profile.times.shape[0]:  # reuse the space of the past
        past = profile.first
        move(profile.times, 0, profile.times, past, profile.beyond - past)
        move_rows(profile.levels, 0, profile.levels, past, profile.beyond - past)
        profile.first = 0
        profile.beyond -= past
        low -= past
    move(profile.times, low + 1, profile.times, low, profile.beyond - low)
    move_rows(profile.levels, low, profile.levels, low - 1, profile.beyond - low + 1)
    profile.times[low] = instant
    profile.beyond += 1
    return low


cdef void join(Profile profile, int64_t at) noexcept nogil:
    """Remove breakpoint ``at`` if nothing changes there."""
    cdef int64_t x
    if at <= profile.first or at >= profile.beyond:
        return
    for x in range(profile.levels.shape[0]):
        if profile.levels[x, at] != profile.levels[x, at - 1]:
            return
    profile.beyond -= 1
    move(profile.times, at, profile.times, at + 1, profile.beyond - at)
    move_rows(profile.levels, at, profile.levels, at + 1, profile.beyond - at)


cdef inline (int64_t, int64_t) open_span(
    Profile profile, int64_t begin, int64_t end
) noexcept nogil:
    """Make the ends of [begin, end) breakpoints, and return their places; ``end`` may be NEVER.

    A span that ends before the profile begins is empty: two equal places.
    """
    cdef int64_t a, b, first
    begin = max(begin, profile.times[profile.first])
    if begin >= end:
        return 0, 0
    a = cut(profile, begin)
    first, b = profile.first, profile.beyond
    if end != NEVER:
        b = cut(profile, end)
        a -= first - profile.first  # cutting may have moved everything
    assert 0 <= a < b <= profile.levels.shape[1]
    return a, b


cdef inline void change_level(
    Profile profile, int64_t x, int64_t a, int64_t b, int64_t change
) noexcept nogil:
    """Add to the level of a resource between two places."""
    cdef int64_t *level = &profile.levels[x, 0]
    cdef int64_t i
    for i in range(a, b):
        level[i] += change


cdef inline void close_span(Profile profile, int64_t a, int64_t b) noexcept nogil:
    """Remove the ends of a span where nothing changes there."""
    if a < b:
        join(profile, b)
        join(profile, a)


cdef void add_step(Profile profile, int64_t begin, Steps steps, int64_t step) noexcept nogil:
    """Add a step that is taken at ``begin`` and lasts for ever."""
    cdef int64_t a, b, x
    a, b = open_span(profile, begin, NEVER)
    for x in range(profile.levels.shape[0]):
        change_level(profile, x, a, b, steps.change[x, step])
    close_span(profile, a, b)


cdef void add_job(
    Profile profile, int64_t begin, int64_t end, Jobs jobs, int64_t job, int64_t sign
) noexcept nogil:
    """Add ``sign`` times the request of an attempt over [begin, end); ``end`` may be NEVER."""
    cdef int64_t a, b, x
    a, b = open_span(profile, begin, end)
    for x in range(profile.levels.shape[0]):
        change_level(profile, x, a, b, sign * jobs.request[x, job])
    close_span(profile, a, b)


cdef inline bint fits_level(
    const int64_t[:, ::1] levels, int64_t i, const int64_t[:, ::1] request, int64_t job, bint holds
) noexcept nogil:
    """Return whether an attempt fits in level ``i`` (SPEC §4, *fits*).

    ``holds``: its own request has been taken from that level.
    """
    cdef int64_t x, amount
    for x in range(levels.shape[0]):
        amount = request[x, job]
        if amount > levels[x, i] + (amount if holds else 0) and amount > 0:
            return False
    return True


cdef inline int64_t level_at(
    const int64_t[::1] times, int64_t i, int64_t beyond, int64_t instant
) noexcept nogil:
    """Return the index, from ``i`` on, of the level at an instant, not before ``times[i]``."""
    while i + 1 < beyond and times[i + 1] <= instant:
        i += 1
    return i


cdef inline int64_t next_fit(
    const int64_t[::1] times, const int64_t[:, ::1] levels, int64_t i, int64_t beyond,
    int64_t limit, const int64_t[:, ::1] request, int64_t job
) noexcept nogil:
    """Return the index, from ``i`` on, of the first level that fits or begins at ``limit``."""
    while i < beyond and times[i] < limit and not fits_level(levels, i, request, job, False):
        i += 1
    return i


cdef inline int64_t next_misfit(
    const int64_t[::1] times, const int64_t[:, ::1] levels, int64_t i, int64_t beyond,
    int64_t until, const int64_t[:, ::1] request, int64_t job, int64_t plan, int64_t own_end
) noexcept nogil:
    """Return the index, from ``i`` on, of the first level that does not fit or begins at ``until``.

    The attempt's own request has been taken from the levels between ``plan`` and ``own_end``.
    """
    while (
        i < beyond
        and times[i] < until
        and fits_level(levels, i, request, job, plan <= times[i] < own_end)
    ):
        i += 1
    return i


cdef int64_t earlier(
    Profile profile, int64_t now, int64_t plan, int64_t before, Jobs jobs, int64_t job,
    int64_t every, int64_t origin
) noexcept nogil:
    """Return the first instant before ``plan`` and ``before`` where an attempt fits, or ``plan``.

    The result is a multiple of ``every`` since ``origin`` (0: any instant). The profile holds the
    plan from ``plan`` on (NEVER: there is none); that space is free for the attempt itself.
    """
    cdef int64_t duration = jobs.estimate[job], limit = min(plan, before), beyond = profile.beyond
    cdef int64_t own_end = plan if plan == NEVER else plan + duration
    cdef int64_t i = level_at(profile.times, profile.first, beyond, now), start, until
    while True:
        i = next_fit(profile.times, profile.levels, i, beyond, limit, jobs.request, job)
        if i == beyond:
            return plan
        start = next_multiple(max(now, profile.times[i]), every, origin)
        if start >= limit:
            return plan
        if every > 0 and i + 1 < beyond and profile.times[i + 1] <= start:
            now = start  # perhaps it does not fit there any more
            i = level_at(profile.times, i, beyond, start)
            continue
        until = start + duration
        i = next_misfit(
            profile.times, profile.levels, i + 1, beyond, until, jobs.request, job, plan, own_end
        )
        if i == beyond or profile.times[i] >= until:
            return start
