"""Running attempts that give way to queued ones."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Model
from audit.kernels.scheduling.pool cimport Pool


cdef int64_t next_return(Pool pool) noexcept nogil
cdef void rejoin(Pool pool, Model model) noexcept nogil
cdef bint preempt(Pool pool, Model model) noexcept nogil
