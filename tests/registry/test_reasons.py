"""Every reason that Slurm records has a cause, and the words for it."""

import pytest

from audit.metrics.attempts.reasons import reason_of
from audit.registry.causes import CAUSES
from audit.registry.reasons import (
    DEPENDENCY_INFERRED,
    HELD_BY,
    OTHER,
    OWN_LIMIT_INFERRED,
    REASONS,
    without_names,
)

KINDS = ("Unknown", "Cpu", "Mem", "Memory", "Node", "Energy", "GRES", "License", "BB", "Billing")
SLURM = {
    (None, None): """None Priority Resources SchedDefer Cleaning Prolog BurstBufferResources
        BurstBufferStageIn BurstBufferOperation FedJobLock TimeLimit InactiveLimit NonZeroExitCode
        JobLaunchFailure SystemFailure OutOfMemory DeadLine""",
    ("held", "begin"): "BeginTime",
    ("held", "dependency"): "Dependency DependencyNeverSatisfied",
    ("held", "hold"): "JobHeldAdmin JobHeldUser JobHoldMaxRequeue",
    ("held", "array"): "JobArrayTaskLimit",
    ("held", "licence"): "Licenses",
    ("unavailable", None): """ReqNodeNotAvail ReqNodeNotAvail,_UnavailableNodes:n[1-2]
        ReqNodeNotAvail,_Reserved_for_maintenance Reservation ReservationDeleted NodeDown
        FrontEndDown BlockMaxError BlockFreeAction PowerNotAvail PowerReserved PartitionDown
        PartitionInactive BadConstraints""",
    ("rule", None): f"""PartitionNodeLimit PartitionTimeLimit PartitionConfig AccountingPolicy
        AccountNotAllowed InvalidAccount InvalidQOS QOSNotAllowed QOSUsageThreshold QOSJobLimit
        QOSResourceLimit QOSTimeLimit AssociationJobLimit AssociationResourceLimit
        AssociationTimeLimit AssocMaxJobsLimit AssocGrpJobsLimit AssocGrpSubmitJobsLimit
        AssocGrpWallLimit AssocMaxSubmitJobLimit AssocMaxWallDurationPerJobLimit QOSGrpJobsLimit
        QOSGrpSubmitJobsLimit QOSGrpWallLimit QOSMaxJobsPerUserLimit QOSMaxSubmitJobPerUserLimit
        QOSMaxWallDurationPerJobLimit QOSMinCpuNotSatisfied MaxJobsPerAccount
        MaxSubmitJobsPerAccount MaxMemPerLimit
        {" ".join(f"Max{kind}PerAccount QOSMin{kind}" for kind in KINDS)}
        {" ".join(
            f"{of}Grp{kind}{end}"
            for of in ("QOS", "Assoc")
            for kind in KINDS
            for end in ("", "Limit", "Minutes", "RunMinutes", "MinutesLimit", "RunMinutesLimit")
        )}
        {" ".join(
            f"{of}Max{kind}{end}"
            for of in ("QOS", "Assoc")
            for kind in KINDS
            for end in ("PerJob", "PerJobLimit", "PerNode", "PerUser", "MinutesPerJob")
        )}""",
}  # fmt: skip


ALL_REASONS = tuple(text.replace("_", " ") for texts in SLURM.values() for text in texts.split())


@pytest.mark.parametrize("cause", SLURM, ids=str)
def test_each_reason_of_slurm_has_its_cause(cause: tuple[str | None, str | None]) -> None:
    for text in SLURM[cause].split():
        found = reason_of(text.replace("_", " "))
        assert found is not OTHER, text
        assert (found.cause, found.held_by) == cause, text


def test_causes_and_kinds_of_holds_are_known() -> None:
    assert {one.cause for one in REASONS} <= {None, *(cause.key for cause in CAUSES)}
    inferred = {DEPENDENCY_INFERRED, OWN_LIMIT_INFERRED}
    assert {one.held_by for one in REASONS} | inferred == {None, *HELD_BY}
    assert all((one.held_by is not None) == (one.cause == "held") for one in REASONS)


def test_an_unknown_reason_is_stated_to_be_unknown() -> None:
    assert reason_of("the cat sat on it") is OTHER


def test_reasons_of_slurm_keep_their_text() -> None:
    for reason in {reason for texts in SLURM.values() for reason in texts.split()}:
        kept = without_names(reason)
        assert kept == reason or "n[1-2]" in reason
        assert reason_of(kept) == reason_of(reason)


def test_names_in_reasons_are_left_out() -> None:
    assert without_names("Job held by anna on 2026-01-02") == "Job held    --"
    assert without_names("anna") == "Unknown"
    assert without_names("annaJobHeldUser") == "JobHeldUser"
    assert reason_of(without_names("held_by_anna")).held_by == "hold"
