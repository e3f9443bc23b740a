"""The public logs: what must hold of every schedule and every fair start time (SPEC §4, §5)."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from audit.metrics.attempts.population import ended
from audit.metrics.fairshare.usage import HalfLife, Method
from audit.model import BY_OWNER, Backfill, FstStatus, Order, Policy
from audit.scenario.check import check_simulated, require_sound
from audit.scenario.driver import Effort
from audit.scenario.engine import replay, simulate
from audit.scenario.fair_start import fair_start_times, fair_starts
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, workload
from audit.workers.executors import Threads
from tests.metrics.attempts.test_real_logs import LOGS, described


@pytest.mark.parametrize("name", LOGS)
def test_statuses_and_facts(real_logs: Path, name: str) -> None:
    attempts, pool = described(real_logs, name)
    now = int(attempts["end_time"].drop_nulls().to_numpy().max())
    fair = fair_start_times(Scenario(attempts, pool, now), effort=Effort(Threads(2)))
    subjects = ended(fair)
    assert fair["fst_status"].drop_nulls().len() == subjects.height
    given = subjects.drop_nulls("fst_strict")
    without = subjects.filter(pl.col("fst_strict").is_null())
    assert set(without["fst_status"]) <= {FstStatus.EXCEEDS_CAPACITY.value}
    assert (given["fst_strict"] >= given["arrival_time"]).all()
    assert (given["fst_relaxed"] >= given["fst_strict"]).all()  # fcfs
    late = given["start_time"] - given["fst_strict"]
    assert given["miss_strict_s"].equals(late.clip(0).alias("miss_strict_s"))
    one = fair_start_times(Scenario(attempts, pool, now), effort=Effort())
    assert one.equals(fair)


def test_on_the_policys_own_schedule(real_logs: Path) -> None:
    attempts, pool = described(real_logs, "KTH-SP2-1996-2.1-cln")
    now = int(attempts["end_time"].drop_nulls().to_numpy().max())
    work, _ = workload(attempts, pool, now)
    policy = Policy(Order.fcfs, Backfill.none)
    start = replay(work, policy).start
    own = work._replace(start=start, end=start + work.occupancy)
    fair = fair_starts(own, policy, effort=Effort(Threads(2)))
    assert (start != NEVER).all()
    assert (fair.strict == start).all()
    # an easy schedule: a job that started on arrival has that as its fair start
    easy = replay(work, Policy()).start
    held = fair_starts(
        work._replace(start=easy, end=easy + work.occupancy), Policy(), effort=Effort(Threads(2))
    )
    at_once = easy == work.arrival
    last = np.append(work.arrival[1:] > work.arrival[:-1], True)
    assert (held.strict[at_once & last] == easy[at_once & last]).all()


@pytest.mark.parametrize("order", BY_OWNER)
@pytest.mark.parametrize("method", [EQUAL_SHARES.method, HalfLife(half_life_s=86_400.0)])
def test_who_was_not_overtaken_by_later_ones_started_when_fair(
    real_logs: Path, order: Order, method: Method
) -> None:
    # Usage, or waits, that the simulation counted as it went along are those of its schedule.
    attempts, pool = described(real_logs, "KTH-SP2-1996-2.1-cln")
    now = int(attempts["end_time"].drop_nulls().to_numpy().max())
    work, _ = workload(attempts, pool, now, Fairshare(method=method))
    policy = Policy(order, Backfill.easy)
    start = replay(work, policy).start
    own = work._replace(start=start, end=start + work.occupancy)
    fair = fair_starts(own, policy, effort=Effort(Threads(2)))
    alone = np.append(work.arrival[1:], NEVER) > start
    assert alone.sum() > len(start) / 2
    assert (start > work.arrival)[alone].any()
    assert (fair.strict[alone] == start[alone]).all()


@pytest.mark.parametrize("order", [Order.fcfs, *BY_OWNER])
@pytest.mark.parametrize("backfill", [Backfill.easy, Backfill.conservative])
@pytest.mark.parametrize("name", LOGS)
def test_simulated_schedules_are_sound(
    real_logs: Path, name: str, backfill: Backfill, order: Order
) -> None:
    attempts, pool = described(real_logs, name)
    now = int(attempts["end_time"].drop_nulls().to_numpy().max())
    schedule = simulate(attempts, pool, now, Policy(order, backfill))
    require_sound(check_simulated(schedule, attempts, pool, now))
