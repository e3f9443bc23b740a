"""Levels of attempts under a limit."""

import numpy as np

from audit.metrics.attempts.population import describe
from audit.model import Limit, Pool, Resource
from audit.scenario.fit.levels import kind_of, levels_in, use_of
from audit.scenario.fit.observed import observe
from tests.strategies import EPOCH, NOW, ended, frame

POOL = Pool("all", Resource.cpus, 20, amounts=(("cpus", 20),))


def test_what_its_user_would_use_if_an_attempt_started() -> None:
    rows = [
        ended(EPOCH, EPOCH, EPOCH + 100, 3, "a"),
        ended(EPOCH + 1, EPOCH + 50, EPOCH + 100, 4, "a"),
        ended(EPOCH + 2, EPOCH + 2, EPOCH + 100, 5, "b"),
        ended(EPOCH + 3, EPOCH + 100, EPOCH + 200, 6, "a"),
    ]
    observed = observe(describe(frame(rows), [POOL]), POOL, NOW)
    kind = kind_of(observed, Limit(most=0, resource="cpus", per="user"))
    assert kind.inside.all()
    job = np.array([3, 3, 3])
    since = EPOCH + np.array([3, 60, 100])
    at, highest = levels_in(use_of(observed, kind), kind, job, since, since + 47)
    assert at.tolist() == [9, 13, 12]
    assert highest.tolist() == [9, 13, 12]
