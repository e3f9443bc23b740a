"""The kernels as Python, which notices every index that lies outside of an array."""

import random

import numpy as np

from audit.model import Backfill, Order, Policy
from audit.policies import takers
from audit.scenario.engine import replay
from audit.scenario.fair_start import fair_starts
from tests.kernels.forms import in_python
from tests.naive.simulation import Job, Log, Step
from tests.strategies import arrays

Results = list[list[list[int]]]


def job(chance: random.Random, most: tuple[int, ...], arrival: int, fate: str) -> Job:
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


def results(rounds: int) -> Results:
    """What is simulated of random logs, the same at each call."""
    chance = random.Random(4)
    found: Results = []
    for number in range(rounds):
        most = tuple(chance.randint(1, 4) for _ in range(1 + number % 3))
        fates = ["ended"] * 8 + ["pending", "lost", "blocked"]
        arrivals = sorted(chance.randint(0, 15) for _ in range(chance.randint(0, 12)))
        jobs = tuple(job(chance, most, arrival, chance.choice(fates)) for arrival in arrivals)
        held = tuple(amount - chance.randint(0, 1) for amount in most)
        steps = tuple(
            Step(time, tuple(chance.randint(0, 1) for _ in most), chance.random() < 0.5)
            for time in (4, 9)[: chance.randint(0, 2)]
        )
        work = arrays(Log(jobs, held, steps))
        for order in Order:
            for backfill in Backfill:
                limit = chance.choice([None, 2]) if backfill in takers("depth") else None
                policy = Policy(order, backfill, limit, limit)
                for instant in (None, 5):
                    made = replay(work, policy, from_time=instant)
                    found.append([made.start.tolist(), made.planned.tolist()])
                found.append([np.asarray(each).tolist() for each in fair_starts(work, policy)])
    return found


def test_python_and_compiled_code_do_the_same() -> None:
    compiled = results(12)
    with in_python():
        assert results(12) == compiled
