"""slurmdbd's table of jobs: as `mysql --batch` prints it, and as CSV."""

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import strategies as st

from audit.formats import dialects
from audit.formats.dialects import PLAIN, Parsed
from audit.formats.lines import Block
from audit.formats.sacct import job_table
from audit.formats.sacct.job_table import DIALECT, NO_GPUS, NO_NAMES, STATES
from tests.formats import contract

UNSET = 4_294_967_294
ROW: Mapping[str, object] = {
    "job_db_inx": 1,
    "mod_time": 1_772_323_500,
    "deleted": 0,
    "account": "phys",
    "array_task_str": "NULL",
    "array_task_pending": 0,
    "array_max_tasks": 0,
    "constraints": "",
    "cpus_req": 4,
    "exit_code": 0,
    "job_name": "run",
    "id_assoc": 5,
    "id_array_job": 0,
    "id_array_task": UNSET,
    "id_job": 101,
    "id_qos": 1,
    "id_resv": 0,
    "id_user": 1001,
    "id_group": 1001,
    "het_job_id": 0,
    "het_job_offset": UNSET,
    "mem_req": (1 << 63) + 8_500,
    "nodelist": "n1",
    "nodes_alloc": 1,
    "partition": "batch",
    "priority": 500,
    "state": 3,
    "timelimit": 60,
    "time_submit": 1_772_323_200,
    "time_eligible": 1_772_323_201,
    "time_start": 1_772_323_210,
    "time_end": 1_772_323_500,
    "time_suspended": 0,
    "gres_used": "",
    "tres_alloc": "1=4,2=34000,4=1,5=4",
    "tres_req": "1=4,2=34000,4=1,5=4",
}
"""Columns of the table in Slurm 22.05, with the values of an ordinary job."""


def table(*rows: Mapping[str, object], quoted: bool = True) -> str:
    """A table of rows that differ from ``ROW``; texts with commas are in quotes."""
    values = [[str(value) for value in {**ROW, **row}.values()] for row in rows]
    lines = [list(ROW), *values]
    if not quoted:
        return "".join("\t".join(line) + "\n" for line in lines)
    return "".join(
        ",".join(f'"{text}"' if "," in text else text for text in line) + "\n" for line in lines
    )


def read(text: str) -> Parsed:
    assert dialects.detect(text.encode(), "x") is DIALECT
    return job_table.parse(Block(text.encode(), 0, 1), job_table.header(text.encode(), PLAIN))


def only(**row: object) -> dict[str, Any]:
    return contract.only(read(table(row)))


@pytest.mark.parametrize("quoted", [True, False])
def test_an_ordinary_job(quoted: bool) -> None:
    parsed = read(table({"job_name": "a, b"}, quoted=quoted))
    assert parsed.remarks == {}
    expected = {
        "job_id": "101",
        "job_number": 101,
        "user": "1001",
        "account": "phys",
        "group": "1001",
        "partition": "batch",
        "qos": "1",
        "state": "COMPLETED",
        "priority": 500.0,
        "reservation": None,
        "submit_time": 1_772_323_200,
        "eligible_time": 1_772_323_201,
        "start_time": 1_772_323_210,
        "end_time": 1_772_323_500,
        "suspended_s": 0,
        "walltime_s": 3_600,
        "cpus": 4,
        "nodes": 1,
        "gpus": 0,
        "mem_bytes": 34_000 << 20,
        "node_list": "n1",
        "line": 2,
    }
    found = parsed.records.row(0, named=True)
    assert {name: found[name] for name in expected} == expected
    header = job_table.header(table().encode(), PLAIN)
    assert header.problems == (NO_NAMES,)


