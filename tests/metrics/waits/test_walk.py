"""The walk against its slow twin, by hand, and on real logs."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.metrics.attempts.account import KEY
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.reasons import hold_kind
from audit.metrics.waits.opportunities import sweep_room
from audit.metrics.waits.plan import STRICT
from audit.metrics.waits.queue import AS_HELD, AS_PLANNED, Holds, Queued, in_force, queued
from audit.metrics.waits.walk import LogFacts, Plan, book, scene
from tests.examples import examples
from tests.metrics.attempts.test_account import LIMITS, WINDOWS, arrays, crowds
from tests.metrics.waits.compared import assert_same, assert_same_times
from tests.naive import account as naive
from tests.scenario.test_engine import slow_pool
from tests.strategies import EPOCH, NOW, POOLS, Rows, frame, rows, sampled

EDGE = 770
"""Times are moved by this, so that an hour begins among them."""
PLANS = (Plan(20), Plan(0), STRICT, Plan(1), Plan(3))


@st.composite
def logs(draw: st.DrawFn) -> Rows:
    """Crowds with walltimes, so that plans matter."""
    made: Rows = draw(rows() | crowds() | arrays())
    for record in made:
        record["walltime_s"] = draw(sampled([None, 2, 7, 30]))
    return made


@pytest.mark.parametrize("rule", range(len(LIMITS) + len(WINDOWS) + 2))
@settings(max_examples=examples(16))
@given(data=st.data())
def test_as_defined(rule: int, data: st.DataObject) -> None:
    records = data.draw(logs())
    pool = data.draw(st.sampled_from(POOLS))
    limits = LIMITS[rule - 1 : rule] if rule else []
    windows = WINDOWS[rule - 1 - len(LIMITS) :][:1] if rule > len(LIMITS) else []
    if rule > len(LIMITS) + len(WINDOWS):
        limits, windows = LIMITS[:2], WINDOWS[1:]
    steps = tuple(step._replace(since=step.since + EDGE) for step in pool.steps)
    pool = pool._replace(
        steps=steps, limits=tuple(a for a, _ in limits), windows=tuple(a for a, _ in windows)
    )
    moved = frame(records).with_columns(pl.col("^.*_time$") + EDGE)
    described = describe(moved, [pool]).with_row_index("row")
    known_priorities = _drawn_priorities(data, described)
    found = pl.Series([known_priorities.get(key) for key in described.select(*KEY).rows()])
    described = described.with_columns(found.cast(pl.Float64).alias("rank"))
    by = "rank" if known_priorities else None
    queue = queued(described, NOW + EDGE, pl.col("size") > 0, priority=by)
    holds, known_holds = _drawn_holds(data, queue, len(limits) + len(windows))
    begin = EPOCH + EDGE + data.draw(sampled([-100, -100, 0, 5]))
    interval, lapse = data.draw(sampled([0, 2])), data.draw(sampled([1, 3, 8, 900]))
    outage = data.draw(sampled([4, 600]))
    noted = hold_kind(queue.rows).is_not_null().to_numpy()
    known = LogFacts(begin, interval, holds, noted, None, lapse)
    rules = in_force(queue, pool.limits, pool.windows, pool.zone, recorded=1)
    log = scene(queue, pool, rules, known, outage_s=outage)
    site = naive.site_of(
        moved.with_columns(size=pool.resource.value).to_dicts(),
        *(*slow_pool(pool), NOW + EDGE),
        begin=begin,
        limits=[b for _, b in limits],
        windows=[b for _, b in windows],
        holds=known_holds,
        interval=interval,
        lapse=lapse,
        outage=outage,
        priorities=known_priorities or None,
    )
    last = max(site.instants, default=0)
    begun, over = log.outages[:2].clip(max=last).tolist()
    assert [*map(range, begun, over)] == [span for _, span in site.outages]
    for plan in PLANS:
        want = naive.account(site, naive.Depth(plan.reservations, plan.strict))
        booked, rows = book(log, plan), np.arange(queue.rows.height)
        assert_same(booked, want, queue, pool)
        for counts in (False, True):
            swept = sweep_room(log, plan, counts=counts)
            assert_same_times(swept.by_attempt(rows), want, queue)
            assert swept.agree == (booked.starts if counts else None)


def _drawn_priorities(data: st.DataObject, described: pl.DataFrame) -> dict[tuple[str, int], float]:
    """Some priorities; in half of the cases none."""
    if data.draw(st.booleans()):
        return {}
    chance = sampled([None, 1.0, 2.0, 3.0, 3.0])
    drawn = ((key, data.draw(chance)) for key in described.select(*KEY).rows())
    return {key: one for key, one in drawn if one is not None}


def _drawn_holds(
    data: st.DataObject, queue: Queued, rules: int
) -> tuple[Holds, dict[tuple[str, int], list[naive.Known]]]:
    """Some holds, recorded rules and plans, as the walk and its twin take them."""
    says: dict[int, str | int] = {AS_HELD: "held", AS_PLANNED: "planned", rules: rules}
    taken: list[tuple[int, int, int, int]] = []
    known: dict[tuple[str, int], list[naive.Known]] = {}
    for place, row in enumerate(queue.rows.to_dicts()):
        chance = [AS_HELD, AS_PLANNED, rules, None, None, None, None]
        for recorded_as in data.draw(st.sets(sampled(chance))) if row["waits"] else ():
            begin = row["arrival_time"] + data.draw(sampled([0, 2]))
            end = min(begin + data.draw(sampled([1, 5])), row["leave"])
            if recorded_as is not None and begin < end:
                taken.append((place, begin, end, recorded_as))
                one = naive.Known(range(begin, end), says[recorded_as])
                known.setdefault((row["job_id"], row["attempt"]), []).append(one)
    columns = np.array(taken, np.int64).reshape(-1, 4).T
    return Holds(*(np.ascontiguousarray(column) for column in columns)), known


def test_the_rest_of_equal_jobs_reserves_behind_those_of_them_that_start() -> None:
    """Three of four equal jobs start together: none of them is behind the fourth."""
    pool = POOLS[0]._replace(steps=())
    size = pool.capacity // 2 + 1
    records: Rows = [
        {
            "submit_time": EPOCH,
            "start_time": EPOCH + begin,
            "end_time": EPOCH + begin,
            "cpus": size,
            "nodes": size,
            "user": "ann",
            "state": "COMPLETED",
            "gpus": 0,
            "job_id": str(number),
            "job_number": number,
            "reason": None,
            "walltime_s": None,
        }
        for number, begin in enumerate((1, 1, 1, 2))
    ]
    described = describe(frame(records), [pool]).with_row_index("row")
    queue = queued(described, NOW, pl.col("size") > 0)
    none = Holds(*(np.zeros(0, np.int64) for _ in Holds._fields))
    known = LogFacts(EPOCH - 1, 0, none, np.zeros(4, np.bool_), None, 900)
    rules = in_force(queue, (), (), pool.zone)
    starts = book(scene(queue, pool, rules, known, outage_s=600), Plan(1)).starts
    assert (starts.starts, starts.waited, starts.behind) == (4, 4, 0)
