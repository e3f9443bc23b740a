"""Why FairShare changed: by hand, and against records without the job or the sibling."""

import random
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from audit.array_types import Floats
from audit.metrics.fairshare.trees import Tree, TreeNode
from audit.metrics.slurm import explained
from audit.metrics.slurm.explained import Back, ChargedAttempts, Effect
from audit.metrics.slurm.shares import classic, fair_tree, summed, tree_of
from audit.metrics.slurm.usage import SlurmUsage
from tests.naive import slurm
from tests.naive.slurm import Job

OPEN = 1 << 40
UNDECAYED = SlurmUsage(half_life_s=0, period_s=100, reset="yearly", zone=ZoneInfo("UTC"))
NEXT_YEAR = 31_536_000


Attempt = tuple[str, int, int, float]
"""User, start, end, and charge per second."""


def ground(
    tree: Tree,
    jobs: list[Attempt],
    method: SlurmUsage = UNDECAYED,
    algorithm: str = "fair_tree",
) -> ChargedAttempts:
    users, start, end, charge = zip(*jobs, strict=True)
    judge = fair_tree if algorithm == "fair_tree" else classic
    return ChargedAttempts(
        tree,
        np.array([tree.names.index(user) for user in users]),
        np.array(start),
        np.array(end),
        np.array(charge),
        method,
        lambda usage: judge(tree, usage).fairshare,
    )


TWO = tree_of([TreeNode("ann", "user", 1), TreeNode("ben", "user", 1)])
BEN = TWO.names.index("ben")
ANN = TWO.names.index("ann")
PAST = [("ann", 1000, 2000, 1.0), ("ben", 0, 500, 1.0), ("ben", 3000, 5000, 1.0)]


def test_by_hand_a_job_of_ones_own() -> None:
    of = explained.moved(ground(TWO, PAST), BEN, 2500, 6000)
    assert of.usage == (500.0, 2500.0)
    assert of.fairshare == (1.0, 0.5)
    assert (of.decayed, of.new) == (0.0, 2000.0)
    assert of.attempts == (Effect(2, 2000.0, 1.0),)
    assert of.siblings == ()
    assert (of.without_own, of.without_others) == (1.0, 0.5)
    over = explained.course(ground(TWO, PAST), BEN, np.array([2500, 3900, 6000]))
    assert over == [(500.0, 1.0), (1400.0, 0.5), (2500.0, 0.5)]


def test_by_hand_a_sibling() -> None:
    of = explained.moved(ground(TWO, PAST), ANN, 2500, 6000)
    assert of.fairshare == (0.5, 1.0)
    assert of.attempts == ()
    assert of.siblings == (Effect(BEN, 2000.0, 0.5),)
    assert (of.without_own, of.without_others) == (1.0, 0.5)


def test_by_hand_when_it_is_back() -> None:
    """Ann uses 1,000 in 3,500 s, so she has caught up with 500 after 1,750 s: at the 18th tick."""
    running = ground(TWO, [*PAST, ("ann", 5000, OPEN, 1.0)])
    assert explained.back(running, BEN, 2500, 6000, 1.0) == Back(7800, False, 7800)
    assert explained.back(running, BEN, 2500, 6000, 0.5) == Back(6000, False, 6000)


def test_by_hand_a_reset_makes_all_equal() -> None:
    assert explained.back(ground(TWO, PAST), BEN, 2500, 6000, 1.0) == Back(
        NEXT_YEAR, True, NEXT_YEAR
    )
    method = SlurmUsage(half_life_s=86_400, period_s=100, reset="daily", zone=ZoneInfo("UTC"))
    of = explained.moved(
        ground(TWO, [*PAST, ("ben", 90_000, 91_000, 1.0)], method), BEN, 6000, 95_000
    )
    assert of.decayed == of.usage[0] > 0  # forgotten at midnight
    assert of.new == of.usage[1]


