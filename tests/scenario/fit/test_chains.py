"""Attempts that wait for the end of their user's previous one."""

from typing import Any

import numpy as np

from audit.scenario.fit import chains
from audit.scenario.fit.observed import Observed, observe
from audit.scenario.workload import NEVER
from tests.oneoff.fit_policy.made import DAY, EPOCH, NOW, assumed, described


def record(submit: int, start: int, end: int, user: str) -> dict[str, Any]:
    times = {"submit_time": EPOCH + submit, "start_time": EPOCH + start, "end_time": EPOCH + end}
    return times | {"cpus": 1, "user": user}


def first_fit(observed: Observed) -> Any:
    """Return when each attempt first would have fitted, [n]; NEVER: not while it waited."""
    first = np.full(len(observed.work.arrival), NEVER)
    np.minimum.at(first, observed.spans.job, observed.spans.since)
    return first


def log(beside: bool) -> Observed:
    """Return a log in which Ann's six jobs a day wait for each other, and Bob's do not wait.

    With ``beside``, one more job of Ann starts at once each day.
    """
    records = []
    for day in range(5):
        since = day * DAY
        for number in range(6):
            start = since + number * 1_000
            records.append(record(since + number, max(start, since + number), start + 1_000, "ann"))
            records.append(record(since + number, since + number, start + 5_000, "bob"))
        if beside:
            records.append(record(since + 1_500, since + 1_500, since + 1_600, "ann"))
    return observe(described(records), assumed(), NOW)


def test_links_are_counted() -> None:
    observed = log(beside=False)
    every = np.ones(len(observed.rows), np.bool_)
    [found] = chains.chains(observed, first_fit(observed), every)
    assert (found.user, found.links, found.others) == ("ann", 25, 0)
    assert found.explained == 5 * sum(number * 1_000 - number for number in range(1, 6))
    assert chains.chains(observed, first_fit(observed), ~every) == []


def test_other_jobs_of_the_user_may_start_beside_a_link() -> None:
    observed = log(beside=True)
    every = np.ones(len(observed.rows), np.bool_)
    [found] = chains.chains(observed, first_fit(observed), every)
    assert found.links == 25


def test_links_are_released_when_the_previous_job_ends() -> None:
    observed = log(beside=True)
    ann = (observed.frame["user"] == "ann").to_numpy()
    held, broken = chains.held_until(observed, ann)
    start, arrival = observed.work.start, observed.work.arrival
    assert (held[~ann] == arrival[~ann]).all()
    assert broken.sum() == 5, "jobs that started beside a link"
    links = ann & ~broken
    assert (held[links] == start[links]).all()
