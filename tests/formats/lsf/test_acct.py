"""LSF's lsb.acct, as several versions wrote it, and damaged."""

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import strategies as st

from audit.formats.dialects import PLAIN, Parsed, Reading
from audit.formats.lines import Block
from audit.formats.lsf import acct
from audit.formats.lsf.acct import DIALECT
from audit.formats.lsf.writing import write
from audit.model import RefusalCode
from tests.formats import contract

T = 1_643_910_000


def finish(
    job: int = 101,
    *,
    version: str = "10.108",
    times: tuple[int, int, int, int] = (T + 60, T, 0, T + 10),  # event, submit, begin, start
    user: str = "ana",
    hosts: str = '0 1 "h1"',
    status: int = 64,
    command: str = "sleep 1",
    idx: int = 0,
    reservation: str = "",
    exit_info: int = 0,
    tail: str | None = "",
) -> str:
    """A record of JOB_FINISH; ``tail``: what stands behind the list of submitExt, None for 6.x."""
    event, submit, begin, start = times
    extended = f' "/eng/{user}" "" "" "" -1 "" "" 0 "" 0 "" ""' if tail is not None else ""
    return (
        f'"JOB_FINISH" "{version}" {event} {job} 1501 2 1 {submit} {begin} 0 {start} '
        f'"{user}" "normal" "" "" "" "login" "/home" "" "" "" "x" {hosts} {status} 60.0 '
        f'"n[1-1000000%50]" "{command}" 0.01 0.02 {"0 " * 17}"" "phys" 0 1 "" "" {idx} 0 0 "" "" '
        f'"{reservation}" "gold" 0 "" {exit_info} "" -1{extended}{tail or ""}\n'
    )


SLOTS = '"select[type == any] rusage[mem=100.00:ngpus_physical=1.00]"'
LATE = (
    f' 2 1058 "1" 1041 "a b" 0 3600 4194304 0 {SLOTS} "" -1 "" -1 0 "" 0 0 "" 45 "/home" 0 "" '
    '0.000000 0.00 0.00 0.00 0.00 2 "2*h1" "h2" 4 0 0 0 0 1 "schedulingOverhead" "0.00"'
)
"""Of 10.1: with hosts that slots are allocated on, and 4 s in which it was not eligible."""

NINE = ' 0 2 h1 130 0 12 6 0 h2 129 0 6 3 1 "k" "v" 43200 0 86 "span[ptile=16]" "" -1 "" -1 0'
"""Of 9.1: with the usage of two hosts."""

RESIZE = f'"JOB_RESIZE" "10.108" {T + 30} 101 0 {T + 10} 1501 "ana" 0 {T + 10} 1 "h1" 1 "h2"\n'
RESERVED = f'"EVENT_ADRSV_FINISH" "10.108" {T} {T - 9} 1 "ana" "ana#0" "-" 1 "h1" 4\n'

