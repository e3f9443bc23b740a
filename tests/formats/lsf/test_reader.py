"""LSF's lsb.acct, as several versions wrote it, and damaged."""

import csv
import io
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats import dialects
from audit.formats.dialects import PLAIN, Parsed, Reading
from audit.formats.lines import Block
from audit.formats.lsf import reader as lsf
from audit.formats.lsf.allocations import allocation, cores_of, group_of, hosts_of, requested
from audit.formats.lsf.reader import DIALECT, UNITS_UNKNOWN
from audit.model import RefusalCode
from bench.logs.writers.lsf import quoted, write
from tests.formats import contract
from tests.formats.contract import PLAIN_JOB, case_frame
from tests.places import DATA

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
        *("mem_bytes", "node_list", "node_amounts"),
    ),
    on_nodes=("cpus",),
    names=("user", "account", "partition"),
    ids=("7", "8", "12", "12[3]"),
    changes={"state": st.sampled_from(["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "REQUEUED"])},
)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)


def parse(*lines: str) -> Parsed:
    return contract.parsed(DIALECT, "".join(lines))


def only(text: str) -> dict[str, object]:
    return contract.only(parse(text))


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
        "node_list": "h1,h2",
        "node_amounts": "cpus=2,1",
        "tasks": 1,
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
        "node_list": "h1",
        "tasks": 1,
        "line": 3,
        "byte_offset": len(RECORDS[0] + RECORDS[1]),
    }


def test_the_header_says_the_version() -> None:
    assert lsf.header(RECORDS[0].encode(), PLAIN).entries == {"version": "10.108"}
    assert lsf.header(b"", Reading(zone="Asia/Tokyo")).zone == "Asia/Tokyo"


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("hello\n \n#x\nworld\n", ["no record begins here"] * 2),
        (finish()[:-1], ["the log ends within this record"]),
        ('"JOB_NEW" "10.1" 1643910000 1\n', ["field 1 (event): 'JOB_NEW' is unknown in lsb.acct"]),
        (finish().replace('"ana"', '"ana', 1), ["a quote of it is not closed"]),
        (
            finish().replace('"ana"', "ana", 1),
            ["field 12 (userName): 'ana' is not a text in quotes"],
        ),
        (finish(times=(T + 60, T, 0, -5)), ["field 11 (startTime): '-5' is not a whole number"]),
        (finish(status=1), ["jStatus: 1 is neither EXIT (32) nor DONE (64)"]),
        (
            finish(times=(T + 5, T, 0, T + 10)),
            ["ends 5 s before it starts (startTime, event time)"],
        ),
        (
            finish(times=(T - 5, T, 0, 0)),
            ["left the queue 5 s before it was submitted (submitTime, event time)"],
        ),
        (finish(times=(99_999_999_999, T, 0, 0)), ["eventTime: 99999999999 lies beyond 2242"]),
        (
            finish(tail=LATE.replace(" 2 1058", " 3 1058")),
            ["131 fields: those behind submitExt are not where they should be"],
        ),
        (finish(hosts='0 2 "h1"'), ["field 27 (jStatus): '60.0' is not a whole number"]),
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
    header = lsf.header(first, PLAIN)
    assert lsf.whole(first + second, header) == len(first)
    assert lsf.whole(first + second[:9], header) == len(first)
    assert lsf.whole(first, header) == 0
    assert lsf.whole(b"", header) == 0
    assert lsf.whole(b"x\n" * (1 << 18) + b"yy", header) == 1 << 19


def test_rows_in_any_order_say_the_same() -> None:
    lines = [finish(1, tail=LATE), finish(2, tail=None), finish(3, tail=NINE), RESIZE]
    one, two = parse(*lines), parse(*lines[::-1])
    drop = ("line", "byte_offset")
    assert one.records.drop(drop).sort("job_id").equals(two.records.drop(drop).sort("job_id"))
    assert one.steps == two.steps == 1
    assert one.records.schema["group"] == pl.String


