"""Observed attempts, and the rules."""

cimport cython


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class ObservedPool:
    """A pool's attempts in the order (arrival, submit, sequence), and what the machine delivered.

    ``m`` instants are those of arrivals, starts, ends and capacity steps, each once, ascending.
    """


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PassLimits:
    """Counters of what runs, and which attempts they let through."""


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PassRule:
    """An order and a backfilling, and the attempts that are passed over."""


@cython.final
@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class DeliveredCapacity:
    """The capacity delivered under a rule."""