RECORDS = (
    finish(tail=LATE),
    RESIZE,
    finish(102, version="5.1", command='echo "";#;\nsed ""s/a b/c/""\n', tail=None),
    RESERVED,
)
CASE = contract.Case(
    dialect=DIALECT,
    records=tuple(record.encode() for record in RECORDS),
    write=write,
    carries=(
        *("job_id", "user", "account", "group", "partition", "state", "submit_time"),
        *("eligible_time", "start_time", "end_time", "walltime_s", "cpus", "nodes", "gpus"),
        "mem_bytes",
    ),
    names=("user", "account", "partition"),
    ids=("7", "8", "12", "12[3]"),
    changes={"state": st.sampled_from(["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "REQUEUED"])},
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)


def parse(*lines: str) -> Parsed:
    data = "".join(lines).encode()
    return acct.parse(Block(data, 0, 1), acct.header(data, PLAIN))


def test_the_sample_by_hand() -> None:
    parsed = CASE.whole
    assert parsed.steps == 2
    late, early = parsed.records.to_dicts()
    assert late == {
        **dict.fromkeys(parsed.records.columns),
        "job_id": "101",
        "job_number": 101,
        "kind": "run",
        "user": "ana",
        "account": "phys",
        "group": "eng",
        "partition": "normal",
        "qos": "gold",
        "state": "COMPLETED",
        "submit_time": T,
        "eligible_time": T + 4,
        "start_time": T + 10,
        "end_time": T + 60,
        "occupancy_s": 50,
        "suspended_s": 5,
        "walltime_s": 3600,
        "cpus": 3,
        "nodes": 2,
        "gpus": 2,
        "mem_bytes": 200 << 20,
        "line": 1,
        "byte_offset": 0,
    }
    known = {name: value for name, value in early.items() if value is not None}
    assert known == {
        "job_id": "102",
        "job_number": 102,
        "kind": "run",
        "user": "ana",
        "account": "phys",
        "partition": "normal",
        "qos": "gold",
        "state": "COMPLETED",
        "submit_time": T,
        "start_time": T + 10,
        "end_time": T + 60,
        "occupancy_s": 50,
        "cpus": 1,
        "nodes": 1,
        "line": 3,
        "byte_offset": len(RECORDS[0] + RECORDS[1]),
    }


def test_the_header_says_the_version() -> None:
    assert acct.header(RECORDS[0].encode(), PLAIN).entries == {"version": "10.108"}
    assert acct.header(b"", Reading(zone="Asia/Tokyo")).zone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("hello\n \n#x\nworld\n", ["no record begins here"] * 2),
        (finish()[:-1], ["the log ends within this record"]),
        ('"JOB_NEW" "10.1" 1643910000 1\n', ["field 1 (event): 'JOB_NEW' is none of lsb.acct"]),
        (finish().replace('"ana"', '"ana', 1), ["a quote of it is not closed"]),
        (finish().replace('"ana"', "ana", 1), ["field 12 (userName): 'ana' is no text in quotes"]),
        (
            finish(times=(T + 60, T, 0, -5)),
            ["field 11 (startTime): '-5' is no whole number"],
        ),
        (
            finish(status=1),
            ["jStatus: 1 is neither EXIT (32) nor DONE (64)"],
        ),
        (
            finish(times=(T + 5, T, 0, T + 10)),
            ["ends 5 s before it starts (startTime, event time)"],
        ),
        (
            finish(times=(T - 5, T, 0, 0)),
            ["left the queue 5 s before it was submitted (submitTime, event time)"],
        ),
        (
            finish(times=(99_999_999_999, T, 0, 0)),
            ["eventTime: 99999999999 lies beyond 2242"],
        ),
        (
            finish(tail=LATE.replace(" 2 1058", " 3 1058")),
            ["131 fields: those behind submitExt are not where they should be"],
        ),
        (
            finish(hosts='0 2 "h1"'),
            ["field 27 (jStatus): '60.0' is no whole number"],
        ),
        ('"JOB_FINISH" "10.1" 1643910000 7\n', ["4 fields: numProcessors is missing"]),
    ],
)
def test_what_is_wrong_is_named_and_shown(text: str, reasons: list[str]) -> None:
    parsed = parse(finish(), text)
    assert parsed.records.height == 1
    found = [re.sub(r"^\d+ (?=fields: those)", "131 ", why) for why in parsed.refusals["reason"]]
    assert found == reasons


def test_records_between_damaged_lines_stay() -> None:
    parsed = parse("x\n", finish(1), "y\nz\n", finish(2, command="a\nb\nc"), "\n", finish(3), "w")
    assert parsed.records["job_id"].to_list() == ["1", "2", "3"]
    assert parsed.records["line"].to_list() == [2, 5, 9]
    assert parsed.refusals.select("line", "text").rows() == [
        (1, "x"),
        (3, "y"),
        (4, "z"),
        (10, "w"),
    ]


def test_a_text_cannot_forge_a_record() -> None:
    forged = finish(9).strip().replace('"', '""')
    parsed = parse(finish(1, command=f"a\n{forged}\nb"), finish(2))
    assert parsed.refusals.is_empty()
    assert parsed.records["job_id"].to_list() == ["1", "2"]


def test_a_block_ends_before_the_last_record() -> None:
    first, second = finish(1).encode(), finish(2, command="a\nb").encode()
    header = acct.header(first, PLAIN)
    assert acct.whole(first + second, header) == len(first)
    assert acct.whole(first + second[:9], header) == len(first)
    assert acct.whole(first, header) == 0
    assert acct.whole(b"", header) == 0
    assert acct.whole(b"x\n" * (1 << 18) + b"yy", header) == 1 << 19


def test_rows_in_any_order_say_the_same() -> None:
    lines = [finish(1, tail=LATE), finish(2, tail=None), finish(3, tail=NINE), RESIZE]
    one, two = parse(*lines), parse(*lines[::-1])
    drop = ("line", "byte_offset")
    assert one.records.drop(drop).sort("job_id").equals(two.records.drop(drop).sort("job_id"))
    assert one.steps == two.steps == 1
    assert one.records.schema["group"] == pl.String


def test_real_records_agree_with_what_bacct_said_of_them(real_logs: Path) -> None:
    data = (real_logs / "lsf" / "aws-lsb.acct.16").read_bytes()
    parsed = acct.parse(Block(data, 0, 1), acct.header(data, PLAIN))
    assert (parsed.records.height, parsed.refusals.height, parsed.steps) == (82, 0, 0)
    text = (real_logs / "lsf" / "aws-bacct-accounting.lsb").read_text(encoding="utf-8")
    said = {}
    for job in re.split(r"^-{20,}$", text, flags=re.MULTILINE):
        about = re.search(
            r"^Job <(\d+)>, User <(\w+)>, Project <(\w+)>, Status <(\w+)>, Queue <(\w+)>", job, re.M
        )
        given = re.search(r"Allocated (\d+) Slot", job.replace("\n" + " " * 21, ""))
        spent = re.search(r"^ +[\d.]+ +(\d+) +(\d+) +(?:done|exit) ", job, re.M)
        if about and given and spent:
            said[about[1]] = (*about.groups()[1:], int(given[1]), int(spent[1]), int(spent[2]))
    submit = pl.col("submit_time")
    found = parsed.records.select(
        *("job_id", "user", "account"),
        pl.when(pl.col("state") == "COMPLETED").then(pl.lit("DONE")).otherwise(pl.lit("EXIT")),
        *("partition", "cpus"),
        wait=pl.col("start_time") - submit,
        turnaround=pl.col("end_time") - submit,
    )
    assert len(found) == 82
    assert {row[0]: row[1:] for row in found.iter_rows()}.items() <= said.items()


@pytest.mark.parametrize(
    ("name", "cpus"),
    [("xdmod-unit-lsf-accounting-logs.log", 128), ("xdmod-unit-lsf-utf8-multibyte-chars.log", 128)],
)
def test_real_records_of_nine(real_logs: Path, name: str, cpus: int) -> None:
    data = (real_logs / "lsf" / name).read_bytes()
    parsed = acct.parse(Block(data, 0, 1), acct.header(data, PLAIN))
    assert parsed.refusals.is_empty()
    row = parsed.records.row(0, named=True)
    assert (row["cpus"], row["nodes"], row["walltime_s"]) == (cpus, 8, 12 * 3_600)
    assert (row["group"], row["suspended_s"]) == ("anonproject", 0)


def test_nothing_at_all_and_a_single_byte() -> None:
    """A block may be empty; what is not ended is cut, however short."""
    assert contract.accounted(DIALECT.parse(Block(b"", 0, 1), CASE.header)) == 0
    cut = DIALECT.parse(Block(b'"', 0, 1), CASE.header)
    assert cut.refusals["code"].to_list() == [RefusalCode.CUT]
