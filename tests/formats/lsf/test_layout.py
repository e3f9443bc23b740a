"""Where the fields of a record stand, by version and by the lengths of its lists."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.lsf.layout import cut_records, fields_of, last_record, unquoted
from tests.formats.lsf.test_acct import LATE, NINE, finish, only, parse


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
    ("hosts", "cpus", "nodes"),
    [
        ('0 1 "h1"', 1, 1),
        ('0 3 "h1" "h1" "h2"', 3, 2),
        ('2 "a" "b" 2 "16*h1" "h2"', 17, 2),
        ("0 0", 1, None),
        ('2 "a" "b"', 2, 2),  # without the number of execution hosts
    ],
)
def test_hosts(hosts: str, cpus: int, nodes: int | None) -> None:
    found = only(finish(hosts=hosts, tail=None))
    assert (found["cpus"], found["nodes"], found["state"]) == (cpus, nodes, "COMPLETED")


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
