"""Proposed columns of a log without header row: usage of steps, memory, and ids."""

import random
from collections.abc import Sequence

import polars as pl
import pytest

from audit.errors import DialectError
from audit.formats.dialects import PLAIN
from audit.formats.lines import Block
from audit.formats.sacct import proposals
from audit.formats.sacct import text as sacct
from tests.places import DATA

DAY = "2026-01-01T"
JOB = {
    "JobID": "{job}",
    "State": "COMPLETED",
    "Submit": DAY + "00:{job}:00",
    "Start": DAY + "01:{job}:00",
    "End": DAY + "02:{job}:00",
    "ReqMem": "4G",
    "ReqTRES": "cpu=2,mem=4G,node=1",
    "AllocTRES": "billing=2,cpu=2,mem=4G,node=1",
}
STEP = {**JOB, "JobID": "{job}.batch", "ReqMem": "", "ReqTRES": ""}
USAGE = {
    "MaxDiskRead": "0.{job}M",
    "MaxRSS": "{job}164K",
    "TRESUsageInMax": "cpu=00:00:{job},energy=0,fs/disk=2012,mem=1K,pages=0,vmem=3K",
    "TRESUsageInMin": "energy=0,fs/disk={job},mem=1K,pages=0,vmem=3K",
    "TRESUsageOutTot": "energy=0,fs/disk={job},mem=1K",
}
"""Values in rows of steps only; {job} is two digits."""


def proposed(names: Sequence[str], steps: bool = True) -> dict[str, str]:
    """Return the proposal for each column of a log of 20 jobs, and of one step of each."""
    lines = []
    for job in range(10, 30):
        rows = [{**dict.fromkeys(USAGE, ""), **JOB}, {**USAGE, **STEP}]
        if job == 10:  # it never started
            rows = [{**rows[0], "Start": "None", "AllocTRES": ""}]
        for row in rows[: 1 + steps]:
            lines.append("|".join(row[name].format(job=job) for name in names))
    sniffed = proposals.sniff(lines)
    assert sniffed is not None
    return dict(zip(names, proposals.propose(sniffed).names, strict=True))


def test_usage_of_steps_is_no_request() -> None:
    found = proposed([*USAGE, *JOB])
    assert [name for name in USAGE if found[name] != "_"] == []
    assert [name for name in JOB if found[name] != name] == []


def test_usage_is_not_taken_for_what_the_log_lacks() -> None:
    for lacking in ("ReqMem", "ReqTRES", "AllocTRES"):
        names = [name for name in (*JOB, *USAGE) if name != lacking]
        assert [name for name in USAGE if proposed(names)[name] != "_"] == []
    bare = [name for name in (*USAGE, *JOB) if name not in {"ReqMem", "ReqTRES", "AllocTRES"}]
    assert [name for name in USAGE if proposed(bare)[name] != "_"] == []


def test_memory_is_no_id() -> None:
    found = proposed(["MaxDiskRead", "JobID", "State", "Start", "End"])
    assert found["MaxDiskRead"] == "_"
    assert found["JobID"] == "JobID"


def test_a_column_that_later_lines_have_is_proposed() -> None:
    begins = "COMPLETED|{job}|1|1G|1||{day}00:{job}:00|{day}00:{job}:00|{day}01:{job}:00|00:05:00"
    rest = "|00:00:00|{day}01:{job}:00|0:0|0:0|1|1||||||00:05:00|01:07.402|01:03.182|02:10.584"
    short = [f"{begins}{rest}".format(job=job, day=DAY) for job in range(10, 40)]
    for longer, last in (("p", "Partition"), ("p|q", "TotalCPU"), (None, "TotalCPU")):
        sniffed = proposals.sniff([*short, f"{short[0]}|{longer}"] if longer else short)
        assert sniffed is not None
        assert proposals.propose(sniffed).names[-1] == last


def test_a_log_of_jobs_alone() -> None:
    found = proposed([*USAGE, *JOB], steps=False)
    assert {name: found[name] for name in JOB} == {name: name for name in JOB}


def capture() -> tuple[list[str], list[list[str]]]:
    """The names and rows of `sacct --format=ALL`."""
    text = (DATA / "sacct" / "all.psv").read_text()
    names, *rows = (line.split("|") for line in text.splitlines())
    return names, [row for row in rows if len(row) == len(names)]  # names may hold separators


def named(names: Sequence[str], rows: Sequence[Sequence[str]]) -> proposals.Proposal:
    """The proposal for rows, of which each name must be that of the column or of an equal one."""
    sniffed = proposals.sniff(["|".join(row) for row in rows])
    assert sniffed is not None
    found = proposals.propose(sniffed)
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    for name, truth in zip(found.names, names, strict=False):  # the last may be empty
        if name != "_":
            assert columns[name] == columns[truth], (name, truth)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_of_all_columns_in_any_order_only_what_is_proven_is_named(seed: int) -> None:
    names, rows = capture()
    order = random.Random(seed).sample(range(len(names)), len(names))
    shuffled = [[row[at] for at in order] for row in rows]
    found = named([names[at] for at in order], shuffled)
    proven = {"JobID", "State", "Submit", "Eligible", "Start", "End", "AllocTRES", "ReqTRES"}
    assert proven - set(found.names) == set()
    assert found.questions == ()


