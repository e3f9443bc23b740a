"""Slurm's job completion log, read as the columns of sacct."""

from typing import Any

import polars as pl
import pytest
from hypothesis import strategies as st

from audit.errors import DialectError
from audit.formats import dialects
from audit.formats.dialects import Parsed, Reading
from audit.formats.sacct import completion
from audit.formats.sacct.text import DIALECT
from tests.formats import contract

EPOCH = 1_772_323_200  # 2026-03-01T00:00:00Z
FIELDS = {
    "JobId": "8",
    "UserId": "ana(1003)",
    "GroupId": "lab(1003)",
    "Name": "run",
    "JobState": "COMPLETED",
    "Partition": "batch",
    "TimeLimit": "60",
    "StartTime": "2026-03-01T00:01:00",
    "EndTime": "2026-03-01T00:11:00",
    "NodeList": "n[1-2]",
    "NodeCnt": "2",
    "ProcCnt": "8",
    "WorkDir": "/home/ana",
    "ReservationName": "",
    "Tres": "cpu=6,mem=4G,node=2,billing=6,gres/gpu=2",
    "Account": "phys",
    "QOS": "normal",
    "WcKey": "",
    "Cluster": "lab",
    "SubmitTime": "2026-03-01T00:00:00",
    "EligibleTime": "2026-03-01T00:00:30",
    "DerivedExitCode": "0:0",
    "ExitCode": "0:0",
}


def line(**fields: str) -> str:
    return " ".join(f"{key}={value}" for key, value in {**FIELDS, **fields}.items()) + " \n"


def without(*keys: str, **fields: str) -> str:
    kept = {key: value for key, value in {**FIELDS, **fields}.items() if key not in keys}
    return " ".join(f"{key}={value}" for key, value in kept.items()) + "\n"


def read(text: str) -> Parsed:
    assert dialects.detect(text.encode(), "x") is DIALECT
    return contract.parsed(DIALECT, text)


def only(**fields: str) -> dict[str, Any]:
    return contract.only(read(line(**fields)))


def test_a_line_is_an_execution() -> None:
    found = only()
    expected = {
        "job_id": "8",
        "user": "ana",
        "group": "lab",
        "account": "phys",
        "cluster": "lab",
        "partition": "batch",
        "qos": "normal",
        "state": "COMPLETED",
        "submit_time": EPOCH,
        "eligible_time": EPOCH + 30,
        "start_time": EPOCH + 60,
        "end_time": EPOCH + 660,
        "walltime_s": 3600,
        "cpus": 8,  # allocated; Tres is what was requested
        "req_cpus": 6,
        "nodes": 2,
        "node_list": "n[1-2]",
        "mem_bytes": 4 << 30,
        "gpus": 2,
        "reservation": None,
        "reason": None,
        "priority": None,
        "suspended_s": None,
    }
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("ids", "job_id"),
    [
        ("ArrayJobId=7 ArrayTaskId=1", "7_1"),
        ("HetJobId=6 HetJobOffset=2", "6+2"),
        ("PackJobId=6 PackJobOffset=2", "6+2"),  # until 19.05
    ],
)
def test_ids_are_those_of_sacct(ids: str, job_id: str) -> None:
    assert only(EligibleTime=f"2026-03-01T00:00:30 {ids}")["job_id"] == job_id


def test_a_requeued_execution_has_ended() -> None:
    """Its job is pending again when slurmctld writes the line."""
    found = only(JobState="PENDING")
    assert (found["state"], found["end_time"]) == ("REQUEUED", EPOCH + 660)


def test_of_a_job_that_never_started_the_request_is_known() -> None:
    found = only(
        JobState="CANCELLED",
        StartTime="2026-03-01T00:11:00",
        NodeList="(null)",
        NodeCnt="0",
        ProcCnt="64",  # those of whole nodes
    )
    assert (found["start_time"], found["end_time"]) == (None, EPOCH + 660)
    assert (found["cpus"], found["nodes"], found["node_list"]) == (6, 2, None)


@pytest.mark.parametrize("limit", ["UNLIMITED", "Partition_Limit"])
def test_no_limit_is_no_walltime(limit: str) -> None:
    assert only(TimeLimit=limit)["walltime_s"] is None


def test_old_logs_have_no_submission() -> None:
    new = [*FIELDS][[*FIELDS].index("ReservationName") :]
    text = without("GroupId", *new, ProcCnt="8").replace("ProcCnt", "Procs")
    found = contract.only(read(text))
    assert (found["submit_time"], found["start_time"], found["cpus"]) == (None, EPOCH + 60, 8)
    problems = DIALECT.header(text.encode(), Reading()).problems
    assert [text.split(":")[0] for text in problems[1:]] == ["no column Submit"]


def test_the_header_says_what_such_a_log_lacks() -> None:
    header = DIALECT.header(line().encode(), Reading())
    assert header.problems == (completion.REMARK,)
    assert header.local_times


@pytest.mark.parametrize(
    "text",
    [
        line(Name="a JobState=FAILED b"),  # a name of a user's choice
        line(WorkDir="/home/ana/ Account=chem"),
        line()[:-12] + "\n",
        "slurmctld restarted\n",
    ],
)
def test_doubtful_lines_are_refused(text: str) -> None:
    found = read(line() + text)
    assert (found.records.height, found.refusals.height) == (1, 1)


def test_the_name_of_a_job_is_no_id() -> None:
    assert only(Name="x ArrayJobId=3 ArrayTaskId=4 HetJobId=5 HetJobOffset=6")["job_id"] == "8"


def test_what_scontrol_prints_is_no_such_log() -> None:
    with pytest.raises(DialectError, match=r"scontrol show job.*sacct -X -D -P"):
        dialects.detect(b"JobId=8 JobName=run\n   UserId=ana(1003) GroupId=lab(1003)\n", "x")


def write(frame: pl.DataFrame) -> bytes:
    lines = []
    for row in frame.iter_rows(named=True):
        number, _, task = row["job_id"].partition("_")
        times = {
            name: pl.from_epoch(pl.Series([row[f"{name}_time"]])).dt.strftime("%FT%T").item()
            for name in ("submit", "eligible", "start", "end")
        }
        ids = f" ArrayJobId={number} ArrayTaskId={task}" if task else ""
        lines.append(
            line(
                JobId=number,
                JobState=row["state"],
                TimeLimit=str(row["walltime_s"] // 60),
                StartTime=times["start"],
                EndTime=times["end"],
                NodeCnt=str(row["nodes"]),
                ProcCnt=str(row["cpus"]),
                NodeList="n1",
                Tres=f"cpu={row['cpus']},mem={row['mem_bytes'] >> 20}M,node={row['nodes']}",
                SubmitTime=times["submit"],
                EligibleTime=times["eligible"] + ids,
            )
        )
    return "".join(lines).encode()


CASE = contract.Case(
    dialect=DIALECT,
    records=(
        line().encode(),
        line(JobId="9", JobState="FAILED").encode(),
        line(JobId="10", UserId="ben(1004)").encode(),
    ),
    write=write,
    carries=(
        *("job_id", "state", "submit_time", "eligible_time", "start_time", "end_time"),
        *("walltime_s", "cpus", "nodes", "mem_bytes"),
    ),
    names=(),
    ids=("7", "8", "12_3"),
    changes={
        "walltime_s": st.integers(1, 10_000).map(lambda minutes: minutes * 60),
        "mem_bytes": st.integers(1, 1 << 20).map(lambda mib: mib << 20),
    },
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)
