"""The policy grid of 45 combinations with both fair start times ([S] §4), on a 5,000-job part.

Goal: at most 60 s on two cores, kernels compiled. The part is the first 5,000 attempts of KTH-SP2
where ``FAIRAUDIT_REAL_LOGS`` names a folder with it, else of the demo log.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import whole_audit

from audit.config import Config
from audit.pipeline.opening import Asked, largest_pool, open_log
from audit.studies import parts
from audit.studies import run as studies
from audit.studies.grid import compute as grid
from audit.workers.crew import Threads

GOAL = 60.0
THREADS = 2


class Cost(NamedTuple):
    """What the grid cost, without the runs with exact estimates."""

    wall_s: float
    cpu_s: float
    combinations: int


def cost(log: Path) -> Cost:
    """Computes the 45 combinations as the command does, once the kernels are compiled."""
    found = open_log(Asked(logs=[log]), Config())
    part = parts.part(found.described, largest_pool(found))
    own = {point.name for point in grid.points() if not point.exact}
    cells = [cell for cell in grid.cells(part) if cell.key in own]
    small = part._replace(described=part.described.head(200))
    for cell in grid.cells(small):  # compiles, or loads what is compiled
        cell.compute()
    with tempfile.TemporaryDirectory() as folder:
        wall, cpu = time.perf_counter(), time.process_time()
        studies.run_cells(cells, Path(folder) / "cells", "bench", Threads(THREADS))
        return Cost(time.perf_counter() - wall, time.process_time() - cpu, len(cells))


def main() -> bool:
    """Prints the cost; whether it meets the goal."""
    with tempfile.TemporaryDirectory() as folder:
        log = whole_audit.real_log() or whole_audit.demo(Path(folder))
        got = cost(log)
    print(
        f"{log.name}: {got.combinations} combinations in {got.wall_s:.1f} s "
        f"({got.cpu_s:.1f} s CPU, {THREADS} of {os.cpu_count()} cores; ≤ {GOAL:g} s)"
    )
    return got.wall_s <= GOAL


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
