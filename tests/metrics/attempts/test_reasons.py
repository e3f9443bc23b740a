"""Which recorded reasons block, and which a limit of the model covers."""

import polars as pl
import pytest

from audit.metrics.attempts.reasons import covered, held_up, hold_kind
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
