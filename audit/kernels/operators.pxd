"""Priority operators: how far a state is from its target (SPEC §7; [R] eqs. 5–12)."""

from libc.math cimport M_LN2, M_PI_2, copysign, expm1, fabs, sin, sqrt
from libc.stdint cimport int64_t


cdef enum Operator:
    # In the order of ``metrics.fairshare.operators.OPERATORS``.
    ABSOLUTE
    RELATIVE
    RELATIVE_N
    SIGMOID
    SIGMOID_N
    COMBINED
    SLURM


cdef inline double of_distance(int64_t operator, double distance) noexcept nogil:
    """Return a relative operator's priority for a relative distance from −1 to 1; n = 2."""
    cdef double sigmoid
    if operator == RELATIVE:
        return distance
    if operator == RELATIVE_N:
        return copysign(distance * distance, distance)
    sigmoid = sin(M_PI_2 * distance)
    return sigmoid if operator == SIGMOID else copysign(sqrt(fabs(sigmoid)), distance)


cdef inline double priority(int64_t operator, double target, double state) noexcept nogil:
    """Return F(t, s), from −1 to 1; target and state are from 0 to 1, and F(0, 0) = 0.

    The relative distance is (t − s)/t below the target and (t − s)/s above it; k = ½ in
    ``combined``. 2^x − 1 is computed by ``expm1``, which stays exact where t and s are close.
    """
    cdef double distance
    if target == state:
        return 0.0
    if operator == ABSOLUTE:
        return target - state
    if operator == SLURM:
        if target > 0.0:
            return expm1(M_LN2 * ((target - state) / target))
        return -1.0
    distance = (target - state) / max(target, state)
    if operator == COMBINED:
        return 0.5 * (target - state) + 0.5 * of_distance(RELATIVE_N, distance)
    return of_distance(operator, distance)
