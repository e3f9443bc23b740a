"""What each priority operator keeps of [R]'s rules, and whom operators order alike ([R] §§3, 4).

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.fairshare import operator_rules, operators, trees
from audit.metrics.fairshare.operators import OPERATORS

PRINTED_BOUNDARIES: Final[Mapping[str, tuple[str, str]]] = {
    **dict.fromkeys(OPERATORS, ("−1", "1")),
    "absolute": ("−s", "t"),
    "combined": ("−0.5 − s/2", "0.5 + t/2"),
}
"""[R] Table 1: F(0, s) and F(t, 0)."""


class Judged(NamedTuple):
    """An operator, and which rules it keeps."""

    operator: str
    verdicts: tuple[operator_rules.Verdict, ...]


def conformance() -> tuple[Judged, ...]:
    """Which of the rules of ``metrics.fairshare.operator_rules`` each operator keeps."""
    return tuple(
        Judged(name, operator_rules.check(operator_rules.named(name))) for name in OPERATORS
    )


def boundaries(at: Sequence[float] = (0.25, 0.5, 1.0)) -> pl.DataFrame:
    """[R] Table 1, computed.

    Args:
        at: the states at target 0, and the targets at state 0, above 0.

    Returns:
        operator, at, at_target_0 and at_state_0 (priorities), printed_target_0 and
        printed_state_0 (what the paper has), agrees.
    """
    rows = []
    for x, name in itertools.product(at, OPERATORS):
        low, high = (float(operators.priority(name, *pair)) for pair in ((0.0, x), (x, 0.0)))
        printed = {
            "absolute": (-x, x),
            "combined": (-0.5 - x / 2, 0.5 + x / 2),
        }.get(name, (-1.0, 1.0))
        rows.append((name, x, low, high, *PRINTED_BOUNDARIES[name], printed == (low, high)))
    return pl.DataFrame(
        rows,
        schema={
            "operator": pl.String,
            "at": pl.Float64,
            "at_target_0": pl.Float64,
            "at_state_0": pl.Float64,
            "printed_target_0": pl.String,
            "printed_state_0": pl.String,
            "agrees": pl.Boolean,
        },
        orient="row",
    )


def equivalence() -> Mapping[tuple[str, str], operator_rules.Witness | None]:
    """Of every two operators the siblings whom they order differently; None: there are none."""
    forms = {name: operator_rules.named(name) for name in OPERATORS}
    return {
        (one, other): operator_rules.equivalent(forms[one], forms[other])
        for one, other in itertools.combinations(OPERATORS, 2)
    }


class Serialised(NamedTuple):
    """Two vectors as texts."""

    resolution: int
    first: str
    second: str
    right: bool
    """The texts have the order of the vectors."""


def fallen_together(
    first: Sequence[float] = (0.505, -0.8), second: Sequence[float] = (0.5, 0.8)
) -> tuple[Serialised, ...]:
    """[R] fig. 5: at too small a resolution, the second component decides wrongly.

    Args:
        first: a vector of priorities that is greater than the second.
        second: another, as long.
    """
    both = np.array([first, second], np.float64)
    rows = []
    for resolution in (100, 1_000, 10_000):
        one, other = trees.serialise(both, resolution).tolist()
        rows.append(
            Serialised(resolution, one, other, (one > other) == (tuple(first) > tuple(second)))
        )
    return tuple(rows)
