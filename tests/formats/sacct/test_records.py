"""The meaning of sacct's columns: against a twin that reads one record at a time."""

from datetime import datetime
from functools import partial
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.dialects import Reading
from audit.formats.sacct import text as sacct
from audit.formats.sacct.records import CONTRADICTED, OUTVOTED
from tests.formats import contract
from tests.places import DATA

parse = partial(contract.parsed, sacct.DIALECT)


def slow_twin(fields: dict[str, str]) -> dict[str, object] | None:
    """The rules of the dialect, one record at a time; None for one that is refused."""

    def time(name: str) -> int | None:
        text = fields[name]
        if text in ("Unknown", "None", ""):
            return None
        return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo("UTC")).timestamp())

    submit, start, end = time("Submit"), time("Start"), time("End")
    state = "CANCELLED" if fields["State"].startswith("CANCELLED by ") else fields["State"] or None
    elapsed = int(fields["ElapsedRaw"])
    tres = dict(part.split("=") for part in fields["AllocTRES"].split(",") if part)
    if submit is None:
        return None
    if state == "PENDING":
        start = end = None
    elif state == "RUNNING":
        end = None
    elif start is not None and start == end and not elapsed and not _had_node(fields, tres):
        start = None
    if start is not None and end is not None and end < start:
        return None
    lost = None if start is None or end is None else max(end - start - elapsed, 0)
    cpus = [int(text) for text in (tres.get("cpu", ""), fields["AllocCPUS"]) if text]
    return {
        "submit_time": submit,
        "start_time": start,
        "end_time": end,
        "state": state,
        "suspended_s": lost,
        "cpus": next((n for n in cpus if n > 0), cpus[0] if cpus else None),
    }


def _had_node(fields: dict[str, str], tres: dict[str, str]) -> bool:
    if fields["NodeList"]:
        return fields["NodeList"] != "None assigned"
    if "AllocNodes" in fields:
        return fields["AllocNodes"] not in ("", "0")
    return bool(tres)


_clock = st.integers(0, 6).map(lambda hour: f"2026-01-01T0{hour}:00:00")
_row = st.fixed_dictionaries(
    {
        "Submit": st.one_of(_clock, st.just("Unknown")),
        "Start": st.one_of(_clock, st.sampled_from(["None", "Unknown"])),
        "End": st.one_of(_clock, st.just("Unknown")),
        "State": st.sampled_from(
            ["COMPLETED", "CANCELLED by 7", "CANCELLED", "PENDING", "RUNNING", "NEW", ""]
        ),
        "ElapsedRaw": st.sampled_from(["0", "3600", "3000"]),
        "AllocTRES": st.sampled_from(["", "cpu=2", "cpu=0,node=1"]),
        "AllocCPUS": st.sampled_from(["", "0", "4"]),
        "AllocNodes": st.sampled_from(["", "0", "1"]),
        "NodeList": st.sampled_from(["", "None assigned", "n1,n[3-4]"]),
    }
)
_hostile = st.text(st.sampled_from("ab|\n,;\"'\t\r\u2603 "), max_size=8)


@given(st.lists(st.tuples(_row, _hostile), min_size=1, max_size=12), st.booleans())
def test_as_the_slow_twin(rows: list[tuple[dict[str, str], str]], counts_nodes: bool) -> None:
    if not counts_nodes:
        rows = [({**row}, name) for row, name in rows]
        for row, _ in rows:
            del row["AllocNodes"]
    names = [*rows[0][0]]
    text = "|".join(["JobID", "JobName", *names]) + "\n"
    for job, (row, name) in enumerate(rows):
        text += (
            "|".join([str(job + 1), name.strip("\r"), *(row[column] for column in names)]) + "\n"
        )
    parsed = parse(text)
    expected = [(str(job + 1), slow_twin(row)) for job, (row, _) in enumerate(rows)]
    wanted = [{"job_id": job, **twin} for job, twin in expected if twin is not None]
    columns = ["job_id", "submit_time", "start_time", "end_time", "state", "suspended_s", "cpus"]
    assert parsed.records.select(columns).to_dicts() == wanted


@pytest.mark.parametrize(
    ("columns", "remark", "cpus", "nodes"),
    [
        # what agrees with the names of the nodes counts
        ("n[1-9]|cpu=100,node=1|108|9", OUTVOTED, 108, 9),
        ("n[1-9]|cpu=100,node=1||9", OUTVOTED, 100, 9),
        ("n[1-9]|cpu=100,node=9|108|8", CONTRADICTED, 100, 9),
        ("n[1-8]|cpu=100,node=1|108|9", CONTRADICTED, 100, 1),
        # without a count: more names than nodes
        ("n[1-9]|cpu=100,node=1|108|", OUTVOTED, 108, 9),
        ("n[1-9]|cpu=100,node=10|100|", None, 100, 10),
        ("a hash|cpu=100,node=10|100|", None, 100, 10),
        ("|cpu=100,node=1|108|9", CONTRADICTED, 100, 1),
        ("None assigned|cpu=100,node=2|100|1", CONTRADICTED, 100, 2),
        # without names: AllocTRES counts
        ("|cpu=100,node=9|108|9", CONTRADICTED, 100, 9),
        ("|cpu=108,node=8|108|9", CONTRADICTED, 108, 8),
        ("|cpu=108,node=9|108|9", None, 108, 9),
        ("|cpu=1500,node=9|1.46K|9", None, 1_500, 9),
        ("||108|9", None, 108, 9),
    ],
)
def test_nodes_that_are_named_decide_between_counts(
    columns: str, remark: str | None, cpus: int, nodes: int
) -> None:
    head = "JobID|State|Submit|Start|End|NodeList|AllocTRES|NCPUS|NNodes\n"
    parsed = parse(f"{head}7|COMPLETED|100|200|300|{columns}\n")
    assert parsed.remarks == ({} if remark is None else {remark: 1})
    assert parsed.records.select("cpus", "nodes").row(0) == (cpus, nodes)


def test_an_allocation_that_repeats_the_request() -> None:
    names = (
        "JobID,JobIDRaw,Cluster,Partition,QOS,Account,Group,GID,User,UID,Submit,Eligible,Start,End,"
        "Elapsed,ExitCode,State,NNodes,NCPUS,ReqCPUS,ReqMem,ReqTRES,AllocTRES,Timelimit,NodeList,"
        "JobName"
    )
    data = (DATA / "cases" / "slurm-alloctres-nodes" / "input").read_bytes()
    parsed = parse(data, Reading(columns=tuple(names.split(","))))
    assert parsed.remarks == {OUTVOTED: 1}
    found = parsed.records.row(0, named=True)
    assert (found["cpus"], found["nodes"], found["node_list"]) == (108, 9, "n[1-9]")


def test_a_limit_of_zero_is_none() -> None:
    """slurmctld requests no limit by it; job_table and JSON contain it."""
    rows = ("7|00:00:00|0", "8|00:05:00|5", "9|UNLIMITED|")
    body = "".join(f"{row}|2026-01-01T00:00:00\n" for row in rows)
    for names in ("JobID|Timelimit|_|Submit", "JobID|_|TimelimitRaw|Submit"):
        found = parse(f"{names}\n{body}")
        assert found.records["walltime_s"].to_list() == [None, 300, None]
        assert not found.remarks
