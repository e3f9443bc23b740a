"""What each priority operator costs ([R] §4.5): nanoseconds per evaluation, one thread.

The yardstick is numpy's subtraction of the same arrays, which is what the cheapest of them
computes. Operators with a sine, a root or an exponential cost more; goal: at most forty times as
much, so that a day's 2,000 users of a tree take less than a tenth of a millisecond.
"""

import functools
import statistics
import time
from collections.abc import Callable

import numpy as np

from audit.kernels import operators as kernels
from audit.metrics.fairshare.operators import OPERATORS, code

EVALUATIONS = 1_000_000
ROUNDS = 9
GOAL = 40.0


def costs() -> dict[str, float]:
    """Median ns per evaluation of each operator, and of the yardstick, ``subtraction``."""
    random = np.random.Generator(np.random.PCG64(1))
    targets, states = random.random((2, EVALUATIONS))
    out = np.empty(EVALUATIONS)
    sides: dict[str, Callable[[], object]] = {
        "subtraction": lambda: np.subtract(targets, states, out=out)
    }
    for name in OPERATORS:
        sides[name] = functools.partial(kernels.priorities, code(name), targets, states, out)
    spent: dict[str, list[int]] = {name: [] for name in sides}
    for turn in range(ROUNDS + 1):  # the first compiles, or loads what is compiled
        for name, side in sides.items():
            begin = time.process_time_ns()
            side()
            if turn > 0:
                spent[name].append(time.process_time_ns() - begin)
    return {name: statistics.median(took) / EVALUATIONS for name, took in spent.items()}


def main() -> bool:
    """Prints a line per operator; whether all meet the goal."""
    got = costs()
    for name in OPERATORS:
        ratio = got[name] / got["subtraction"]
        print(f"operator {name}: {got[name]:.1f} ns, {ratio:.1f} × a subtraction (≤ {GOAL:g})")
    return all(got[name] <= GOAL * got["subtraction"] for name in OPERATORS)


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
