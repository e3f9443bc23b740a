"""The execution described by an ad: each rule, by hand."""

from typing import Any

import pytest

from tests.formats.contract import EPOCH
from tests.formats.htcondor.histories import long, one, parse, reason


def times(**ad: Any) -> tuple[int | None, ...]:
    """Arrival, start and end, in seconds since ``EPOCH``."""
    found = one(**ad)
    read = (found[f"{name}_time"] for name in ("submit", "start", "end"))
    return tuple(None if time is None else time - EPOCH for time in read)


REMOVED = {"JobStatus": 3, "CompletionDate": None, "EnteredCurrentStatus": EPOCH + 300}
AGAIN = {"JobCurrentStartDate": EPOCH + 80, "NumJobStarts": 2}


@pytest.mark.parametrize(
    ("ad", "expected"),
    [
        ({}, (0, 60, 100)),
        ({"CompletionDate": 0, "EnteredCurrentStatus": EPOCH + 101}, (0, 60, 101)),
        # removed
        ({**REMOVED, "JobStartDate": None}, (0, None, 300)),
        ({**REMOVED, "LastJobStatus": 2}, (0, 60, 300)),
        ({**REMOVED, "LastJobStatus": 5, "LastVacateTime": EPOCH + 200}, (0, 60, 200)),
        ({**REMOVED, "LastJobStatus": 1, "LastRemoteWallClockTime": 40.0}, (0, 60, 100)),
        ({**REMOVED, "LastJobStatus": 1}, (0, 60, 300)),
        # started several times
        (AGAIN, (None, 80, 100)),
        ({**AGAIN, "LastVacateTime": EPOCH + 70}, (70, 80, 100)),
        ({**AGAIN, "LastVacateTime": EPOCH + 50}, (None, 80, 100)),
        ({**AGAIN, "LastVacateTime": EPOCH + 90}, (None, 80, 100)),
        ({"JobCurrentStartDate": EPOCH + 80}, (None, 80, 100)),
        (
            {"NumShadowStarts": 3, "RemoteWallClockTime": 90, "JobCurrentStartDate": EPOCH + 60},
            (None, 60, 100),
        ),
        # still there
        ({"JobStatus": 1, "JobStartDate": None}, (0, None, None)),
        ({"JobStatus": 1, "EnteredCurrentStatus": EPOCH + 90}, (90, None, None)),
        ({"JobStatus": 2}, (0, 60, None)),
        ({"JobStatus": 6}, (0, 60, None)),
    ],
)
def test_times(ad: dict[str, Any], expected: tuple[int | None, ...]) -> None:
    assert times(**ad) == expected


def test_who_ran_nobody_knows_when_counts_by_the_time_it_took() -> None:
    found = one(JobStartDate=None, RemoteWallClockTime="40.0")
    assert (found["start_time"], found["end_time"], found["occupancy_s"]) == (None, None, 40)
    said = "attributes JobStartDate, RemoteWallClockTime: when and how long it ran is unknown"
    assert reason(JobStartDate=None) == said
    assert reason(JobStartDate=None, RemoteWallClockTime=40, NumJobStarts=2) == said


@pytest.mark.parametrize(
    ("ad", "state", "why"),
    [
        ({"ExitCode": 0}, "COMPLETED", None),
        ({"ExitCode": 5}, "FAILED", None),
        ({"ExitBySignal": "true"}, "FAILED", None),
        (REMOVED, "CANCELLED", None),
        ({"JobStatus": 1, "JobStartDate": None}, "PENDING", None),
        ({"JobStatus": 5, "HoldReasonCode": 1}, "PENDING", "JobHeldUser"),
        ({"JobStatus": 5, "HoldReasonCode": 47}, "PENDING", "JobHeldAdmin"),
        ({"JobStatus": 2}, "RUNNING", None),
        ({"JobStatus": 6}, "RUNNING", None),
        ({"JobStatus": 7}, "SUSPENDED", None),
    ],
)
def test_states(ad: dict[str, Any], state: str, why: str | None) -> None:
    found = one(**ad)
    assert (found["state"], found["reason"]) == (state, why)


def amounts(**ad: Any) -> tuple[int | None, ...]:
    found = one(**ad)
    return tuple(found[name] for name in ("cpus", "nodes", "gpus", "mem_bytes"))


def test_amounts_are_those_provided_else_requested_else_unknown() -> None:
    mib = 1 << 20
    assert amounts() == (None, 1, 0, None)
    asked = {"RequestCpus": 2, "RequestMemory": 2048, "RequestGPUs": 1}
    assert amounts(**asked) == (2, 1, 1, 2048 * mib)
    given = {"CpusProvisioned": 4, "MemoryProvisioned": 4096, "GpusProvisioned": 2}
    assert amounts(**asked, **given) == (4, 1, 2, 4096 * mib)
    assert amounts(RequestCpus="Cpus", RequestMemory="ifthenelse(a,b,c)") == (None, 1, 0, None)
    assert amounts(JobUniverse=11, MaxHosts=3, **given) == (12, 3, 6, 3 * 4096 * mib)


