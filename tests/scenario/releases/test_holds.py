"""When chains and limits of single users hold attempts."""

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from audit.metrics.attempts.account import account
from audit.metrics.attempts.population import describe
from audit.model import Limit, Pool, Resource
from audit.pipeline.shown import look
from audit.scenario.releases.holds import NOT_HOLDING, Holding, inferred_holds, silent_starts
from tests.examples import examples
from tests.kernels.plateaus.test_sweep import ALL, BEGIN, attempts, logs
from tests.metrics.attempts.test_real_logs import described
from tests.naive.plateaus import Job, adds, level
from tests.scenario.releases.test_chains import attempts as numbered
from tests.scenario.releases.test_chains import chain_of
from tests.strategies import frame

POOL = Pool("all", Resource.cpus, 4, amounts=(("cpus", 4),))
DAY = 86_400

OF_ANN: dict[str, tuple[Limit, str]] = {
    "jobs": (Limit(most=1, user=("ann",)), "jobs"),
    "amount": (Limit(most=4, resource="cpus", user=("ann",)), "amount"),
    "remaining": (Limit(most=9_000, resource="cpus", remaining=True, user=("ann",)), "remaining"),
}


@pytest.mark.parametrize("name", OF_ANN)
@settings(max_examples=examples(20))
@given(jobs=logs())
def test_a_limit_forbids_as_defined(name: str, jobs: list[Job]) -> None:
    limit, kind = OF_ANN[name]
    described = describe(frame(attempts(jobs)), [ALL])
    now = max(t for job in jobs for t in (job.leave, job.end or 0)) + 1
    held = inferred_holds(described, ALL, now, Holding(own=(limit,)))
    assert set(held["kind"]) <= {"own_limit_inferred"}
    mine = [job for job in jobs if job.user == "ann"]
    edges = {t for job in jobs for t in (job.arrival, job.leave, job.start, job.end) if t}
    probes = sorted({t + by for t in edges for by in (-1, 0, 1, 150, 777)})
    for number, job in enumerate(jobs):  # described in the same order
        spans = held.filter(pl.col("row") == number).select("begin", "end").rows()
        one = adds(job, kind)
        for t in probes:
            used = level([other for other in mine if other.runs_at(t)], kind, t)
            forbids = job in mine and job.arrival <= t < job.leave
            forbids &= one <= limit.most < used + one
            assert any(begin <= t < end for begin, end in spans) == forbids, f"{t - BEGIN}: {job}"


def test_holds_of_an_attempt_leave_no_time_between_them(real_logs: Path) -> None:
    """So that it counts as held until the last one ends (``cluster.delivered.held_until``)."""
    log, pool = described(real_logs, "LANL-CM5-1994-4.1-cln")
    ends = log.drop_nulls("start_time")["end_time"].drop_nulls().to_list()
    found = look(log, pool, max(ends), min(ends))
    held = inferred_holds(log, pool, max(ends), found.holding).sort("row", "begin")
    last = pl.col("end").cum_max().shift(1).over("row")
    of_log = log.with_row_index("row").select(pl.col("row").cast(pl.Int64), "arrival_time")
    held = held.join(of_log, on="row").with_columns(
        since=pl.max_horizontal(last, "arrival_time").sort_by("begin").over("row")
    )
    between = held.select((pl.col("begin") - pl.col("since")).clip(0).sum()).item()
    whole = held.group_by("row").agg(s=pl.col("end").max() - pl.col("arrival_time").min())
    assert found.holding.own != ()
    assert whole["s"].sum() > 1_000_000
    assert between <= 1e-5 * float(whole["s"].sum())


def record(
    arrival: int, start: int, lasts: int, user: str = "ann", size: int = 1
) -> dict[str, Any]:
    return {
        "submit_time": arrival,
        "start_time": start,
        "end_time": start + lasts,
        "occupancy_s": lasts,
        "walltime_s": lasts,
        "cpus": size,
        "user": user,
        "state": "COMPLETED",
    }


def held(holding: Holding, *records: dict[str, Any]) -> list[tuple[int, int, int]]:
    described = describe(frame(list(records)), [POOL])
    rows = inferred_holds(described, POOL, 10 * DAY, holding).sort("row", "begin")
    return rows.select("row", "begin", "end").rows()


def test_starts_that_own_ends_and_begin_times_make() -> None:
    """ann's second job starts 60 s after the end of her first, bob's at 9 h."""
    nine = 9 * 3_600
    records = [
        record(0, 0, 5_000),
        record(10, 5_060, 5_000),
        record(20, 30_000, 100),
        record(30, nine + 200, 100, "bob"),
        record(40, nine + 240, 100, "bob"),
    ]
    described = describe(frame(records), [POOL])

    def silent(holding: Holding) -> list[int]:
        return np.flatnonzero(silent_starts(described, POOL, DAY, holding).to_numpy()).tolist()

    assert silent(NOT_HOLDING) == []
    assert silent(Holding(triggered=("ann",))) == [1]
    assert silent(Holding(begin_times=(("bob", nine),))) == [3]
    assert silent(Holding(triggered=("ann",), begin_times=(("bob", nine + 120),))) == [1, 3, 4]
    assert silent(Holding(triggered=("bob",), begin_times=(("ann", nine),))) == []


ONE = Limit(most=1, user=("ann",))


def test_by_hand() -> None:
    runs, waits, other = record(0, 0, 100), record(10, 150, 10), record(20, 160, 5, "bob")
    assert held(NOT_HOLDING, runs, waits, other) == []
    assert held(Holding(own=(ONE,)), runs, waits, other) == [(1, 10, 100)]
    # two that run are above the limit, too, and a job that alone exceeds it is not held
    big = Limit(most=2, resource="cpus", user=("ann",))
    wide = record(10, 150, 10, size=3)
    assert held(Holding(own=(big,)), record(0, 0, 100, size=2), wide, waits) == [(2, 10, 100)]
    # only on its days, on the pool's clock
    later = ONE.but(valid_from=date(1970, 1, 2))
    assert held(Holding(own=(later,)), runs, waits) == []
    days = record(DAY - 50, DAY - 50, 200), record(DAY - 40, DAY + 300, 10)
    assert held(Holding(own=(later,)), *days) == [(1, DAY, DAY + 150)]


def test_a_chain_holds_until_the_previous_job_ends() -> None:
    jobs = chain_of(4, 60)
    log = numbered(jobs)
    found = inferred_holds(log, POOL, 10 * DAY, Holding(chained=("ann",)))
    ends = [job.end for job in jobs]
    assert found.sort("begin").select("begin", "end", "kind").rows() == [
        (job.arrival, end, "dependency_inferred") for job, end in zip(jobs[1:], ends, strict=False)
    ]
    assert inferred_holds(log, POOL, 10 * DAY, Holding(chained=("bob",))).is_empty()


@pytest.mark.parametrize(
    ("holding", "kind"),
    [
        (Holding((ONE,), ("ann",)), "dependency_inferred"),
        (Holding((ONE,)), "own_limit_inferred"),
        (NOT_HOLDING, None),
    ],
)
def test_the_account_books_each_second_once(holding: Holding, kind: str | None) -> None:
    log = numbered(chain_of(4, 60))
    holds = inferred_holds(log, POOL, 10 * DAY, holding)
    booked = account(log, POOL, 10 * DAY, log_begin=0, holds=holds).attempts.sort("arrival_time")
    seconds = [0.0] + [0.0 if kind is None else 500.0] * 3
    assert booked["cause_held_s"].to_list() == seconds
    assert booked["held_by"].to_list() == [None] + [kind] * 3
