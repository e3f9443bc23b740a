"""The tabu search as plain Python, which notices every index that lies outside of an array."""

import os
import subprocess
import sys

from tests.places import ROOT

CODE = """
import random

from audit.kernels.scheduling import pursue as kernels
from audit.simulation.tabu import Search, replay
from tests.naive.simulation import Job, Log, Step
from tests.strategies import arrays

chance = random.Random(8)


def job(arrival, blocked):
    occupancy = chance.choice([0, 1, 3, 8, 20])
    start = arrival + chance.choice([0, 0, 2, 9])
    return Job(
        arrival,
        occupancy,
        max(occupancy, chance.choice([1, 3, 12])),
        tuple(chance.randint(0, amount) for amount in most),
        start,
        start + occupancy,
        blocked=blocked,
        owner=chance.choice("abc"),
        used=occupancy,
    )


for number in range(10):
    most = tuple(chance.randint(1, 4) for _ in range(1 + number % 3))
    arrivals = sorted(chance.randint(0, 15) for _ in range(chance.randint(0, 24)))
    jobs = tuple(job(arrival, chance.random() < 0.1) for arrival in arrivals)
    steps = tuple(
        Step(time, tuple(chance.randint(-1, 1) for _ in most), chance.random() < 0.5)
        for time in (4, 9)[: chance.randint(0, 2)]
    )
    made = replay(arrays(Log(jobs, most, steps)), Search(seed=number, every_s=3, tabu=1 + number))
    print(made.start.tolist(), made.planned.tolist(), made[2:])
print("compiled" if hasattr(kernels.pursue, "py_func") else "plain")
"""


def run(**environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_plain_python_and_compiled_code_do_the_same() -> None:
    compiled, plain = run(NUMBA_DISABLE_JIT="0"), run(NUMBA_DISABLE_JIT="1")
    assert plain[:-1] == compiled[:-1]
    assert (compiled[-1], plain[-1]) == ("compiled", "plain")
