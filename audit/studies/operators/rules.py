"""Which of [R]'s rules a priority operator keeps, and which operators agree on the order (SPEC §7).

For an operator F(t, s) of a target and a state, each from 0 to 1 ([R] §3, §4):

    range           (1)   −1 ≤ F ≤ 1
    sign            (2)   F = 0 iff t = s, F > 0 iff t > s, F < 0 iff t < s
    target          (3)   F strictly grows in t, for t and s in (0, 1]
    state           (3)   F strictly falls in s, for t and s in (0, 1]
    edges           (13)  both, also for t = 0 and s = 0, as [R] §4.1 has it
    deterministic         the same t and s always give the same F
    lowest          (4)   F(0, s) = −1 for s > 0
    highest         (4)   F(t, 0) = 1 for t > 0
    redistribution  (15)  siblings with t > 0 keep their order under virtual targets, which divide
                          the share of inactive siblings
    ratio           (16)  F(t_i, s · t_i/t) = F(t, s): the same fraction of the target ties

Two operators are *equivalent* if they order siblings in the same way for all targets and states.
Siblings are pairs with t_i + t_j ≤ 1 and s_i + s_j ≤ 1. Subgroup isolation needs no check: t and s
are normalised among siblings (``metrics.fairshare.trees``).

A rule is *broken* if points are found that break it; the witness can be recomputed. Otherwise it is
*kept*, which is evidence, not proof. The checker tests all targets and states of 0, 0.05, … 1
and, for range and sign, 1,000 evenly spread points. Priorities within 1e-9 count as equal. Rule
(15) leaves out targets of 0, where no operator keeps it: F(0, 0) = 0 orders a user without
share before all users above their target, and virtual targets move these.

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Bools, Floats
from audit.metrics.fairshare import operators, trees
from audit.metrics.fairshare.operators import OPERATORS

Operator = Callable[[Floats, Floats], Floats]
"""F of targets and states, arrays of the same shape."""

RULES: Final = {
    "range": "from −1 to 1 (1)",
    "sign": "sign of t − s (2)",
    "target": "grows with the target (3)",
    "state": "falls with the state (3)",
    "edges": "both (3), even at t = 0 and s = 0 (13)",
    "deterministic": "deterministic",
    "lowest": "−1 at target 0 (4)",
    "highest": "1 at state 0 (4)",
    "redistribution": "redistributes unused shares (15)",
    "ratio": "same fraction of the target: a tie (16)",
}

TOLERANCE: Final = 1e-9
USED: Final = (Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
"""Shares of the active siblings, for rule (15)."""

_STEPS: Final = 20
_LEVELS: Final = np.arange(_STEPS + 1) / _STEPS


def _lattice(*levels: NDArray[Any]) -> list[NDArray[Any]]:
    return [axis.ravel() for axis in np.meshgrid(*levels, indexing="ij")]


_T, _S = _lattice(_LEVELS, _LEVELS)
_STRAY: Final = np.arange(1, 1_001)
_SPREAD: Final = (
    np.concatenate([_T, _STRAY * math.sqrt(2) % 1.0]),
    np.concatenate([_S, _STRAY * math.sqrt(3) % 1.0]),
)
"""Targets and states of the grid, and of points spread evenly over the unit square."""


class OperatorPoint(NamedTuple):
    """An operator at a point."""

    target: float
    state: float
    priority: float


class OperatorWitness(NamedTuple):
    """A counterexample to a rule."""

    says: str  # a clause
    samples: tuple[OperatorPoint, ...]


OperatorVerdicts = Mapping[str, OperatorWitness | None]
"""By rule, a key of ``RULES``: the clearest counterexample; None where it is kept."""


def named(name: str) -> Operator:
    """Return an operator of ``metrics.fairshare.operators``."""
    return partial(operators.priority, name)


def conformance() -> dict[str, OperatorVerdicts]:
    """Return the verdicts on all operators, by name."""
    return {name: check(named(name)) for name in OPERATORS}


def check(operator: Operator) -> OperatorVerdicts:
    """Return the verdicts on an operator, in the order of ``RULES``.

    Raises ValueError if a priority is not a number.
    """
    at = _OperatorAt(operator)
    inside, zeros = _LEVELS[1:], np.zeros(_STEPS)
    return {
        "range": at.worst("beyond −1 or 1", *_SPREAD, np.abs(at(*_SPREAD)) - 1.0),
        "sign": _wrong_sign(at),
        "target": _not_monotone(at, inside, grows=True),
        "state": _not_monotone(at, inside, grows=False),
        "edges": _not_monotone(at, _LEVELS, grows=True) or _not_monotone(at, _LEVELS, grows=False),
        "deterministic": _changing(at),
        "lowest": at.worst("not −1", zeros, inside, np.abs(at(zeros, inside) + 1.0)),
        "highest": at.worst("not 1", inside, zeros, np.abs(at(inside, zeros) - 1.0)),
        "redistribution": _reordered(at),
        "ratio": _off_ratio(at),
    }


def equivalence() -> Mapping[tuple[str, str], OperatorWitness | None]:
    """Return siblings that two operators order differently, for every pair of operators."""
    return {
        (one, other): equivalent(named(one), named(other))
        for one, other in itertools.combinations(OPERATORS, 2)
    }


def equivalent(one: Operator, other: Operator) -> OperatorWitness | None:
    """Return siblings that two operators order differently; None if none are found.

    The samples are both siblings' priorities by ``one``, then those by ``other``.
    """
    first, second = _OperatorAt(one), _OperatorAt(other)
    pair = _ordered_differently(first(_T, _S), second(_T, _S), _siblings(1.0))
    if pair is None:
        return None
    samples = (at.sample(_T[k], _S[k]) for at in (first, second) for k in pair)
    return OperatorWitness(
        "two siblings change their order, or tie by only one operator", tuple(samples)
    )


class _OperatorAt:
    """An operator whose priorities must be numbers."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def __call__(self, targets: Floats, states: Floats) -> Floats:
        priorities = np.asarray(self._operator(targets, states), np.float64)
        wrong = np.flatnonzero(~np.isfinite(priorities))
        if len(wrong):
            t, s, p = (float(values[wrong[0]]) for values in (targets, states, priorities))
            raise ValueError(f"the priority of target {t:g} and state {s:g} is {p}: not a number")
        return priorities

    def sample(self, target: float, state: float) -> OperatorPoint:
        [priority] = self(np.array([target]), np.array([state]))
        return OperatorPoint(float(target), float(state), float(priority))

    def worst(self, says: str, t: Floats, s: Floats, fault: Floats) -> OperatorWitness | None:
        """Return the point with the greatest fault, if that is above the tolerance."""
        place = int(fault.argmax())
        return (
            OperatorWitness(says, (self.sample(t[place], s[place]),))
            if fault[place] > TOLERANCE
            else None
        )


