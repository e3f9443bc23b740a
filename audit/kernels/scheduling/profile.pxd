"""What is expected to be free of each resource from now on."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Jobs, Steps


cdef class Profile:
    """What planners expect to be free: ``levels[:, k]`` from ``times[k]`` to ``times[k + 1]``.

    That holds for k from ``first`` up to ``beyond``; the last level lasts for ever. Levels may be
    negative.
    """
    cdef int64_t[::1] times  # [breakpoints], ascending
    cdef int64_t[:, ::1] levels
    cdef int64_t first
    cdef int64_t beyond


cdef void copy_profile(Profile source, Profile target) noexcept nogil
cdef void forget_past(Profile profile, int64_t now) noexcept nogil
cdef void add_step(Profile profile, int64_t begin, Steps steps, int64_t step) noexcept nogil
cdef void add_job(
    Profile profile, int64_t begin, int64_t end, Jobs jobs, int64_t job, int64_t sign
) noexcept nogil
cdef int64_t earliest(
    Profile profile, int64_t begin, Jobs jobs, int64_t job, int64_t every, int64_t origin
) noexcept nogil
cdef int64_t earlier(
    Profile profile,
    int64_t now,
    int64_t plan,
    int64_t before,
    Jobs jobs,
    int64_t job,
    int64_t every,
    int64_t origin,
) noexcept nogil