def test_real_records_agree_with_what_bacct_stated_of_them(real_logs: Path) -> None:
    data = (real_logs / "lsf" / "aws-lsb.acct.16").read_bytes()
    parsed = lsf.parse(Block(data, 0, 1), lsf.header(data, PLAIN))
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
    parsed = lsf.parse(Block(data, 0, 1), lsf.header(data, PLAIN))
    assert parsed.refusals.is_empty()
    row = parsed.records.row(0, named=True)
    assert (row["cpus"], row["nodes"], row["walltime_s"]) == (cpus, 8, 12 * 3_600)
    assert (row["group"], row["suspended_s"]) == ("anonproject", 0)


def test_nothing_at_all_and_a_single_byte() -> None:
    """A block may be empty; what is not ended is cut, however short."""
    assert contract.accounted(DIALECT.parse(Block(b"", 0, 1), CASE.header)) == 0
    cut = DIALECT.parse(Block(b'"', 0, 1), CASE.header)
    assert cut.refusals["code"].to_list() == [RefusalCode.CUT]


def test_states() -> None:
    cases = [
        (64, 0, True, "COMPLETED"),
        (192, 0, True, "COMPLETED"),  # and its post-execution command was done
        (32, 0, True, "FAILED"),
        (32, 1, True, "PREEMPTED"),
        (32, 5, True, "TIMEOUT"),
        (32, 14, True, "CANCELLED"),
        (32, 11, True, "REQUEUED"),
        (32, 16, True, "OUT_OF_MEMORY"),
        (32, 99, True, "FAILED"),
        (32, 0, False, "CANCELLED"),
    ]
    lines = [
        finish(status=status, exit_info=of, times=(T + 60, T, 0, T + 10 if started else 0))
        for status, of, started, _ in cases
    ]
    found = parse(*lines)
    assert found.refusals.is_empty()
    assert found.records["state"].to_list() == [state for *_, state in cases]
    starts = [T + 10 if started else None for _, _, started, _ in cases]
    assert found.records["start_time"].to_list() == starts
    assert set(found.records["end_time"]) == {T + 60}


@pytest.mark.parametrize(
    ("begin", "tail", "eligible"),
    [
        (0, "", None),
        (T + 5, "", T + 5),
        (T - 5, "", None),
        (0, LATE, T + 4),
        (T + 5, LATE, T + 5),
        (T + 3, LATE, T + 4),
        (0, LATE.replace('"h2" 4 0 0', f'"h2" 4 0 {T + 9}'), T + 9),
        (0, LATE.replace('"h2" 4', '"h2" -1'), None),
    ],
)
def test_from_when_on_it_waited(begin: int, tail: str, eligible: int | None) -> None:
    assert only(finish(times=(T + 60, T, begin, T + 10), tail=tail))["eligible_time"] == eligible


@pytest.mark.parametrize(("ran", "suspended"), [(0, None), (45, 5), (50, 0), (99, 0), (-1, None)])
def test_suspended_time(ran: int, suspended: int | None) -> None:
    assert only(finish(tail=LATE.replace('"" 45', f'"" {ran}')))["suspended_s"] == suspended


@pytest.mark.parametrize("limit", [-1, 0, 1 << 40])
def test_no_run_limit(limit: int) -> None:
    assert only(finish(tail=LATE.replace(" 3600 ", f" {limit} ")))["walltime_s"] is None


def test_a_killed_array_stands_for_its_elements() -> None:
    ranges = LATE.replace('"h2" 4 0 0', '"h2" 4 2 1 100 1 201 300 2 0')
    assert ranges != LATE
    never = (T + 60, T, 0, 0)
    found = only(finish(7, times=never, status=32, tail=ranges))
    assert (found["tasks"], found["array_tasks"]) == (150, "1-100:1,201-300:2")
    for one in (finish(7, tail=ranges), finish(7, times=never, idx=3, status=32, tail=ranges)):
        found = only(one)
        assert (found["tasks"], found["array_tasks"]) == (1, None)


def test_tasks_of_arrays_and_reservations() -> None:
    found = only(finish(7, idx=3, reservation="ana#0"))
    assert (found["job_id"], found["job_number"], found["array_task"]) == ("7[3]", 7, 3)
    assert found["reservation"] == "ana#0"