def _wrong_sign(at: _OperatorAt) -> OperatorWitness | None:
    t, s = _SPREAD
    signs = np.sign(at(t, s))
    for says, wrong in (
        ("not 0, although target and state are equal", (t == s) & (signs != 0)),
        ("not above 0, although less was used", (t > s) & (signs <= 0)),
        ("not below 0, although more was used", (t < s) & (signs >= 0)),
    ):
        if witness := at.worst(says, t, s, np.where(wrong, 1.0 + np.abs(t - s), 0.0)):
            return witness
    return None


def _not_monotone(at: _OperatorAt, levels: Floats, *, grows: bool) -> OperatorWitness | None:
    """Compare neighbours along t, where F must grow, or along s, where it must fall."""
    table = at(*_lattice(levels, levels)).reshape(len(levels), len(levels))
    steps = np.diff(table, axis=0) if grows else -np.diff(table, axis=1)
    i, j = np.unravel_index(int(steps.argmin()), steps.shape)
    if steps[i, j] > TOLERANCE:
        return None
    i_next, j_next = (i + 1, j) if grows else (i, j + 1)
    says = (
        "not greater, although the target is"
        if grows
        else "not less, although the state is greater"
    )
    pair = ((levels[i], levels[j]), (levels[i_next], levels[j_next]))
    return OperatorWitness(says, tuple(at.sample(*point) for point in pair))


def _changing(at: _OperatorAt) -> OperatorWitness | None:
    """Compute the same points again, in reverse order, and one by one."""
    first = at(_T, _S)
    again = at(_T[::-1].copy(), _S[::-1].copy())[::-1]
    alone = np.array([at.sample(t, s).priority for t, s in zip(_T, _S, strict=True)])
    changed = np.flatnonzero((first != again) | (first != alone))
    if not len(changed):
        return None
    k = changed[0]
    other = again[k] if again[k] != first[k] else alone[k]
    both = (OperatorPoint(float(_T[k]), float(_S[k]), float(p)) for p in (first[k], other))
    return OperatorWitness("not the same when computed again", tuple(both))


