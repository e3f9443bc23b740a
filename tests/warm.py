"""Compiles the kernels of the simulation before tests run side by side: each would do it otherwise.

python -m tests.warm
"""

import subprocess
import sys

import numpy as np

from audit.model import Policy
from audit.simulation import tabu
from audit.simulation.engine import replay
from audit.simulation.fair_start import fair_starts
from audit.simulation.ownership import unowned
from audit.simulation.workload import Workload


def run(resources: int) -> None:
    """Uses each kernel once, for one resource or for several."""
    one, no = np.ones(2, np.int64), np.zeros(2, np.bool_)
    nothing = np.zeros(0, np.int64)
    request = one if resources == 1 else np.ones((2, resources), np.int64)
    change = nothing if resources == 1 else nothing.reshape(0, resources)
    work = Workload(
        *(one, one, one + 1, one, one, request),
        np.zeros(2),
        *(no, no, no, no),
        *(np.ones(resources, np.int64), nothing, change),
        np.zeros(0, np.bool_),
        unowned(2),
    )
    replay(work, Policy())
    fair_starts(work, Policy())
    tabu.replay(work)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(int(sys.argv[1]))
    else:
        begun = [
            subprocess.Popen([sys.executable, "-m", "tests.warm", number]) for number in ("1", "2")
        ]
        sys.exit(max(each.wait() for each in begun))
