"""What [R] asks of a priority operator, and where an operator breaks it (SPEC §7; [R] §3, §4).

For an operator F(t, s) of a target and a state, each from 0 to 1:

    range           (1)   −1 ≤ F ≤ 1
    sign            (2)   F = 0 iff t = s, F > 0 iff t > s, F < 0 iff t < s
    target          (3)   F strictly grows in t, for t and s in (0, 1]
    state           (3)   F strictly falls in s, for t and s in (0, 1]
    edges           (13)  both, also for t = 0 and s = 0, as [R] §4.1 has it
    deterministic         the same t and s always give the same F
    lowest          (4)   F(0, s) = −1 for s > 0
    highest         (4)   F(t, 0) = 1 for t > 0
    redistribution  (15)  siblings with t > 0 stand in the same order by their virtual targets,
                          among which the share of those who use nothing is divided
    ratio           (16)  F(t_i, s · t_i/t) = F(t, s): who used the same part of the target ties

``equivalent`` compares two operators: whether they put siblings in the same order, whatever their
targets and states. Subgroup isolation needs no checker: F knows nothing but t and s, which are
normalised among siblings (``trees``).

Conventions: a rule is *broken* where points are found that break it, and the witness can be
recomputed. It is *kept* where none is found among all targets and states of 0, 0.05, … 1 and, for
range and sign, 1,000 points spread evenly: evidence, not proof. Priorities that differ by no more
than 1e-9 are taken for equal. Siblings are pairs with t_i + t_j ≤ 1 and s_i + s_j ≤ 1. Rule (15)
leaves out targets of 0: F(0, 0) = 0 puts who may use nothing, and does not, before all who are
above their target, and virtual targets move these, so that no operator keeps it there.

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit.metrics.fairshare import operators

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

Operator = Callable[[Floats, Floats], Floats]
"""F of targets and states, arrays of the same shape."""

RULES: Final = {
    "range": "from −1 to 1 (1)",
    "sign": "sign of t − s (2)",
    "target": "grows with the target (3)",
    "state": "falls with the state (3)",
    "edges": "both, also at t = 0 and s = 0 (13)",
    "deterministic": "deterministic",
    "lowest": "−1 at target 0 (4)",
    "highest": "1 at state 0 (4)",
    "redistribution": "redistributes unused share (15)",
    "ratio": "same part of the target ties (16)",
}

TOLERANCE: Final = 1e-9
USED: Final = (Fraction(3, 4), Fraction(1, 2), Fraction(1, 4))
"""Shares of those who use anything, for rule (15)."""

_STEPS: Final = 20
_LEVELS: Final = np.arange(_STEPS + 1) / _STEPS
_T, _S = (axis.ravel() for axis in np.meshgrid(_LEVELS, _LEVELS, indexing="ij"))


class Sample(NamedTuple):
    """An operator at a point."""

    target: float
    state: float
    priority: float


class Witness(NamedTuple):
    """What breaks a rule."""

    says: str
    """In a clause."""
    samples: tuple[Sample, ...]


class Verdict(NamedTuple):
    """Whether a rule is kept; where it is not, what breaks it most clearly."""

    rule: str
    """A key of ``RULES``."""
    witness: Witness | None

    @property
    def kept(self) -> bool:
        """No witness was found."""
        return self.witness is None


def named(name: str) -> Operator:
    """An operator of ``metrics.fairshare.operators``.

    Raises:
        ValueError: there is no such operator.
    """
    operators.code(name)
    return lambda targets, states: operators.priority(name, targets, states)


def check(operator: Operator) -> tuple[Verdict, ...]:
    """The verdicts on an operator, in the order of ``RULES``.

    Raises:
        ValueError: a priority is not a number.
    """
    at = _At(operator)
    inside = _LEVELS[1:]
    witnesses = {
        "range": _out_of_range(at),
        "sign": _wrong_sign(at),
        "target": _not_monotone(at, inside, inside, grows=True),
        "state": _not_monotone(at, inside, inside, grows=False),
        "edges": _not_monotone(at, _LEVELS, _LEVELS, grows=True)
        or _not_monotone(at, _LEVELS, _LEVELS, grows=False),
        "deterministic": _changing(at),
        "lowest": _not_at(at, np.zeros(len(inside)), inside, -1.0),
        "highest": _not_at(at, inside, np.zeros(len(inside)), 1.0),
        "redistribution": _reordered(at),
        "ratio": _off_ratio(at),
    }
    return tuple(Verdict(rule, witnesses[rule]) for rule in RULES)


def equivalent(one: Operator, other: Operator) -> Witness | None:
    """Siblings whom two operators order differently; None where none is found.

    The witness has the priorities of both siblings by ``one``, then those by ``other``.
    """
    first, second = _At(one), _At(other)
    pair = _ordered_differently(first(_T, _S), second(_T, _S), _siblings(1.0))
    if pair is None:
        return None
    samples = (at.sample(_T[k], _S[k]) for at in (first, second) for k in pair)
    return Witness("two siblings change their order, or tie by one alone", tuple(samples))


class _At:
    """An operator whose priorities are numbers."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def __call__(self, targets: Floats, states: Floats) -> Floats:
        priorities = np.asarray(self._operator(targets, states), np.float64)
        wrong = np.flatnonzero(~np.isfinite(priorities))
        if len(wrong):
            t, s, p = (float(values[wrong[0]]) for values in (targets, states, priorities))
            raise ValueError(f"the priority of target {t:g} and state {s:g} is {p}: no number")
        return priorities

    def sample(self, target: float, state: float) -> Sample:
        [priority] = self(np.array([target]), np.array([state]))
        return Sample(float(target), float(state), float(priority))

    def worst(self, says: str, t: Floats, s: Floats, fault: Floats) -> Witness | None:
        """The point with the greatest fault, if any is above the tolerance."""
        place = int(fault.argmax())
        if fault[place] <= TOLERANCE:
            return None
        return Witness(says, (self.sample(t[place], s[place]),))


