"""Passes that go down the queue once: NONE, NO_GUARANTEE and EASY (SPEC §4)."""

from audit.kernels.scheduling.model cimport Model, Order
from audit.kernels.scheduling.pool cimport Pool
from audit.kernels.scheduling.rows cimport NEVER


cdef bint pass_greedy(Pool pool, Model model) noexcept nogil
cdef bint pass_front(Pool pool, Model model) noexcept nogil


cdef inline bint settles(Pool pool, Model model) noexcept nogil:
    """Return whether attempts that a pass did not start wait until something ends or steps.

    Until then less is free, and the head waits for the same instant with as much to spare: what
    has been started ends before that, or took its request from what is to spare. That is not so
    where limits decide which attempt is the head, where passes examine only a few attempts, or
    where the order changes with time.
    """
    return (
        model.rules.order == Order.RANK
        and model.rules.depth == NEVER
        and pool.used.shape[0] == 0
    )
