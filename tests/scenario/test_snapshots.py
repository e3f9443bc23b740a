"""Sums over snapshots, against the definition of a snapshot."""

import numpy as np
from hypothesis import given

from audit.scenario.snapshots import crowd, in_snapshots
from tests.naive import simulation as slow
from tests.naive.simulation import Job, Log
from tests.strategies import arrays, logs


def holds(log: Log, job: Job, k: int, t: int) -> bool:
    """Whether attempt ``k``, which arrived before, matters in a snapshot of ``t``."""
    if job.start is None or job.end is None:
        return job.open and not job.blocked and not log.exceeds(k)
    if log.exceeds(k) and not job.blocked:
        return job.start < t < job.end
    return t <= job.start or t < job.end


@given(logs())
def test_who_matters_in_a_snapshot(log: Log) -> None:
    work = arrays(log)
    want = [
        sum(holds(log, earlier, k, job.arrival) for k, earlier in enumerate(log.jobs[:j]))
        for j, job in enumerate(log.jobs)
    ]
    assert in_snapshots(work, np.ones(len(log.jobs), np.int64)).tolist() == want


@given(logs())
def test_there_is_room_for_every_snapshot(log: Log) -> None:
    work = arrays(log)
    rule = slow.Rule("fcfs", "none")
    for j, job in enumerate(log.jobs):
        if not job.blocked and not log.exceeds(j):
            pool = slow._at_arrival(log, rule, j)
            assert len(pool.running) + len(pool.queue) < crowd(work, work.has_started | work.open)
