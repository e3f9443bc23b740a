"""What changes no fair start time: its company in a computation, the origin of time, names."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.model import Policy, Pool
from audit.scenario.driver import Effort
from audit.scenario.engine import replay
from audit.scenario.fair_start import fair_starts
from audit.scenario.workload import NEVER
from audit.workers.executors import Threads
from tests.examples import examples
from tests.naive.simulation import Log
from tests.scenario.test_engine import known
from tests.scenario.test_fair_start import table
from tests.strategies import EPOCH, POOLS, Rows, arrays, logs, policies, rows

Computed = Callable[..., tuple[np.ndarray, ...]]


@given(logs(limited=True), policies(intervals=True), st.data())
def test_subjects_and_threads_change_no_figure(
    log: Log, policy: Policy, data: st.DataObject
) -> None:
    work = arrays(log)
    whole = fair_starts(work, policy)
    for threads in (2, 3, 7):
        again = fair_starts(work, policy, effort=Effort(Threads(threads)))
        assert all(np.array_equal(a, b) for a, b in zip(whole, again, strict=True))
    chosen = data.draw(st.sets(st.integers(0, max(len(log.jobs) - 1, 0))))
    subjects = np.array(sorted(k for k in chosen if k < len(log.jobs)), np.int64)
    for every, some in zip(whole[:2], fair_starts(work, policy, subjects)[:2], strict=True):
        inside = np.isin(np.arange(len(log.jobs)), subjects)
        assert np.array_equal(some, np.where(inside, every, NEVER))


@pytest.mark.parametrize("computed", [replay, fair_starts])
def test_the_origin_of_time_does_not_matter(computed: Computed) -> None:
    of_logs = logs(blocked=False) if computed is replay else logs()

    @given(of_logs, policies(), st.sampled_from([-EPOCH, -1, 1, 10**9]))
    def check(log: Log, policy: Policy, by: int) -> None:
        times = known(computed(arrays(log), policy)[0])
        moved = [None if time is None else time + by for time in times]
        assert known(computed(arrays(shifted(log, by)), policy)[0]) == moved

    check()


def shifted(log: Log, by: int) -> Log:
    return log._replace(
        jobs=tuple(
            job._replace(
                arrival=job.arrival + by,
                start=None if job.start is None else job.start + by,
                end=None if job.end is None else job.end + by,
            )
            for job in log.jobs
        ),
        steps=tuple(step._replace(time=step.time + by) for step in log.steps),
    )


@settings(max_examples=examples(20))
@given(rows(), st.sampled_from(POOLS), policies(slurm=False), st.randoms(use_true_random=False))
def test_neither_the_order_of_rows_nor_names_matter(
    records: Rows, pool: Pool, policy: Policy, chance: Any
) -> None:
    shuffled = [{**record, "user": record["user"] and record["user"][::-1]} for record in records]
    chance.shuffle(shuffled)
    columns = ["fst_strict", "fst_relaxed", "fst_status"]
    made, again = (
        table(each, pool, policy).sort("job_number").select(columns) for each in (records, shuffled)
    )
    assert made.equals(again)
