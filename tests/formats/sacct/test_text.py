"""sacct's text: each rule, separators, layouts, and any bytes at all."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.errors import DialectError
from audit.formats import dialects
from audit.formats.dialects import PLAIN, Reading
from audit.formats.lines import Block
from audit.formats.sacct import text as sacct
from tests.formats import contract
from tests.logs import busy

SMALL = "JobID|User|State|Submit|Start|End|AllocCPUS|JobName"

parse = partial(contract.parsed, sacct.DIALECT)


def row(**columns: object) -> str:
    """A log of one line."""
    texts = {"JobID": 7, "Submit": "2026-01-01T00:00:00", **columns}
    return "|".join(texts) + "\n" + "|".join(map(str, texts.values())) + "\n"


def one(reading: Reading = PLAIN, /, **columns: object) -> dict[str, Any]:
    """The only record of a log that has these columns."""
    return contract.only(parse(row(**columns), reading))


def reason(**columns: object) -> str:
    """Why the only line of a log is refused."""
    return contract.why(parse(row(**columns)))


def at(clock: str, day: str = "2026-01-01", zone: str = "UTC") -> int:
    moment = datetime.fromisoformat(f"{day}T{clock}").replace(tzinfo=ZoneInfo(zone))
    return int(moment.timestamp())


ONE, TWO = "2026-01-01T01:00:00", "2026-01-01T02:00:00"
CANCELLED = {
    "State": "CANCELLED by 7",
    "Start": TWO,
    "End": TWO,
    "Elapsed": "00:00:00",
    "AllocTRES": "billing=1,cpu=1,node=1",
    "AllocCPUS": "1",
}


def ran(**columns: object) -> dict[str, Any]:
    """A job that ran from 1:00 to 2:00."""
    return one(PLAIN, **{"State": "COMPLETED", "Start": ONE, "End": TWO, **columns})


@pytest.mark.parametrize(
    ("requested", "raised", "allocated", "found"),
    [
        ("cpu=1,mem=7000M", "2", "cpu=2,mem=7000M", (2, 1, True)),  # MaxMemPerCPU=4000
        ("cpu=2,mem=4000M", "2", "cpu=16,mem=32000M", (16, 2, False)),  # --exclusive
        ("", "2", "cpu=4", (4, 2, None)),
        ("", "", "cpu=4", (4, None, None)),
    ],
)
def test_requested_cpus(
    requested: str, raised: str, allocated: str, found: tuple[int, int | None, bool | None]
) -> None:
    job = ran(ReqTRES=requested, ReqCPUS=raised, AllocTRES=allocated)
    assert (job["cpus"], job["req_cpus"], job["req_for_memory"]) == found


def test_requested_memory() -> None:
    """ReqMem is what sacct shows, and may have been raised; ReqTRES is what was requested."""
    job = ran(ReqTRES="cpu=2,mem=4000M", ReqMem="4000M", AllocTRES="cpu=16,mem=32000M")
    assert (job["mem_bytes"], job["req_mem_bytes"]) == (32_000 << 20, 4_000 << 20)
    assert ran(ReqTRES="", ReqMem="4000M", AllocTRES="cpu=16")["req_mem_bytes"] is None


def test_an_ordinary_record() -> None:
    found = ran(
        Cluster="c", User="ana", Account="a", Group="g", Partition="p", QOS="q", Priority="12.5",
        Eligible="2026-01-01T00:30:00", TimelimitRaw=90, Suspended="00:05:00", Reason="None",
        AllocTRES="billing=4,cpu=4,gres/gpu=2,mem=8G,node=1", Reservation="maintenance",
    )  # fmt: skip
    expected = {
        "cluster": "c",
        "job_id": "7",
        "job_number": 7,
        "kind": "execution",
        "user": "ana",
        "account": "a",
        "group": "g",
        "partition": "p",
        "qos": "q",
        "state": "COMPLETED",
        "reason": None,
        "priority": 12.5,
        "reservation": "maintenance",
        "submit_time": at("00:00:00"),
        "eligible_time": at("00:30:00"),
        "start_time": at("01:00:00"),
        "end_time": at("02:00:00"),
        "occupancy_s": 3600,
        "suspended_s": 300,
        "walltime_s": 5400,
        "cpus": 4,
        "nodes": 1,
        "gpus": 2,
        "mem_bytes": 8 << 30,
        "line": 2,
    }
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("columns", "start", "end"),
    [
        ({"State": "PENDING", "Start": "Unknown", "End": "Unknown"}, None, None),
        ({"State": "RUNNING", "Start": ONE, "End": "Unknown"}, 1, None),
        ({"State": "RUNNING", "Start": ONE, "End": TWO}, 1, None),  # -T clips to its window
        ({"State": "SUSPENDED", "Start": ONE, "End": "Unknown"}, 1, None),
        ({"State": "CANCELLED by 0", "Start": "None", "End": TWO}, None, 2),
        ({"State": "CANCELLED", "Start": TWO, "End": TWO}, None, 2),
        ({"State": "COMPLETED", "Start": TWO, "End": TWO}, 2, 2),
        ({"State": "CANCELLED", "Start": TWO, "End": TWO, "AllocTRES": "cpu=1"}, 2, 2),
        ({"State": "FAILED", "Start": TWO, "End": TWO, "AllocNodes": "0"}, None, 2),
        # AllocTRES may hold what was asked for; a node is what tells
        ({**CANCELLED, "NodeList": "None assigned"}, None, 2),
        ({**CANCELLED, "NodeList": "None assigned", "AllocNodes": 1}, None, 2),
        ({**CANCELLED, "State": "NODE_FAIL", "NodeList": "None assigned"}, None, 2),
        ({**CANCELLED, "NodeList": "", "AllocNodes": 0}, None, 2),
        ({**CANCELLED, "AllocNodes": 0}, None, 2),
        ({**CANCELLED, "NodeList": ""}, 2, 2),  # lists may have been removed from a log
        ({**CANCELLED, "NodeList": "", "AllocNodes": 1}, 2, 2),
        ({**CANCELLED, "NodeList": "n[1-2]"}, 2, 2),
        ({**CANCELLED, "NodeList": "n1", "AllocTRES": ""}, 2, 2),
        ({**CANCELLED, "State": "FAILED", "NodeList": "n1", "AllocNodes": 0}, 2, 2),
        ({**CANCELLED, "JobID": "7_3", "NodeList": "None assigned"}, None, 2),
        ({**CANCELLED, "Start": ONE, "NodeList": "None assigned"}, 1, 2),  # it took time
        ({**CANCELLED, "Elapsed": "00:10:00", "NodeList": "None assigned"}, 2, 2),
        ({**CANCELLED, "State": "RUNNING", "NodeList": "None assigned"}, 2, None),
        ({"State": "PENDING", "Start": "Unknown", "End": TWO}, None, None),
        ({"State": "FOO", "Start": "Unknown", "End": TWO}, None, 2),
    ],
)
def test_what_started_and_what_ended(
    columns: dict[str, str], start: int | None, end: int | None
) -> None:
    found = one(PLAIN, **columns)
    assert found["start_time"] == (None if start is None else at(f"0{start}:00:00"))
    assert found["end_time"] == (None if end is None else at(f"0{end}:00:00"))


@pytest.mark.parametrize(
    ("columns", "amounts"),
    [
        ({"AllocTRES": "cpu=8,mem=1G,node=2", "ReqTRES": "cpu=4,gres/gpu=1"}, (8, 2, 0, 1 << 30)),
        ({"AllocTRES": "", "ReqTRES": "cpu=4,gres/gpu:a=1,mem=2G,node=1"}, (4, 1, 1, 2 << 30)),
        ({"AllocTRES": "cpu=4", "AllocGRES": "gpu:2"}, (4, None, 2, None)),
        ({"AllocCPUS": "0", "ReqCPUS": "4", "AllocNodes": 0, "NNodes": 2}, (4, 2, None, None)),
        ({"NCPUS": "8", "NNodes": 2, "ReqMem": "4000Mc"}, (8, 2, None, 32_000 << 20)),
        ({"NCPUS": "8", "NNodes": 2, "ReqMem": "16Gn"}, (8, 2, None, 32 << 30)),
        ({"NCPUS": "8", "NNodes": 2, "ReqMem": "2147486648Mn"}, (8, 2, None, 24_000 << 20)),
        ({"NCPUS": "8", "NNodes": 2, "ReqMem": "16G"}, (8, 2, None, 16 << 30)),
        ({"NCPUS": "0"}, (0, None, None, None)),
    ],
)
def test_amounts(columns: dict[str, object], amounts: tuple[int | None, ...]) -> None:
    found = ran(**columns)
    assert tuple(found[name] for name in ("cpus", "nodes", "gpus", "mem_bytes")) == amounts


@pytest.mark.parametrize(
    ("allocated", "requested", "found"),
    [
        ("gres/gpu=4,gres/gpu:a100=4", "gres/gpu=4,gres/gpu:a100=4", (4, "a100:4", False)),
        ("gres/gpu=4,gres/gpu:a100=4", "gres/gpu=4", (4, "a100:4", True)),
        ("gres/gpu=4,gres/gpu:a100=4", "", (4, "a100:4", None)),
        ("gres/gpu=2", "gres/gpu:h100=2", (2, "h100:2", False)),
        ("", "gres/gpu:h100=2", (2, "h100:2", False)),
        ("", "gres/gpu=2", (2, None, True)),
        ("cpu=4", "cpu=4", (0, None, None)),
    ],
)
def test_types_of_gpus(
    allocated: str, requested: str, found: tuple[int, str | None, bool | None]
) -> None:
    job = ran(AllocTRES=allocated, ReqTRES=requested)
    assert (job["gpus"], job["gpu_types"], job["any_gpu_type"]) == found


def test_types_of_gpus_in_older_versions() -> None:
    found = ran(AllocGRES="gpu:v100:2(IDX:0-1)", ReqGRES="gpu:2")
    assert (found["gpus"], found["gpu_types"], found["any_gpu_type"]) == (2, "v100:2", True)


@pytest.mark.parametrize("text", ["a100", "[a|b]&c*2", "(null)", ""])
def test_constraints(text: str) -> None:
    assert ran(Constraints=text)["constraints"] == (None if text in ("", "(null)") else text)


@pytest.mark.parametrize(
    ("columns", "suspended"),
    [
        ({"Suspended": "00:00:30", "ElapsedRaw": 3600}, 30),
        ({"ElapsedRaw": 3540}, 60),
        ({"Elapsed": "00:59:00"}, 60),
        ({"Elapsed": "01:00:01"}, 0),
        ({}, None),
    ],
)
def test_suspended_time(columns: dict[str, object], suspended: int | None) -> None:
    assert ran(**columns)["suspended_s"] == suspended


@pytest.mark.parametrize("limit", ["UNLIMITED", "Partition_Limit", "", "INVALID"])
def test_limits_that_are_none(limit: str) -> None:
    assert ran(Timelimit=limit)["walltime_s"] is None
    assert ran(TimelimitRaw=limit)["walltime_s"] is None


@pytest.mark.parametrize(
    ("job", "number", "task", "offset"),
    [("3_0", 3, 0, None), ("23+1", 23, None, 1), ("3_[0-9%2]", 3, None, None)],
)
def test_ids(job: str, number: int, task: int | None, offset: int | None) -> None:
    found = ran(JobID=job)
    assert (found["job_id"], found["job_number"]) == (job, number)
    assert (found["array_task"], found["het_offset"]) == (task, offset)


def test_a_raw_id_stands_in_where_there_is_no_other() -> None:
    text = "JobIDRaw|Submit\n26|2026-01-01T00:00:00\n"
    assert parse(text).records["job_id"].to_list() == ["26"]
    both = "JobIDRaw|JobID|Submit\n26|3_0|2026-01-01T00:00:00\n"
    assert parse(both).records["job_id"].to_list() == ["3_0"]


def test_steps_are_counted_and_passed_over() -> None:
    rows = "".join(f"{job}|2026-01-01T00:00:00\n" for job in ("1", "1.batch", "1.0", "3_1.extern"))
    parsed = parse("JobID|Submit\n" + rows)
    assert (parsed.records["job_id"].to_list(), parsed.steps) == (["1"], 3)


@pytest.mark.parametrize(
    ("columns", "why"),
    [
        ({"JobID": "x"}, "column JobID: 'x' is not a job id"),
        ({"JobID": ""}, "column JobID: '' is not a job id"),
        ({"Submit": "Unknown"}, "column Submit: when it was submitted is unknown"),
        ({"Submit": "Monday"}, "column Submit: 'Monday' is not a time"),
        (
            {"Start": "2026-13-01T00:00:00"},
            "column Start: '2026-13-01T00:00:00' is not a time",
        ),
        (
            {"State": "FAILED", "Start": "2026-01-01T02:00:00", "End": "2026-01-01T01:00:00"},
            "ends 3600 s before it starts (columns Start, End)",
        ),
        ({"Elapsed": "long"}, "column Elapsed: 'long' is not a valid length of time"),
        ({"State": "12:30"}, "column State: '12:30' is not a valid state"),
    ],
)
def test_refused_with_the_reason(columns: dict[str, object], why: str) -> None:
    assert reason(**columns) == why


@pytest.mark.parametrize(
    ("name", "text", "unknown"),
    [
        ("NNodes", "two", "nodes"),
        ("NCPUS", 1 << 40, "cpus"),
        ("AllocCPUS", -1, "cpus"),
        ("AllocTRES", "cpu=-1", "cpus"),
        ("AllocTRES", "cpu", "gpus"),
        ("ReqTRES", "gres/gpu=-2", "gpus"),
        ("Timelimit", "long", "walltime_s"),
        ("TimelimitRaw", "9.22e18", "walltime_s"),
        ("ReqMem", "9.22e18", "mem_bytes"),
        ("Priority", "inf", "priority"),
    ],
)
def test_what_a_record_does_not_need_may_be_unreadable(
    name: str, text: object, unknown: str
) -> None:
    rows = [
        f"{job}|2026-01-01T00:00:00|{value}\n" for job, value in ((1, ""), (2, text), (3, text))
    ]
    parsed = parse("".join([f"JobID|Submit|{name}\n", *rows]))
    assert parsed.refusals.is_empty()
    assert parsed.records[unknown].to_list() == [None] * 3
    assert parsed.remarks == {f"column {name} cannot be read, and counts as unknown": 2}


def test_a_readable_amount_stands_in_for_one_that_is_not() -> None:
    text = "JobID|Submit|AllocTRES|ReqTRES|NCPUS\n7|2026-01-01T00:00:00|cpu|cpu=2,gres/gpu=1|4\n"
    found = parse(text).records
    assert found.select("cpus", "gpus", "req_cpus").row(0) == (4, 1, 2)


def test_a_damaged_field_that_nobody_reads_costs_nothing() -> None:
    assert ran(ExitCode="?", MaxRSS="?", NodeList="x y z")["job_id"] == "7"


def test_an_hour_that_comes_twice_is_read_so_that_the_record_agrees() -> None:
    berlin = Reading(zone="Europe/Berlin")
    night = {"Submit": "2026-10-25T01:00:00", "State": "COMPLETED"}
    first = at("02:30:00", "2026-10-25", "Europe/Berlin")
    found = one(berlin, **night, Start="2026-10-25T02:30:00", End="2026-10-25T02:40:00",
                ElapsedRaw=4200)  # fmt: skip
    assert (found["start_time"], found["end_time"]) == (first, first + 4200)
    found = one(berlin, **night, Start="2026-10-25T02:30:00", End="2026-10-25T03:30:00",
                ElapsedRaw=3600)  # fmt: skip
    assert (found["start_time"], found["end_time"]) == (first + 3600, first + 7200)
    found = one(berlin, **night, Start="2026-10-25T02:30:00", End="2026-10-25T02:20:00")
    assert (found["start_time"], found["end_time"]) == (first, first + 3000)
    found = one(berlin, Submit="2026-10-25T02:50:00", State="COMPLETED",
                Start="2026-10-25T02:10:00", End="2026-10-25T05:00:00")  # fmt: skip
    assert found["start_time"] == first + 2400


def test_a_zone_that_is_wrong_shows_itself() -> None:
    text = "JobID|Submit\n1|2026-03-29T02:30:00\n"
    assert parse(text).refusals.is_empty()
    refused = parse(text, Reading(zone="Europe/Berlin")).refusals["reason"].item()
    assert "never was in Europe/Berlin: is that the zone of the log?" in refused


@pytest.mark.parametrize(
    ("separator", "trailing"),
    [
        ("|", False),
        ("|", True),
        ("☃", True),
        (",", False),
        ("::", True),
        ("\t", False),
        ("ABC", True),
    ],
)
def test_any_separator(separator: str, trailing: bool) -> None:
    end = separator * trailing + "\n"
    rows = [SMALL.split("|")] + [
        [str(job), "u", "COMPLETED", "2026-01-01T00:00:00", ONE, TWO, "4", "n"] for job in (1, 2)
    ]
    text = "".join(separator.join(row) + end for row in rows)
    parsed = parse(text)
    assert parsed.refusals.is_empty()
    assert parsed.records["job_id"].to_list() == ["1", "2"]
    assert parsed.records["cpus"].to_list() == [4, 4]
    headless = "".join(separator.join(row) + end for row in rows[1:])
    if separator != "ABC":  # letters can be found where names stand, not between values
        again = parse(headless, Reading(columns=tuple(SMALL.split("|"))))
        assert again.records["job_id"].to_list() == ["1", "2"]
    told = parse(headless, Reading(columns=tuple(SMALL.split("|")), separator=separator))
    assert told.records["job_id"].to_list() == ["1", "2"]


def line(job: object, name: str = "n", user: str = "u") -> str:
    times = "2026-01-01T00:00:00|2026-01-01T01:00:00|2026-01-01T02:00:00"
    return f"{job}|{user}|COMPLETED|{times}|4|{name}"


def test_good_lines_survive_bad_ones_and_all_know_where_they_stood() -> None:
    bad = [b"1|2", b"9|u|COM", b"\xff|\xfe|x|x|x|x|x|x", b"||||||||||||"]
    good = [line(job, user="us\xe9r").encode("latin-1") for job in range(1, 5)]
    parts = [SMALL.replace("|JobName", "|NodeList").encode(), b""]
    for ok, broken in zip(good, bad, strict=True):
        parts += [ok, broken]
    data = b"\r\n".join(parts)
    parsed = parse(data)
    assert parsed.records["job_number"].to_list() == [1, 2, 3, 4]
    assert parsed.records["user"].to_list() == ["us\\xe9r"] * 4
    assert parsed.refusals.height == 4
    for frame in (parsed.records, parsed.refusals):
        for number, offset in frame.select("line", "byte_offset").iter_rows():
            begin = sum(len(part) + 2 for part in parts[: number - 1])
            assert offset == begin
    assert parsed.refusals["text"].to_list() == [
        text.decode("utf-8", errors="backslashreplace") for text in bad
    ]


def test_names_with_separators_and_line_breaks() -> None:
    columns = "JobID|JobName|User|State|Submit|SubmitLine"
    rows = [
        "1|a|b|u|COMPLETED|2026-01-01T00:00:00|sbatch x",
        "2|two\nlines|v|FAILED|2026-01-01T00:00:00|sbatch <<E\n\ncat a | grep b\nE",
        "3|n|w|COMPLETED|2026-01-01T00:00:00|sbatch y",
        "4|dam",
        "5|n|w|COMPLETED|2026-01-01T00:00:00|x|y",
    ]
    parsed = parse("\n".join([columns, *rows, ""]))
    assert parsed.records.select("job_id", "user", "line").rows() == [
        ("1", "u", 2),
        ("2", "v", 3),
        ("3", "w", 8),
        ("5", "w", 10),
    ]
    assert parsed.refusals.select("line", "text").rows() == [(9, "4|dam")]


def test_a_header_row_may_come_again_and_may_change() -> None:
    text = "\n".join([SMALL, line(1), SMALL, line(2), "JobID|Submit", "3|2026-01-01T00:00:00", ""])
    parsed = parse(text)
    assert parsed.refusals.is_empty()
    assert parsed.records["job_id"].to_list() == ["1", "2", "3"]
    assert parsed.header is not None
    rest = sacct.parse(Block(b"4|2026-01-01T00:00:00\n", len(text), 7), parsed.header)
    assert rest.records["job_id"].to_list() == ["4"]


def test_without_header_row_or_columns_a_list_is_proposed() -> None:
    text = "".join(line(job) + "\n" for job in range(100, 140))
    with pytest.raises(DialectError) as caught:
        parse(text)
    message = str(caught.value)
    assert caught.value.exit_code == 2
    assert "--columns JobID,_,State,_,_,_,_,_" in message
    assert "8 columns" in message
    assert "columns 4, 5, 6 are Submit, Eligible, Start or End, but these lines do not" in message


def test_restarted_jobs_of_which_one_record_is_there_are_counted() -> None:
    def entries(*rows: str) -> Mapping[str, str]:
        text = "\n".join(["JobID|State|Submit|Restarts", *rows, ""])
        return sacct.header(text.encode(), PLAIN).entries

    submit = "2026-01-01T00:00:00"
    alone = [f"1|COMPLETED|{submit}|2", f"1.batch|COMPLETED|{submit}|2", f"2|FAILED|{submit}|0"]
    assert entries(*alone)["restarted"] == "1"
    assert "restarted" not in entries(*alone, f"1|REQUEUED|{submit}|0")


def test_columns_that_no_line_has_are_refused_with_a_proposal() -> None:
    with pytest.raises(DialectError, match=r"declares 3 columns, and no line of the log has them"):
        parse(line(1) + "\n" + line(2) + "\n", Reading(columns=("JobID", "State", "Submit")))


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("User", "State", "Submit"), "none of the columns is JobID or JobIDRaw"),
        (("JobID", "User", "State"), "none of the columns is Submit, Start or End"),
    ],
)
def test_columns_that_make_no_log(columns: tuple[str, ...], said: str) -> None:
    row = {"User": "u", "State": "FAILED", "Submit": "2026-01-01T00:00:00", "JobID": "1"}
    with pytest.raises(DialectError, match=said):
        parse("|".join(row[name] for name in columns) + "\n", Reading(columns=columns))


def test_rows_of_an_older_format_lack_the_last_columns() -> None:
    text = "".join(f"{job}|2026-01-01T00:00:00\n" for job in (1, 2, 3)) + "".join(
        f"{job}|2026-01-01T00:00:00|p\n" for job in (4, 5)
    )
    reading = Reading(columns=("JobID", "Submit", "Partition"))
    parsed = parse(text, reading)
    assert parsed.records["partition"].to_list() == [None, None, None, "p", "p"]
    first, *_ = sacct.header(text.encode(), reading).problems
    assert first == "lines of 2 fields are read as lacking Partition"


@pytest.mark.parametrize(
    ("head", "is_sacct"),
    [
        (SMALL + "\n", True),
        (line(1) + "\n" + line(2) + "\n", True),
        (busy(), False),
        ("; a comment\n", False),
        ("a|b|c\n1|2|3\n", False),
        ("", False),
        ("\ufeff" + SMALL + "\n", True),
    ],
)
def test_recognises(head: str, is_sacct: bool) -> None:
    assert sacct.recognises(head.encode()) is is_sacct
    if is_sacct:
        assert dialects.detect(head.encode(), "x").name == "sacct"
    assert dialects.detect(busy().encode(), "x").name == "swf"


TWO_NODES = {"NNodes": 2, "NodeList": "n[1-2]"}
ON_TWO = "billing=6,cpu=6,gres/gpu=3,mem=6G,node=2"


@pytest.mark.parametrize(
    ("job", "batch", "amounts"),
    [
        ({}, "cpu=4,gres/gpu=1,mem=3G,node=1", f"cpus=4,2 gpus=1,2 mem_bytes={3 << 30}(x2)"),
        ({}, "cpu=3,node=1", "cpus=3(x2) gpus=0,3"),
        ({}, "cpu=7,mem=7G,node=1", "gpus=0,3"),  # more than the job has
        ({}, "", None),
        ({"AllocTRES": "cpu=6,node=2"}, "cpu=5,node=1", "cpus=5,1"),
        ({"AllocTRES": "cpu=6,node=3", "NNodes": 3}, "cpu=4,node=1", None),
        ({"AllocTRES": "cpu=6,node=1", "NNodes": 1}, "cpu=6,node=1", None),
    ],
)
def test_the_batch_step_shows_what_a_job_has_on_two_nodes(
    job: dict[str, object], batch: str, amounts: str | None
) -> None:
    columns = {"JobID": 7, "Submit": ONE, "Start": ONE, "End": TWO, "AllocTRES": ON_TWO}
    columns |= {**TWO_NODES, **job}
    steps = {"7.extern": ON_TWO, "7.batch": batch, "7.0": "cpu=1,node=1"}
    rows = [columns, *({**columns, "JobID": n, "AllocTRES": t} for n, t in steps.items())]
    parsed = parse(
        "\n".join(["|".join(columns), *("|".join(map(str, r.values())) for r in rows), ""])
    )
    assert (parsed.steps, parsed.records["node_amounts"].to_list()) == (3, [amounts])


def test_a_batch_step_belongs_to_the_job_before_it() -> None:
    head = "JobID|Submit|Start|End|AllocTRES|NNodes|NodeList\n"
    rest = f"|{ONE}|{ONE}|{TWO}|{{}}|2|n[1-2]\n"
    ids = {"6": 6, "8.batch": 1, "7": 6, "7.batch": 2, "7 ": 6, "7.0": 6, "7.batch ": 3}
    data = head + "".join(k.strip() + rest.format(f"cpu={cpus},node=2") for k, cpus in ids.items())
    assert parse(data).records["node_amounts"].to_list() == [None, "cpus=2,4", "cpus=3(x2)"]


@pytest.mark.thorough
@pytest.mark.parametrize("size", [2_000, 70_000])
def test_blocks_end_before_a_job_and_not_before_its_steps(size: int) -> None:
    rows = ["JobID|Submit|Start|End|AllocTRES|NNodes|NodeList|WorkDir"]
    for job in range(1_000):
        for step, cpus in (("", 6), (".batch", job % 6), (".extern", 6), (".0", 1)):
            place = f"{ONE}|{ONE}|{TWO}|cpu={cpus},node=2|2|n[1-2]"
            rows.append(f"{job}{step}|{place}|/{'a' * 60}")
    data = "\n".join([*rows, ""]).encode()
    parsed = contract.in_blocks(sacct.DIALECT, data, size)
    whole = parse(data.decode())
    assert parsed.records.drop("line").equals(whole.records.drop("line"))
    assert parsed.steps == whole.steps == 3_000
    assert parsed.records["node_amounts"].null_count() == 0


@pytest.mark.parametrize("size", [70_000, 100_000, 1_000_000])
def test_whole_records_only(size: int) -> None:
    rows = [SMALL.replace("AllocCPUS|JobName", "JobName|AllocCPUS")]
    for job in range(4_000):
        name = f"a\nb|x{job}\nc" if job % 3 else "n"
        rows.append(line(job).removesuffix("|4|n") + f"|{name}|4")
    data = "\n".join([*rows, ""]).encode()
    header = sacct.header(data[: 1 << 18], PLAIN)
    found, at_, buffered = [], 0, b""
    for begin in range(0, len(data), size):
        buffered += data[begin : begin + size]
        end = sacct.whole(buffered, header)
        if end:
            found.append(sacct.parse(Block(buffered[:end], at_, 1), header))
            at_, buffered = at_ + end, buffered[end:]
    found.append(sacct.parse(Block(buffered, at_, 1), header))
    assert sum(part.refusals.height for part in found) == 0
    numbers = pl.concat([part.records["job_number"] for part in found])
    assert numbers.to_list() == list(range(4_000))


@given(st.binary(max_size=300), st.sampled_from(["|", "☃", ","]))
def test_no_bytes_make_it_fail_and_none_disappear(data: bytes, separator: str) -> None:
    head = SMALL.replace("JobName", "NodeList").replace("|", separator).encode()
    text = head + b"\n" + line(1).replace("|", separator).encode() + b"\n" + data
    parsed = parse(text)
    numbers = sorted([*parsed.records["line"], *parsed.refusals["line"]])
    lines = enumerate(text.split(b"\n"), start=1)
    assert numbers == [n for n, part in lines if n > 1 and part.decode("utf-8", "replace").strip()]


@given(st.binary(max_size=400))
def test_no_head_makes_it_fail(data: bytes) -> None:
    sacct.recognises(data)
    for reading in (PLAIN, Reading(columns=("JobID", "Submit"))):
        try:
            header = sacct.header(data, reading)
        except DialectError:
            continue
        sacct.parse(Block(data, 0, 1), header)
        sacct.whole(data, header)


@pytest.mark.parametrize(
    "line",
    [
        "11/14/2023 22:13:20;E;7.srv;user=ana queue=q ctime=1 start=1700000060 end=1700003660",
        "all.q:n1:g:ana:a:5:s:0:1795234360:1795234361:1795234365:0:0:4" + ":0" * 30,
        busy(1).splitlines()[-1],
    ],
)
def test_a_line_of_another_dialect_is_no_text_of_the_record_before(line: str) -> None:
    rows = f"{SMALL}\n7|ana|COMPLETED|{ONE}|{ONE}|{TWO}|1|a\nb\n{line}\n{line}\n"
    parsed = parse(rows)
    assert parsed.records["job_id"].to_list() == ["7"]
    assert parsed.refusals["line"].to_list() == [4, 5]
    assert parsed.refusals["reason"][0].startswith("a line of another dialect, ")


def test_a_record_has_a_limited_number_of_lines() -> None:
    rows = f"{SMALL}\n7|ana|COMPLETED|{ONE}|{ONE}|{TWO}|1|a\n" + "b\n" * 1_002
    assert parse(rows).refusals["line"].to_list() == [1_003, 1_004]


@pytest.mark.parametrize("blank", ["T", " "])
@pytest.mark.parametrize(
    ("suffix", "local"), [("", True), (".5", True), ("Z", False), ("+01:00", False), (".5Z", False)]
)
def test_only_times_without_an_offset_are_local(blank: str, suffix: str, local: bool) -> None:
    log = f"{SMALL}\n7|ana|RUNNING|{ONE.replace('T', blank)}{suffix}|||1|a\n"
    assert sacct.header(log.encode(), PLAIN).local_times is local