def test_what_never_started_has_the_size_that_was_requested() -> None:
    found = only(
        finish(status=32, hosts="0 0", times=(T + 60, T, 0, 0)).replace(" 2 1 ", " 2 9 ", 1)
    )
    assert (found["cpus"], found["nodes"], found["start_time"]) == (9, None, None)


@pytest.mark.parametrize(
    ("hosts", "expected"),
    [
        ("", (0, 0, None, None)),
        ('"h1"', (1, 1, "h1", None)),
        ('"2*h1" "h1" "h2@far"', (4, 2, "h1,h2@far", "cpus=3,1")),
        ('"x*y"', (1, 1, "y", None)),
        ('"99999999999*h"', (1, 1, "h", None)),
        ('"999999999*h"', (1 << 28, 1, "h", None)),
    ],
)
def test_allocations(hosts: str, expected: tuple[int, int, str | None, str | None]) -> None:
    assert allocation(hosts) == expected


@pytest.mark.parametrize(
    ("charged", "group"),
    [
        ("/eng/chip/ana", "eng/chip"),
        ("/ana", None),
        ("ana", None),
        ("/eng/bob", "eng/bob"),
        (None, None),
    ],
)
def test_groups(charged: str | None, group: str | None) -> None:
    assert group_of(charged, "ana") == group


MB = 1 << 20


@pytest.mark.parametrize(
    ("text", "memory", "gpus"),
    [
        ("", None, 0),
        ("select[type == any] order[r15s:pg] ", None, 0),
        ("rusage[mem=100.00]", 200 * MB, 0),
        ("rusage[mem=100,swp=5] span[hosts=1]", 200 * MB, 0),
        ("rusage[mem=1GB/job]", 1 << 30, 0),
        ("rusage[mem=2K/task:ngpus_physical=1.00]", 8 * 2_048, 2),
        ("rusage[ngpus_physical=1:mem=1:ngpus=9]", 2 * MB, 2),
        ("rusage[ngpus_excl_p=3/job]", None, 3),
        ("rusage[ngpus=1/TASK]", None, 8),
        ("rusage[mem=500:lic=1 || mem=400:lic2=1]", 1_000 * MB, 0),
        ("rusage[mem=x:ngpus=]", None, 0),
        ("rusage[mem=99999999T]", None, 0),
        ("rusage[mem=1:duration=10] rusage[ngpus=1]", 2 * MB, 2),
        ("2*{rusage[mem=5]}+{rusage[mem=1]}", None, None),
        ("myrusage[mem=5]", None, 0),
    ],
)
def test_requirements(text: str, memory: int | None, gpus: int | None) -> None:
    assert requested(text, nodes=2, slots=8) == (memory, gpus)


@pytest.mark.parametrize(
    ("span", "slots", "hosts", "memory", "gpus"),
    [
        ("", 1, 1, 100 * MB, 2),
        ("span[hosts=1]", 8, 1, 100 * MB, 2),
        ("span[ptile=4]", 9, 3, 300 * MB, 6),
        ("span[ptile=0]", 9, None, None, None),
        ("", 8, None, None, None),
    ],
)
def test_amounts_per_host_of_what_never_started_follow_from_its_span(
    span: str, slots: int, hosts: int | None, memory: int | None, gpus: int | None
) -> None:
    text = f"rusage[mem=100:ngpus_physical=2] {span}"
    assert hosts_of(text, slots) == hosts
    assert requested(text, hosts_of(text, slots), slots) == (memory, gpus)
    assert requested("rusage[mem=5/job]", hosts_of("", slots), slots) == (5 * MB, 0)


def test_hosts_in_short_say_the_same() -> None:
    frame = case_frame(CASE, [{**PLAIN_JOB, "cpus": 7, "nodes": 3, "suspended_s": 40}])
    long, short = write(frame), write(frame, short=True)
    assert b' 7 "host1" "host1" "host1" "host2" "host2" "host3" "host3" ' in long
    assert b' 3 "3*host1" "2*host2" "2*host3" ' in short
    one, two = CASE.read(long).records, CASE.read(short).records
    assert one.equals(two)
    assert one.select("cpus", "nodes", "suspended_s").row(0) == (7, 3, 40)


