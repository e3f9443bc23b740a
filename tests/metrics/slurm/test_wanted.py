"""Which shares give a FairShare, and what a job costs: by hand, by trying, and by the slow twin."""

import random

import numpy as np
import pytest

from audit.array_types import Floats
from audit.metrics.fairshare.trees import Tree
from audit.metrics.slurm.explained import Back, next_tick
from audit.metrics.slurm.shares import classic, fair_tree, summed
from audit.metrics.slurm.usage import SlurmUsage
from audit.metrics.slurm.wanted import TreeJudge, cost, shares_for
from tests.metrics.slurm.test_explained import ANN, BEN, PAST, SITE, TWO, USERS, Attempt, ground
from tests.naive import slurm
from tests.naive.slurm import Job

JUDGES: dict[str, TreeJudge] = {
    "fair_tree": lambda tree, usage: fair_tree(tree, usage).fairshare,
    "classic": lambda tree, usage: classic(tree, usage).fairshare,
}


def test_by_hand_shares_that_put_a_user_first() -> None:
    """Ben used 2,500 of 3,500 and has 1 of 2 shares: with 3 of 4 he has more than Ann per share."""
    usage = summed(TWO, np.array([0.0, 1000.0, 2500.0]))
    judge = JUDGES["fair_tree"]
    assert shares_for(TWO, usage, judge, BEN, BEN, 1.0) == 3
    assert shares_for(TWO, usage, judge, BEN, BEN, 0.5) == 0
    assert shares_for(TWO, usage, judge, ANN, ANN, 1.0) == 1


def test_by_hand_what_a_job_costs() -> None:
    """At 6,000 Ben has used 2,500 and Ann 1,000; with 1,600 more she is second."""
    site = ground(TWO, PAST)
    found = cost(site, ANN, 2500, 6000, 800, 2.0)
    assert (found.usage, found.at) == (1600.0, 6800)
    assert (found.without_job, found.with_job) == (1.0, 0.5)
    # Ben used 2,000 in 4,300 s, so he is at 2,600 after 215 s: at the third tick
    assert found.back == Back(7100, False, 7100)
    small = cost(site, ANN, 2500, 6000, 800, 1.0)
    assert (small.with_job, small.back) == (1.0, Back(6800, False, 6800))


def test_the_first_tick_at_or_after() -> None:
    method = SlurmUsage(half_life_s=900, period_s=60, phase_s=7)
    assert [next_tick(method, at) for at in (0, 7, 8, 67, 68)] == [7, 7, 67, 67, 127]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("algorithm", JUDGES)
def test_no_fewer_shares_are_enough(seed: int, algorithm: str) -> None:
    chance = random.Random(seed)
    own = np.array([0.0 if name not in USERS else chance.uniform(0, 100) for name in SITE.names])
    usage, judge = summed(SITE, own), JUDGES[algorithm]
    for user in (SITE.names.index(name) for name in USERS):
        now = float(judge(SITE, usage)[user])
        for changed in (user, int(SITE.parents[user])):
            for target in (now / 2, now, now + 0.01, (1 + now) / 2, 1.0):
                tried = (k for k in range(400) if _with(judge, usage, changed, k, user) >= target)
                first, found = next(tried, None), _found(judge, usage, user, changed, target)
                assert found == first or (first is None and (found is None or found >= 400))


def _with(judge: TreeJudge, usage: Floats, changed: int, shares: int, user: int) -> float:
    of: Tree = SITE._replace(shares=np.where(np.arange(len(usage)) == changed, shares, SITE.shares))
    return float(judge(of, usage)[user])


def _found(judge: TreeJudge, usage: Floats, user: int, changed: int, target: float) -> int | None:
    return shares_for(SITE, usage, judge, user, changed, target)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("algorithm", JUDGES)
def test_a_cost_equals_records_with_the_job(seed: int, algorithm: str) -> None:
    chance = random.Random(seed)
    jobs: list[Attempt] = [
        (chance.choice(USERS), start, start + chance.randrange(1, 4_000), chance.choice([1.0, 2.5]))
        for start in range(0, 39_000, 1_700)
    ]
    method = SlurmUsage(half_life_s=9_000, period_s=300, phase_s=200)
    node, now, lasts = SITE.names.index("ann"), 39_950, 2_345
    site = ground(SITE, jobs, method, algorithm)
    found = cost(site, node, method.tick(20_000), now, lasts, 8.0)
    assert found.at - 300 < now + lasts <= found.at

    def fairshare(kept: list[Attempt], at: int) -> float:
        own = np.zeros(len(SITE.names))
        for user in USERS:
            mine = [Job(start, end, charge) for of, start, end, charge in kept if of == user]
            used = slurm.usage(mine, at, half_life=9_000, period=300, phase=200)
            own[SITE.names.index(user)] = used
        return float(site.judge(summed(SITE, own))[node])

    longer: list[Attempt] = [*jobs, ("ann", now, now + lasts, 8.0)]
    assert found.with_job == pytest.approx(fairshare(longer, found.at))
    assert found.without_job == pytest.approx(fairshare(jobs, found.at))
    if found.back.at == found.at:
        assert found.with_job >= fairshare(jobs, method.tick(now)) - 1e-9