@pytest.mark.parametrize(
    ("ad", "node"),
    [
        ({}, None),
        ({"LastRemoteHost": '"slot1_2@n1.site"'}, "n1.site"),
        ({"LastRemoteHost": '"n1.site"'}, "n1.site"),
        ({"LastRemoteHost": '"slot1@glidein_1_2@n1"'}, "n1"),
        ({"RemoteHost": '"slot1@n2"', "LastRemoteHost": '"slot1@n1"'}, "n2"),
        ({"LastRemoteHost": '"slot1@n1"', "JobUniverse": 11, "MaxHosts": 2}, None),
        ({"LastRemoteHost": '"slot1@n1"', **REMOVED, "JobStartDate": None}, None),
        ({"LastRemoteHost": '"slot1@n[1]"'}, None),
        ({"LastRemoteHost": '"slot1@a b"'}, None),
        ({"LastRemoteHost": '"slot1@"'}, None),
        ({"LastRemoteHost": "strcat(a, b)"}, None),
    ],
)
def test_the_node_is_the_host_of_the_last_execution(ad: dict[str, Any], node: str | None) -> None:
    assert one(**ad)["node_list"] == node


@pytest.mark.parametrize(
    ("ad", "expected"),
    [
        ({}, None),
        ({"AllowedJobDuration": 3600}, 3600),
        ({"AllowedExecuteDuration": 600, "AllowedJobDuration": 3600}, 600),
        ({"MaxRuntime": 7200}, 7200),
        ({"MaxWallTimeMins": 10}, 600),
        ({"MaxWallTime": 5}, 300),
        ({"AllowedJobDuration": "undefined"}, None),
        ({"AllowedJobDuration": 0}, None),
    ],
)
def test_limits(ad: dict[str, Any], expected: int | None) -> None:
    assert one(**ad)["walltime_s"] == expected


def test_suspension() -> None:
    assert one(CumulativeSuspensionTime=7)["suspended_s"] == 7
    assert one(CumulativeSuspensionTime=70)["suspended_s"] is None  # longer than it ran
    again = {**AGAIN, "CumulativeSuspensionTime": 7, "CommittedSuspensionTime": 3}
    assert one(**again)["suspended_s"] == 3
    assert one()["suspended_s"] is None


def test_who() -> None:
    assert one(User='"ana@site"')["user"] == "ana"
    assert one(AcctGroup='"group_phys"', ProjectName='"p"')["account"] == "group_phys"
    assert one(AccountingGroup='"group_phys.theory.ana"')["account"] == "group_phys.theory"
    assert one(ProjectName='"my \\"p\\""')["account"] == 'my "p"'
    assert one()["account"] is None


def test_a_job_is_called_by_its_schedd_too() -> None:
    assert one()["job_id"] == "7.0"
    found = one(GlobalJobId='"ap.example#7.0#1700000000"', ProcId=3)
    assert (found["job_id"], found["job_number"], found["array_task"]) == ("ap.example#7.3", 7, 3)


@pytest.mark.parametrize("universe", [7, 9, 12])
def test_what_is_no_batch_job_is_counted(universe: int) -> None:
    parsed = parse(long({"JobUniverse": universe}, {"JobUniverse": 5}))
    assert (parsed.steps, parsed.records.height) == (1, 1)


NEEDS = (
    "an ad needs ClusterId, ProcId, JobStatus, QDate, which condor_history prints without "
    "-attributes"
)


@pytest.mark.parametrize(
    ("ad", "why"),
    [
        ({"ClusterId": None}, f"attribute ClusterId is missing: {NEEDS}"),
        ({"ProcId": "undefined"}, f"attribute ProcId is missing: {NEEDS}"),
        ({"QDate": None}, f"attribute QDate is missing: {NEEDS}"),
        ({"JobStatus": None}, f"attribute JobStatus is missing: {NEEDS}"),
        ({"JobStatus": 9}, "attribute JobStatus: '9' is not a state"),
        ({"JobStatus": "four"}, "attribute JobStatus: 'four' is not a code"),
        ({"ProcId": "x"}, "attribute ProcId: 'x' is not a number of a job"),
        ({"JobStartDate": "17x"}, "attribute JobStartDate: '17x' is not a time"),
        (
            {"JobStartDate": 1_700_000_060_000},
            "attribute JobStartDate: '1700000060000' lies beyond 2242: damaged, or not in seconds",
        ),
        ({"GlobalJobId": '"ab'}, "attribute GlobalJobId: '\"ab' is not a text"),
        ({"CompletionDate": EPOCH + 50}, "ends 10 s before it starts (JobCurrentStartDate)"),
    ],
)
def test_refusals_name_the_attribute(ad: dict[str, Any], why: str) -> None:
    assert reason(**ad) == why


@pytest.mark.parametrize(
    ("name", "text", "column"),
    [
        ("AcctGroup", '"ab', "account"),
        ("Owner", "Args", "user"),
        ("RequestCpus", 1 << 50, "cpus"),
        ("RequestMemory", "9.22e18", "mem_bytes"),
    ],
)
def test_what_an_ad_does_not_need_may_be_unreadable(name: str, text: object, column: str) -> None:
    parsed = parse(long({"ProcId": 1, name: text}, {"ProcId": 2}))
    assert parsed.refusals.is_empty()
    assert parsed.records[column].to_list()[0] is None
    assert parsed.remarks == {f"attribute {name} cannot be read, and counts as unknown": 1}
