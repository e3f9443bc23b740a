"""Priority operators: how far the state of an account or user is from its target (SPEC §7; [R] §3).

A target t is the part that an entity may use of what its siblings share, a state s the part that it
did use, both from 0 to 1. An operator F(t, s), from −1 to 1, is 0 where they are equal, positive
below the target and negative above it. With the relative distance

    d = (t − s)/t for s < t,  −(s − t)/s for s > t

the operators are

    absolute    t − s                                   (5)
    relative    d                                       (6)
    relative_n  sign(d) |d|^n,  n = 2                   (7)
    sigmoid     sin(π/2 · d)                            (8)
    sigmoid_n   sign(d) |sin(π/2 · d)|^(1/n),  n = 2    (9)
    combined    k (t − s) + (1 − k) relative_2,  k = ½  (10)
    slurm       2^(1 − s/t) − 1                         (12)

and F(0, 0) = 0. Boundaries, for t > 0 and s > 0 ([R] Table 1): F(0, s) = −1 and F(t, 0) = 1, except
``absolute`` (−s, t) and ``combined`` (−½ − s/2, ½ + t/2).

A priority p that is stored as one of r numbers, 0 … r − 1, has the digit and effective priority

    digit(p, r) = floor((p + 1)/2 · (r − 1) + 1e-9)     S(p, r) = 2 · digit/(r − 1) − 1

so that −1 is 0 and 1 is r − 1, as in [R] fig. 4; S ≤ p up to rounding. ``as_published`` gives
[R]'s own: digit = min(r − 1, floor(r (p + 1)/2)), S = 2 · digit/r − 1 (17), which never reaches 1.

Sources: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import math
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from audit.array_types import Floats, Ints
from audit.kernels import trees as kernels
from audit.kernels.elementary import log1p

OPERATORS: Final = (
    "absolute", "relative", "relative_n", "sigmoid", "sigmoid_n", "combined", "slurm"
)  # fmt: skip
"""In the order of the codes in ``kernels.operators``."""

ROUNDING: Final = 1e-9  # distance, in digits, below which a priority rounds up to the next digit

LARGEST_RESOLUTION: Final = 2**52  # beyond it a double does not distinguish neighbouring digits


def code(name: str) -> int:
    """Return the code of an operator in the kernels; ValueError: there is none of that name."""
    if name not in OPERATORS:
        raise ValueError(f"operator {name!r}: choose one of {', '.join(OPERATORS)}")
    return OPERATORS.index(name)


def priority(name: str, targets: ArrayLike, states: ArrayLike) -> Floats:
    """Return F(t, s), from −1 to 1, of targets and states, which are broadcast.

    Raises:
        ValueError: no such operator; or a target or state is not from 0 to 1.
    """
    operator = code(name)
    t, s = np.broadcast_arrays(
        *(np.asarray(value, dtype=np.float64) for value in (targets, states))
    )
    for what, values in (("target", t), ("state", s)):
        wrong = ~((values >= 0) & (values <= 1))
        if wrong.any():
            raise ValueError(f"{what} {values[wrong][0]}: must be from 0 to 1")
    out = np.empty(t.size)
    kernels.priorities(operator, t.ravel(), s.ravel(), out)
    return out.reshape(t.shape)


def reach(name: str, priorities: ArrayLike, target: float) -> Floats:
    """Return sup {s : F(target, s) ≥ p} for each priority p; 0 where no state gives as much.

    In closed form, except ``combined`` above its target, where it is the root of a cubic.

    Raises:
        ValueError: no such operator, or a target that is not from 0 to 1.
    """
    code(name)
    if not 0 <= target <= 1:
        raise ValueError(f"target {target}: must be from 0 to 1")
    p = np.asarray(priorities, dtype=np.float64)
    lowest, highest = priority(name, target, np.array([1.0, 0.0]))
    inside = (p > lowest) & (p < highest)
    states = np.where(p <= lowest, 1.0, 0.0)
    # At target 0 the operators that depend on t/s alone step from 0 to −1 at state 0.
    if inside.any() and (target > 0 or name in ("absolute", "combined")):
        states[inside] = np.clip(_crossing(name, p[inside], target), 0.0, 1.0)
    return states


def inverse(name: str, priorities: ArrayLike, target: float) -> Floats:
    """Return I_s(F, p, t): the state at which an operator gives each priority ([R] eq. 21).

    NaN where no state, or more than one, gives that priority.
    """
    p = np.asarray(priorities, dtype=np.float64)
    states = reach(name, p, target)
    lowest, highest = priority(name, target, np.array([1.0, 0.0]))
    attained = (p >= lowest) & (p <= highest)
    if target == 0.0:  # F(0, 0) = 0 stands apart, and several operators are −1 everywhere else
        below = {"absolute": 0.0, "combined": -0.5}.get(name, -1.0)
        attained &= (p == 0.0) | (p < below)
    return np.where(attained, states, np.nan)


_DISTANCES: Final[dict[str, Callable[[Floats], Floats]]] = {
    "relative": lambda p: p,
    "relative_n": lambda p: np.copysign(np.sqrt(np.abs(p)), p),
    "sigmoid": lambda p: np.arcsin(p) * (2 / math.pi),
    "sigmoid_n": lambda p: np.copysign(np.arcsin(p * p) * (2 / math.pi), p),
}
"""The relative distance of a priority, for operators that depend on it alone."""


def area(name: str, priorities: ArrayLike) -> Floats:
    """Return the area of {(t, s): F(t, s) ≥ p} in the unit square, for each priority p.

    In closed form: (1 − d)/2 where F depends on the relative distance d alone; (1 − p)²/2 for
    ``absolute``; c/2 for ``slurm``, with c = s/t from 0 to 1. Below balance 1 − area(−p), because
    F(s, t) = −F(t, s); except for ``slurm``, where it is 1 − 1/(2c).
    """
    code(name)
    p = np.clip(np.asarray(priorities, dtype=np.float64), -1.0, 1.0)
    if name == "slurm":
        ratio = 1.0 - log1p(p) / math.log(2.0)  # s/t is ∞ at −1
        return np.where(ratio <= 1, ratio / 2, 1 - 0.5 / np.maximum(ratio, 1.0))
    size = np.abs(p)
    if name == "absolute":
        above = (1 - size) ** 2 / 2
    elif name == "combined":
        # ∫ t − x dt from the least target with such a priority, with x as in the inverse.
        least = np.maximum(2 * size - 1, 0.0)
        gaps = [(t * t + 8 * size) ** 1.5 - t**3 for t in (least, 1.0)]
        above = (1 - least**2) / 2 - (gaps[1] - gaps[0]) / 6
    else:
        above = (1 - _DISTANCES[name](size)) / 2
    return np.where(p >= 0, above, 1 - above)


def _crossing(name: str, p: Floats, target: float) -> Floats:
    """Return s with F(target, s) = p, for priorities between F(target, 1) and F(target, 0)."""
    if name == "absolute":
        return target - p
    if name == "slurm":
        return target * (1.0 - log1p(p) / math.log(2.0))
    if name == "combined":
        return _crossing_of_combined(p, target)
    distance = _DISTANCES[name](p)
    below = distance >= 0
    return target * np.where(below, 1.0 - distance, 1.0 / np.where(below, 1.0, 1.0 + distance))


def _crossing_of_combined(p: Floats, target: float) -> Floats:
    """Return s with ½ (t − s) ± ½ ((t − s)/max(t, s))² = p.

    Below the target, x = t − s is the positive root of x²/t² + x = 2p. Above it, u = t/s is that of
    h(u) = t/u − t + (1 − u)² = −2p; h is convex and falls, so Newton's method, begun where h is too
    great, comes up to the root and never passes it.
    """
    if target < 1e-100:  # 0 up to rounding
        return np.where(p < -0.5, -2.0 * p - 1.0, 0.0)
    above = p < 0
    gap = np.where(above, 0.0, p)
    states = target - 4.0 * gap * target / (target + np.sqrt(target**2 + 8.0 * gap))
    goal = -2.0 * p[above]
    u = np.maximum(np.maximum(target, 1 - np.sqrt(goal + target)), target / (goal + target))
    for _ in range(400):  # four or five, except for targets next to 0: at least, it doubles u
        step = (target / u - target + (1 - u) ** 2 - goal) / (target / u**2 + 2 * (1 - u))
        u += step
        if not (np.abs(step) > 1e-15 * u).any():
            break
    states[above] = target / u
    return states


def digits(priorities: ArrayLike, resolution: int, *, as_published: bool = False) -> Ints:
    """Return the number from 0 to r − 1 as which each priority, from −1 to 1, is stored.

    Args:
        resolution: r, from 2 to 2^52.
        as_published: as [R]'s eqs. 17 and 20 have it, with r steps instead of r − 1.

    Raises:
        ValueError: the resolution, or a priority, is out of range.
    """
    p = np.asarray(priorities, dtype=np.float64)
    _check_resolution(resolution)
    if not ((p >= -1) & (p <= 1)).all():
        raise ValueError("priorities: must be from −1 to 1")
    if as_published:
        return np.minimum(np.floor(resolution * (p + 1) / 2), resolution - 1).astype(np.int64)
    return np.floor((p + 1) / 2 * (resolution - 1) + ROUNDING).astype(np.int64)


def effective(digit: ArrayLike, resolution: int, *, as_published: bool = False) -> Floats:
    """Return S: the least priority that is stored as a digit ([R] eq. 17); see ``digits``."""
    _check_resolution(resolution)
    steps = resolution if as_published else resolution - 1
    return 2.0 * np.asarray(digit, dtype=np.float64) / steps - 1.0


def _check_resolution(resolution: int) -> None:
    if not 2 <= resolution <= LARGEST_RESOLUTION:
        raise ValueError(f"resolution {resolution}: must be from 2 to 2^52")
