"""One job of `sacct --json`, in the shapes of several versions, as the columns of `sacct -P`."""

from typing import Any

import pytest

from audit.formats.sacct.json_records import COLUMNS, columns_of


def column(name: str, **job: Any) -> str | None:
    return columns_of({"job_id": 7, **job})[COLUMNS.index(name)]


def number(value: int, **more: bool) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value, **more}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (5, "5"),
        (number(5), "5"),
        ({"number": 5}, "5"),
        ("5", "5"),
        (5.0, "5"),
        (None, None),
        (0xFFFFFFFF, None),
        (0xFFFFFFFE, None),
        ("Infinity", None),
        (float("inf"), None),
        (number(0, infinite=True), None),
        (number(0, set=False), None),
        ([5], "[5]"),  # to be refused
        (True, "true"),
    ],
)
def test_numbers_of_all_versions(limit: Any, expected: str | None) -> None:
    assert column("TimelimitRaw", time={"limit": limit}) == expected


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        ("RUNNING", "RUNNING"),
        (["RUNNING"], "RUNNING"),
        (["RUNNING", "COMPLETING"], "COMPLETING"),
        (["PENDING", "REQUEUE_HOLD", "REQUEUED"], "REQUEUED"),
        (["CANCELLED", "POWER_UP_NODE"], "CANCELLED"),
        ([], None),
        (None, None),
    ],
)
def test_a_flag_is_printed_instead_of_the_state(current: Any, expected: str | None) -> None:
    assert column("State", state={"current": current}) == expected


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ({"job_id": 0, "task_id": None, "task": None}, "7"),
        ({"job_id": 7, "task_id": number(0, set=False), "task": ""}, "7"),
        ({"job_id": 3, "task_id": 0, "task": None}, "3_0"),
        ({"job_id": number(3), "task_id": number(0), "task": ""}, "3_0"),
        ({"job_id": 3, "task": "1-1000000%50"}, "3_[1-1000000%50]"),
        ({"job_id": 3, "task": "[1-1000000%50]"}, "3_[1-1000000%50]"),
        ({"job_id": 3, "task": "0x7"}, "3_[0-2]"),
        ({"job_id": 3, "task": "0xf00d"}, "3_[0,2-3,12-15]"),
        ({"job_id": 3, "task": "0x10001"}, "3_[0-16:16]"),
        ({"job_id": 3, "task": "0x88888"}, "3_[3-19:4]"),
        ({"job_id": 3, "task": "0x101"}, "3_[0,8]"),
        ({"job_id": 3, "task": "0x3", "limits": {"max": {"running": {"tasks": 4}}}}, "3_[0-1%4]"),
        ({"job_id": 3, "task": "0x"}, "3_[0x]"),
    ],
)
def test_array_tasks(array: dict[str, Any], expected: str) -> None:
    assert column("JobID", array=array) == expected


def test_parts_of_a_het_job() -> None:
    assert column("JobID", het={"job_id": 6, "job_offset": number(1)}) == "6+1"
    assert column("JobID", het={"job_id": 6, "job_offset": 0}) == "6+0"
    assert column("JobID", het={"job_id": 0, "job_offset": None}) == "7"


def test_lists_of_resources() -> None:
    items = [
        {"type": "cpu", "name": None, "id": 1, "count": 4},
        {"type": "mem", "name": "", "id": 2, "count": 8192},
        {"type": "energy", "name": "", "id": 3, "count": None},
        {"type": "energy", "name": "", "id": 3, "count": -2},
        {"type": "gres", "name": "gpu", "id": 1001, "count": number(2)},
        {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 2},
    ]
    text = "cpu=4,mem=8192M,gres/gpu=2,gres/gpu:a100=2"
    assert column("AllocTRES", tres={"allocated": items}) == text
    assert column("ReqTRES", tres={"requested": []}) is None
    assert column("ReqTRES", tres={"requested": ["cpu"]}) == '["cpu"]'


def test_until_21_08_eligibility_stands_in_place_of_the_start() -> None:
    time = {"eligible": 100, "start": 100, "end": 1_000, "elapsed": 290, "suspended": 10}
    assert column("Start", time=time) == "700"
    assert column("Start", time={**time, "elapsed": 890}) == "100"
    assert column("Start", time={**time, "start": 150}) == "150"
    assert column("Start", time={**time, "end": 0}) == "100"  # nothing says when
    assert column("Start", time={**time, "elapsed": "?"}) == "100"


def test_times_that_are_not_known() -> None:
    for nothing in (0, None, number(0), number(7, set=False), "0", 0xFFFFFFFE):
        assert column("End", time={"end": nothing}) is None
    assert column("End", time={"end": number(7)}) == "7"


def test_a_suspension_is_a_length_of_time() -> None:
    assert column("Suspended", time={"suspended": 0}) == "00:00:00"
    assert column("Suspended", time={"suspended": 360_061}) == "100:01:01"
    assert column("Suspended", time={"suspended": -5}) == "-5"  # to be refused
    assert column("Suspended") is None


def test_who_and_where() -> None:
    association = {"account": "phys", "cluster": "lab", "user": "ana"}
    assert column("User", user="", association=association) == "ana"
    assert column("User", user="ben", association=association) == "ben"
    assert column("Cluster", association=association) == "lab"
    assert column("Reservation", reservation={"id": 0, "name": 0}) is None
    assert column("Reservation", reservation={"id": 4, "name": "class"}) == "class"
    assert column("Reason", state={"previous": "Priority"}) == "Priority"


def test_memory_that_was_asked_for() -> None:
    per_cpu = {"memory_per_cpu": number(500), "memory_per_node": number(0, set=False)}
    assert column("ReqMem", required=per_cpu) == "500Mc"
    assert column("ReqMem", required={"memory_per_node": number(4096)}) == "4096Mn"
    assert column("ReqMem", required={"memory": 4096}) is None
