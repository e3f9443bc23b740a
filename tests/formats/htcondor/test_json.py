"""HTCondor's histories as JSON: arrays, lines, what others make of them, damage."""

import json

import pytest

from audit.formats import dialects
from audit.formats.htcondor import json as module
from tests.formats import contract
from tests.formats.htcondor.histories import AD, Remembered, case, parse

NAME = "htcondor-json"


def returned(name: str) -> str:
    return name.replace("\0", "\\x00")


ARRAY = case(NAME, "json", rb"\n\}", returned)
LINES = case(NAME, "jsonl", rb"\}\n", returned)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "typed", Remembered())
    check(ARRAY)


@pytest.mark.parametrize("check", contract.OF_FORMS, ids=contract.name_of)
def test_contract_of_lines(check: contract.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "typed", Remembered())
    check(LINES)


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_what_another_program_wrote_anew(indent: int | None) -> None:
    found = [{**AD, "ProcId": n, "Args": "}, {", "Env": '{"a": 1}, {"b": 2}'} for n in range(5)]
    data = json.dumps(found, indent=indent).encode()
    assert dialects.detect(data, "x").name == NAME
    parsed = parse(data, dialect=NAME)
    assert parsed.refusals.is_empty()
    assert parsed.records["array_task"].to_list() == [0, 1, 2, 3, 4]


def test_ads_within_an_ad_are_no_jobs() -> None:
    inner = {"ClusterId": 99, "ProcId": 0, "QDate": 1}
    parsed = parse(
        json.dumps([{**AD, "ToE": inner, "List": [inner, inner]}] * 3).encode(), dialect=NAME
    )
    assert parsed.refusals.is_empty()
    assert parsed.records["job_number"].to_list() == [7, 7, 7]


def test_damage_is_shown() -> None:
    data = ARRAY.sample.replace(b'"QDate":', b'"QDate";', 1)
    parsed = parse(data, dialect=NAME)
    assert (
        parsed.refusals["reason"].item().startswith("is not JSON: Expecting ':' delimiter before")
    )
    assert contract.rows(parsed) == contract.rows(ARRAY.whole)[1:]


@pytest.mark.parametrize("indent", [None, 4])
@pytest.mark.parametrize(
    "stream",
    [
        "{0}\n{1}\n{2}\n",
        "{0}{1}{2}",
        "[\n{0}\n,\n{1}\n]\n[\n{2}\n]\n",
        "[{0}]\n[{1}]\n[{2}]\n",
        "[\n]\n[]\n[{0},{1},{2}]\n[\n]\n",
    ],
)
def test_streams_of_several_commands_are_read(stream: str, indent: int | None) -> None:
    ads = [json.dumps({**AD, "ProcId": number}, indent=indent) for number in range(3)]
    data = stream.format(*ads).encode()
    assert dialects.detect(data, "x").name == NAME
    parsed = parse(data, dialect=NAME)
    assert parsed.refusals.is_empty()
    assert parsed.records["array_task"].to_list() == [0, 1, 2]
