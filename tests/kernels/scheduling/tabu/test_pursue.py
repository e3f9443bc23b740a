"""The tabu search as Python, which notices every index that lies outside of an array."""

import random
from typing import Any

from audit.scenario.tabu import Search, replay
from tests.kernels.forms import in_python
from tests.naive.simulation import Job, Log, Step
from tests.strategies import arrays


def job(chance: random.Random, most: tuple[int, ...], arrival: int) -> Job:
    blocked = chance.random() < 0.1
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


def results() -> list[Any]:
    """What is simulated of random logs, the same at each call."""
    chance = random.Random(8)
    found = []
    for number in range(10):
        most = tuple(chance.randint(1, 4) for _ in range(1 + number % 3))
        arrivals = sorted(chance.randint(0, 15) for _ in range(chance.randint(0, 24)))
        jobs = tuple(job(chance, most, arrival) for arrival in arrivals)
        steps = tuple(
            Step(time, tuple(chance.randint(-1, 1) for _ in most), chance.random() < 0.5)
            for time in (4, 9)[: chance.randint(0, 2)]
        )
        log = arrays(Log(jobs, most, steps))
        made = replay(log, Search(seed=number, every_s=3, tabu=1 + number))
        found.append((made.start.tolist(), made.planned.tolist(), made[2:]))
    return found


def test_python_and_compiled_code_do_the_same() -> None:
    compiled = results()
    with in_python():
        assert results() == compiled