def test_what_never_started() -> None:
    never = {"start_time": None, "state": "CANCELLED", "eligible_time": None, "gpus": None}
    frame = case_frame(CASE, [{**PLAIN_JOB, **never, "mem_bytes": None, "group": None}])
    (row,) = CASE.read(write(frame)).records.to_dicts()
    assert (row["start_time"], row["state"], row["eligible_time"]) == (None, "CANCELLED", None)
    assert (row["mem_bytes"], row["group"], row["cpus"], row["nodes"]) == (None, None, 8, None)


def test_ids_of_others_are_distinguished_by_their_numbers() -> None:
    frame = case_frame(CASE, [{**PLAIN_JOB, "job_id": "7_3", "job_number": 7, "array_task": 3}])
    assert CASE.read(write(frame)).records["job_id"].to_list() == ["7[3]"]


@pytest.mark.parametrize(
    ("tail", "walltime", "nodes", "eligible"),
    [
        (None, None, 1, False),
        ("", None, 1, False),
        (" 0", None, 1, False),
        (' 1 7 "x"', None, 1, False),
        (' 1 7 "x" 0', None, 1, False),
        (NINE, 43_200, 1, False),
        (NINE.replace('0 1 "k" "v"', "0 0"), 43_200, 1, False),
        (NINE.replace(' 1 "k" "v"', " 0"), 43_200, 1, False),
        (LATE, 3_600, 2, True),
        (LATE.replace(' 2 "2*h1" "h2" 4', " 0 4"), 3_600, 1, True),
        (LATE.replace('"/home" 0 "" 0.0', '"/home" 1 "17" 2 "" 0.0'), 3_600, 2, True),
        (LATE.replace(" 4 0 0 0 0 1", " 4 2 1 9 1 11 12 1 0 0 0 1"), 3_600, 2, True),
    ],
)
def test_what_stands_behind_lists_is_found(
    tail: str | None, walltime: int | None, nodes: int, *, eligible: bool
) -> None:
    found = only(finish(tail=tail))
    assert found["walltime_s"] == walltime
    assert found["nodes"] == nodes
    assert (found["eligible_time"] is not None) == eligible


def test_when_it_was_requeued_stands_behind_ranges() -> None:
    tail = LATE.replace(" 4 0 0 0 0 1", " 0 1 1 9 1 1643910007 0 0 1")
    assert only(finish(tail=tail))["eligible_time"] == 1_643_910_007


@pytest.mark.parametrize(
    ("hosts", "cpus", "nodes", "place"),
    [
        ('0 1 "h1"', 1, 1, ("h1", None)),
        ('0 3 "h1" "h1" "h2"', 3, 2, ("h1,h2", "cpus=2,1")),
        ('0 3 "h1" "h2" "h1"', 3, 2, ("h1,h2", "cpus=2,1")),
        ('2 "a" "b" 2 "16*h1" "h2"', 17, 2, ("h1,h2", "cpus=16,1")),
        ('0 3 "2*h1" "h1" "3*h2"', 6, 2, ("h1,h2", "cpus=3(x2)")),
        ("0 0", 1, None, (None, None)),
        ('2 "a" "b"', 2, 2, ("a,b", "cpus=1(x2)")),  # without the number of execution hosts
        ('0 2 "h[1]" "h2"', 2, 2, (None, None)),
    ],
)
def test_hosts(hosts: str, cpus: int, nodes: int | None, place: tuple[str | None, ...]) -> None:
    found = only(finish(hosts=hosts, tail=None))
    assert (found["cpus"], found["nodes"], found["state"]) == (cpus, nodes, "COMPLETED")
    assert (found["node_list"], found["node_amounts"]) == place


@pytest.mark.parametrize(
    "text",
    [
        finish(hosts="999999999999999999 0"),
        finish(hosts="-3 0"),
        finish(hosts="0 -1"),
        finish(tail=" 999999999999999999"),
        finish(tail=" -1"),
        finish(tail=" 0 999999999999999999 1 2 3"),
        finish(tail=" 0 1 h1 130 0 12 6 -4 43200 0"),
        finish(tail=LATE.replace('"" 0.0', '999999999999999999 "" 0.0')).replace('"" 0.0', "x"),
    ],
)
def test_lengths_that_cannot_be_lose_the_record_alone(text: str) -> None:
    parsed = parse(text, finish(2))
    assert parsed.records["job_id"].to_list()[-1] == "2"
    assert parsed.records.height + parsed.refusals.height == 2


