"""Tables by a mapping: their columns, hostile content, and what the header says."""

from pathlib import Path

import polars as pl
import pytest

from audit.config.faults import tuples
from audit.config.table import Mapped, TableMapping, presets
from audit.errors import DialectError, LogError
from audit.formats import dialects
from audit.formats.dialects import HEAD_BYTES, Header, Parsed, Reading
from audit.formats.lines import Block
from audit.formats.table import reader
from audit.ingest.attempts import attempts_of
from audit.ingest.logs import open_log, parsed_blocks
from tests.formats.contract import HOSTILE
from tests.formats.without_store import labelled

MAPPING = TableMapping.model_validate(
    {"job_id": {"column": "id"}, "user": {"column": "who"}, "submit_time": {"column": "at"}}
)
READING = Reading(table=MAPPING)
TEXT = b"id,who,at\n7,ann,2021-01-01 00:00:00\n8,bob,2021-01-01 00:01:00\n"


def parse(data: bytes, reading: Reading = READING) -> Parsed:
    return reader.parse(Block(data, 0, 1), reader.header(data, reading))


def header(data: bytes, **options: object) -> Header:
    return reader.header(data, Reading(table=MAPPING, **options))  # type: ignore[arg-type]


def test_only_a_mapping_makes_a_table() -> None:
    assert dialects.detect(TEXT, "x", READING).name == "table"
    assert not reader.recognises(TEXT)
    with pytest.raises(DialectError, match="needs a mapping of its columns"):
        reader.header(TEXT)
    with pytest.raises(DialectError, match="has no job_id"):
        reader.header(TEXT, Reading(table=presets()["frontier-swf"]))


def test_any_separator_order_and_further_columns() -> None:
    wanted = parse(TEXT).records.select("job_id", "user", "submit_time", "line")
    assert wanted.rows() == [("7", "ann", 1_609_459_200, 2), ("8", "bob", 1_609_459_260, 3)]
    for separator in ("\t", ";", "|", "\x1f"):
        other = TEXT.replace(b",", separator.encode())
        assert parse(other).records.select(wanted.columns).equals(wanted)
    quoted = b'\n"x, y","at","who","id"\r\n"1,2","2021-01-01T00:00:00Z","a""n",7\r\n'
    assert parse(quoted).records.select("job_id", "user", "line").rows() == [("7", "an", 3)]


def test_without_names_the_columns_are_declared() -> None:
    bare = TEXT.split(b"\n", 1)[1]
    found = parse(bare, Reading(columns=("id", "who", "at"), table=MAPPING))
    assert found.records["line"].to_list() == [1, 2]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"id,who\n7,ann\n", "no column 'at' in line 1, which names id, who"),
        (b"id,who,at,who\n", "two columns are called 'who': rename one"),
        (b"id,who,at," + b"c," * 5000, "5,004 columns: a table may have 4,096"),
        (b"id,who,at," + b"c" * HEAD_BYTES, "the row of names is longer than 256 kB"),
        (b"\n\n[1, 2]", "no array of objects, and no object per line"),
        (b'[{"a": {"a": 1}}]', "objects within its objects begin alike"),
    ],
)
def test_useless_names_are_reported(data: bytes, said: str) -> None:
    with pytest.raises(DialectError, match=said):
        header(data[:HEAD_BYTES])


def test_a_million_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b",".join(b"c%d" % number for number in range(10**6)) + b"\n" + b"1," * 10**6)
    with pytest.raises(LogError, match="the row of names is longer than 256 kB"):
        open_log(path, None, READING)


def test_hostile_rows_cost_themselves_only() -> None:
    rows = [b'9,"a\nb",2021-01-01 00:00:00', b"10,a\0b,2021-01-01 00:00:00", b"\xff,\xfe,0"]
    rows += [b"11,x,%d" % 2**63, b"12,x,%d" % -1, b",x,1", b"13"]
    found = parse(TEXT + b"\n".join(rows) + b"\n14,last,5\n")
    assert found.records["job_id"].to_list() == ["7", "8", "10", r"\xff", "14"]
    assert found.refusals["reason"].to_list() == [
        "2 fields, not the 3 of the columns",
        "1 fields, not the 3 of the columns",
        f"column at: '{2**63}' is not a time",
        "column at: '-1' is not a time",
        "column id: '' is not a job id",
        "1 fields, not the 3 of the columns",
    ]


