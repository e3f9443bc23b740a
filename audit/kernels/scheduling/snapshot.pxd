"""What the observed schedule holds at an instant, kept by a sweep over the attempts (SPEC §5).

The sweep visits the attempts in the order (arrival, submit, sequence) and records in a pool which
of them run and which wait. Those that are never queued are kept *aside*: blocked ones as long as
they last, those that are too large until they have started.
"""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Jobs, Model, Observed, Steps
from audit.kernels.scheduling.pool cimport Pool


cdef class Aside:
    """Attempts of a snapshot that are never queued."""
    cdef int64_t[::1] job
    cdef int64_t number


cdef void enter(
    Pool snapshot, int64_t job, int64_t now, Model model, Observed observed, Aside aside
) noexcept nogil
cdef void run_on(Pool snapshot, int64_t job, Jobs jobs, Observed observed) noexcept nogil
cdef int64_t move_on(
    Pool snapshot, int64_t now, int64_t next_change, Model model, Observed observed, Aside aside
) noexcept nogil
cdef int64_t changes_after(int64_t job, Observed observed) noexcept nogil
cdef int64_t with_blocked(
    Steps steps, int64_t since, Aside aside, Jobs jobs, Observed observed, Steps out
) noexcept nogil
cdef void copy_step(Steps source, int64_t step, Steps target, int64_t place) noexcept nogil
cdef bint holds_too_much(Pool snapshot, Steps steps) noexcept nogil
cdef void copy_state(Pool source, Pool target) noexcept nogil
cdef void copy_plans(Pool source, Pool target) noexcept nogil