@pytest.mark.parametrize("algorithm", ["fair_tree", "classic"])
def test_decay_alone_brings_nothing_back(algorithm: str) -> None:
    method = SlurmUsage(half_life_s=10_000, period_s=100)
    found = explained.back(ground(TWO, PAST, method, algorithm), BEN, 5000, 6000, 1.0)
    assert found == Back(None, False, 6000 + 10 * 10_000)


SITE = tree_of(
    [
        TreeNode("phys", "account", 3),
        TreeNode("chem", "account", 1),
        *(TreeNode(name, "user", share, "phys") for name, share in (("ann", 1), ("ben", 2))),
        *(TreeNode(name, "user", 1, "chem") for name in ("cleo", "dora")),
    ]
)
USERS = ("ann", "ben", "cleo", "dora")


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("algorithm", ["fair_tree", "classic"])
def test_effects_equal_records_without_the_job_or_the_sibling(seed: int, algorithm: str) -> None:
    chance = random.Random(seed)
    jobs: list[Attempt] = []
    for _ in range(24):
        start = chance.choice([*range(0, 15_000, 700), *range(20_000, 39_000, 900)])
        # those that start before the first tick end before it, so they can be left out as a whole
        length = chance.randrange(1, 4_000)
        jobs.append((chance.choice(USERS), start, start + length, chance.choice([1.0, 2.5, 8.0])))
    method = SlurmUsage(half_life_s=9_000, period_s=300, phase_s=200)
    before, after = method.tick(20_000), method.tick(40_000)
    site = ground(SITE, jobs, method, algorithm)
    node = SITE.names.index("ann")

    def naive(kept: list[Attempt], at: int) -> Floats:
        own = np.zeros(len(SITE.names))
        for user in USERS:
            mine = [Job(start, end, charge) for of, start, end, charge in kept if of == user]
            own[SITE.names.index(user)] = slurm.usage(
                mine, at, half_life=9_000, period=300, phase=200
            )
        return own

    def fairshare(kept: list[Attempt]) -> float:
        return float(site.judge(summed(SITE, naive(kept, after)))[node])

    of = explained.moved(site, node, before, after)
    assert of.usage == pytest.approx((naive(jobs, before)[node], naive(jobs, after)[node]))
    assert of.usage[0] - of.decayed + of.new == pytest.approx(of.usage[1])
    assert of.fairshare[1] == pytest.approx(fairshare(jobs))
    for attempt, used, without in of.attempts:
        alone = naive([jobs[attempt]], after)[node]
        assert used == pytest.approx(alone)
        assert without == pytest.approx(fairshare(jobs[:attempt] + jobs[attempt + 1 :]))
    members = {"ben": ("ben",), "chem": ("cleo", "dora")}
    late = [job for job in jobs if job[1] >= before]
    for sibling, _, without in of.siblings:
        gone = members[SITE.names[sibling]]
        rest = [job for job in jobs if job not in late or job[0] not in gone]
        assert without == pytest.approx(fairshare(rest))
    assert of.without_own == pytest.approx(
        fairshare([job for job in jobs if job not in late or job[0] != "ann"])
    )


def test_settings_that_do_not_fit_together() -> None:
    day, hour = 86_400, 3_600
    assert explained.misfits(7 * day, "none", 300, 2 * day) == []
    assert explained.misfits(0, "monthly", 300, None) == []
    (short,) = explained.misfits(day, "none", 300, 2 * day)
    assert short == (
        "the half-life (1.0 days) is shorter than the longest walltime (2.0 days): when such a job "
        "ends, its first hour counts only 25 %"
    )
    lost, before = explained.misfits(7 * day, "daily", 300, 3 * day)
    assert "such a job is forgotten while it runs" in lost
    assert "reset daily, before the half-life (7.0 days) has passed" in before
    (steps,) = explained.misfits(hour, "none", 600, None)
    assert steps.startswith("usage is recalculated every 600 s, more than a tenth")
