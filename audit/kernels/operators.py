"""Priority operators: how far a state is from its target (SPEC §7; [R] eqs. 5–12)."""

import math

from audit.kernels.arrays import Floats
from audit.kernels.compiled import inner, kernel

ABSOLUTE, RELATIVE, RELATIVE_N, SIGMOID, SIGMOID_N, COMBINED, SLURM = range(7)
"""Codes of the operators, in the order of ``metrics.fairshare.operators.OPERATORS``."""

HALF_PI = math.pi / 2.0
LN_2 = math.log(2.0)


@inner
def of_distance(operator: int, distance: float) -> float:
    """What the relative operators make of a relative distance from −1 to 1; n = 2."""
    if operator == RELATIVE:
        return distance
    if operator == RELATIVE_N:
        return math.copysign(distance * distance, distance)
    sigmoid = math.sin(HALF_PI * distance)
    return sigmoid if operator == SIGMOID else math.copysign(math.sqrt(abs(sigmoid)), distance)


@inner
def priority(operator: int, target: float, state: float) -> float:
    """F(t, s) from −1 to 1; target and state from 0 to 1.

    F(0, 0) = 0. The relative distance is (t − s)/t below the target and (t − s)/s above it; k = ½
    in ``combined``. Nothing is lost where t and s are close: 2^x − 1 by ``expm1``.
    """
    if target == state:
        return 0.0
    if operator == ABSOLUTE:
        return target - state
    if operator == SLURM:
        return math.expm1(LN_2 * ((target - state) / target)) if target > 0.0 else -1.0
    distance = (target - state) / max(target, state)
    if operator == COMBINED:
        return 0.5 * (target - state) + 0.5 * of_distance(RELATIVE_N, distance)
    return of_distance(operator, distance)


@kernel
def priorities(operator: int, targets: Floats, states: Floats, out: Floats) -> None:
    """Writes F of each pair of a target and a state."""
    for k in range(len(targets)):
        out[k] = priority(operator, targets[k], states[k])