def test_what_the_lines_do_not_show_is_asked() -> None:
    names, rows = capture()
    at = {name: names.index(name) for name in names}
    same = [list(row) for row in rows]
    for row in same:
        row[at["Eligible"]] = row[at["Submit"]]
        row[at["ReqTRES"]] = row[at["AllocTRES"]]
    found = named(names, same)
    assert {"Start", "End"} < set(found.names)
    assert {"Submit", "Eligible", "AllocTRES", "ReqTRES"}.isdisjoint(found.names)
    one, two = sorted((at["Submit"] + 1, at["Eligible"] + 1))
    three, four = sorted((at["AllocTRES"] + 1, at["ReqTRES"] + 1))
    assert found.questions == (
        f"columns {one}, {two} are Submit and Eligible, but these lines do not show which",
        f"columns {three}, {four} are AllocTRES and ReqTRES, but these lines do not show which",
    )
    with pytest.raises(DialectError, match=rf"columns {one}, {two} are Submit and Eligible"):
        sacct.header("".join("|".join(row) + "\n" for row in same).encode(), PLAIN)


def test_times_out_of_order_are_asked() -> None:
    names, rows = capture()
    start, end = names.index("Start"), names.index("End")
    for row in rows[:3]:
        row[start], row[end] = row[end], row[start]
    found = named(names, rows)
    assert {"Submit", "Eligible", "Start", "End"}.isdisjoint(found.names)
    assert "Submit and Eligible and Start and End" in " ".join(found.questions)


def xdmod_export() -> bytes:
    """Lines as Open XDMoD's programs write them, of the captured jobs."""
    names, rows = capture()
    at = {name.lower(): place for place, name in enumerate(names)}
    wanted = [at[name] for name in proposals.XDMOD[0].split()]
    return "".join("|".join(row[place] for place in wanted) + "\n" for row in rows).encode()


def test_the_export_of_xdmod_is_read_without_a_header_row() -> None:
    data = xdmod_export()
    header = sacct.header(data, PLAIN)
    assert header.problems == ("no header row: the columns are those of Open XDMoD's export",)
    found = sacct.parse(Block(data, 0, 1), header)
    text = (DATA / "sacct" / "all.psv").read_bytes()
    expected = sacct.parse(Block(text, 0, 1), sacct.header(text, PLAIN))
    columns = ["job_id", "user", "submit_time", "start_time", "end_time", "cpus", "walltime_s"]
    assert found.refusals.is_empty()
    records = expected.records.filter(pl.col("job_id").is_in(found.records["job_id"].to_list()))
    assert found.records.select(columns).equals(records.select(columns))


def test_what_only_resembles_the_export_of_xdmod_is_asked() -> None:
    lines = xdmod_export().decode().splitlines()
    fields = [line.split("|") for line in lines]
    start, end = (proposals.XDMOD[0].split().index(name) for name in ("start", "end"))
    for row in fields:
        row[start], row[end] = row[end], row[start]
    with pytest.raises(DialectError, match="no header row"):
        sacct.header("".join("|".join(row) + "\n" for row in fields).encode(), PLAIN)


def test_few_lines_do_not_prove_which_number_is_the_id() -> None:
    """Two small counts that are alike are no JobID and JobIDRaw."""
    lines = [f"ana|{job}|COMPLETED|{n}|{n}|{DAY}00:00:00" for job, n in ((20251, 2), (20252, 1))]
    sniffed = proposals.sniff(lines)
    assert sniffed is not None
    found = proposals.propose(sniffed)
    assert not {"JobID", "JobIDRaw"} & {*found.names}
    assert found.questions[0].startswith("columns 2, 4, 5 are JobID and other numbers")


def test_objects_are_no_lines_of_fields() -> None:
    text = '[{"JobID": "1", "State": "COMPLETED", "Submit": "2026-01-01T00:00:00"}]'
    assert not sacct.recognises(text.encode())


@pytest.mark.parametrize("elapsed", ["3600", "01:00:00"])
def test_some_times_are_proven_by_elapsed(elapsed: str) -> None:
    rows = [
        f"{job}|u|{elapsed}|FAILED|{{}}{DAY}01:00:{job}|{DAY}02:00:{job}" for job in (10, 20, 30)
    ]
    for submit, names in ((f"{DAY}00:00:00|", ["Submit", "Start", "End"]), ("", ["Start", "End"])):
        sniffed = proposals.sniff([row.format(submit) for row in rows])
        assert sniffed is not None
        found = proposals.propose(sniffed)
        raw = "ElapsedRaw" if elapsed.isdigit() else "Elapsed"
        assert found.names == ("JobID", "_", raw, "State", *names)


def test_two_times_alone_may_be_any() -> None:
    """Those of Submit and Start ascend as well as those of Start and End."""
    lines = [f"{job}|u|COMPLETED|{DAY}01:00:{job}|{DAY}02:00:{job}" for job in range(10, 30)]
    sniffed = proposals.sniff(lines)
    assert sniffed is not None
    found = proposals.propose(sniffed)
    assert found.names == ("JobID", "_", "State", "_", "_")
    (question,) = found.questions
    assert question.startswith("columns 4, 5 are Submit, Eligible, Start or End")


def test_without_ids_of_jobs_usage_is_no_request() -> None:
    rows = [f"{DAY}01:00:00|COMPLETED|{'' if job % 2 else '4G'}" for job in range(20)]
    sniffed = proposals.sniff([f"1|{row}" for row in rows])
    assert sniffed is not None
    assert "ReqMem" not in proposals.propose(sniffed).names