@pytest.mark.parametrize("name", [name for name in HOSTILE if "\n" not in name and '"' not in name])
def test_hostile_names_are_read_as_they_stand(name: str) -> None:
    found = parse(f'id,who,at\n7,"{name}",5\n'.encode())
    (read,) = found.records["user"].to_list() if len(found.records) else [None]
    assert read in (name, name.replace("\r", "\\r"), None)
    assert len(found.records) + len(found.refusals) == 1


def test_the_zone_is_that_of_the_user_else_of_the_mapping() -> None:
    zoned = MAPPING.model_copy(update={"zone": "Asia/Shanghai"})
    assert reader.header(TEXT, Reading(table=zoned)).zone == "Asia/Shanghai"
    assert reader.header(TEXT, Reading(table=zoned, zone="Europe/Berlin")).zone == "Europe/Berlin"
    assert header(TEXT).local_times
    assert not header(TEXT.replace(b":00\n", b":00Z\n")).local_times
    with pytest.raises(DialectError, match="not in the IANA database"):
        header(TEXT, zone="Berlin")


def test_a_pattern_of_another_kind_is_reported() -> None:
    """Python reads more patterns than the library that applies them."""
    odd = {"job_id": {"column": "id", "pattern": "(?=a)(b)"}, "submit_time": "at"}
    with pytest.raises(DialectError, match=r"^job_id\.pattern: "):
        reader.header(TEXT, Reading(table=TableMapping.model_validate(tuples(odd))))


def test_a_part_of_the_workload_reaches_the_header() -> None:
    written = MAPPING.model_dump(exclude_defaults=True)
    partly = written | {"title": "X", "caution": "only some", "population": "part"}
    reading = Reading(table=TableMapping.model_validate(partly))
    entries = reader.header(TEXT, reading).entries
    assert (entries["population"], entries["caution"]) == ("part", "X: only some")


def test_blocks_end_at_lines_whatever_their_size(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(TEXT + b"".join(b"%d,x,%d\n" % (number, number) for number in range(9, 3000)))
    log = open_log(path, None, READING)
    small = log._replace(dialect=log.dialect.__class__(**{**vars(log.dialect), "block_bytes": 700}))
    ids = [name for _, found in parsed_blocks(small) for name in found.records["job_id"]]
    assert ids == ["7", "8", *map(str, range(9, 3000))]


def test_what_a_table_shows_is_known_again_from_the_store() -> None:
    """A refused line is read by the header that the store has."""
    stated = header(TEXT)
    again = reader.parse(Block(b"9,x,5\n", 100, 9), stated)
    assert again.records.select("job_id", "line", "byte_offset").rows() == [("9", 9, 100)]


def test_equal_tasks_are_different_attempts() -> None:
    """1,000 good rows with shared ids are 1,000 attempts, in one log or in two copies of it."""
    text = b"id,who,at,end\n" + b"".join(
        b"%d,u%d,%d,%d\n" % (number % 40, number % 3, 10**9 + number % 200, 2 * 10**9)
        for number in range(1000)
    )
    ended = Reading(table=MAPPING.model_copy(update={"end_time": Mapped(column="end")}))
    task = Reading(
        table=MAPPING.model_copy(update={"one": "task", "end_time": Mapped(column="end")})
    )
    found = labelled(parse(text, task).records)
    assert attempts_of(found).height == 1000
    again = pl.concat([found, found.with_columns(input_id=pl.lit("j"))])
    assert attempts_of(again).height == 1000
    job = labelled(parse(text, ended).records)
    assert attempts_of(job).height == job.unique(["job_id", "submit_time"]).height < 1000
