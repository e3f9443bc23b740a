"""Rules in force: the same for every command, and up to the end of a period for a run."""

import functools
import json
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import config
from audit.cluster import fitted
from audit.cluster.delivered import held_until
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.fitted import Fitted
from audit.cluster.setting import ClusterSettings, PoolInference
from audit.metrics.attempts.account import account
from audit.metrics.attempts.population import as_of, describe
from audit.metrics.waits.plan import Passes
from audit.model import ATTEMPTS, JobState, Pool, Resource, Standing
from audit.pipeline import inferring
from audit.pipeline.inferring import SPAN_S, in_force
from audit.pipeline.opening import ClusterLog
from audit.policies import Backfill
from audit.scenario.delivered.agreement import agreement
from audit.scenario.delivered.candidates import candidates
from audit.scenario.releases.holds import inferred_holds
from audit.scenario.scenario import Scenario
from tests.scenario.windows.sites import CPUS, DAY, EPOCH, Planted, made
from tests.strategies import frame

USAGE = FairshareInputs(config.UsageConfig())
limited = functools.cache(functools.partial(made, Planted(CPUS), 1))


def setting(described: pl.DataFrame, pool: Pool) -> ClusterSettings:
    ends = described["end_time"].drop_nulls().to_list()
    of = ("c", ZoneInfo("UTC"), (pool,), dict.fromkeys((None, "debug", "batch"), pool.name))
    return ClusterSettings(*of, max(ends), (), (), log_begin=min(ends))


def inferred(described: pl.DataFrame, of: ClusterSettings) -> list[Fitted]:
    return inferring.inferred(described, of, USAGE, ())


def of_period(attempts: pl.DataFrame, of: ClusterSettings, to_time: int) -> list[Fitted]:
    return inferring.of_period(attempts, of, to_time, USAGE, ())


def known(one: dict[str, Any], since: int, until: int) -> dict[str, Any] | None:
    """An attempt as it was known at ``until``; None: it ended before ``since``, or came later."""
    ready = one["submit_time"] if one["eligible_time"] is None else one["eligible_time"]
    start, end = one["start_time"], one["end_time"]
    times = [time for time in (ready, start, end) if time is not None]
    if (end is not None and end < since) or (times and min(times) >= until):
        return None
    if start is not None and start < until:
        if end is None or end < until:
            return one
        gone = {"end_time": None, "state": JobState.RUNNING.value, "occupancy_s": until - start}
        return one | gone
    if start is None and (end is None or end < until):
        return one
    gone = dict.fromkeys(("start_time", "end_time", "reason", "occupancy_s"))
    return one | gone | {"state": JobState.PENDING.value}


@st.composite
def attempts(draw: st.DrawFn) -> list[dict[str, Any]]:
    times = st.none() | st.integers(0, 20)
    rows = []
    for _ in range(draw(st.integers(0, 8))):
        start, end = draw(times), draw(times)
        if start is not None and end is not None:
            start, end = min(start, end), max(start, end)
        rows.append(
            {
                "submit_time": draw(times),
                "eligible_time": draw(times),
                "start_time": start,
                "end_time": end,
                "state": draw(st.sampled_from(["COMPLETED", "PENDING", "CANCELLED", None])),
                "reason": draw(st.sampled_from(["Priority", None])),
                "occupancy_s": draw(st.none() | st.integers(0, 9)),
            }
        )
    return rows


@given(attempts(), st.integers(0, 20), st.integers(0, 20))
def test_attempts_as_they_were_known(rows: list[dict[str, Any]], since: int, until: int) -> None:
    every = frame(rows).select(ATTEMPTS.names())
    found = as_of(every, since, until)
    assert found.schema == every.schema
    expected = [known(one, since, until) for one in every.rows(named=True)]
    assert found.rows(named=True) == [one for one in expected if one is not None]


@given(attempts(), st.integers(0, 20), st.integers(0, 20))
def test_descriptions_follow_what_was_known(
    rows: list[dict[str, Any]], since: int, until: int
) -> None:
    every, pool = frame(rows).select(ATTEMPTS.names()), Pool("all", Resource.cpus, 8)
    described = as_of(describe(every, [pool]), since, until)
    assert described.equals(describe(as_of(every, since, until), [pool]))


def test_what_ended_later_was_running_or_waiting() -> None:
    one = {"submit_time": 5, "start_time": 10, "end_time": 30, "cpus": 1, "occupancy_s": 20}
    log = frame([one | {"state": "COMPLETED"}])
    pool = Pool("all", Resource.cpus, 8)
    for until, standing in ((31, Standing.ENDED), (30, Standing.RUNNING), (10, Standing.PENDING)):
        [row] = describe(as_of(log, 0, until), [pool])["standing"]
        assert row == standing
    assert as_of(log, 0, 5).is_empty()
    assert as_of(log, 31, 99).is_empty()


