"""The medians that predictions are compared with."""

from audit.scenario.predict.baselines import Baselines, Medians
from audit.scenario.predict.known import known_of
from tests.scenario.predict.test_sweep import job, scenario
from tests.strategies import EPOCH


def test_waits_count_from_the_second_after_they_ended() -> None:
    jobs = [job(k, 10 * k, 10 * k + 5, 1, user="ann") for k in range(30)]
    known = known_of(scenario(jobs))
    at = Baselines(known).at
    last = len(jobs) - 1
    assert at(EPOCH + 40, last) == Medians(None, None)
    assert at(EPOCH + 41, last) == Medians(None, 18)  # of 0, 9, 18, 27, 36
    assert at(EPOCH + 191, last) == Medians(81, 81)  # of the first 20
    assert at(EPOCH + 251, last) == Medians(108, 135)  # of all 26, and of the last 20


def test_a_user_without_enough_waits_gets_those_of_the_class() -> None:
    jobs = [job(k, k + 7, k + 8, 1, user="ann") for k in range(10)]
    jobs += [job(20, 21, 22, 1, user="bob"), job(20, 21, 22, 4, user="bob")]
    known = known_of(scenario(jobs))
    narrow, wide = len(jobs) - 2, len(jobs) - 1
    at = Baselines(known).at
    assert at(EPOCH + 20, narrow) == Medians(None, 7)
    assert at(EPOCH + 20, wide) == Medians(None, None)
