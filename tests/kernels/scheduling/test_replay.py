"""The kernels as plain Python, which notices every index that lies outside of an array."""

import os
import subprocess
import sys

from tests.places import ROOT

CODE = """
import random

from audit.kernels.scheduling import replay as kernels
from audit.model import LIMITED, Backfill, Order, Policy
from audit.simulation.engine import replay
from audit.simulation.fair_start import fair_starts
from tests.naive.simulation import Job, Log, Step
from tests.strategies import arrays

chance = random.Random(4)


def job(arrival, fate):
    occupancy = chance.choice([0, 1, 3, 8])
    start = None if fate in ("pending", "lost") else arrival + chance.choice([0, 0, 2, 9])
    return Job(
        arrival,
        occupancy,
        max(occupancy, chance.choice([1, 3, 12])),
        tuple(chance.randint(0, amount) for amount in most),
        start,
        None if start is None else start + occupancy,
        chance.choice([None, 1.0, 2.0]),
        blocked=fate == "blocked",
        open=fate == "pending",
    )


for number in range(ROUNDS):
    most = tuple(chance.randint(1, 4) for _ in range(1 + number % 3))
    fates = ["ended"] * 8 + ["pending", "lost", "blocked"]
    arrivals = sorted(chance.randint(0, 15) for _ in range(chance.randint(0, 12)))
    jobs = tuple(job(arrival, chance.choice(fates)) for arrival in arrivals)
    held = tuple(amount - chance.randint(0, 1) for amount in most)
    steps = tuple(
        Step(time, tuple(chance.randint(0, 1) for _ in most), chance.random() < 0.5)
        for time in (4, 9)[: chance.randint(0, 2)]
    )
    work = arrays(Log(jobs, held, steps))
    for order in Order:
        for backfill in Backfill:
            limit = chance.choice([None, 2]) if backfill in LIMITED else None
            policy = Policy(order, backfill, limit, limit)
            for instant in (None, 5):
                made = replay(work, policy, from_time=instant)
                print(made.start.tolist(), made.planned.tolist())
            fair = fair_starts(work, policy)
            print(*(column.tolist() for column in fair))
print("compiled" if hasattr(kernels.replay, "py_func") else "plain")
"""


def run(rounds: int, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE.replace("ROUNDS", str(rounds))],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_plain_python_and_compiled_code_do_the_same() -> None:
    compiled, plain = run(12, NUMBA_DISABLE_JIT="0"), run(12, NUMBA_DISABLE_JIT="1")
    assert plain[:-1] == compiled[:-1]
    assert (compiled[-1], plain[-1]) == ("compiled", "plain")
