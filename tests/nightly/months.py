"""Logs of a few months in which jobs wait for one another, also across the ends of months."""

from itertools import pairwise
from pathlib import Path

import numpy as np

from audit.studies.workload.compute.synthetic import easy
from tests.logs import line, log, write

DAY = 86_400
START = 1_767_222_000
"""2026-01-01 00:00 in Berlin."""

CAPACITY = 16
EDGES = (0, 31, 59, 90, 120)
"""Days on which months begin, from the start of the log; they differ by the clock change."""


def write_months(folder: Path, seed: int = 1, jobs: int = 400) -> list[Path]:
    """One log for each month, of the jobs that ended in it; gives their files, in order.

    An odd job waits or runs for weeks; users differ in what they bring.
    """
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, EDGES[-1] * DAY - 15 * DAY, jobs))
    size = np.minimum(2 ** rng.integers(0, 5, jobs), CAPACITY)
    run = np.maximum(rng.lognormal(9.6, 1.2, jobs).astype(np.int64), 60)
    run[rng.integers(0, jobs, 6)] = 12 * DAY
    walltime = run * rng.integers(1, 6, jobs)
    start = easy(submit, size.astype(np.int64), run, walltime, CAPACITY)
    start += np.where(rng.random(jobs) < 0.15, rng.integers(0, 20_000, jobs), 0)
    end = start + run
    files = []
    for number, (first, last) in enumerate(pairwise(EDGES)):
        lines = [
            line(
                int(job) + 1,
                submit=int(submit[job]),
                wait=int(start[job] - submit[job]),
                run=int(run[job]),
                allocated=int(size[job]),
                walltime=int(walltime[job]),
                user=1 + int(job * 7 % 5),
                group=1 + int(job * 7 % 2),
            )
            for job in np.flatnonzero((end >= first * DAY) & (end < last * DAY))
        ]
        file = folder / f"{number}.swf"
        write(file, log(lines, UnixStartTime=START, MaxProcs=CAPACITY))
        files.append(file)
    return files
