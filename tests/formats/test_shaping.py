"""Typed records of a block become records and refusals that know where they stood."""

import numpy as np
import polars as pl

from audit.formats.lines import Block, Lines
from audit.formats.shaping import ENDS_WITHIN, IMPLAUSIBLE, Texts, faulted, refused, shaped
from audit.model import RECORDS, REFUSALS, RefusalCode

BLOCK = Block("one\n*\ntwo\nstill two\n\u00fc\xff".encode("latin-1"), 1000, 41)
SPANS = Lines(np.array([0, 4, 6, 20]), np.array([3, 5, 19, 22]))


def test_records_know_their_place_and_what_is_not_stated_is_unknown() -> None:
    found = pl.DataFrame(
        {
            "number": [2, 0],
            "problem": pl.Series([None, None], dtype=pl.String),
            "job_id": ["2", "1"],
            "unheard_of": ["x", "y"],
        }
    )
    parsed = shaped(BLOCK, SPANS, found, steps=3)
    assert parsed.records.schema == RECORDS
    assert parsed.records.select("job_id", "line", "byte_offset", "cpus").rows() == [
        ("1", 41, 1000, None),
        ("2", 43, 1006, None),
    ]
    assert parsed.refusals.is_empty()
    assert parsed.refusals.schema == REFUSALS
    assert parsed.steps == 3


def test_a_refused_record_keeps_all_its_lines_and_every_byte() -> None:
    found = refused([(2, "no", RefusalCode.SHAPE), (3, "not at all", RefusalCode.VALUE)])
    parsed = shaped(BLOCK, SPANS, found)
    assert parsed.records.is_empty()
    assert parsed.refusals.rows() == [
        (43, 1006, "shape", "no", "two\nstill two"),
        (45, 1020, "value", "not at all", "\\xfc\\xff"),
    ]


def test_the_first_fault_of_a_record_is_why_it_is_refused() -> None:
    texts = pl.DataFrame({"a": ["x", "y", None, "z" * 50]})
    given = Texts(texts, "column")
    given.check("a", texts["a"] == "y", "is odd")
    given.note(texts["a"].str.len_bytes() > 0, "is too long", RefusalCode.TIME)
    given.check("b", texts["a"] == "nothing", "is not there")
    read = texts.with_columns(**given.faults()).with_columns(
        **faulted([(pl.col("a").is_null(), RefusalCode.ORDER, "is not known")], "problem", "code")
    )
    assert read.select("problem", "code").rows() == [
        ("is too long", "time"),
        ("column a: 'y' is odd", "value"),
        ("is not known", "order"),
        ("is too long", "time"),
    ]
    nothing = Texts(texts, "column").faults()
    assert nothing["problem"].null_count() == nothing["code"].null_count() == 4


def test_memory_that_no_node_has_is_ignored_and_counted() -> None:
    amounts = {
        "mem_bytes": [45 << 50, 45 << 50, 8 << 30],
        "nodes": pl.Series([1, 1_000, None], dtype=pl.Int64),
        "cpus": pl.Series([4, 4, None], dtype=pl.Int64),
        "node_amounts": ["mem_bytes=9", "cpus=1", None],
    }
    found = pl.DataFrame({"number": [0, 2, 3], "job_id": ["1", "2", "3"], **amounts})
    parsed = shaped(BLOCK, SPANS, found.with_columns(problem=pl.lit(None, pl.String)))
    assert parsed.records["mem_bytes"].to_list() == [None, 45 << 50, 8 << 30]
    assert parsed.records["node_amounts"].to_list() == [None, "cpus=1", None]
    assert parsed.remarks == {IMPLAUSIBLE: 1}


def test_remarks_are_counted_where_records_are_read() -> None:
    found = pl.DataFrame(
        {
            "number": [0, 2, 3],
            "problem": pl.Series([None, "bad", None], dtype=pl.String),
            "code": ["shape"] * 3,
            "remarks": [["one", None], ["one", "two"], ["one", "two"]],
        }
    )
    assert shaped(BLOCK, SPANS, found).remarks == {"one": 2, "two": 1}


def test_what_a_log_without_a_line_end_ends_with_was_cut() -> None:
    problems = [(0, "no", RefusalCode.SHAPE), (3, "not at all", RefusalCode.SHAPE)]
    parsed = shaped(BLOCK, SPANS, refused(problems), by_line=True)
    assert parsed.refusals.select("code", "reason").rows() == [
        ("shape", "no"),
        ("cut", ENDS_WITHIN),
    ]
    whole = BLOCK._replace(data=BLOCK.data + b"\n")
    assert shaped(whole, SPANS, refused(problems), by_line=True).refusals["code"].n_unique() == 1
