"""What each priority operator keeps of [R]'s rules, and whom operators order alike ([R] §§3, 4).

Source: [R] G. Rodrigo, P.-O. Östberg, E. Elmroth, Priority Operators for Fairshare Scheduling.
"""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import polars as pl

from audit.metrics.fairshare import operator_rules, operators, vectors
from audit.metrics.fairshare.operators import OPERATORS

FIRST, SECOND = (0.505, -0.8), (0.5, 0.8)
"""The vectors of priorities of [R] fig. 5; the first is the greater one."""


class Judged(NamedTuple):
    """An operator, and which rules it keeps."""

    operator: str
    verdicts: tuple[operator_rules.Verdict, ...]


def conformance() -> tuple[Judged, ...]:
    """Which of the rules of ``metrics.fairshare.operator_rules`` each operator keeps."""
    return tuple(
        Judged(name, operator_rules.check(operator_rules.named(name))) for name in OPERATORS
    )


def boundaries() -> pl.DataFrame:
    """[R] Table 1, F(0, x) and F(x, 0), computed.

    Returns:
        operator, at, at_target_0 and at_state_0 (priorities), printed_target_0 and
        printed_state_0 (what the paper has), agrees.
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


def fallen_together() -> tuple[Serialised, ...]:
    """[R] fig. 5: at too small a resolution, the second component decides wrongly."""
    both = np.array([FIRST, SECOND], np.float64)
    rows = []
    for resolution in (100, 1_000, 10_000):
        one, other = vectors.serialise(both, resolution).tolist()
        rows.append(Serialised(resolution, one, other, (one > other) == (FIRST > SECOND)))
    return tuple(rows)
