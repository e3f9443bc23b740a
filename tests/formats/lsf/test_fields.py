"""Blanks, quotes and line ends."""

import csv
import io

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.lsf.fields import cut_records, fields_of, last_record, unquoted

_texts = st.text(st.sampled_from('ab" \n,'), max_size=6)
_records = st.lists(st.lists(_texts, max_size=5), max_size=5)


def written(record: list[str]) -> str:
    doubled = (text.replace('"', '""') for text in record)
    return " ".join(['"JOB"', *(f'"{text}"' for text in doubled)]) + "\n"


@given(_records)
def test_records_are_cut_as_csv_would_be(records: list[list[str]]) -> None:
    raw = "".join(map(written, records)).encode()
    data = np.frombuffer(raw, dtype=np.uint8)
    found = cut_records(data)
    assert len(found.strays.starts) == 0
    assert len(found.records.starts) == len(records)
    fields = fields_of(raw, data, found.records)
    assert fields.closed.all()
    expected = list(csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=" "))
    read = [
        [fields.of(np.array([row])).texts(place)[0] or "" for place in range(fields.width[row])]
        for row in range(len(records))
    ]
    assert read == expected
    assert read == [["JOB", *record] for record in records]


def test_long_texts_are_one_field_each() -> None:
    for length in (1, 62, 63, 64, 65, 127, 128, 1_000):
        raw = written([text := "a " * length, "b", text]).encode() * 3
        data = np.frombuffer(raw, dtype=np.uint8)
        fields = fields_of(raw, data, cut_records(data).records)
        assert fields.width.tolist() == [4, 4, 4]
        assert fields.texts(3) == [text] * 3


def test_a_quote_that_is_not_closed_harms_no_other_record() -> None:
    good, bad = '"JOB" "a b" 7\n', '"JOB" "a b 7\n'
    raw = (good + bad + good + bad + bad + "stray line\n" + good).encode()
    data = np.frombuffer(raw, dtype=np.uint8)
    fields = fields_of(raw, data, cut_records(data).records)
    assert fields.closed.tolist() == [True, False, True, False, False, True]
    closed = fields.of(np.flatnonzero(fields.closed))
    assert closed.width.tolist() == [3, 3, 3]
    assert closed.texts(1) == ["a b"] * 3
    assert closed.numbers(2).values.tolist() == [7, 7, 7]


@given(_records)
def test_the_last_record_of_a_buffer(records: list[list[str]]) -> None:
    texts = [written(record) for record in records]
    raw = "".join(texts).encode()
    assert last_record(raw) == (len(raw) - len(texts[-1].encode()) if texts else -1)


def test_no_record_at_all() -> None:
    assert last_record(b'x\ny "A"\n"') == -1
    found = cut_records(np.frombuffer(b"", dtype=np.uint8))
    assert len(found.records.starts) == len(found.strays.starts) == 0


def test_quotes_are_taken_off() -> None:
    assert unquoted(b'"a""b"') == 'a"b'
    assert unquoted(b"a\xff") == "a\\xff"
    assert unquoted(b'"') == '"'
