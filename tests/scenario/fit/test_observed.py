"""Spans in which attempts would have fitted, and trials, by definition and by hand."""

import numpy as np
from hypothesis import given

from audit.scenario.fit import observed
from audit.scenario.workload import NEVER
from tests import strategies
from tests.naive import fit as naive
from tests.naive.simulation import Job, Log


@given(strategies.logs(limited=True))
def test_room_is_that_of_the_definition(log: Log) -> None:
    work = strategies.arrays(log)
    every = np.ones(len(log.jobs), np.bool_)
    spans = observed.spans_of_room(work, every)
    seconds = [
        (job, t)
        for job, since, until in zip(*(column.tolist() for column in spans[:3]), strict=True)
        for t in range(since, until)
    ]
    assert len(seconds) == len(set(seconds))
    assert sorted(seconds) == sorted(naive.room(log))
    assert (spans.seconds > 0).all()
    assert (np.diff(spans.since) >= 0).all()


def test_spans_are_of_judged_attempts() -> None:
    jobs = [Job(arrival=k, occupancy=1, estimate=1, request=(1,), start=9, end=10) for k in (0, 3)]
    work = strategies.arrays(Log(tuple(jobs), (2,)))
    every = np.array([True, True])
    assert observed.spans_of_room(work, every).job.tolist() == [0, 0, 1]
    assert observed.spans_of_room(work, ~every).job.tolist() == []
    assert observed.spans_of_room(work, np.array([False, True])).since.tolist() == [3]


def test_trials_are_the_modelled_start_and_the_observed_one() -> None:
    starts = [0, 600, 2_000, 5_000]
    jobs = [
        Job(arrival=0, occupancy=1, estimate=1, request=(1,), start=at, end=at + 1) for at in starts
    ]
    work = strategies.arrays(Log(tuple(jobs), (9,)))
    every = np.ones(4, np.bool_)
    ready = np.array([0, 0, 100, NEVER])
    trials = observed.trials_of(work, every, ready)
    found = list(zip(*(column.tolist() for column in trials), strict=True))
    assert found == [
        (2, 100, False, 1_900),  # could have started long before
        (0, 0, True, 0),
        (1, 0, True, 0),  # soon enough
        (2, 2_000, True, 0),
        (3, 5_000, True, 0),  # the model would not have started it before
    ]
    kept = trials.of(trials.served)
    assert kept.job.tolist() == [0, 1, 2, 3]
