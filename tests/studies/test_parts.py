"""The part of a log and its loads: against the slow twin, and by hand."""

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import UsageError
from audit.metrics.attempts.population import describe
from audit.model import CapacityStep, Pool, Resource
from audit.studies import parts
from tests.naive import grid as slow
from tests.strategies import EPOCH, POOLS, Rows, ended, frame, rows

POOL = Pool("all", Resource.cpus, 4, amounts=(("cpus", 4),))


def cut(records: Rows, pool: Pool = POOL, attempts: int = 5_000) -> parts.SimulatedPart:
    return parts.part(describe(frame(records), [pool]), pool, attempts)


@given(rows(), st.sampled_from(POOLS), st.integers(1, 6), st.sampled_from(["0.5", "0.98", "7/3"]))
def test_as_defined(records: Rows, pool: Pool, attempts: int, load: str) -> None:
    limits = {pool.resource.value: pool.capacity} | {
        name: amount
        for name, amount in pool.amounts
        if name != pool.resource and (name != "nodes" or pool.exclusive_nodes)
    }
    described = describe(frame(records), [pool])
    without = pool._replace(steps=())
    want = slow.part(frame(records).rows(named=True), limits, attempts)
    if want is None:
        with pytest.raises(UsageError, match=r"has started|requests more"):
            parts.part(described, without, attempts)
        return
    made = parts.part(described, without, attempts)
    assert list(zip(made.described["job_id"], made.described["attempt"], strict=True)) == want.keys
    offered = slow.offered(want)
    if offered is None:
        with pytest.raises(UsageError, match="the part has no load"):
            parts.scaled(made, Fraction(load))
        return
    assert made.offered_load == float(offered)
    for exact in (False, True):
        loaded = parts.scaled(made, Fraction(load))
        loaded = parts.exact(loaded) if exact else loaded
        jobs = slow.at_load(want, Fraction(load), exact=exact).jobs
        assert loaded.described["occupancy_s"].to_list() == [job.occupancy for job in jobs]
        estimates = loaded.described.select(
            pl.max_horizontal("occupancy_s", pl.col("walltime_s").fill_null(0), 1)
        ).to_series()
        assert estimates.to_list() == [job.estimate for job in jobs]


def test_a_load_by_hand() -> None:
    # 4 CPUs over 10 s could give 40 CPU·s; asked for are 3 · 2 + 5 · 1 + 1 · 1 = 12
    records = [
        ended(EPOCH, EPOCH, EPOCH + 3, 2, walltime_s=10),
        ended(EPOCH + 4, EPOCH + 4, EPOCH + 9, 1),
        ended(EPOCH + 10, EPOCH + 20, EPOCH + 21, 1, walltime_s=1),
    ]
    made = cut(records)
    assert made.offered_load == 0.3
    loaded = parts.scaled(made, Fraction("0.45"))  # half as much again: 4.5, 7.5, 1.5
    assert loaded.described["occupancy_s"].to_list() == [5, 8, 2]
    assert loaded.described["walltime_s"].to_list() == [15, None, 2]
    assert loaded.described["arrival_time"].to_list() == [EPOCH, EPOCH + 4, EPOCH + 10]
    assert parts.scaled(made, Fraction("0.01")).described["occupancy_s"].to_list() == [1, 1, 1]
    assert parts.exact(made).described["walltime_s"].to_list() == [3, 5, 1]
    assert made.inexact == 1
    assert parts.exact(made).inexact == 0


def test_nothing_of_the_old_schedule_is_left() -> None:
    made = cut([ended(EPOCH, EPOCH + 9, EPOCH + 12, 1, reason="Dependency", eligible_time=None)])
    [row] = made.described.rows(named=True)
    gone = ("start_time", "end_time", "wait_s", "bounded_slowdown", "reason")
    assert [row[name] for name in gone] == [None] * 5
    assert row["occupancy_s"] == 3


def test_what_is_left_out_is_counted() -> None:
    def at(second: int) -> int:
        return EPOCH + second

    records = [
        ended(at(0), at(0), at(5), 1),
        ended(at(1), at(1), at(5), 5),
        ended(at(2), at(2), at(5), 1, reservation="course"),
        {"submit_time": at(3), "end_time": at(4), "cpus": 1, "state": "CANCELLED"},
        {"submit_time": at(3), "cpus": 1, "state": "PENDING"},
        ended(at(6), at(6), at(9), 1),
        ended(at(7), at(7), at(9), 1),
        {"submit_time": at(8), "end_time": at(9), "cpus": 1, "state": "CANCELLED"},
    ]
    made = cut(records, attempts=2)
    assert made.described["job_id"].to_list() == ["1", "6"]
    assert (made.too_large, made.reserved, made.never_started, made.open) == (1, 1, 1, 1)
    assert (made.first_arrival, made.span_s) == (EPOCH, 6)


def test_the_pool_is_what_it_was_at_the_first_arrival() -> None:
    pool = POOL._replace(
        steps=(CapacityStep(EPOCH - 5, (("cpus", 6),)), CapacityStep(EPOCH + 5, (("cpus", 9),)))
    )
    made = cut(
        [ended(EPOCH, EPOCH, EPOCH + 9, 6), ended(EPOCH + 7, EPOCH + 9, EPOCH + 10, 7)], pool
    )
    assert (made.pool.capacity, made.pool.amounts, made.pool.steps) == (6, (("cpus", 6),), ())
    assert made.described["job_id"].to_list() == ["1"]
