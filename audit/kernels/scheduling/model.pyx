"""The Python side of ``model.pxd``: each class takes the arrays that it names."""

import numpy as np


cdef class Edges:
    def __init__(self, *, time, counter, change, int64_t cycle, int64_t period):
        self.time, self.counter, self.change = time, counter, change
        self.cycle, self.period = cycle, period


cdef class Limits:
    def __init__(self, *, first, counter, amount, binding, most, Edges edges not None):
        self.first, self.counter, self.amount = first, counter, amount
        self.binding = binding.view(np.uint8)
        self.most = most
        self.edges = edges


cdef class Jobs:
    def __init__(
        self,
        *,
        arrival,
        occupancy,
        estimate,
        rank,
        request,
        owner,
        charge,
        Limits limits not None,
    ):
        self.arrival, self.occupancy, self.estimate = arrival, occupancy, estimate
        self.rank, self.request, self.owner, self.charge = rank, request, owner, charge
        self.limits = limits
        bits = np.frexp(request[0].astype(np.float64))[1]
        self.width = np.minimum(bits, WIDTHS - 1).astype(np.int64)

    def with_own_rank(self):
        """Return the same attempts, whose ranks can be changed without changing these."""
        cdef Jobs same = Jobs.__new__(Jobs)
        same.arrival, same.occupancy, same.estimate = self.arrival, self.occupancy, self.estimate
        same.rank, same.width, same.request = self.rank.copy(), self.width, self.request
        same.owner, same.charge, same.limits = self.owner, self.charge, self.limits
        return same


cdef class Steps:
    def __init__(self, *, time, change, planned, job, ends, int64_t number):
        self.time, self.change, self.job = time, change, job
        self.planned, self.ends = planned.view(np.uint8), ends.view(np.uint8)
        self.number = number


cdef class Rules:
    def __init__(
        self,
        *,
        int64_t order,
        int64_t fair,
        bint latest_last,
        int64_t backfill,
        int64_t depth,
        int64_t window,
        int64_t every,
        int64_t origin,
        bint between,
        int64_t reservations,
    ):
        if not RANK <= order <= MULTIFACTOR or fair not in (RANK, FAIRSHARE, NUWT):
            raise ValueError(f"order {order}, fair order {fair}: no kernel has them")
        if not NONE <= backfill <= REPLAN:
            raise ValueError(f"backfill {backfill}: no kernel has it")
        self.order, self.fair, self.backfill = <Order> order, <Order> fair, <Backfill> backfill
        self.latest_last, self.between = latest_last, between
        self.depth, self.window, self.reservations = depth, window, reservations
        self.every, self.origin = every, origin


cdef class Model:
    def __init__(
        self,
        Jobs jobs not None,
        Steps steps not None,
        Rules rules not None,
        Owners owners not None,
    ):
        self.jobs, self.steps, self.rules, self.owners = jobs, steps, rules, owners


cdef class Observed:
    def __init__(self, *, start, end, blocked, present):
        self.start, self.end = start, end
        self.blocked, self.present = blocked.view(np.uint8), present.view(np.uint8)