def _reordered(at: _OperatorAt) -> OperatorWitness | None:
    for used in USED:
        # Whole steps make virtual targets that are levels exact; where F is steep,
        # the last bit matters.
        steps = np.rint(_T * _STEPS) * used.denominator / used.numerator
        virtual = np.minimum(steps / _STEPS, 1.0)
        some = (_T > 0) & (steps <= _STEPS)
        allowed = _siblings(float(used)) & some[:, np.newaxis] & some
        pair = _ordered_differently(at(virtual, _S), at(_T, _S), allowed)
        if pair is not None:
            samples = tuple(at.sample(t[k], _S[k]) for t in (virtual, _T) for k in pair)
            says = f"another order under virtual targets, with {1 - used} of the share unused"
            return OperatorWitness(says, samples)
    return None


def _off_ratio(at: _OperatorAt) -> OperatorWitness | None:
    i, j, k = _lattice(*[np.arange(1, _STEPS + 1)] * 3)
    reachable = j * k <= i * _STEPS
    i, j, k = i[reachable], j[reachable], k[reachable]
    t, s, other, same = i / _STEPS, j / _STEPS, k / _STEPS, j * k / i / _STEPS
    off = np.abs(at(t, s) - at(other, same))
    place = int(off.argmax())
    if off[place] <= TOLERANCE:
        return None
    return OperatorWitness(
        "not the same, although the same fraction of the target was used",
        (at.sample(t[place], s[place]), at.sample(other[place], same[place])),
    )


def _siblings(part: float) -> Bools:
    """Return which pairs of grid points can be siblings that share this part of everything."""
    together: Bools = (np.add.outer(_T, _T) <= part + 1e-12) & (np.add.outer(_S, _S) <= 1 + 1e-12)
    return together


def _ordered_differently(one: Floats, other: Floats, allowed: Bools) -> tuple[int, int] | None:
    """Return the allowed pair that two sets of priorities order most differently."""
    a, b = (np.subtract.outer(values, values) for values in (one, other))
    a, b = (np.where(np.abs(gap) <= TOLERANCE, 0.0, gap) for gap in (a, b))
    reversed_ = np.where(allowed & (a * b < 0), np.minimum(np.abs(a), np.abs(b)), 0.0)
    parted = np.where(allowed & ((a == 0) != (b == 0)), np.maximum(np.abs(a), np.abs(b)), 0.0)
    for fault in (reversed_, parted):  # a broken tie counts only if no pair is reversed
        if fault.any():
            i, j = np.unravel_index(int(fault.argmax()), fault.shape)
            return int(i), int(j)
    return None


# --- tables of the paper -------------------------------------------------------------------------


def boundaries() -> pl.DataFrame:
    """Return [R] Table 1, F(0, x) and F(x, 0), as computed and as printed.

    Columns: operator, at (x), at_target_0, at_state_0, printed_target_0, printed_state_0, agrees.
    """
    rows = []
    for x, name in itertools.product((0.25, 0.5, 1.0), OPERATORS):
        low, high = (float(operators.priority(name, *pair)) for pair in ((0.0, x), (x, 0.0)))
        printed: dict[str, tuple[str, str, float, float]] = {
            "absolute": ("−s", "t", -x, x),
            "combined": ("−0.5 − s/2", "0.5 + t/2", -0.5 - x / 2, 0.5 + x / 2),
        }
        *texts, low_printed, high_printed = printed.get(name, ("−1", "1", -1.0, 1.0))
        rows.append((name, x, low, high, *texts, (low_printed, high_printed) == (low, high)))
    columns = ["operator", "at", "at_target_0", "at_state_0", "printed_target_0", "printed_state_0"]
    return pl.DataFrame(rows, schema=[*columns, "agrees"], orient="row")


FIRST, SECOND = (0.505, -0.8), (0.5, 0.8)
"""The vectors of priorities of [R] fig. 5; the first is the greater one."""


def fallen_together() -> tuple[tuple[int, str, str, bool], ...]:
    """Return [R] fig. 5: if the resolution is too small, the second component decides.

    For each resolution, the vectors as texts, and whether these have the order of the vectors.
    """
    both = np.array([FIRST, SECOND], np.float64)
    texts = {size: trees.serialise(both, size).tolist() for size in (100, 1_000, 10_000)}
    return tuple(
        (size, one, other, (one > other) == (FIRST > SECOND))
        for size, (one, other) in texts.items()
    )
