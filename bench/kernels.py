"""What it costs to compile all kernels, as an installation does, and to load them."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
GOAL_COMPILING_S = 20.0
GOAL_LOADING_S = 0.05

COMPILE = """
import sys
from pathlib import Path
sys.path.insert(0, ".ci")
import build_kernels as build
kernels = build.modules()
from audit.kernels.translation import translated
build.compiled(Path(sys.argv[1]), translated(kernels, build.digest()))
"""
IMPORT = "import numpy"
LOAD = f"{IMPORT}; import audit.kernels.scheduling.fair_start, audit.kernels.scheduling.tabu.pursue"


class Figure(NamedTuple):
    what: str
    measured_s: float  # user CPU
    goal_s: float


def user_cpu(*command: str) -> float:
    """User CPU seconds of a process and of all that it starts.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    before = os.times().children_user
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True, capture_output=True)
    return os.times().children_user - before


def figures() -> Iterator[Figure]:
    """Both; loading beside numpy, the least of five each."""
    with tempfile.TemporaryDirectory() as folder:
        yield Figure("compiling all kernels", user_cpu("-c", COMPILE, folder), GOAL_COMPILING_S)
    pairs = [(user_cpu("-c", LOAD), user_cpu("-c", IMPORT)) for _ in range(5)]
    load, only = (min(side) for side in zip(*pairs, strict=True))
    yield Figure("loading them", load - only, GOAL_LOADING_S)


if __name__ == "__main__":
    for figure in figures():
        print(*figure)
