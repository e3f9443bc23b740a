"""The order of the queue, where it changes with time (SPEC §4, *Queue order*)."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.model cimport Model, Order
from audit.kernels.scheduling.owners cimport Ledger, Owners
from audit.kernels.scheduling.pool cimport Pool


cdef void arrange(Pool pool, Model model) noexcept nogil
cdef void rate(Order by, Owners owners, Ledger ledger, int64_t owner, int64_t now) noexcept nogil
cdef bint comes_first(int64_t one, int64_t other, Pool pool, Model model) noexcept nogil
