"""Occasions withheld by a rule, against their definition, second by second."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.fit import occasions
from audit.scenario.fit.occasions import Tried, Walker
from audit.scenario.limits import UNLIMITED
from tests import strategies
from tests.naive import rules as naive
from tests.naive.simulation import Log

NOTHING = np.zeros((2, 0), np.int64)


def withheld(log: Log, tried: Tried, most: int) -> list[tuple[int, int]]:
    """Return the begin of the first forbidden span of each stretch, by the package."""
    work = strategies.arrays(log)._replace(limits=UNLIMITED)
    spans = Walker(work, UNLIMITED, NOTHING).spans(tried, split=True)
    found: dict[tuple[int, int], int] = {}
    for k in np.argsort(spans.since, kind="stable").tolist():
        job, since = int(spans.job[k]), int(spans.since[k])
        entity = tried.entity[job]
        running = sum(
            int(tried.amount[other])
            for other in range(len(log.jobs))
            if tried.entity[other] == entity and work.start[other] <= since < work.end[other]
        )
        if spans.claims[k] and entity >= 0 and running + tried.amount[job] > most:
            found.setdefault((job, int(spans.stretch[k])), since)
    return sorted((job, since) for (job, _), since in found.items())


@given(strategies.logs(), st.integers(0, 4), st.booleans())
def test_occasions_of_a_limit_are_those_of_the_definition(
    log: Log, most: int, amounts: bool
) -> None:
    entity = np.array([-1 if k % 5 == 4 else k % 2 for k in range(len(log.jobs))], np.int64)
    amount = np.array([job.request[0] if amounts else 1 for job in log.jobs], np.int64)

    def forbids(k: int, t: int, running: Sequence[int]) -> bool:
        held = sum(int(amount[other]) for other in running if entity[other] == entity[k])
        return bool(held + amount[k] > most)

    expected = naive.occasions(log, forbids, (entity >= 0).tolist())
    assert withheld(log, Tried(entity, amount, most), most) == sorted(expected)


@given(strategies.logs())
def test_splitting_keeps_the_seconds_of_claims(log: Log) -> None:
    walker = Walker(strategies.arrays(log)._replace(limits=UNLIMITED), UNLIMITED, NOTHING)
    found = []
    for split in (False, True):
        seconds: Counter[tuple[int, int]] = Counter()
        for job, since, until, stretch, claims in zip(*walker.spans(split=split), strict=True):
            assert claims or not split
            if claims and log.jobs[job].start is not None:  # else its last span has no end
                seconds[int(job), int(stretch)] += int(until - since)
        found.append(seconds)
    assert found[0] == found[1]


@given(st.integers(0, 2**31), st.sampled_from(["UTC", "Europe/Stockholm", "Asia/Kolkata"]))
def test_hours_are_those_of_the_clock(at: int, zone: str) -> None:
    clock = datetime.fromtimestamp(at, ZoneInfo(zone))
    begin = occasions.local(np.array([at]), zone)
    assert occasions.hour_of_week(begin).tolist() == [clock.weekday() * 24 + clock.hour]
    assert int(begin[0]) % 86_400 == clock.hour * 3_600 + clock.minute * 60 + clock.second
