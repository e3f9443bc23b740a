"""Passes that plan ahead."""

from audit.kernels.scheduling.model cimport Jobs, Model
from audit.kernels.scheduling.pool cimport Pool


cdef void foresee(Pool pool, Model model) noexcept nogil
cdef bint release_early(Pool pool, Jobs jobs) noexcept nogil
cdef bint pass_conservative(Pool pool, Model model, bint news) noexcept nogil
cdef void plan_waiting(Pool pool, Model model) noexcept nogil
cdef bint pass_replan(Pool pool, Model model) noexcept nogil
