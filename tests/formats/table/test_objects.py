"""JSON objects as rows."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from audit.config.faults import tuples
from audit.config.table import TableMapping
from audit.formats.dialects import Parsed, Reading
from audit.formats.lines import Block
from audit.formats.table import objects, reader
from audit.model import RefusalCode
from tests.examples import examples
from tests.formats import contract

FLAT = {"job_id": "id", "submit_time": "t.sub", "nodes": {"column": "hosts", "unit": "items"}}
NESTED = {
    "job_id": "id",
    "submit_time": "sub",
    "start_time": "runs.beg",
    "one": "run",
    "records": "runs",
    "state_when": [{"last": True, "state": "LAST"}, {"last": False, "state": "EARLIER"}],
}


def parse(value: object, mapping: dict[str, Any], lines: bool = False) -> Parsed:
    items = value if isinstance(value, list) else [value]
    text = "\n".join(map(json.dumps, items)) + "\n" if lines else json.dumps(value, indent=1)
    return parse_text(text.encode(), mapping)


def parse_text(data: bytes, mapping: dict[str, Any]) -> Parsed:
    reading = Reading(table=TableMapping.model_validate(tuples(mapping)))
    return contract.parsed(reader.DIALECT, data, reading)


@pytest.mark.parametrize("lines", [False, True])
def test_columns_are_paths(lines: bool) -> None:
    value = [
        {"id": "a", "t": {"sub": 5}, "hosts": ["n1", "n2"]},
        {"id": 7, "t": {"sub": None}, "hosts": []},
        {"id": True, "t": [{"sub": 6}], "hosts": None},
    ]
    found = parse(value, FLAT, lines).records
    assert found["job_id"].to_list() == ["a", "7", "true"]
    assert found["submit_time"].to_list() == [5, None, 6]
    assert found["nodes"].to_list() == [2, None, None]


def test_each_record_of_an_object_is_a_row() -> None:
    value = [
        {"id": "a", "sub": 1, "runs": [{"beg": 2}, {"beg": 3}]},
        {"id": "b", "sub": 4, "runs": []},
        {"id": "c", "sub": 5},
    ]
    found = parse(value, NESTED).records
    assert found.select("job_id", "submit_time", "start_time", "state").rows() == [
        ("a", 1, 2, "EARLIER"),
        ("a", 1, 3, "LAST"),
        ("b", 4, None, "LAST"),
        ("c", 5, None, "LAST"),
    ]


def test_damage_costs_one_object() -> None:
    text = b'[{"id": 1, "t": {"sub": 5}},\n{"id": 2, "t": {"sub": 5},\n{"id": 3, "t": {"sub": 6}}]'
    found = parse_text(text, FLAT)
    assert found.records["job_id"].to_list() == ["1", "3"]
    assert found.refusals["code"].to_list() == [RefusalCode.SHAPE]
    cut = parse_text(text[:-12], FLAT)
    assert cut.refusals["code"].to_list() == [RefusalCode.SHAPE, RefusalCode.CUT]


def test_a_list_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "MOST_ITEMS", 3)
    found = parse([{"id": 1, "t": {"sub": 5}, "hosts": [*range(4)]}], FLAT)
    assert found.refusals["reason"].to_list() == ["hosts: a list of more than 3 items"]


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(st.text(max_size=5), min_size=1, max_size=6), st.booleans())
def test_blocks_may_end_before_any_object(names: list[str], lines: bool) -> None:
    value = [{"id": f"j{name}", "t": {"sub": 5}} for name in names]
    text = json.dumps(value, indent=None if lines else 1).encode()
    mark = objects.begins(text)
    whole = parse_text(text, FLAT).records["job_id"].to_list()
    found, rest = [], text
    mapping = Reading(table=TableMapping.model_validate(tuples(FLAT)))
    stated = reader.header(text, mapping)
    while rest:
        end = objects.whole(rest, mark) or len(rest)
        found += reader.parse(Block(rest[:end], 0, 1), stated).records["job_id"].to_list()
        rest = rest[end:]
    assert found == whole
    assert len(whole) == len(value)
