"""The amounts that planners expect to be free."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Jobs, Steps


cdef class Profile:
    cdef int64_t[::1] times  # [breakpoints], ascending
    cdef int64_t[:, ::1] levels
    cdef int64_t first
    cdef int64_t beyond


cdef void copy_profile(Profile source, Profile target) noexcept nogil
cdef void add_step(Profile profile, int64_t begin, Steps steps, int64_t step) noexcept nogil
cdef void add_job(
    Profile profile, int64_t begin, int64_t end, Jobs jobs, int64_t job, int64_t sign
) noexcept nogil
cdef int64_t earlier(
    Profile profile, int64_t now, int64_t plan, int64_t before, Jobs jobs, int64_t job,
    int64_t every, int64_t origin
) noexcept nogil


cdef inline void forget_past(Profile profile, int64_t now) noexcept nogil:
    """Let a profile begin at ``now``."""
    cdef int64_t first = profile.first
    while first + 1 < profile.beyond and profile.times[first + 1] <= now:
        first += 1
    profile.times[first] = max(profile.times[first], now)
    profile.first = first
