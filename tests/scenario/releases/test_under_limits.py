"""What limits forbid just before an instant: by definition, and that it is no chain."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.model import Limit
from audit.scenario.releases.chains import find_chains
from audit.scenario.releases.queue import user_jobs
from tests.examples import examples
from tests.naive import releases as naive
from tests.naive.releases import Job
from tests.scenario.releases.test_chains import ALL, DAY, attempts, chain_of, found, logs, pool_with


@settings(max_examples=examples(60))
@given(logs(), st.integers(1, 4))
def test_forbidden_as_defined(jobs: list[Job], most: int) -> None:
    of = user_jobs(attempts(jobs), pool_with(most), 100 * DAY)
    ordered = sorted(jobs, key=lambda job: (job.arrival, job.number))
    every = np.arange(len(ordered))
    edges = {t for job in jobs for t in (job.start, job.end) if t is not None}
    for at in sorted(t + more for t in edges for more in (0, 1)):
        exact = [naive.forbidden(jobs, most, job, at) for job in ordered]
        assert of.limits.forbid(every, np.full(len(every), at)).tolist() == exact


def test_what_a_limit_forbids_is_no_chain() -> None:
    """A limit of 1 CPU allows one of these jobs at a time, a limit of 2 CPUs two."""
    jobs = chain_of(11, 0)
    assert [len(one.held) for one in found(jobs, 2)] == [10]
    assert found(jobs, 1) == []


@pytest.mark.parametrize(
    ("limit", "chains"),
    [
        (Limit(most=1, partition=("p",)), 0),
        (Limit(most=1, partition=("q",)), 1),
        (Limit(most=1, per="account"), 1),  # their account is not known
        (Limit(most=1, user=("ann",), valid_from=date(1970, 2, 1)), 1),
        (Limit(most=1, user=("ann",), valid_to=date(1970, 2, 1)), 0),
        (Limit(most=1, user=("ann",), remaining=True, resource="cpus"), 1),  # not examined
    ],
)
def test_limits_that_forbid_the_next_job(limit: Limit, chains: int) -> None:
    jobs = [job._replace(partition="p") for job in chain_of(11, 0)]
    made = find_chains(user_jobs(attempts(jobs), ALL._replace(limits=(limit,)), 100 * DAY))
    assert len(made) == chains
