"""SWF: each rule of SPEC §1, the slow twin, damaged lines, and the way back."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats import swf
from audit.formats.dialects import Header, Parsed
from audit.formats.instants import LATEST
from audit.formats.lines import Block
from audit.model import RECORDS, REFUSALS
from tests.formats import contract
from tests.logs import FIELDS, busy, line, log


def parse(text: str | bytes, *, byte_offset: int = 0, first_line: int = 1) -> Parsed:
    data = text if isinstance(text, bytes) else text.encode()
    return swf.parse(Block(data, byte_offset, first_line), swf.header(data))


def one(record: str, **entries: object) -> dict[str, Any]:
    return contract.only(parse(log([record], **{"UnixStartTime": 1000, **entries})))


def reason(record: str) -> str:
    return contract.why(parse(log([record])))


def test_an_ordinary_record() -> None:
    found = one(
        line(7, submit=5, wait=10, run=60, allocated=4, requested=8, walltime=90, user=3, group=2)
    )
    expected = {
        "job_id": "7",
        "job_number": 7,
        "kind": "job",
        "submit_time": 1005,
        "start_time": 1015,
        "end_time": 1075,
        "occupancy_s": 60,
        "suspended_s": 0,
        "walltime_s": 90,
        "cpus": 4,
        "user": "3",
        "account": "2",
        "group": "2",
        "state": "COMPLETED",
        "line": 2,
    }
    assert {name: found[name] for name in expected} == expected
    unknown = {"eligible_time", "nodes", "gpus", "partition", "qos", "mem_bytes", "priority"}
    assert all(found[name] is None for name in unknown)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # the size is what was requested where nothing was allocated
        ({"allocated": -1, "requested": 8}, {"cpus": 8}),
        ({"allocated": -1, "requested": -1}, {"cpus": None}),
        # who never started has left the queue after the wait
        *(
            (
                {"wait": wait, "run": run, "status": status, "allocated": allocated},
                {"start_time": None, "occupancy_s": None, "end_time": left_at},
            )
            for wait, run, status, allocated, left_at in (
                (30, -1, 5, 1, 1030),
                (30, 0, 5, 1, 1030),
                (30, 0, 1, 0, 1030),
                (-1, -1, 5, 1, None),
            )
        ),
        # a run of no length that was not cancelled did start
        (
            {"wait": 30, "run": 0, "status": 0},
            {"start_time": 1030, "end_time": 1030, "occupancy_s": 0},
        ),
        # a negative wait leaves the start unknown, but not the occupancy
        ({"wait": -1, "run": 60}, {"start_time": None, "end_time": None, "occupancy_s": 60}),
        # a later burst has no submission, but a wait
        (
            {"submit": -1, "wait": 7, "run": 60, "status": 3},
            {"kind": "burst", "submit_time": None, "start_time": None, "waited_s": 7,
             "occupancy_s": 60},
        ),
        *(
            ({"status": status}, {"state": state})
            for status, state in (
                *((0, "FAILED"), (1, "COMPLETED"), (2, "PARTIAL"), (3, "COMPLETED")),
                *((4, "FAILED"), (5, "CANCELLED"), (9, "9"), (-1, None)),
            )
        ),
        # memory is per processor, in kilobytes; fractions of seconds are dropped
        ({"memory": 100, "allocated": 4}, {"mem_bytes": 409_600}),
        ({"wait": "3.9", "run": "10.5"}, {"start_time": 1003, "occupancy_s": 10}),
        # a damaged field that nobody reads costs nothing
        ({"cpu": "?", "used": "489.00", "think": '"'}, {"job_id": "1"}),
    ],
)  # fmt: skip
def test_fields(fields: dict[str, object], expected: dict[str, object]) -> None:
    found = one(line(1, **fields))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("name", "text", "column", "title"),
    [
        ("memory", "1e400", "mem_bytes", "field 10 (requested memory)"),
        ("memory", "x", "mem_bytes", "field 10 (requested memory)"),
        ("walltime", "1e12", "walltime_s", "field 9 (requested time)"),
        ("walltime", "04:00:00", "walltime_s", "field 9 (requested time)"),
        ("user", "ana", "user", "field 12 (user ID)"),
        ("queue", "1.5", "partition", "field 15 (queue number)"),
    ],
)
def test_what_a_record_does_not_need_may_be_unreadable(
    name: str, text: str, column: str, title: str
) -> None:
    rows = [line(1, **{name: text}), line(2, **{name: text}), line(3)]
    data = "".join(f"{row}\n" for row in rows).encode()
    parsed = swf.parse(Block(data, 0, 1), swf.header(data))
    assert parsed.refusals.is_empty()
    assert parsed.records[column].to_list()[:2] == [None, None]
    assert parsed.remarks == {f"{title} cannot be read, and counts as unknown": 2}


def test_queues_and_partitions_have_the_header_s_names() -> None:
    names = {"Queue": "3 - Short jobs - preemptible", "Partition": "1 fat"}
    assert one(line(1, queue=3), **names)["partition"] == "Short jobs"
    both = one(line(1, queue=3, partition=1), **names)
    assert (both["partition"], both["qos"]) == ("fat", "Short jobs")
    assert one(line(1, queue=4), **names)["partition"] == "4"


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ("1 2 3", "3 fields, SWF has 18"),
        (line(1) + " 19", "19 fields"),
        (line("x"), "field 1 (job number) is not a number"),
        (line(1, run="12:00"), "field 4 (run time) is not a number"),
        (line(1, run="nan"), "field 4 (run time) is not a number"),
        (line(1, run=-100), "ends before it starts: field 4 (run time) is -100 s"),
        (line(-1), "field 1 (job number) is negative"),
        (line(1.5), "field 1 (job number) is not a whole number"),
        (line(1, submit=-1), "field 2 (submit time) is unknown"),
        (line(1, run=1e300), "beyond the year 2242"),
        (line(1, allocated=1 << 40), "field 5 (number of allocated processors) is not a whole"),
        (line(1, status="inf"), "field 11 (status) is not a number"),
    ],
)
def test_refused_with_the_reason(record: str, why: str) -> None:
    assert why in reason(record)


def test_good_lines_survive_bad_ones_and_all_know_where_they_stood() -> None:
    bad = [b"1 2 3", b"\xff\xfe", b"0x10" + line(1).encode()[1:], b"| COMPLETED | x |"]
    good = [line(k).encode() for k in range(1, 5)]
    parts = [b"; UnixStartTime: 0", b""]
    for ok, broken in zip(good, bad, strict=True):
        parts += [ok, broken, b"   ", b" ; a comment between"]
    text = b"\r\n".join(parts)
    parsed = parse(text, byte_offset=100, first_line=11)
    assert parsed.records["job_id"].to_list() == ["1", "2", "3", "4"]
    assert parsed.refusals["text"].to_list() == [
        broken.decode("utf-8", errors="backslashreplace") for broken in bad
    ]
    lines = text.split(b"\n")
    for number, offset in [
        *parsed.records.select("line", "byte_offset").rows(),
        *parsed.refusals.select("line", "byte_offset").rows(),
    ]:
        stood = lines[number - 11]
        assert text[offset - 100 :].startswith(stood)


def test_spaces_and_tabs_in_any_number_separate() -> None:
    plain = parse(log([line(k, run=k) for k in range(1, 4)])).records
    spaced = log([f" \t{line(k, run=k).replace(' ', '   ')}\t " for k in range(1, 4)])
    assert parse(spaced).records.drop("byte_offset").equals(plain.drop("byte_offset"))


def test_an_empty_block_and_one_of_comments() -> None:
    for text in ("", "\n\n", "; nothing\n"):
        parsed = parse(text)
        assert parsed.records.schema == RECORDS
        assert parsed.refusals.schema == REFUSALS
        assert parsed.records.is_empty()
        assert parsed.refusals.is_empty()


def test_the_header() -> None:
    header = swf.header(
        b"; MaxProcs: 128 (16 x 8)\n;   MaxNodes: 16\n; UnixStartTime: 5\n"
        b"; TimeZoneString: Europe/Berlin\n; Note: first\n; Note: second\n; Queue: 0 batch\n"
        b"1 2 3\n; MaxProcs: 9\n"
    )
    assert header.capacity == {"cpus": 128, "nodes": 16}
    assert header.zone == "Europe/Berlin"
    assert header.entries["Note"] == "first\nsecond"
    assert header.entries["Queue 0"] == "batch"
    assert header.problems == ()


def test_lines_without_a_label_continue_a_note() -> None:
    header = swf.header(
        b"; Note: CLEANED\n;       the filter was\n;   job<=14\n;\n; no note\n"
        b"; Note: b\n;Version: 2\n; nor this\n"
    )
    assert header.entries["Note"] == "CLEANED the filter was job<=14\nb"


@pytest.mark.parametrize(
    ("start", "end", "span"),
    [
        ("Mon Sep 23 14:00:31 CEST 1996", "Tue  Sep 24 14:00:31 CEST 1996", 86_400),
        ("2014-05-22 10:57:59", "2014-05-22 11:57:59", 3_600),
        ("Sep 3 11:18:55 1997", "Wed Sep  3 11:18:56 MET DST 1997", 1),
        ("Mon Sep 23 14:00:31 CEST 1996", "Mon Sep 23 14:00:31 CEST 1996", None),
        ("Mon Xyz 23 14:00:31 CEST 1996", "Tue Sep 24 14:00:31 CEST 1996", None),
        ("Mon Sep 33 14:00:31 CEST 1996", "Tue Sep 24 14:00:31 CEST 1996", None),
        ("", "user anna", None),
    ],
)
def test_what_a_header_announces(start: str, end: str, span: int | None) -> None:
    entries = {"MaxJobs": "20", "MaxRecords": "30 (all)", "StartTime": start, "EndTime": end}
    entries["UnixStartTime"] = "1000"
    expected = swf.Announced(30) if span is None else swf.Announced(30, 1_000, 1_000 + span)
    assert swf.announced(entries) == expected
    needed = swf.needed({**entries, "Note": "of anna"})
    assert swf.announced(needed) == expected
    assert "anna" not in str(needed)
    for none in ({}, {"MaxJobs": "many"}, {"MaxJobs": "-1"}, {"MaxJobs": "9" * 5_000}):
        assert swf.announced(none) is None


def test_what_a_header_gets_wrong_is_stated() -> None:
    header = swf.header(b"; MaxProcs: many\n; TimeZoneString: Atlantis/Harbour\n")
    assert header == Header(entries=header.entries, problems=header.problems)
    assert [said.split()[1].rstrip(":") for said in header.problems] == [
        "MaxProcs",
        "UnixStartTime",
        "TimeZoneString",
    ]


@pytest.mark.parametrize(
    ("head", "is_swf"),
    [
        (busy(), True),
        ("; UnixStartTime: 0\n", True),
        ("; a comment\n", False),
        ("a|b|c\n1|2|3\n", False),
        (f"{line(1)}\n", True),
        ("1 2 3\n4 5 6\n", False),
        (f"{line(1)}\nbroken\n{line(2)}\n", True),
        (f"; MaxProcs: 4\n{line(1)}\n" + 9 * "broken\n", True),
        (f"; MaxProcs: 4\n{line(1)}\n" + 10 * "broken\n", False),
        (f"{line(1)}\nbroken\n", False),
        ("", False),
    ],
)
def test_recognises(head: str, is_swf: bool) -> None:
    assert swf.recognises(head.encode()) is is_swf


def slow_twin(fields: dict[str, int], origin: int) -> dict[str, int | str | None]:
    """SPEC §1, "From SWF", word for word; one line of numbers at a time."""

    def known(value: int) -> int | None:
        return value if value >= 0 else None

    burst = fields["status"] in (2, 3, 4)
    later = burst and fields["submit"] < 0
    never = fields["run"] < 0 or (
        fields["run"] == 0 and (fields["status"] == 5 or fields["allocated"] <= 0)
    )
    submit = None if later else fields["submit"] + origin
    start = end = None
    if submit is not None and fields["wait"] >= 0:
        if never:
            end = submit + fields["wait"]
        else:
            start = submit + fields["wait"]
            end = start + fields["run"]
    size = fields["allocated"] if fields["allocated"] > 0 else fields["requested"]
    return {
        "submit_time": submit,
        "start_time": start,
        "end_time": end,
        "occupancy_s": None if never else fields["run"],
        "waited_s": known(fields["wait"]) if later else None,
        "walltime_s": fields["walltime"] if fields["walltime"] > 0 else None,
        "cpus": size if size > 0 else None,
        "kind": "burst" if burst else "job",
    }


_numbers = st.fixed_dictionaries(
    {
        "submit": st.integers(-1, 50),
        "wait": st.integers(-1, 5),
        "run": st.integers(-1, 5),
        "allocated": st.integers(-1, 3),
        "requested": st.integers(-1, 3),
        "walltime": st.integers(-1, 5),
        "status": st.integers(-1, 6),
    }
)


@given(st.lists(_numbers, min_size=1, max_size=20))
def test_as_the_slow_twin(rows: list[dict[str, int]]) -> None:
    origin = 1_000_000_000
    refused = [r["submit"] < 0 and r["status"] not in (2, 3, 4) for r in rows]
    parsed = parse(log([line(k, **row) for k, row in enumerate(rows)], UnixStartTime=origin))
    kept = [row for row, is_out in zip(rows, refused, strict=True) if not is_out]
    expected = [slow_twin(row, origin) for row in kept]
    found = parsed.records.select(*(expected[0] if expected else ["job_id"])).to_dicts()
    assert found == expected
    assert parsed.refusals.height == sum(refused)


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail_and_none_disappear(data: bytes) -> None:
    parsed = parse(data)
    numbers = sorted([*parsed.records["line"], *parsed.refusals["line"]])
    expected = [
        number
        for number, text in enumerate(data.split(b"\n"), start=1)
        if text.strip(b" \t\r\v\f") and not text.strip(b" \t\r\v\f").startswith(b";")
    ]
    assert numbers == expected


def test_written_and_read_again() -> None:
    records = [
        line(1, submit=5, wait=2, run=60, allocated=4, requested=4, user=7, group=2, queue=1),
        line(2, submit=9, wait=30, run=-1, allocated=-1, requested=2, status=5, user=8, group=3),
        line(3, submit=11, wait=0, run=0, allocated=1, requested=1, status=0, walltime=-1),
    ]
    text = log(records, UnixStartTime=50)
    read = parse(text).records
    assert swf.write(read, {"UnixStartTime": "50"}).decode() == text
    assert len(text.splitlines()[1].split()) == len(FIELDS)


def test_what_was_not_written_down_is_left_open() -> None:
    lost = [line(1, wait=-1, run=0, allocated=4, requested=4)]
    unknown = parse(log(lost, UnixStartTime=50))
    text = swf.write(unknown.records, {"UnixStartTime": "50"}).decode()
    assert text == log(lost, UnixStartTime=50)
    ages = unknown.records.with_columns(walltime_s=LATEST + 1)
    assert swf.write(ages, {}).split()[-10] == b"-1"


def test_a_cancelled_run_of_no_length_is_written_as_one_that_ran() -> None:
    read = parse(log([line(1, run=0, status=0)])).records
    cancelled = read.with_columns(state=pl.lit("CANCELLED"))
    again = parse(swf.write(cancelled, {"UnixStartTime": "1000000000"})).records
    assert again.row(0) == read.row(0)


def test_other_names_are_numbered_and_reported() -> None:
    read = parse(log([line(k, group=k) for k in (8, 3, 5)])).records.with_columns(
        user=pl.Series(["zoë", "17", "zoë"]), partition=pl.Series(["gpu", None, "cpu"])
    )
    frame, comments = swf.numbered(read)
    assert comments == ["Queue: 1 cpu", "Queue: 2 gpu", "User: 1 17", "User: 2 zoë"]
    assert frame.select("job_number", "user", "account", "partition").rows() == [
        (8, "2", "8", "2"),
        (3, "1", "3", None),
        (5, "2", "5", "1"),
    ]


@pytest.mark.parametrize("name", ["01", "-1", "1.5", "", "٣", str(1 << 54), "9" * 5000])
def test_not_every_name_of_digits_is_a_number(name: str) -> None:
    read = parse(log([line(1)])).records.with_columns(user=pl.lit(name))
    assert swf.numbered(read)[0]["user"].to_list() == ["1"]


@pytest.mark.parametrize("numbers", [[1, 1], [None, 2], [-1, 2], [1 << 54, 2]])
def test_jobs_without_numbers_of_their_own_are_numbered(numbers: list[int | None]) -> None:
    read = parse(log([line(7), line(9)])).records.with_columns(
        job_number=pl.Series(numbers, dtype=pl.Int64)
    )
    frame, comments = swf.numbered(read)
    assert frame["job_number"].to_list() == [1, 2]
    assert comments == ["Note: job numbers are places in this file"]


_hostile = st.text(
    st.characters(exclude_categories=[]) | st.sampled_from(" -:;\\\n\r\t\x1b\x00\u2028x1")
)


@given(st.lists(_hostile, min_size=1, max_size=4), _hostile)
def test_no_name_breaks_the_header_and_no_two_become_one(names: list[str], computer: str) -> None:
    count = len(names)
    own = [name.encode("utf-8", "surrogatepass").decode("utf-8", "replace") for name in names]
    read = parse(log([line(k) for k in range(count)])).records.with_columns(
        partition=pl.Series(own), user=pl.Series(own)
    )
    frame, comments = swf.numbered(read)
    text = swf.write(frame, {"UnixStartTime": "1000000000", "Computer": computer}, comments)
    assert all(char.isprintable() for char in text.decode().replace("\n", ""))
    again = parse(text)
    assert again.refusals.is_empty()
    timeless = ["job_number", "start_time", "end_time", "cpus"]
    assert again.records.select(timeless).equals(read.select(timeless))
    found = again.records["partition"].to_list()
    assert [found.index(name) for name in found] == [own.index(name) for name in own]


@pytest.mark.parametrize(
    ("origin", "submit"), [(0, 1_700_000_000_000), (1_700_000_000_000, 60), (10**9, 10**12)]
)
def test_times_in_milliseconds_are_refused_as_such(origin: int, submit: int) -> None:
    data = log([line(1, submit=submit)], UnixStartTime=origin).encode()
    (reason,) = swf.parse(Block(data, 0, 1), swf.header(data)).refusals["reason"]
    assert reason == "a time of 13 digits: are these milliseconds? SWF counts seconds"
