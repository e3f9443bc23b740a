"""Nearly SWF: read where it is safe, and said how; refused where columns cannot be SWF's."""

import re

import polars as pl
import pytest

from audit.errors import DialectError
from audit.formats import dialects, near_swf, swf
from audit.formats.dialects import Parsed
from audit.formats.lines import Block
from tests.formats import contract
from tests.logs import busy

RECORDS = [line for line in busy().splitlines() if not line.startswith(";")]
HEAD = "".join(f"{line}\n" for line in busy().splitlines() if line.startswith(";"))

Rows = list[list[str]]


def rows() -> Rows:
    return [line.split() for line in RECORDS]


def text(found: Rows, separator: str = ",", head: str = HEAD) -> bytes:
    return (head + "".join(f"{separator.join(row)}\n" for row in found)).encode()


def read(data: bytes) -> Parsed:
    dialect = dialects.detect(data, "x")
    assert dialect is near_swf.DIALECT
    return dialect.parse(Block(data, 0, 1), dialect.header(data, dialects.PLAIN))


def as_swf() -> pl.DataFrame:
    data = busy().encode()
    return swf.parse(Block(data, 0, 1), swf.header(data)).records


def columns(parsed: Parsed) -> pl.DataFrame:
    assert parsed.refusals.is_empty()
    return parsed.records.drop("byte_offset")


@pytest.mark.parametrize("separator", [",", ";", "|", ", ", " ; ", ",\t"])
def test_other_separators(separator: str) -> None:
    data = text(rows(), separator)
    assert columns(read(data)).equals(as_swf().drop("byte_offset"))
    said, *_ = near_swf.header(data).problems
    assert re.match("nearly SWF: columns are separated by (commas|semicolons|bars)", said)


@pytest.mark.parametrize(
    ("more", "said"),
    [(["7"], "column 19 left out"), (["x", "", "-1"], "columns 19 to 21 left out")],
)
def test_more_columns_are_left_out(more: list[str], said: str) -> None:
    data = text([row + more for row in rows()])
    assert columns(read(data)).equals(as_swf().drop("byte_offset"))
    assert said in near_swf.header(data).problems[1]
    blanks = text([[*row, "8", "9"] for row in rows()], " ")
    assert columns(read(blanks)).equals(as_swf().drop("byte_offset"))


def test_rows_may_stand_in_any_order() -> None:
    found = columns(read(text(rows()[::-1]))).drop("line").sort("job_number")
    assert found.equals(as_swf().drop("line", "byte_offset"))


def test_a_row_of_names_and_other_comments_are_no_records() -> None:
    names = [f"column{number}" for number in range(18)]
    data = text([names, *rows()], head=HEAD.replace(";", "#"))
    assert columns(read(data)).equals(as_swf().with_columns(pl.col("line") + 1).drop("byte_offset"))
    header = near_swf.header(data)
    assert header.capacity == {"cpus": 4}
    assert header.zone == "Europe/Berlin"
    assert header.problems[0] == "nearly SWF: comments begin with #, in SWF with ;"
    assert "the first row names columns" in header.problems[2]


def test_swf_with_other_comments_keeps_its_header() -> None:
    data = text(rows(), " ", HEAD.replace(";", "#"))
    assert dialects.detect(data, "x").name == "near-swf"
    assert columns(read(data)).equals(as_swf().drop("byte_offset"))
    assert near_swf.header(data).capacity == {"cpus": 4}


def test_a_trace_of_the_grid_workloads_archive_names_the_command_that_makes_swf() -> None:
    record = "7\t1107222405\t0\t47\t2\t-1\t-1\t2\t900\t-1\t1\tU7\tG1\tX0\tQ2\t-1\tS1\tS1"
    data = f"# GWF\n{record}{11 * (chr(9) + '-1')}\n".encode()
    said = near_swf.differs(data)
    assert said is not None
    assert "line 2 has the 29 columns of the Grid Workloads Archive (GWF)" in said
    assert "awk '/^[^#]/ { NF = 18; $17 = $18 = -1;" in said


def test_an_empty_field_is_unknown() -> None:
    found = rows()
    for row in found:
        row[8] = row[17] = ""
    assert read(text(found)).records["walltime_s"].null_count() == len(found)