def test_ids() -> None:
    cases: list[tuple[dict[str, object], str]] = [
        ({"id_array_job": 90, "id_array_task": 3}, "90_3"),
        ({"id_array_job": 90, "array_task_str": "0-3%2"}, "90_[0-3%2]"),
        ({"id_array_job": 90, "array_task_str": "0xc"}, "90_[2-3]"),
        ({"id_array_job": 90, "array_task_str": "0xc", "array_max_tasks": 1}, "90_[2-3%1]"),
        ({"id_array_job": 90, "array_task_str": "0xc", "array_max_tasks": 0}, "90_[2-3]"),
        ({"id_array_job": 90, "array_task_str": "0-3%2", "array_max_tasks": 1}, "90_[0-3%2]"),
        ({"id_array_job": 90, "id_array_task": 3, "array_max_tasks": 2}, "90_3"),
        ({"het_job_id": 100, "het_job_offset": 1}, "100+1"),
        ({"het_job_id": 101, "het_job_offset": 0}, "101+0"),
    ]
    found = read(table(*(row for row, _ in cases))).records["job_id"]
    assert found.to_list() == [job_id for _, job_id in cases]


@pytest.mark.parametrize(
    ("of_array", "throttle"),
    [
        ({"array_max_tasks": 2}, 2),
        ({"submit_line": "sbatch --array=1-9%4 x"}, 4),
        ({"array_max_tasks": 2, "submit_line": "sbatch --array=1-9 x"}, 2),  # it was set later
        ({"submit_line": "sbatch x"}, None),
    ],
)
def test_the_throttle_of_an_array(of_array: dict[str, object], throttle: int | None) -> None:
    row = {**ROW, "id_array_job": 90, "id_array_task": 3, **of_array}
    text = "".join("\t".join(map(str, line)) + "\n" for line in (row, row.values()))
    assert contract.only(read(text))["array_throttle"] == throttle


@pytest.mark.parametrize(
    ("listed", "pending", "tasks", "array_tasks"),
    [
        ("0-3%2", 4, 4, "0-3"),
        ("0xc", 2, 2, "2-3"),
        ("0,2,4,...", 90, 90, "0,2,4,+87"),
        ("0,2,4,...", 0, 3, "0,2,4"),
    ],
)
def test_a_row_of_waiting_tasks(listed: str, pending: int, tasks: int, array_tasks: str) -> None:
    of_array = {"id_array_job": 90, "array_task_str": listed, "array_task_pending": pending}
    found = only(**of_array, state=0, time_start=0, time_end=0, nodelist="None assigned")
    assert (found["tasks"], found["array_tasks"]) == (tasks, array_tasks)


def test_states() -> None:
    others = {1 << 10: "REQUEUED", (1 << 13) + 1: "RESIZING", 1 << 19: "REVOKED", 77: "77"}
    states = {**dict(enumerate(STATES)), **others}
    parsed = read(table(*({"state": number} for number in states)))
    read_as = parsed.records.select("line", "state").rows()
    refused = parsed.refusals.select("line", pl.col("reason").str.extract("'(.*)'")).rows()
    assert [state for _, state in sorted([*read_as, *refused])] == [*states.values()]


def test_a_job_that_never_started() -> None:
    never = {"nodelist": "None assigned", "nodes_alloc": 0, "tres_alloc": "", "state": 4}
    for start in (0, ROW["time_end"]):
        found = only(**never, time_start=start)
        assert (found["start_time"], found["end_time"], found["cpus"]) == (None, 1_772_323_500, 4)
    found = only(**never | {"state": 0}, time_start=0, time_end=0, timelimit=UNSET + 1)
    assert (found["state"], found["end_time"], found["walltime_s"]) == ("PENDING", None, None)


def test_nodes_as_python_writes_them() -> None:
    """As in the public log of MIT SuperCloud."""
    assert only(nodelist="['n1']")["node_list"] == "n1"


def test_suspended_time() -> None:
    assert only(time_suspended=70)["suspended_s"] == 70
    # of a job that is suspended now: since when
    assert only(state=2, time_end=0, time_suspended=1_772_323_300)["state"] == "SUSPENDED"


def test_gpus_are_known_from_their_names_only() -> None:
    of_site = {"tres_alloc": "1=4,4=1,1001=2", "tres_req": "1=4,4=1,1001=2"}
    parsed = read(table(of_site, {**of_site, "gres_used": "gpu:2"}, {}))
    assert parsed.records["gpus"].to_list() == [None, 2, 0]
    assert parsed.remarks == {NO_GPUS: 1}


