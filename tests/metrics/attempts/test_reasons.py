"""Which recorded reasons block, and which a limit of the model covers."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.metrics.attempts import reasons
from audit.metrics.attempts.reasons import covered, held_up, hold_kind, throttled
from audit.model import Limit

JOBS = Limit(most=4, per="user")
CPUS = Limit(most=64, resource="cpus", per="user")
WALLTIME = Limit(most=0, walltime_above_s=3600)


def one(reason: str | None) -> pl.DataFrame:
    row = {"user": "ann", "account": "physics", "qos": "normal", "partition": "batch"}
    numbers = {"size": 4, "walltime_s": 7_200, "occupancy": 60}
    return pl.DataFrame(
        [{"reason": reason, "attempt": 1, **row, **numbers}], schema_overrides={"reason": pl.String}
    )


@pytest.mark.parametrize(
    ("reason", "limit"),
    [
        ("AssocMaxJobsLimit", JOBS),
        ("AssociationJobLimit", JOBS),
        ("QOSMaxJobsPerUserLimit", JOBS),
        ("QOSMaxCpuPerUserLimit", CPUS),
        ("AssocGrpCpuLimit", CPUS),
        ("QOSMaxCpuPerJobLimit", CPUS),
        ("AssocMaxWallDurationPerJobLimit", WALLTIME),
        ("PartitionTimeLimit", WALLTIME),
    ],
)
def test_a_limit_covers_what_it_is_on_and_nothing_else(reason: str, limit: Limit) -> None:
    for other in (
        JOBS,
        CPUS,
        WALLTIME,
        Limit(most=9, resource="nodes"),
        Limit(most=9, resource="gpus"),
    ):
        assert covered(one(reason), [other]).tolist() == [other == limit]
        assert held_up(one(reason), [other]).tolist() == [other != limit]


@pytest.mark.parametrize(
    "reason",
    [
        *("QOSGrpCPUMinutesLimit", "AssocGrpCPURunMinutesLimit", "QOSMaxCpuMinutesPerJobLimit"),
        *("QOSMaxSubmitJobPerUserLimit", "AssocGrpSubmitJobsLimit", "JobArrayTaskLimit"),
        *("QOSMaxCpuPerNode", "QOSMinCpuNotSatisfied", "PartitionNodeLimit", "AssocGrpWallLimit"),
        *("JobHeldUser", "Dependency", "BeginTime", "Licenses", "Reservation"),
    ],
)
def test_what_no_limit_of_the_model_is_about_is_blocked(reason: str) -> None:
    assert held_up(
        one(reason), [JOBS, CPUS, WALLTIME, Limit(most=9, resource="nodes")]
    ).tolist() == [True]


def test_any_limit_covers_one_that_is_not_named() -> None:
    held = one("limit AccountingPolicy")
    assert covered(held, [CPUS]).all()
    assert not covered(held, [CPUS.but(user=("bob",))]).any()


def test_it_must_be_ones_own() -> None:
    held = one("QOSMaxJobsPerUserLimit")
    assert covered(held, [JOBS.but(user=("ann", "bob"))]).all()
    assert not covered(held, [JOBS.but(user=("bob",))]).any()
    assert not covered(held, [JOBS.but(exempt_qos=("normal",))]).any()
    assert not covered(held, [WALLTIME.but(walltime_above_s=7200)]).any()


@pytest.mark.parametrize("reason", ["Priority", "Resources", "None", "ReqNodeNotAvail", None])
def test_ones_turn_is_not_blocked(reason: str | None) -> None:
    assert not held_up(one(reason), []).any()


@pytest.mark.parametrize("reason", ["BeginTime", "Dependency", "QOSMaxJobsPerUserLimit"])
def test_an_attempt_does_not_inherit_the_reason_of_an_earlier_one(reason: str) -> None:
    later = one(reason).with_columns(attempt=pl.lit(2))
    assert not held_up(later, []).any()
    assert hold_kind(later).to_list() == [None]


@pytest.mark.parametrize("reason", ["AssocMaxLicensePerJob", "QOSGrpLicense"])
def test_a_limit_on_licences_is_no_hold(reason: str) -> None:
    assert hold_kind(one(reason)).to_list() == [None]
    assert held_up(one(reason), []).all()


# --- throttles of arrays


def tasks(*rows: tuple[int, int | None, int | None], most: int | None = 2) -> pl.DataFrame:
    """Tasks of array 7, each of arrival, start and end."""
    frame = pl.DataFrame(
        rows, {"arrival_time": pl.Int64, "start_time": pl.Int64, "end_time": pl.Int64}, orient="row"
    )
    return frame.with_columns(
        job_number=pl.lit(7),
        array_task=pl.int_range(pl.len()),
        attempt=pl.lit(1),
        array_throttle=pl.Series([most, *[None] * len(rows)][: len(rows)], dtype=pl.Int64),
    )


def test_a_throttle_holds_tasks_while_others_run() -> None:
    """Two at a time, from 6 to 20 and again from 23. The third waits for its turn from 20 on; for
    the fourth that place was not free. The last, which never starts, was held until 33."""
    known = tasks((0, 5, 30), (0, 6, 20), (0, 23, 50), (0, 31, 60), (0, None, 33))
    found = throttled(known)
    assert found.rows() == [(2, 6, 20, "array"), (3, 6, 30, "array"), (4, 6, 33, "array")]
    assert throttled(known.drop("array_throttle")).is_empty()
    assert throttled(known.with_columns(array_throttle=pl.lit(None, pl.Int64))).is_empty()
    # a place that stays free for more than a minute is free for all
    late = tasks((0, 5, 90), (0, 6, 20), (0, 81, 120), (0, 95, 99))
    assert throttled(late).rows() == [
        (2, 6, 20, "array"),
        (3, 6, 20, "array"),
        (3, 81, 90, "array"),
    ]


@pytest.mark.parametrize("refilled", [0, 3])
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), max_size=8))
def test_throttles_as_defined(refilled: int, spans: list[tuple[int, int, int]]) -> None:
    """A second is held if two tasks run, or in a short gap that another task ends."""
    known = tasks(*((arrival, arrival + wait, arrival + wait + n) for arrival, wait, n in spans))
    rows = known.select("arrival_time", "start_time", "end_time").rows()
    full = {t for t in range(30) if sum(start <= t < end for _, start, end in rows) >= 2}
    wanted = []
    for row, (arrival, start, _) in enumerate(rows):
        for t in range(arrival, start):
            before = max((s for s in full if s < t), default=None)
            after = min((s for s in full if s > t), default=None)
            short = before is not None and after is not None and after - before - 1 <= refilled
            if t in full or (short and after is not None and after < start):
                wanted.append((row, t))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reasons, "REFILLED_S", refilled)
        found = throttled(known)
        turned = throttled(known.reverse())
    held = [(row, t) for row, begin, end, _ in found.rows() for t in range(begin, end)]
    assert sorted(held) == wanted
    assert sorted((len(rows) - 1 - row, *rest) for row, *rest in turned.rows()) == sorted(
        (row, *rest) for row, *rest in found.rows()
    )


def test_a_known_throttle_covers_the_reason() -> None:
    with_throttle = one("JobArrayTaskLimit").with_columns(array_throttle=pl.lit(2))
    assert held_up(with_throttle, []).tolist() == [False]
    assert held_up(with_throttle.with_columns(array_throttle=None), []).tolist() == [True]
