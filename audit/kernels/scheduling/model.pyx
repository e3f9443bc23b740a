"""The simulated world: attempts, limits, steps of the capacity, how a pool decides.

Times are epoch seconds. Attempts come in the order (arrival, submit, sequence) and are known by
their index in it. Tables have one row per resource.
"""

import numpy as np
cimport cython
from libc.stdint cimport int64_t


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Edges:
    """When windows open and close; the last edges repeat for ever."""


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Limits:
    """Which counters each attempt adds to; without counters nothing is limited.

    A counter holds how much one user, account, … has running. A closed window is a counter that is
    far beyond its limit.
    """


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class PreemptionBits:
    """Which running attempts give way to which queued ones; without elements none does.

    Rules are bits.
    """


cdef class Jobs:
    """The attempts of a pool."""

    def __init__(
        self, *, arrival, occupancy, estimate, rank, request, owner, charge, Limits limits not None,
        PreemptionBits preemption not None
    ):
        self.arrival, self.occupancy, self.estimate = arrival, occupancy, estimate
        self.rank, self.request, self.owner, self.charge = rank, request, owner, charge
        self.limits, self.preemption = limits, preemption
        bits = np.frexp(request[0].astype(np.float64))[1]
        self.width = np.minimum(bits, WIDTHS - 1).astype(np.int64)


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Steps:
    """Changes of what is free, in order of time: of the capacity, and by blocked attempts."""


cdef class Rules:
    """A policy; NEVER: no limit."""

    def __init__(
        self, *, int64_t order, int64_t fair, bint latest_last, int64_t backfill, int64_t depth,
        int64_t window, int64_t every, int64_t origin, bint between, int64_t reservations,
        int64_t resolution, int64_t pause
    ):
        if not RANK <= order <= MULTIFACTOR or fair not in (RANK, FAIRSHARE, NUWT):
            raise ValueError(f"order {order}, fair order {fair}: no kernel has them")
        if not NONE <= backfill <= REPLAN:
            raise ValueError(f"backfill {backfill}: no kernel has it")
        self.order, self.fair, self.backfill = <Order> order, <Order> fair, <Backfill> backfill
        self.latest_last, self.between = latest_last, between
        self.depth, self.window, self.reservations = depth, window, reservations
        self.every, self.origin, self.resolution, self.pause = every, origin, resolution, pause


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Model:
    """What is simulated."""


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class Observed:
    """The observed schedule of the attempts."""


@cython.dataclasses.dataclass(eq=False, repr=False)
cdef class NodeFacts:
    """The nodes of a pool, N; none: its sums decide what fits.

    A request is ``parts`` equal parts. It may use the nodes of a *set*, each for at most ``most``
    parts. *Holders* are the attempts, then the reservations.
    """
