"""Attempts that a computation of some periods needs."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from audit.cluster.windows import BASE_S, WHOLE, ComputedWindow, stretches, window_of
from audit.metrics.attempts.similar import LEAD_S
from audit.model import Order, Period, Policy, Pool, Resource
from audit.policies import Backfill

POOL = Pool("all", Resource.cpus, 4)
SCHEMA = dict.fromkeys(("job", "arrival_time", "start_time", "end_time"), pl.Int64)


def jobs(*rows: tuple[int, int | None, int | None, int | None]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def named(frame: pl.DataFrame) -> list[int]:
    return frame["job"].to_list()


def test_a_window_has_attempts_that_ended_in_it_and_the_last_one_open_ones() -> None:
    log = jobs((1, 0, 1, 9), (2, 0, 5, 10), (3, 0, 5, 19), (4, 0, 6, 20), (5, 0, 7, None))
    assert named(ComputedWindow(None, 10).own(log)) == [1]
    assert named(ComputedWindow(10, 20).own(log)) == [2, 3]
    assert named(ComputedWindow(10, None).own(log)) == [2, 3, 4, 5]
    assert named(WHOLE.own(log)) == [1, 2, 3, 4, 5]


def test_a_window_needs_simultaneous_attempts_and_earlier_peers() -> None:
    log = jobs(
        (1, 0, 1, 50 - 1),  # gone before the own one arrived, and came long before
        (2, 0, 1, 50),  # still there when that arrived
        (3, 50, 120, 130),  # the window's own
        (4, 300, 301, 302),  # came later
    )
    times = pl.col("arrival_time", "end_time")
    shifted = log.with_columns(times - pl.when(pl.col("job") < 3).then(BASE_S).otherwise(0))
    late = shifted.with_columns(pl.col("arrival_time").clip(50 - BASE_S - LEAD_S))
    early = late.with_columns(pl.col("arrival_time") - pl.when(job=1).then(LEAD_S).otherwise(0))
    span = ComputedWindow(100, 200)
    assert named(span.needed(early, POOL)) in ([2, 3, 4], [3, 4])
    assert named(ComputedWindow(None, 200).needed(early, POOL)) == [1, 2, 3, 4]


def test_a_window_needs_the_base_of_its_verdicts() -> None:
    """Those that ended in the 91 days before it, and their similar jobs."""
    log = jobs(
        (1, 90 - BASE_S, 95 - BASE_S, 100 - BASE_S),  # ends as the base begins
        (2, 0 - BASE_S - LEAD_S, 1 - BASE_S, 89 - BASE_S),  # came too long before that
        (3, 50, 120, 130),  # the window's own
    )
    assert named(ComputedWindow(100, 200).needed(log, POOL)) == [1, 3]


def test_orders_by_history_need_all_attempts() -> None:
    log = jobs((1, -BASE_S - LEAD_S, 1 - BASE_S, 2 - BASE_S), (2, 50, 120, 130))
    by_usage = POOL._replace(policy=Policy(Order.fairshare, Backfill.easy))
    counted = POOL._replace(policy=Policy(interval_s=30))
    assert named(ComputedWindow(100, None).needed(log, POOL)) == [2]
    for pool in (by_usage, counted, POOL._replace(fair_order=Order.nuwt)):
        assert named(ComputedWindow(100, None).needed(log, pool)) == [1, 2]


def months(*attempts: int) -> dict[Period, int]:
    return {
        Period(str(number), number * 100, number * 100 + 90): count
        for number, count in enumerate(attempts)
    }


def test_stretches_are_adjacent_and_bounded() -> None:
    current = months(5, 5, 5, 5, 5)
    every = list(current)
    due = [every[0], every[1], every[2], every[4]]
    cut = stretches(current, due, 10)
    assert cut == [every[:2], [every[2]], [every[4]]]
    # the days between two periods are of the later one
    assert [window_of(current, part) for part in cut] == [
        ComputedWindow(None, 190),
        ComputedWindow(190, 290),
        ComputedWindow(390, None),
    ]
    assert stretches(current, due, None) == [every[:3], [every[4]]]
    (whole,) = stretches(current, every, None)
    assert window_of(current, whole) == WHOLE
    assert stretches(current, [], 10) == []


@given(
    counts=st.lists(st.integers(1, 9), min_size=1, max_size=8),
    most=st.integers(1, 20),
    data=st.data(),
)
def test_every_due_period_is_in_one_stretch(
    counts: list[int], most: int, data: st.DataObject
) -> None:
    current = months(*counts)
    due = data.draw(st.lists(st.sampled_from(list(current)), unique=True))
    cut = stretches(current, due, most)
    assert [period for part in cut for period in part] == sorted(due)
    for part in cut:
        assert len(part) == 1 or sum(current[period] for period in part) <= most
        first = list(current).index(part[0])
        assert part == list(current)[first : first + len(part)]
