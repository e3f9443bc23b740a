"""The event loop: a pool simulated from instant to instant (SPEC §4, docs/simulation.md)."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Model
from audit.kernels.scheduling.pool cimport Pool


cdef void follow(Pool pool, Model model) noexcept nogil
cdef void follow_on(Pool pool, Model model) noexcept nogil
cdef bint happen(Pool pool, Model model) noexcept nogil
cdef bint end_due(Pool pool, Model model) noexcept nogil
cdef void arrive(Pool pool, Model model) noexcept nogil
cdef int64_t next_instant(Pool pool, Model model) noexcept nogil
cdef void await_pass(Pool pool, Model model) noexcept nogil
