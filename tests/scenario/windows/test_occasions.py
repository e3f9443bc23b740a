"""Claims with and without a window, against its definition, second by second."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.limits import UNLIMITED
from audit.scenario.windows import occasions
from audit.scenario.windows.occasions import Tried, Walker
from audit.scenario.workload import Workload
from tests import strategies
from tests.naive import rules as naive
from tests.naive.simulation import Log

NOTHING = np.zeros((2, 0), np.int64)


def instants(work: Workload, tried: Tried) -> list[int]:
    """Return the instants between which every decision stands."""
    started = work.has_started
    times = (work.arrival, work.start[started], work.end[started], work.step_time, tried.opens)
    return sorted({int(t) for some in times for t in some})


def roomier(log: Log) -> Log:
    """Return a log in which more wait at a time, and more of them fit side by side."""
    jobs = tuple(
        job
        if job.start is None or job.end is None
        else job._replace(start=job.start + 7 * (k % 5), end=job.end + 7 * (k % 5))
        for k, job in enumerate(log.jobs)
    )
    return log._replace(jobs=jobs, capacity=(2 * log.capacity[0],))


@given(
    st.one_of(strategies.logs(), strategies.logs(most=20, resources=1).map(roomier)),
    st.lists(st.integers(1, 40), min_size=0, max_size=6).map(np.cumsum),
    st.lists(st.integers(1, 30), min_size=5, max_size=5),
    st.sampled_from([0, 1, 2, 3]),
)
def test_claims_under_a_window_are_those_of_the_definition(
    log: Log, edges: np.ndarray, reaches: Sequence[int], most: int
) -> None:
    work = strategies.arrays(log)._replace(limits=UNLIMITED)
    edges = np.asarray(edges, np.int64) + int(work.arrival[:1].sum())  # the first arrival
    closes, opens = edges[: len(edges) // 2 * 2 : 2], edges[1::2]
    inside = np.array([k % 4 <= most for k in range(len(log.jobs))], np.bool_)
    reach = np.array([reaches[k % 5] for k in range(len(log.jobs))], np.int64)
    tried = Tried(inside, reach, np.ascontiguousarray(closes), np.ascontiguousarray(opens))
    at = instants(work, tried)

    def forbids(k: int, t: int) -> bool:
        last = max(instant for instant in at if instant <= t)
        return any(
            last < open_ and last + int(reach[k]) > close
            for close, open_ in zip(closes.tolist(), opens.tolist(), strict=True)
        )

    def forbidden(claims: Iterable[tuple[int, int, int]]) -> list[tuple[int, list[int]]]:
        """Return the seconds of each stretch in which the window forbids what claims."""
        found = defaultdict[tuple[int, int], set[int]](set)
        for job, t, stretch in claims:
            if work.has_started[job] and forbids(job, t):  # of others, the last span has no end
                found[job, stretch].add(t)
        return sorted((job, sorted(seconds)) for (job, _), seconds in found.items())

    walker = Walker(work, UNLIMITED, NOTHING)
    nothing = [False] * len(inside)
    for spans, about in ((walker.spans.claims, nothing), (walker.claims(tried), inside.tolist())):
        found = [
            (job, t, stretch)
            for job, stretch, since, until in spans.tolist()
            for t in range(since, until if work.has_started[job] else since)
        ]
        assert forbidden(found) == forbidden(naive.claims(log, forbids, about))


@given(st.integers(0, 2**31), st.sampled_from(["UTC", "Europe/Stockholm", "Asia/Kolkata"]))
def test_hours_are_those_of_the_clock(at: int, zone: str) -> None:
    clock = datetime.fromtimestamp(at, ZoneInfo(zone))
    begin = occasions.local(np.array([at]), zone)
    assert occasions.hour_of_week(begin).tolist() == [clock.weekday() * 24 + clock.hour]
    assert int(begin[0]) % 86_400 == clock.hour * 3_600 + clock.minute * 60 + clock.second
