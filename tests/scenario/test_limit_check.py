"""Starts that limits and windows did not allow: from the definition, and by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.scenario.limit_check import beyond
from tests.naive.simulation import Job, Log, Window
from tests.strategies import EPOCH, arrays, logs


def excesses(log: Log) -> list[int]:
    """Of each attempt, all of which ran, by how much its start goes beyond a limit."""
    work = arrays(log)
    rows = np.arange(len(log.jobs))
    return list(beyond(work.limits, rows, work.start, work.end, work.blocked))


def _exact(log: Log, j: Job) -> int:
    """From the definition; a closed window is 1."""
    if j.blocked:
        return 0
    assert j.start is not None
    most = 0
    for name, amount, binds in j.counts:
        used = amount
        for k in log.jobs:
            assert k.start is not None
            assert k.end is not None
            for other, more, binds_too in k.counts:
                begins = k.start == j.start < k.end and binds_too and j.start != j.end
                before = k.start <= j.start if k.blocked else k.start < j.start
                runs = before and j.start < k.end
                if k is not j and other == name and (runs or (begins and not k.blocked)):
                    used += more
        if binds:
            most = max(most, used - dict(log.most)[name])
    return max([most, *(int(log.windows[w].closed(j.start)) for w in j.windows)])


@given(logs(limited=True), st.data())
def test_as_defined(log: Log, data: st.DataObject) -> None:
    jobs = []
    for job in log.jobs:
        start = EPOCH + data.draw(st.integers(0, 12))
        end = start + data.draw(st.integers(0, 4))
        jobs.append(job._replace(start=start, end=end, blocked=data.draw(st.booleans())))
    log = log._replace(jobs=tuple(jobs))
    made = excesses(log)
    for job, excess in zip(log.jobs, made, strict=True):
        exact = _exact(log, job)
        shut = not job.blocked and any(log.windows[w].closed(job.start or 0) for w in job.windows)
        assert excess >= max(exact, 1) if shut else excess == exact


def test_each_by_hand() -> None:
    # Ann may hold 2. At 4 what is blocked comes and goes first: x comes, y goes; a, which ends
    # then, is gone. So b and c, of 1 each, are 1 too many together, and d, of no time, is none.
    def job(start: int, end: int, amount: int = 1, blocked: bool = False) -> Job:
        return Job(
            *(EPOCH, end - start, end - start, (1,), EPOCH + start, EPOCH + end),
            counts=(("ann", amount, True),),
            blocked=blocked,
        )

    a, x, y = job(0, 4, 2), job(4, 9, blocked=True), job(0, 4, blocked=True)
    b, c, d = job(4, 6), job(4, 6), job(4, 4)
    log = Log((a, x, y, b, c, d), (9,), most=(("ann", 2),))
    assert excesses(log) == [1, 0, 0, 1, 1, 0]
    assert excesses(log._replace(jobs=(a, y, b, c, d))) == [1, 0, 0, 0, 0]


def test_windows_are_closed_for_ever_and_no_longer() -> None:
    # Closed in the second unit of each three, long after the last edge that is known.
    window = Window(frozenset({1}), 1, 3, EPOCH)
    jobs = tuple(Job(EPOCH, 1, 1, (1,), EPOCH + t, EPOCH + t + 1, windows=(0,)) for t in range(40))
    made = excesses(Log(jobs, (40,), windows=(window,)))
    assert [excess > 0 for excess in made] == [t % 3 == 1 for t in range(40)]