def _spread() -> tuple[Floats, Floats]:
    """The grid, and points spread evenly over the unit square."""
    step = np.arange(1, 1_001)
    return (
        np.concatenate([_T, step * math.sqrt(2) % 1.0]),
        np.concatenate([_S, step * math.sqrt(3) % 1.0]),
    )


def _out_of_range(at: _At) -> Witness | None:
    t, s = _spread()
    return at.worst("beyond −1 or 1", t, s, np.abs(at(t, s)) - 1.0)


def _wrong_sign(at: _At) -> Witness | None:
    t, s = _spread()
    signs = np.sign(at(t, s))
    for says, fault in (
        ("not 0, though target and state are equal", (t == s) & (signs != 0)),
        ("not above 0, though less was used", (t > s) & (signs <= 0)),
        ("not below 0, though more was used", (t < s) & (signs >= 0)),
    ):
        # The clearest: where they lie furthest apart.
        witness = at.worst(says, t, s, np.where(fault, 1.0 + np.abs(t - s), 0.0))
        if witness is not None:
            return witness
    return None


def _not_monotone(at: _At, t: Floats, s: Floats, *, grows: bool) -> Witness | None:
    """Two neighbours along t, or along s, that do not grow, or fall, as they must."""
    table = at(*(axis.ravel() for axis in np.meshgrid(t, s, indexing="ij")))
    table = table.reshape(len(t), len(s))
    steps = np.diff(table, axis=0) if grows else -np.diff(table, axis=1)
    i, j = np.unravel_index(int(steps.argmin()), steps.shape)
    if steps[i, j] > TOLERANCE:
        return None
    pair = ((t[i], s[j]), (t[i + 1], s[j]) if grows else (t[i], s[j + 1]))
    says = "not more, though the target is" if grows else "not less, though the state is more"
    return Witness(says, tuple(at.sample(*point) for point in pair))


def _changing(at: _At) -> Witness | None:
    """The same points again, the other way round, and one by one."""
    first = at(_T, _S)
    again = at(_T[::-1].copy(), _S[::-1].copy())[::-1]
    alone = np.array([at.sample(t, s).priority for t, s in zip(_T, _S, strict=True)])
    changed = np.flatnonzero((first != again) | (first != alone))
    if not len(changed):
        return None
    k = changed[0]
    other = again[k] if again[k] != first[k] else alone[k]
    both = (Sample(float(_T[k]), float(_S[k]), float(p)) for p in (first[k], other))
    return Witness("not the same, asked again", tuple(both))


def _not_at(at: _At, t: Floats, s: Floats, wanted: float) -> Witness | None:
    return at.worst(f"not {wanted:g}".replace("-", "−"), t, s, np.abs(at(t, s) - wanted))


def _reordered(at: _At) -> Witness | None:
    """Siblings whom their virtual targets would put in another order."""
    for used in USED:
        # Of whole steps, so that a virtual target that is a level is that level to the last bit:
        # where F is steep, a bit more is seen.
        steps = np.rint(_T * _STEPS) * used.denominator / used.numerator
        virtual = np.minimum(steps / _STEPS, 1.0)
        some = (_T > 0) & (steps <= _STEPS)
        may = _siblings(float(used)) & some[:, np.newaxis] & some
        pair = _ordered_differently(at(virtual, _S), at(_T, _S), may)
        if pair is not None:
            samples = [at.sample(t[k], _S[k]) for t in (virtual, _T) for k in pair]
            return Witness(
                f"another order by virtual targets, when {1 - used} of the share is unused",
                tuple(samples),
            )
    return None


def _off_ratio(at: _At) -> Witness | None:
    """Two who used the same part of their targets, and have different priorities."""
    steps = np.arange(1, _STEPS + 1)
    i, j, k = (axis.ravel() for axis in np.meshgrid(steps, steps, steps, indexing="ij"))
    reachable = j * k <= i * _STEPS
    i, j, k = i[reachable], j[reachable], k[reachable]
    t, s, other, same = i / _STEPS, j / _STEPS, k / _STEPS, j * k / i / _STEPS
    off = np.abs(at(t, s) - at(other, same))
    place = int(off.argmax())
    if off[place] <= TOLERANCE:
        return None
    return Witness(
        "not the same, though the same part of the target was used",
        (at.sample(t[place], s[place]), at.sample(other[place], same[place])),
    )


def _siblings(part: float) -> Bools:
    """Which pairs of the grid can be siblings that share this part of everything."""
    targets, states = np.add.outer(_T, _T), np.add.outer(_S, _S)
    together: Bools = (targets <= part + 1e-12) & (states <= 1.0 + 1e-12)
    return together


def _ordered_differently(one: Floats, other: Floats, may: Bools) -> tuple[int, int] | None:
    """The pair, among those that may be asked, that two sets of priorities order most unlike."""
    a, b = (np.subtract.outer(values, values) for values in (one, other))
    a, b = (np.where(np.abs(gap) <= TOLERANCE, 0.0, gap) for gap in (a, b))
    reversed_ = np.where(may & (a * b < 0), np.minimum(np.abs(a), np.abs(b)), 0.0)
    parted = np.where(may & ((a == 0) != (b == 0)), np.maximum(np.abs(a), np.abs(b)), 0.0)
    for fault in (reversed_, parted):  # a tie that the other breaks only where none is reversed
        if fault.any():
            i, j = np.unravel_index(int(fault.argmax()), fault.shape)
            return int(i), int(j)
    return None
