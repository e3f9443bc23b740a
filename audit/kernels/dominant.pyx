"""Dominant-resource fairness over time: how much less than its share each entity used (SPEC §12)."""

cimport cython
from libc.stdint cimport INT64_MAX as NEVER, int64_t

import numpy as np


@cython.final
cdef class Filling:
    """Demands, uses and allocations of all entities, and scratch space for progressive filling."""

    cdef Py_ssize_t resources
    cdef double[:, ::1] demand  # entities × resources, as fractions of the capacity
    cdef double[::1] cap  # dominant share of the demand
    cdef double[::1] allocated
    cdef const double[::1] weight
    cdef int64_t[::1] order  # of the entities with demand, by cap / weight
    cdef Py_ssize_t active
    cdef int64_t[::1] present  # the entities that demand or use anything, in any order
    cdef int64_t[::1] place  # of each entity in ``present``, or −1
    cdef Py_ssize_t presents
    cdef double[::1] slope
    cdef double[::1] fixed
    cdef int64_t[::1] frozen

    def __cinit__(self, const double[::1] weight, Py_ssize_t resources):
        """Make a state without demands."""
        cdef Py_ssize_t entities = weight.shape[0]
        self.resources, self.weight, self.active = resources, weight, 0
        self.demand = np.zeros((entities, resources))
        self.cap, self.allocated = np.zeros((2, entities))
        self.slope, self.fixed = np.zeros((2, resources))
        self.order, self.frozen, self.present = np.zeros((3, entities), np.int64)
        self.place, self.presents = np.full(entities, -1), 0


def deficits(
    const int64_t[::1] time, const int64_t[::1] attempt, const int64_t[::1] demands,
    const int64_t[::1] uses, const int64_t[::1] entity, const int64_t[:, ::1] request,
    const int64_t[::1] step_time, const int64_t[:, ::1] step, const int64_t[::1] had,
    const double[::1] weight, int64_t begin, int64_t end, double[::1] out,
    const int64_t[::1] edges, double[:, :, ::1] curves,
):
    """Add ∫ max(allocated − used, 0) dt over [begin, end) to each entity, in dominant shares.

    At each time, all dominant shares grow in proportion to the weights until an entity has what it
    demands, or a resource that it demands is used up (progressive filling).

    Args:
        time, attempt, demands, uses: events, ascending in time: at each, an attempt begins (1) or
            ends (−1) to demand, and to use, its request.
        entity, request: of the attempts, [n] and [R, n].
        step_time, step: changes of the capacity, [S] and [S, R].
        had: the capacity before them, [R].
        weight: of the entities, ≥ 0.
        edges: of the steps of ``curves``, ascending, [K + 1]; empty: none.
        curves: gets the integrals of what entities used and were allocated, and the deficit, in each
            step, [3, K, entities].
    """
    cdef Py_ssize_t resources = request.shape[0], k = 0, s = 0, x
    cdef int64_t[:, ::1] demand, used
    demand, used = np.zeros((2, weight.shape[0], resources), np.int64)
    cdef int64_t[::1] capacity = np.array(had)
    cdef Filling state = Filling(weight, resources)
    cdef int64_t now, one
    cdef Py_ssize_t bin = 0
    with nogil:
        now = _next(time, k, step_time, s)
        while now < end:
            if s < step_time.shape[0] and step_time[s] == now:
                while s < step_time.shape[0] and step_time[s] == now:
                    for x in range(resources):
                        capacity[x] += step[s, x]
                    s += 1
                for one in range(weight.shape[0]):
                    _set_demand(state, demand, capacity, one)
            while k < time.shape[0] and time[k] == now:
                one = attempt[k]
                for x in range(resources):
                    demand[entity[one], x] += demands[k] * request[x, one]
                    used[entity[one], x] += uses[k] * request[x, one]
                _set_demand(state, demand, capacity, entity[one])
                _set_presence(state, demand, used, entity[one])
                k += 1
            begin = max(begin, now)
            now = _next(time, k, step_time, s)
            if min(now, end) > begin:
                _fill(state)
                _integrate(state, used, capacity, min(now, end) - begin, out)
                bin = _add_to_curves(state, used, capacity, begin, min(now, end), edges, bin, curves)


cdef inline int64_t _next(
    const int64_t[::1] time, Py_ssize_t k, const int64_t[::1] step_time, Py_ssize_t s
) noexcept nogil:
    """Return the time of the next event or step, or NEVER."""
    cdef int64_t now = time[k] if k < time.shape[0] else NEVER
    return min(now, step_time[s]) if s < step_time.shape[0] else now


cdef void _set_demand(
    Filling state, const int64_t[:, ::1] demand, const int64_t[::1] capacity, int64_t one
) noexcept nogil:
    """Note what an entity demands, and keep the order of those that demand something."""
    cdef Py_ssize_t x, place = 0
    cdef double most = 0.0, ratio
    state.allocated[one] = 0.0
    for x in range(state.resources):
        state.demand[one, x] = 0.0
        if demand[one, x] > 0 and capacity[x] <= 0:  # none of it can be allocated
            most = 0.0
            break
        if demand[one, x] > 0:
            state.demand[one, x] = <double> demand[one, x] / capacity[x]
            most = max(most, state.demand[one, x])
    state.cap[one] = most
    while place < state.active and state.order[place] != one:
        place += 1
    if place < state.active:  # it leaves its place
        state.active -= 1
        while place < state.active:
            state.order[place] = state.order[place + 1]
            place += 1
    if most == 0.0 or state.weight[one] == 0.0:
        return
    place, ratio = state.active, most / state.weight[one]
    while place > 0 and state.cap[state.order[place - 1]] / state.weight[state.order[place - 1]] > ratio:
        state.order[place] = state.order[place - 1]
        place -= 1
    state.order[place] = one
    state.active += 1


