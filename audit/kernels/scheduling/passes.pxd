"""Passes that examine the queue once."""

from libc.stdint cimport int64_t

from audit.kernels.scheduling.instants cimport NEVER
from audit.kernels.scheduling.model cimport Jobs, Model, Order
from audit.kernels.scheduling.nodes cimport Places
from audit.kernels.scheduling.pool cimport Pool


cdef bint pass_greedy(Pool pool, Model model) noexcept nogil
cdef (bint, int64_t, int64_t) start_front(Pool pool, Jobs jobs, int64_t depth) noexcept nogil
cdef bint start_fronts(Pool pool, Places on, Jobs jobs) noexcept nogil


cdef inline bint settles(Pool pool, Model model) noexcept nogil:
    """Return whether attempts that a pass did not start wait until something ends or steps.

    Until then less is free, and the head waits for the same instant with as much to spare: an
    attempt started since ends before that, or took its request from what is to spare. That is not
    so where limits decide which attempt is the head, where passes examine only a few attempts, or
    where the order changes with time.
    """
    return (
        model.rules.order == Order.RANK
        and model.rules.depth == NEVER
        and pool.used.shape[0] == 0
    )
