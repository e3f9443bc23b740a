"""`sacct --json`: the contract of all dialects, documents that are damaged, cut or several."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import strategies as st

from audit.formats import dialects
from audit.formats.dialects import PLAIN, Parsed
from audit.formats.sacct import json as sacct_json
from audit.formats.sacct.json import COLUMNS, columns_of
from audit.formats.sacct.records import PENDING_TASKS, typed
from audit.formats.slurm.fields import submitted
from bench.logs.writers.sacct_json import write
from tests.formats import contract
from tests.formats.contract import PLAIN_JOB, Case, case_frame

CARRIES = (
    *("job_id", "user", "account", "group", "partition", "state", "submit_time", "eligible_time"),
    *("start_time", "end_time", "suspended_s", "walltime_s", "cpus", "nodes", "gpus", "mem_bytes"),
)


def job(number: int, **more: Any) -> dict[str, Any]:
    """The fields that matter most, and no others: the log that is cut at every byte is short."""
    time = {"submission": 100, "start": 160, "end": 260, "elapsed": 100}
    return {
        "account": "phys",
        "allocation_nodes": 1,
        "association": {"account": "phys"},
        "job_id": number,
        "state": {"current": "COMPLETED"},
        "time": time,
        "user": "ana",
        **more,
    }


JOBS = [
    job(7),
    job(8, array={"job_id": 3, "task_id": 0}),
    job(9, steps=[], tres={"allocated": [{"type": "cpu", "count": 4}]}),
]


def split(data: bytes, begins: bytes) -> tuple[bytes, tuple[bytes, ...], bytes]:
    """A document as what stands before its jobs, its jobs (each with the comma before it) and the
    rest."""
    starts: list[int] = []
    at = data.find(begins)
    while at >= 0:
        before = data[:at].rstrip()
        if not before.endswith(b":"):
            starts.append(at if not starts else len(before) - 1)
        at = data.find(begins, at + 1)
    end = data.rindex(b"}", 0, data.rindex(b"]", 0, data.rindex(b'"meta"'))) + 1
    pieces = [data[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
    return data[: starts[0]], tuple(pieces), data[end:]


def case(**form: Any) -> Case:
    document = {"jobs": JOBS, "meta": {"plugin": {"type": ""}}, "errors": []}
    data = json.dumps(document, indent=form["indent"]).encode()
    begins = sacct_json.header(data, PLAIN).entries["begins"].encode()
    head, records, tail = split(data, begins)
    return Case(
        sacct_json.DIALECT,
        records,
        partial(write, **form),
        CARRIES,
        head=head,
        tail=tail,
        names=("user", "account", "group", "partition"),
        returned=lambda name: name.replace("\0", "\\x00"),
        ids=("7", "3_0", "23+1", "3_[0-9%2]"),
        changes={
            "walltime_s": st.integers(1, 10_000).map(lambda minutes: 60 * minutes),
            "mem_bytes": st.integers(1, 1 << 20).map(lambda mib: mib << 20),
        },
    )


ONE_LINE = case(indent=None)
MANY_LINES = case(indent=1, objects=False)

ON_TWO_NODES = replace(
    ONE_LINE,
    carries=(*CARRIES, "node_list", "node_amounts"),
    on_nodes=("cpus", "gpus"),
    changes={**ONE_LINE.changes, "nodes": st.just(2)},
)


def test_what_jobs_on_two_nodes_have_on_each() -> None:
    contract.what_is_written_is_read(ON_TWO_NODES)


def remembering(patch: pytest.MonkeyPatch) -> None:
    """A log that is cut at every byte has the same few records hundreds of times."""
    known: dict[Any, pl.DataFrame] = {}

    def remembered(texts: pl.DataFrame, zone: str) -> pl.DataFrame:
        key = (zone, *texts.rows())
        if key not in known:
            known[key] = typed(texts, zone)
        return known[key]

    patch.setattr(sacct_json, "typed", remembered)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    remembering(monkeypatch)
    check(ONE_LINE)


@pytest.mark.parametrize("check", contract.OF_FORMS, ids=contract.name_of)
def test_contract_of_many_lines(check: contract.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    remembering(monkeypatch)
    check(MANY_LINES)


def parse(data: bytes, *, block_bytes: int = 1 << 30) -> Parsed:
    return contract.in_blocks(sacct_json.DIALECT, data, block_bytes)


def several(count: int, **form: Any) -> bytes:
    rows = [{**PLAIN_JOB, "job_id": str(k), "cpus": k + 1} for k in range(count)]
    return write(case_frame(ONE_LINE, rows), **form)


DOCUMENTS = several(7) + several(2, before=True) + several(0) + several(3, before=True)


@pytest.mark.thorough
@pytest.mark.parametrize("block_bytes", [300, 1_000, 3_000, 20_000])
def test_blocks_of_any_length_tell_the_same(block_bytes: int) -> None:
    found, expected = parse(DOCUMENTS, block_bytes=block_bytes), parse(DOCUMENTS)
    assert found.records.equals(expected.records)
    assert found.refusals.is_empty()


def test_several_documents_in_one_log() -> None:
    parsed = parse(DOCUMENTS)
    assert parsed.refusals.is_empty()
    assert parsed.records["job_id"].to_list() == list("0123456" + "01" + "012")
    for line, offset in parsed.records.select("line", "byte_offset").iter_rows():
        assert DOCUMENTS[offset : offset + 1] == b"{"
        assert DOCUMENTS.count(b"\n", 0, offset) == line - 1


def test_documents_that_are_written_in_other_ways_follow() -> None:
    data = several(2, indent=None) + several(2, indent=4) + several(2, indent=2, objects=False)
    parsed = parse(data)
    assert parsed.refusals.is_empty()
    assert parsed.records["job_id"].to_list() == list("010101")


def test_jobs_whose_fields_stand_in_another_order() -> None:
    document = json.loads(several(3))
    document["jobs"][1] = dict(reversed(document["jobs"][1].items()))
    parsed = parse(json.dumps(document).encode())
    assert parsed.refusals.is_empty()
    assert parsed.records["job_id"].to_list() == list("012")


@pytest.mark.parametrize("before", [True, False])
def test_what_sacct_says_went_wrong_is_shown(*, before: bool) -> None:
    document = json.loads(several(2))
    said = "slurmdbd: \u202eConnection refused"
    errors = [{"description": said, "error_number": 7}, {"error": "x"}]
    del document["errors"]
    document = {"errors": errors, **document} if before else {**document, "errors": errors}
    parsed = parse(json.dumps(document).encode())
    assert parsed.records.height == 2
    assert [reason.split(": ", 1)[1] for reason in parsed.refusals["reason"]] == [said, "x"]


def test_that_there_was_no_job_is_no_error() -> None:
    nothing = {"error_number": 9003, "error": "Nothing found", "source": "slurmdb_jobs_get"}
    parsed = parse(json.dumps({**json.loads(several(0)), "errors": [nothing]}).encode())
    assert contract.accounted(parsed) == 0


def test_steps_are_counted() -> None:
    document = json.loads(several(2))
    document["jobs"][0]["steps"] = [{"step": {"id": "0.batch"}}, {"step": {"id": "0.0"}}]
    parsed = parse(json.dumps(document).encode())
    assert parsed.steps == 2
    assert parsed.records.height == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"job_id": None}, "column JobID: '' is not a job id"),
        ({"time": 7}, "field time: 7 is not an object"),
        ({"time": {"submission": "soon"}}, "column Submit: 'soon' is not a time"),
        (
            {"time": {"submission": 1_700_000_000_000}},
            "column Submit: '1700000000000' is not a time",
        ),
        ({"time": {}}, "column Submit: when it was submitted is unknown"),
        ({"state": {"current": [[]]}}, "column State: '[]' is not a valid state"),
    ],
)
def test_what_no_job_says_is_refused(change: dict[str, Any], reason: str) -> None:
    document = json.loads(several(3))
    document["jobs"][1].update(change)
    parsed = parse(json.dumps(document).encode())
    assert parsed.records["job_id"].to_list() == ["0", "2"]
    assert parsed.refusals["reason"].item().startswith(reason)


def test_a_count_that_cannot_be_is_unknown() -> None:
    document = json.loads(several(3))
    document["jobs"][1].update({"allocation_nodes": 1 << 40, "tres": {}})
    parsed = parse(json.dumps(document).encode())
    assert parsed.refusals.is_empty()
    assert parsed.records["nodes"].to_list()[1] is None
    assert parsed.remarks == {"column AllocNodes cannot be read, and counts as unknown": 1}


def test_a_job_without_its_id_is_refused() -> None:
    document = json.loads(several(3))
    del document["jobs"][1]["job_id"]
    parsed = parse(json.dumps(document).encode())
    assert parsed.refusals["reason"].item().startswith("field job_id is missing: {")


@pytest.mark.parametrize("value", ["[" * 100_000, "9" * 5_000, "1e999", '"\\ud800"'])
def test_what_json_can_hold_and_no_column_can(value: str) -> None:
    data = several(3, indent=None).replace(b'"ana"', value.encode(), 1)
    parsed = parse(data)
    assert contract.is_sane(parsed)
    assert parsed.records["job_id"].to_list()[-2:] == ["1", "2"]


def test_a_byte_order_mark_is_passed_over() -> None:
    data = b"\xef\xbb\xbf" + several(2)
    assert dialects.detect(data, "x").name == "sacct-json"
    parsed = parse(data)
    assert parsed.refusals.is_empty()
    assert parsed.records.height == 2


def test_squeue_is_another_program() -> None:
    document = {"meta": {}, "jobs": [{"account": "a", "accrue_time": 1, "allocation_nodes": 2}]}
    assert not sacct_json.recognises(json.dumps(document).encode())


def test_the_header_names_the_release() -> None:
    document = {**json.loads(several(1, before=True)), "meta": {"Slurm": {"release": "22.05.8"}}}
    header = sacct_json.header(json.dumps(document).encode(), PLAIN)
    assert header.entries["release"] == "22.05.8"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        # job, state, submitted, started, ended, minutes of the limit, CPUs, nodes, GPUs, GiB
        ("21_8_8", ("55978384", "REQUEUED", 0, 8_062, 94_363, 1_440, 4, 1, 1, 40)),
        ("22_5_9", ("20247445_100", "FAILED", 0, 1_579_828, 1_704_231, 2_880, 96, 4, 16, 256)),
        ("23_2_6", ("4", "RUNNING", 0, 0, None, 7_200, 4, 1, 2, 32)),
        ("23_11_5", ("4", "RUNNING", 0, 0, None, 7_200, 4, 1, 2, 32)),
    ],
)
def test_documents_of_sites(version: str, expected: tuple[object, ...], real_logs: Path) -> None:
    parsed = parse((real_logs / "slurm" / f"sarc-sacct-json-slurm_{version}.json").read_bytes())
    assert parsed.refusals.is_empty()
    submit = pl.col("submit_time")
    times = [pl.col(f"{name}_time") - submit for name in ("submit", "start", "end")]
    minutes, memory = pl.col("walltime_s") // 60, pl.col("mem_bytes") // (1 << 30)
    row = parsed.records.select(
        "job_id",
        "state",
        *(time.alias(str(n)) for n, time in enumerate(times)),
        minutes,
        "cpus",
        "nodes",
        "gpus",
        memory,
    ).row(0)
    assert row == expected


def test_a_document_of_slurm_25_05(real_logs: Path) -> None:
    data = (real_logs / "slurm" / "sarc-sacct-json-fromage_1714003200.json").read_bytes()
    parsed = parse(data)
    assert parsed.refusals.is_empty()
    assert parsed.records["state"].value_counts().sort("state").rows() == [
        ("CANCELLED", 1),
        ("COMPLETED", 7),
        ("FAILED", 2),
        ("RUNNING", 3),
    ]
    assert parsed.records["cluster"].unique().to_list() == ["fromage"]
    assert parsed.steps == 26


def column(name: str, **job: Any) -> str | None:
    return columns_of({"job_id": 7, **job})[list(COLUMNS).index(name)]


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


@pytest.mark.parametrize("line", [None, "sbatch --array=1-9 x", "sbatch --array=1-9%8 x"])
def test_the_throttle_of_an_array_is_the_one_in_force(line: str | None) -> None:
    """`scontrol update ArrayTaskThrottle` and `#SBATCH` do not change the call of sbatch."""
    array = {"job_id": 3, "task_id": 1, "limits": {"max": {"running": {"tasks": 2}}}}
    call = column("SubmitLine", array=array, submit_line=line)
    throttle = submitted(pl.lit(call), pl.lit("3_1"))["array_throttle"]
    assert pl.select(throttle).item() == 2


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


def test_memory_that_was_requested() -> None:
    per_cpu = {"memory_per_cpu": number(500), "memory_per_node": number(0, set=False)}
    assert column("ReqMem", required=per_cpu) == "500Mc"
    assert column("ReqMem", required={"memory_per_node": number(4096)}) == "4096Mn"
    assert column("ReqMem", required={"memory": 4096}) is None


@pytest.mark.parametrize("place", ["job", "array"])
def test_the_number_of_waiting_tasks(place: str) -> None:
    """Slurm cuts the list of them."""
    array: dict[str, Any] = {"job_id": 3, "task": "0,2,4,..."}
    number = {"array_task_pending": {"set": True, "infinite": False, "number": 90}}
    of_job = number if place == "job" else {}
    array |= number if place == "array" else {}
    assert column(PENDING_TASKS, array=array, **of_job) == "90"
    assert column(PENDING_TASKS, array={"job_id": 0}) is None
