"""The study of users: figures of the six policies are those of the slow schedules."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.errors import UsageError
from audit.metrics.attempts.population import describe
from audit.model import Pool, Resource
from audit.studies.users import compute as users
from audit.studies.users.compute import POLICIES, TS
from tests.examples import examples
from tests.naive import simulation, tabu
from tests.naive.simulation import Job, Log, Rule
from tests.strategies import frame
from tests.studies.users.episodes import Attempt, attempts, compare


def test_ts_is_shown_with_the_seed_of_the_median_uwt() -> None:
    log = attempts([("a", 0, 1_000, 1), ("b", 10, 10_000, 1), ("c", 20, 100, 1)], 2)
    [one, *_] = compare(log, 1).seeds
    seeds = [
        one._replace(dispersion=one.dispersion._replace(uwt=uwt))
        for uwt in (9.0, 1.0, 4.0, 7.0, 2.0)
    ]
    assert users.typical(seeds) is seeds[2]
    waits = [one._replace(wait=one.wait + more) for more in (5, 1, 3)]
    assert users.typical(waits) is waits[2]


small = st.lists(
    st.tuples(
        st.sampled_from(["ann", "bob", "cem"]),
        st.integers(0, 900),
        st.sampled_from([0, 1, 50, 200, 400]),
        st.integers(1, 4),
    ),
    min_size=1,
    max_size=9,
)


@settings(max_examples=examples(10), deadline=None)
@given(small)
def test_figures_are_those_of_the_slow_schedules(episode: list[Attempt]) -> None:
    episode = sorted(episode, key=lambda one: one[1])
    found = compare(attempts(episode, 1), 4)
    jobs = tuple(
        Job(arrival, lasts, max(lasts, 1), (size,), owner=user, used=lasts * size)
        for user, arrival, lasts, size in episode
    )
    log = Log(jobs, (4,))
    made: dict[str, dict[int, int]] = {
        name: simulation.replay(log, Rule(policy.order, policy.backfill)).start
        for name, policy in POLICIES.items()
        if policy is not None
    }
    made[TS] = tabu.replay(log, tabu.Search(seed=3)).start
    for name, start in made.items():
        waits = [start[k] - job.arrival for k, job in enumerate(jobs)]
        outcome = found.seeds[0] if name == TS else found.outcomes[name]
        assert outcome.wait.tolist() == waits
        assert outcome.response.tolist() == [
            w + job.occupancy for w, job in zip(waits, jobs, strict=True)
        ]
        slowdowns = [
            max(1.0, (w + job.occupancy) / max(job.occupancy, 1))
            for w, job in zip(waits, jobs, strict=True)
        ]
        assert outcome.slowdown.tolist() == pytest.approx(slowdowns)
        nuwt = {}
        for owner in {job.owner for job in jobs}:
            own = [k for k, job in enumerate(jobs) if job.owner == owner]
            used = sum(jobs[k].used for k in own)
            if len(own) > 1 and used:
                nuwt[f"{owner}0"] = sum(waits[k] for k in own) / used
        assert dict(zip(found.users, outcome.nuwt.tolist(), strict=True)) == pytest.approx(nuwt)


def test_exact_estimates_are_the_run_times_of_what_has_ended() -> None:
    log = attempts([("a", 0, 10, 1)], 1, [500])
    running: dict[str, Any] = {"submit_time": 5, "start_time": 6, "cpus": 1, "walltime_s": 70}
    pool = Pool("all", Resource.cpus, 1)
    one = describe(log, [pool])
    assert users.exact(one)["walltime_s"].to_list() == [10]
    assert users.exact(describe(frame([running]), [pool]))["walltime_s"].to_list() == [70]


def test_only_what_every_policy_starts_is_compared() -> None:
    log = attempts([("a", 0, 10, 1), ("b", 0, 10, 9)], 1)
    assert len(compare(log, 4).units) == 1
    with pytest.raises(UsageError, match="no attempt in these logs can be replayed"):
        compare(attempts([("b", 0, 10, 9)], 1), 4)
