"""Typed records of a block become records and refusals that know where they stood."""

import numpy as np
import polars as pl

from audit.formats.lines import Block, Lines
from audit.formats.shaping import shaped
from audit.model import RECORDS, REFUSALS

BLOCK = Block("one\n*\ntwo\nstill two\n\u00fc\xff".encode("latin-1"), 1000, 41)
SPANS = Lines(np.array([0, 4, 6, 20]), np.array([3, 5, 19, 22]))


def test_records_know_their_place_and_what_is_not_said_is_unknown() -> None:
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
    found = pl.DataFrame({"number": [2, 3], "problem": ["no", "not at all"], "job_id": ["2", "3"]})
    parsed = shaped(BLOCK, SPANS, found)
    assert parsed.records.is_empty()
    assert parsed.refusals.select("line", "byte_offset", "reason", "text").rows() == [
        (43, 1006, "no", "two\nstill two"),
        (45, 1020, "not at all", "\\xfc\\xff"),
    ]
