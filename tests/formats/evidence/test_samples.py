"""Samples of squeue and sprio: headings, stamps, arrays, JSON of several versions, and damage."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.evidence.read import read
from audit.formats.evidence.tables import tasks
from audit.model import EVIDENCE
from audit.words import EvidenceKind
from tests.places import DATA

AT = 1_795_233_600  # 2026-11-21T04:00:00 UTC
HEAD = "JOBID|STATE|REASON|PRIORITY|START_TIME"


def squeue(*lines: str, taken: int | None = None, zone: str = "UTC") -> list[tuple[object, ...]]:
    rows = read(EvidenceKind.SQUEUE, lines, zone, taken).rows
    return rows.select("instant", "job_id", "state", "reason", "priority", "expected_start").rows()


def test_each_table_has_the_time_of_the_line_before() -> None:
    found = squeue(
        *(str(AT), HEAD, "7|PENDING|QOSMaxJobsPerUserLimit|12|N/A"),
        *("== 2026-11-21T04:01:00", "7|PD|(Priority)|13|2026-11-21T05:00:00"),
    )
    assert found == [
        (AT, "7", "PENDING", "QOSMaxJobsPerUserLimit", 12.0, None),
        (AT + 60, "7", "PENDING", "Priority", 13.0, AT + 3600),
    ]


def test_times_are_of_the_zone_of_the_site() -> None:
    ((at, *_, start),) = squeue(
        *("2026-11-21T05:00:00", HEAD, "7|PD|Resources|1|2026-11-21T06:00:00"), zone="Europe/Berlin"
    )
    assert (at, start) == (AT, AT + 3600)


def test_without_a_time_the_caller_says_when_it_was_taken() -> None:
    table = (HEAD, "7|PD|Resources|1|N/A")
    assert [row[0] for row in squeue(*table, taken=AT)] == [AT]
    found = read(EvidenceKind.SQUEUE, table, "UTC")
    assert found.rows.is_empty()
    assert found.skipped == 1
    assert found.problem is not None
    assert "date +%s; squeue" in found.problem


def test_what_runs_is_kept_only_where_it_ends_a_wait() -> None:
    found = squeue(
        *(str(AT), HEAD, "7|PD|Resources|1|N/A", "8|R|None|1|2026-11-21T03:00:00"),
        *(str(AT + 10), "7|R|None|1|N/A", "8|R|None|1|N/A"),
        *(str(AT + 20), "7|R|None|1|N/A"),
    )
    assert [row[:3] for row in found] == [(AT, "7", "PENDING"), (AT + 10, "7", "RUNNING")]


def test_tasks_of_an_array_share_a_line() -> None:
    assert [*tasks("7_[0-2,9%2]")] == ["7_0", "7_1", "7_2", "7_9"]
    assert [*tasks("7_3")] == ["7_3"]
    assert [*tasks("x; DROP TABLE")] == []
    assert len([*tasks("7_[0-99999999]")]) == 10_000


def test_of_two_ids_the_one_of_the_task_counts() -> None:
    assert [row[1] for row in squeue(str(AT), "JOBID|JOBID|ST", "1000|9_1|PD")] == ["9_1"]


def test_fractions_of_one_are_no_priorities() -> None:
    found = read(
        EvidenceKind.SPRIO, [str(AT), "JOBID PARTITION PRIORITY", "17 batch 0.0000008"], "UTC"
    )
    assert found.rows["priority"].to_list() == [None, None]


def test_sprio_names_an_array_by_its_number() -> None:
    text = [str(AT), "  JOBID PARTITION  PRIORITY   AGE", "  369 cpu  7890 1", "  18 gpu 12 0"]
    found = read(EvidenceKind.SPRIO, text, "UTC").rows.select("job_id", "state", "priority").rows()
    assert found == [
        ("18", "PENDING", 12.0),
        ("18_*", "PENDING", 12.0),
        ("369", "PENDING", 7890.0),
        ("369_*", "PENDING", 7890.0),
    ]


@pytest.mark.parametrize(
    "job",
    [
        {"job_id": 9, "job_state": "PENDING", "priority": 5, "start_time": AT + 60},
        {
            "job_id": 9,
            "job_state": ["PENDING"],
            "priority": {"set": True, "infinite": False, "number": 5},
            "start_time": {"set": True, "infinite": False, "number": AT + 60},
            "array_job_id": {"set": True, "infinite": False, "number": 0},
            "array_task_id": {"set": False, "infinite": False, "number": 0},
        },
    ],
    ids=["22.05", "23.11"],
)
def test_json_of_old_and_new_versions(job: dict[str, object]) -> None:
    document = json.dumps({"jobs": [{**job, "state_reason": "Dependency"}]}, indent=1)
    assert squeue(str(AT), *document.splitlines()) == [
        (AT, "9", "PENDING", "Dependency", 5.0, AT + 60)
    ]


def test_json_of_arrays_and_of_its_own_time() -> None:
    waits = {"job_id": 9, "job_state": "PENDING", "array_job_id": 9, "array_task_string": "0-1%1"}
    runs = {"job_id": 8, "job_state": "PENDING", "array_job_id": 7, "array_task_id": 0}
    number = {"set": True, "infinite": False, "number": AT}
    document = json.dumps({"jobs": [waits, runs], "last_update": number})
    assert [row[:2] for row in squeue(document)] == [(AT, "7_0"), (AT, "9_0"), (AT, "9_1")]


def test_a_recording() -> None:
    text = (DATA / "evidence" / "squeue.json").read_text().splitlines()
    found = read(EvidenceKind.SQUEUE, text, "UTC", AT).rows
    assert dict(found.select("job_id", "reason").iter_rows())["10"] == "DependencyNeverSatisfied"


DAMAGE = st.lists(
    st.text(max_size=60)
    | st.sampled_from([HEAD, str(AT), "{", '{"jobs": [', "7|PD|x|1|N/A", "]}", '{"jobs": [1]}'])
)


@given(st.sampled_from(EvidenceKind), DAMAGE)
def test_nothing_is_refused(kind: EvidenceKind, lines: list[str]) -> None:
    found = read(kind, lines, "UTC", AT)
    assert found.rows.schema == EVIDENCE
    assert found.skipped >= 0


def test_names_are_no_part_of_reasons(tmp_path: Path) -> None:
    hostile = "ReqNodeNotAvail, UnavailableNodes:<script>alert(1)</script>"
    ((*_, reason, _, _),) = squeue(str(AT), HEAD, f"7|PD|{hostile}|1|N/A")
    assert "script" not in str(reason)
    assert str(reason).startswith("ReqNodeNotAvail")