def test_deleted_rows_and_broken_lines_are_counted() -> None:
    text = table({}, {"deleted": 1}) + "1,2\n" + table({"id_job": 102}).split("\n", 1)[1][:-9]
    parsed = read(text)
    assert (parsed.records["job_id"].to_list(), parsed.steps) == (["101"], 1)
    assert parsed.refusals.select("code", "line").rows() == [("shape", 4), ("cut", 5)]


def test_memory_that_a_spreadsheet_wrote_is_unknown_and_costs_no_record() -> None:
    rows = [
        {"id_job": job, "mem_req": "9.22337203685478e+18", "tres_alloc": "1=4"} for job in (1, 2)
    ]
    parsed = read(table(*rows, {"tres_req": "1=2"}))
    assert parsed.refusals.is_empty()
    assert parsed.records["cpus"].to_list() == [4, 4, 4]
    assert parsed.remarks == {"column ReqMem cannot be read, and counts as unknown": 2}


def test_a_query_may_add_the_name_of_the_user() -> None:
    text = table({}).replace("id_user", "user").replace(",1001,1001,", ",ana,1001,")
    assert read(text).records["user"].to_list() == ["ana"]
    assert job_table.header(text.encode(), PLAIN).problems == ()


def returned(name: str) -> str:
    return name.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t").replace("\0", "\\0")


def test_tables_without_resources_have_the_cpus_that_were_allocated() -> None:
    """Until 14.11: of a job that requests one CPU of whole nodes, cpus_alloc are all of them."""
    gone = ("tres_alloc", "tres_req")
    rows = [ROW, {**ROW, "cpus_req": 1}]
    lines = [
        ",".join([str(text) for name, text in row.items() if name not in gone] + [last])
        for row, last in zip(
            (dict(zip(ROW, ROW, strict=True)), *rows), ("cpus_alloc", "4", "8"), strict=True
        )
    ]
    found = read("\n".join(lines) + "\n").records
    assert found["cpus"].to_list() == [4, 8]
    assert found["req_cpus"].to_list() == [4, 1]


def write(frame: pl.DataFrame) -> bytes:
    """As `mysql --batch` prints it."""
    rows = []
    for row in frame.iter_rows(named=True):
        number, _, task = row["job_id"].partition("_")
        tres = f"1={row['cpus']},2={row['mem_bytes'] >> 20},4={row['nodes']}"
        names = {name: returned(row[name]) for name in ("account", "partition")}
        times = {
            f"time_{name}": row[f"{name}_time"] for name in ("submit", "eligible", "start", "end")
        }
        written = {
            "id_job": number,
            "state": STATES.index(row["state"]),
            "timelimit": row["walltime_s"] // 60,
            "nodes_alloc": row["nodes"],
            "tres_alloc": tres,
            "tres_req": tres,
            **names,
            **times,
        }
        if task:
            written |= {"id_array_job": number, "id_array_task": task}
        rows.append(written)
    return table(*rows, quoted=False).encode(errors="surrogatepass")


def lines(*rows: Mapping[str, object]) -> tuple[bytes, ...]:
    return tuple(table(row, quoted=False).split("\n", 1)[1].encode() for row in rows)


CASE = contract.Case(
    dialect=DIALECT,
    head=table(quoted=False).encode(),
    records=lines({"account": "ana"}, {"id_job": 102, "state": 5}, {"id_job": 103, "deleted": 1}),
    write=write,
    carries=(
        *("job_id", "account", "partition", "state", "submit_time", "eligible_time"),
        *("start_time", "end_time", "walltime_s", "cpus", "nodes", "mem_bytes"),
    ),
    names=("account", "partition"),
    returned=returned,
    ids=("7", "8", "12_3"),
    changes={
        "walltime_s": st.integers(1, 10_000).map(lambda minutes: minutes * 60),
        "mem_bytes": st.integers(1, 1 << 20).map(lambda mib: mib << 20),
    },
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)