@pytest.mark.thorough
def test_all_of_the_log_is_that_of_an_audit() -> None:
    """A period that ends after a short log has its rules, and the account's own plan."""
    described, pool = limited()
    whole = setting(described, pool)
    [audited] = inferred(described, whole)
    [found] = of_period(described.select(ATTEMPTS.names()), whole, whole.now + DAY)
    assert found._replace(shown=found.shown._replace(passes=None)) == audited
    assert found.pool.limits == (CPUS,)
    holds = inferred_holds(described, found.pool, whole.now, found.shown.holding)
    booked = account(described, found.pool, whole.now, log_begin=whole.log_begin, holds=holds)
    assert found.shown.passes == Passes(booked.plan, booked.starts, booked.interval_s)
    again = account(
        *(described, found.pool, whole.now),
        log_begin=whole.log_begin,
        holds=holds,
        passes=found.shown.passes,
    )
    assert again.attempts.equals(booked.attempts)


def test_the_agreement_of_a_period_is_that_of_its_log() -> None:
    described, pool = limited()
    until = EPOCH + 35 * DAY
    [found] = of_period(described.select(ATTEMPTS.names()), setting(described, pool), until)
    log = Scenario(as_of(described, until - SPAN_S, until), found.pool, until)
    holds = inferred_holds(log.attempts, log.pool, until, found.shown.holding)
    rows = agreement(log, held_until=held_until(log.attempts, log.pool, holds))
    assert [*found.shown.compared.values()] == rows.rows()
    assert [rule[:2] for rule in candidates(log)] == [*found.shown.compared]
    kept = fitted.in_force(setting(described, pool), [found])
    again = fitted.again(setting(described, pool), json.loads(json.dumps(kept)))
    of_pool = again.shown_of(pool.name)
    assert of_pool.compared == found.shown.compared


def test_what_came_after_a_period_does_not_matter() -> None:
    described, pool = limited()
    every = described.select(ATTEMPTS.names())
    until = EPOCH + 35 * DAY
    found = of_period(every, setting(described, pool), until)
    assert found[0].pool.limits == (CPUS,)
    [stops] = found[0].shown.evidence
    [whole] = of_period(every, setting(described, pool), EPOCH + 99 * DAY)[0].shown.evidence
    assert 0 < stops["starts"] < whole["starts"]
    later = (pl.col("start_time") >= until) | (pl.col("submit_time") >= until)
    moved = [pl.when(later).then(pl.col(x) + 12_345).otherwise(x) for x in ("start_time",)]
    ends = pl.when(pl.col("end_time") >= until).then(pl.col("end_time") + 54_321)
    other = every.with_columns(*moved, end_time=ends.otherwise("end_time"))
    assert of_period(other, setting(described, pool), until) == found


def test_only_four_hundred_days_are_read() -> None:
    described, pool = limited()
    every = described.select(ATTEMPTS.names())
    late = replace(setting(described, pool), now=EPOCH + 900 * DAY)
    assert of_period(every, late, EPOCH + 60 * DAY + SPAN_S) == []
    [found] = of_period(every, late, EPOCH + 30 * DAY + SPAN_S)
    recent = every.filter(pl.col("end_time") >= EPOCH + 30 * DAY)
    assert [found] == of_period(recent, late, EPOCH + 30 * DAY + SPAN_S)


def test_a_stated_backfilling_needs_no_evidence() -> None:
    described, pool = limited()
    policy = pool.policy._replace(backfill=Backfill.none, interval_s=30)
    stated = pool._replace(policy=policy, states_backfill=True)
    every = described.select(ATTEMPTS.names())
    [found] = of_period(every, setting(described, stated), EPOCH + 99 * DAY)
    passes = found.shown.passes
    assert passes is not None
    assert passes.starts is None
    assert (passes.plan, passes.interval_s) == ((0, True), 30)


def test_without_fitting_only_what_is_configured_is_in_force() -> None:
    described, pool = limited()
    log = ClusterLog(described, setting(described, pool), None, ())
    shown = in_force(log).setting
    assert shown.pools[0].limits == (CPUS,)
    assert [fact.what for fact in shown.facts] == ["policy", "limit 1 of 1"]
    plain = in_force(log, fit=False).setting
    assert plain.pools == (pool,)
    assert plain.inferred == {"all": PoolInference(passes=fitted.UNKNOWN)}
    assert in_force(log, only=("other",)).setting == log.setting


@pytest.mark.parametrize(("waits", "backfill"), [(670, Backfill.none), (0, Backfill.easy)])
def test_a_queue_in_which_no_job_overtakes_shows_no_backfilling(
    waits: int, backfill: Backfill
) -> None:
    """Of 4 CPUs, one is free while b waits for 4. In it, c would delay b, and d would not."""
    rows = [
        {
            "job_id": f"{turn}{user}",
            "user": user,
            "submit_time": EPOCH + 2_000 * turn + ready,
            "start_time": EPOCH + 2_000 * turn + ready + wait,
            "end_time": EPOCH + 2_000 * turn + ready + wait + runs,
            "walltime_s": runs,
            "cpus": cpus,
        }
        for turn in range(120)
        for user, ready, wait, runs, cpus in (
            *(("a", 0, 0, 600, 3), ("b", 10, 590, 100, 4)),
            *(("c", 20, 680, 800, 1), ("d", 30, waits, 100, 1)),
        )
    ]
    pool = Pool("p", Resource.cpus, 4)
    of = setting(jobs := describe(frame(rows), [pool]), pool)
    (found,) = inferring.inferred(jobs, of, USAGE, (pool,))
    assert found.pool.policy.backfill is backfill
