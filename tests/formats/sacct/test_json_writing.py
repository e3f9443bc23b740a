"""Jobs as documents of several versions: each version can read what is written of the others."""

import json

import polars as pl

from audit.formats.sacct.json_writing import write
from audit.model import RECORDS

ROW = {
    "job_id": "3_4",
    "cluster": "lab",
    "user": "ana",
    "state": "COMPLETED",
    "submit_time": 100,
    "start_time": 200,
    "end_time": 300,
    "suspended_s": 10,
    "walltime_s": 120,
    "cpus": 4,
    "nodes": 1,
    "mem_bytes": 3 << 20,
}
NEVER = {"job_id": "5", "state": "CANCELLED", "submit_time": 100, "end_time": 300, "nodes": 1}


def frame(*rows: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame([{name: row.get(name) for name in RECORDS} for row in rows], schema=RECORDS)


def test_numbers_are_objects_or_plain() -> None:
    new, old = (
        json.loads(write(frame(ROW), objects=objects))["jobs"][0] for objects in (True, False)
    )
    assert new["array"]["task_id"] == {"set": True, "infinite": False, "number": 4}
    assert old["array"]["task_id"] == 4
    assert (new["state"]["current"], old["state"]["current"]) == (["COMPLETED"], "COMPLETED")
    assert (new["time"]["limit"]["number"], old["time"]["limit"]) == (2, 2)
    assert new["time"]["elapsed"] == 90
    assert {item["type"]: item["count"] for item in new["tres"]["allocated"]} == {
        "cpu": 4,
        "mem": 3,
        "node": 1,
    }


def test_who_never_started_was_allocated_nothing() -> None:
    job = json.loads(write(frame(NEVER)))["jobs"][0]
    assert (job["nodes"], job["allocation_nodes"], job["tres"]["allocated"]) == (
        "None assigned",
        0,
        [],
    )
    assert job["time"]["start"] == 0


def test_what_it_says_of_itself_stands_where_it_is_wanted() -> None:
    assert list(json.loads(write(frame(), before=True))) == ["meta", "jobs", "errors", "warnings"]
    assert list(json.loads(write(frame())))[:2] == ["jobs", "meta"]