cdef void _set_presence(
    Filling state, const int64_t[:, ::1] demand, const int64_t[:, ::1] used, int64_t one
) noexcept nogil:
    """Note whether an entity demands or uses anything."""
    cdef int64_t place = state.place[one], last
    cdef bint some = False
    cdef Py_ssize_t x
    for x in range(state.resources):
        some |= demand[one, x] != 0 or used[one, x] != 0
    if some == (place >= 0):
        return
    if some:
        state.place[one] = state.presents
        state.present[state.presents] = one
        state.presents += 1
    else:
        state.presents -= 1
        last = state.present[state.presents]
        state.present[place], state.place[last], state.place[one] = last, place, -1


cdef void _fill(Filling state) noexcept nogil:
    """Allocate the capacity by progressive filling."""
    cdef Py_ssize_t place, x, full
    cdef int64_t one
    cdef double level, limit, share
    for x in range(state.resources):
        state.fixed[x] = 0.0
    for place in range(state.active):
        state.frozen[state.order[place]] = 0
    _measure_slopes(state)
    place = 0
    while place < state.active:
        one = state.order[place]
        if state.frozen[one]:
            place += 1
            continue
        level, full = state.cap[one] / state.weight[one], -1
        for x in range(state.resources):
            if state.slope[x] > 0.0:
                limit = max((1.0 - state.fixed[x]) / state.slope[x], 0.0)
                if limit < level:
                    level, full = limit, x
        if full < 0:
            _freeze(state, one, state.cap[one])
            for x in range(state.resources):
                share = state.demand[one, x] / state.cap[one]
                state.slope[x] = max(state.slope[x] - state.weight[one] * share, 0.0)
            place += 1
            continue
        for place in range(state.active):
            one = state.order[place]
            if not state.frozen[one] and state.demand[one, full] > 0.0:
                _freeze(state, one, state.weight[one] * level)
        _measure_slopes(state)
        state.slope[full] = 0.0
        place = 0


cdef inline void _freeze(Filling state, int64_t one, double share) noexcept nogil:
    """Give an entity this dominant share for good."""
    cdef Py_ssize_t x
    state.frozen[one] = 1
    state.allocated[one] = share
    for x in range(state.resources):
        state.fixed[x] += share * state.demand[one, x] / state.cap[one]


cdef void _measure_slopes(Filling state) noexcept nogil:
    """Sum up how fast each resource fills while the shares of all others grow."""
    cdef Py_ssize_t place, x
    cdef int64_t one
    for x in range(state.resources):
        state.slope[x] = 0.0
    for place in range(state.active):
        one = state.order[place]
        if not state.frozen[one]:
            for x in range(state.resources):
                state.slope[x] += state.weight[one] * state.demand[one, x] / state.cap[one]


cdef Py_ssize_t _add_to_curves(
    Filling state, const int64_t[:, ::1] used, const int64_t[::1] capacity, int64_t begin,
    int64_t end, const int64_t[::1] edges, Py_ssize_t bin, double[:, :, ::1] curves
) noexcept nogil:
    """Add a span in which nothing changes to its steps; return the last of them."""
    cdef int64_t until, one
    cdef Py_ssize_t k
    cdef double share
    while bin + 1 < edges.shape[0]:
        until = min(end, edges[bin + 1])
        begin = max(begin, edges[bin])
        if until > begin:
            for k in range(state.presents):  # also those without a share, which are not active
                one = state.present[k]
                share = _share_of(used, capacity, one)
                curves[0, bin, one] += share * (until - begin)
                curves[1, bin, one] += state.allocated[one] * (until - begin)
                curves[2, bin, one] += max(state.allocated[one] - share, 0.0) * (until - begin)
        if end <= edges[bin + 1]:
            break
        bin += 1
    return bin


cdef inline double _share_of(
    const int64_t[:, ::1] used, const int64_t[::1] capacity, int64_t one
) noexcept nogil:
    """Return the dominant share in use."""
    cdef double share = 0.0
    cdef Py_ssize_t x
    for x in range(capacity.shape[0]):
        if capacity[x] > 0:
            share = max(share, <double> used[one, x] / capacity[x])
    return share


cdef void _integrate(
    Filling state, const int64_t[:, ::1] used, const int64_t[::1] capacity, int64_t seconds,
    double[::1] out
) noexcept nogil:
    """Add what each entity with demand lacks to its allocation."""
    cdef Py_ssize_t place
    cdef int64_t one
    for place in range(state.active):
        one = state.order[place]
        out[one] += max(state.allocated[one] - _share_of(used, capacity, one), 0.0) * seconds
