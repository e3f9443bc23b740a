"""The medians that predictions are compared with."""

import numpy as np

from audit.scenario.predict.baselines import UNKNOWN, Baselines
from audit.scenario.predict.known import known_of
from tests.scenario.predict.test_sweep import job, scenario
from tests.strategies import EPOCH


def at(of: Baselines, now: int, job: int) -> tuple[int, int]:
    """The medians of the last waits, and of those alike."""
    of.to(now)
    return of.recent, int(of.alike(np.array([job]))[0])


def test_waits_count_from_the_second_after_they_ended() -> None:
    jobs = [job(k, 10 * k, 10 * k + 5, 1, user="ann") for k in range(30)]
    known = known_of(scenario(jobs))
    of = Baselines(known)
    last = len(jobs) - 1
    assert at(of, EPOCH + 40, last) == (UNKNOWN, UNKNOWN)
    assert at(of, EPOCH + 41, last) == (UNKNOWN, 18)  # of 0, 9, 18, 27, 36
    assert at(of, EPOCH + 191, last) == (81, 81)  # of the first 20
    assert at(of, EPOCH + 251, last) == (108, 135)  # of all 26, and of the last 20


def test_a_user_without_enough_waits_gets_those_of_the_class() -> None:
    jobs = [job(k, k + 7, k + 8, 1, user="ann") for k in range(10)]
    jobs += [job(20, 21, 22, 1, user="bob"), job(20, 21, 22, 4, user="bob")]
    known = known_of(scenario(jobs))
    narrow, wide = len(jobs) - 2, len(jobs) - 1
    of = Baselines(known)
    assert at(of, EPOCH + 20, narrow) == (UNKNOWN, 7)
    assert at(of, EPOCH + 20, wide) == (UNKNOWN, UNKNOWN)
