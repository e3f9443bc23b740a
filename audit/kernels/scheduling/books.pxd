"""What a simulation enters in the ledger of owners, for the orders that depend on them."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Model
from audit.kernels.scheduling.pool cimport Pool


cdef void open_books(Pool pool, Model model, int64_t since) noexcept nogil
cdef void enter_ended(Pool pool, Model model) noexcept nogil
cdef void enter_blocked(
    Pool pool, int64_t job, bint ends, int64_t time, Model model
) noexcept nogil
