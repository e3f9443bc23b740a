"""The cost of compiling all kernels, as an installation does, and of loading them.

Beside importing numpy, without which nothing is done.
"""

import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence

from bench.measure.figures import Figure
from bench.measure.pairs import beside, process

COMPILING_GOAL_S = 25.0
LOADING_GOAL = 1.5
ROUNDS = 5

COMPILE = """
import sys
from pathlib import Path
sys.path.insert(0, ".ci")
import build_kernels as build
build.compile_modules(build.modules(), Path(sys.argv[1]))
"""
IMPORT = "import numpy"
LOAD = f"{IMPORT}; from audit.kernels.scheduling import agreement, fair_start, simulation, tabu"


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Both; compiling once."""
    with tempfile.TemporaryDirectory() as folder:
        compiled = process([sys.executable, "-c", COMPILE, folder])
    yield Figure(
        "Kernels",
        "compiling all of them",
        None,
        compiled.user_s,
        peak_mib=compiled.peak_mib,
        goal=COMPILING_GOAL_S,
    )
    sides = [
        tuple(process([sys.executable, "-c", code]).user_s for code in (LOAD, IMPORT))
        for _ in range(ROUNDS + 1)
    ][1:]
    load, only = ([side[k] for side in sides] for k in (0, 1))
    yield Figure(
        "Kernels",
        "numpy and all of them loaded",
        None,
        statistics.median(load),
        twin=beside("importing numpy", load, only),
        goal=LOADING_GOAL,
    )