def test_refused_lines_are_reported_as_they_stand() -> None:
    found = rows()
    found[1] = found[1][:-1]
    found[2][3] = "soon"
    found[3] += ["1"]
    data = text(found)
    parsed = read(data)
    lines = data.decode().split("\n")
    first = HEAD.count("\n")
    assert parsed.refusals["line"].to_list() == [first + 2, first + 3, first + 4]
    assert parsed.refusals["text"].to_list() == lines[first + 1 : first + 4]
    assert parsed.refusals["reason"].to_list() == [
        "17 fields, this log has 18",
        "field 4 (run time) is not a number",
        "19 fields, this log has 18",
    ]
    for frame in (parsed.records, parsed.refusals):
        for line, offset in frame.select("line", "byte_offset").iter_rows():
            assert data[offset:].startswith(lines[line - 1].encode() + b"\n")


def shifted(found: Rows) -> Rows:
    return [[str(number), *row] for number, row in enumerate(found)]


def put(column: int, value: str) -> Rows:
    return [[*row[: column - 1], value, *row[column:]] for row in rows()]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            shifted(rows()),
            "column 2, where SWF has the submit time, counts by one, as job numbers do",
        ),
        (put(11, "4096"), "column 11, where SWF has the status (−1 to 5), holds 4096 to 4096"),
        (put(5, "-1"), "columns 5 and 8, where SWF has the processors, hold none"),
        (put(4, "-9"), "column 4, where SWF has the run time, holds numbers below −1"),
        (put(12, "1.5"), "column 12, where SWF has the user ID, holds fractions"),
        (put(4, "500"), "column 4, where SWF has the run time, is beyond twice the requested"),
    ],
)
def test_misplaced_columns_are_refused_with_the_reason(found: Rows, said: str) -> None:
    data = text(found)
    assert near_swf.recognises(data)
    with pytest.raises(DialectError) as caught:
        near_swf.header(data)
    assert said in str(caught.value)
    assert "are the columns in SWF's order" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [
        busy().encode(),
        text(rows(), "\t"),
        text(rows(), ":"),
        text([row[:17] for row in rows()]),
        text([row + ["1"] * 9 for row in rows()]),
        text([[*row[:11], "ana", *row[12:]] for row in rows()]),
        HEAD.encode(),
    ],
)
def test_what_is_not_nearly_swf(data: bytes) -> None:
    assert not near_swf.recognises(data)


def write(frame: pl.DataFrame) -> bytes:
    return swf.write(frame, {}).replace(b" ", b",").replace(b";,", b"; ")


CASE = contract.Case(
    dialect=near_swf.DIALECT,
    head=HEAD.encode(),
    records=tuple(
        ",".join([*row[:11], "77001", *row[12:], "0"]).encode() + b"\n" for row in rows()[:8]
    ),
    name=b"77001",
    write=write,
    carries=("submit_time", "start_time", "end_time", "cpus", "walltime_s"),
    tells_cuts=False,
)
WRITTEN = (  # for which the log of a writer with names is needed
    contract.hostile_names_come_back,
    contract.what_is_written_is_read,
    contract.odd_days_come_back,
    contract.a_clock_that_stepped_back_costs_its_record,
)
CHECKS = [check for check in contract.CHECKS if check not in WRITTEN]


@pytest.mark.parametrize("check", CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check) -> None:
    check(CASE)


def test_a_table_with_names_needs_a_mapping_and_not_swf() -> None:
    names = b"job_id,submit_time,start_time,end_time,a,b,c,d,e,f,g,h\n"
    rows = b"".join(b"%d,%d,%d,%d,1,1,1,1,1,1,1,1\n" % (k, k, k + 5, k + 9) for k in range(5))
    assert near_swf.differs(rows) is not None
    assert near_swf.differs(names + rows) is None


def test_a_table_that_names_starts_is_not_nearly_swf() -> None:
    names = ["job_id", "submit_time", "start_time", "end_time", *(f"c{k}" for k in range(5, 19))]
    assert not near_swf.recognises(text([names, *rows()], head=""))
    names[2:4] = "wait_time", "run_time"
    assert near_swf.recognises(text([names, *rows()], head=""))