_texts = st.text(st.sampled_from('ab" \n,'), max_size=6)
_records = st.lists(st.lists(_texts, max_size=5), max_size=5)


def written(record: list[str]) -> str:
    return " ".join(['"JOB"', *map(quoted, record)]) + "\n"


@given(_records)
def test_records_are_cut_as_csv_would_be(records: list[list[str]]) -> None:
    texts = [written(record) for record in records]
    raw = "".join(texts).encode()
    found, strays = lsf.cut_records(raw)
    fields, closed = lsf.split(raw, found)
    assert len(strays.starts) == 0
    assert closed.all()
    expected = list(csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=" "))
    assert [["JOB", *record] for record in records] == expected
    assert fields.to_list() == [[quoted(text) for text in record] for record in expected]
    last = len(texts[-1].encode()) if texts else len(raw) + 1
    assert lsf.last_record(raw) == len(raw) - last


def test_a_quote_that_is_not_closed_harms_no_other_record() -> None:
    good, bad = '"JOB" "a b" 7\n', '"JOB" "a b 7\n'
    raw = (good + bad + good + bad + bad + "stray line\n" + good).encode()
    fields, closed = lsf.split(raw, lsf.cut_records(raw)[0])
    assert closed.tolist() == [True, False, True, False, False, True]
    assert fields.filter(closed).to_list() == [['"JOB"', '"a b"', "7"]] * 3


def test_no_record_at_all() -> None:
    assert lsf.last_record(b'x\ny "A"\n"') == -1
    found, strays = lsf.cut_records(b"")
    assert len(found.starts) == len(strays.starts) == 0


def test_several_blanks_between_fields_are_one() -> None:
    """As LSF 7.06 writes them; blanks within texts stay."""
    record = finish(command='echo "";#;  x', tail=LATE)
    texts = re.split(r'("(?:[^"]|"")*")', record)
    wide = "".join(part if part.startswith('"') else part.replace(" ", "  ") for part in texts)
    assert wide != record
    assert dialects.detect(wide.encode(), "x").name == "lsf"
    assert parse(wide).refusals.is_empty()
    assert contract.rows(parse(wide)) == contract.rows(parse(record))


@pytest.mark.parametrize(
    ("text", "cores"),
    [
        (None, 1),
        ("rusage[mem=1.0]", 1),
        ("affinity[core]", 1),
        ("affinity[core(1)]", 1),
        ("affinity[core*4]", 4),
        ("affinity[core(7,same=socket)*1]", 7),
        ("rusage[mem=1.0] affinity[core(2,exclusive=(core,injob))*3:cpubind=core:membind=x]", 6),
        ("affinity[core(2)] || affinity[core(4)]", 2),
        ("affinity[thread(2,same=core)*2]", None),
        ("affinity[socket]", None),
        ("1*{affinity[core(2)]}+4*{affinity[core(1)]}", None),
        ("affinity[core(0)]", None),
        (f"affinity[core({'9' * 6})*{'9' * 6}]", None),
    ],
)
def test_cores_of_a_slot(text: str | None, cores: int | None) -> None:
    assert cores_of(text) == cores


def test_slots_with_affinity_have_several_cores() -> None:
    parsed = parse((DATA / "cases" / "lsf-affinity" / "input").read_text())
    found = parsed.records.select("cpus", "nodes", "node_list", "node_amounts")
    assert found.row(0) == (28, 2, "h1,h2", "cpus=7,21")
    assert parsed.remarks == {}


def test_what_slots_are_bound_to_may_be_unknown() -> None:
    threads = LATE.replace("select[type == any]", "affinity[thread(2)]")
    parsed = parse(finish(tail=threads), finish(102, tail=LATE))
    assert parsed.records["cpus"].to_list() == [3, 3]
    assert parsed.remarks == {UNITS_UNKNOWN: 1}
