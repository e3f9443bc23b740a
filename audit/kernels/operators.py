"""Priority operators: how far a state is from its target (SPEC §7; [R] eqs. 5–12)."""

import math

from audit.kernels.jit import inlined

ABSOLUTE, RELATIVE, RELATIVE_N, SIGMOID, SIGMOID_N, COMBINED, SLURM = range(7)
"""Codes of the operators, in the order of ``metrics.operators.OPERATORS``."""

HALF_PI = math.pi / 2.0


@inlined
def priority(operator: int, target: float, state: float) -> float:
    """F(t, s) from −1 to 1; target and state from 0 to 1.

    F(0, 0) = 0. With d = (t − s)/t below the target and (t − s)/s above it, the relative distance:
    n = 2 in the exponential forms, k = 1/2 in the combined one.
    """
    if target == state:
        return 0.0
    if operator == ABSOLUTE:
        return target - state
    if operator == SLURM:
        if target == 0.0:
            return -1.0
        return 2.0 ** (1.0 - state / target) - 1.0
    distance = (target - state) / max(target, state)
    if operator == RELATIVE:
        return distance
    if operator == RELATIVE_N:
        return math.copysign(distance * distance, distance)
    if operator == SIGMOID:
        return math.sin(HALF_PI * distance)
    if operator == SIGMOID_N:
        return math.copysign(math.sqrt(abs(math.sin(HALF_PI * distance))), distance)
    return 0.5 * (target - state) + 0.5 * math.copysign(distance * distance, distance)
