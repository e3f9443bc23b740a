"""HTCondor's histories as XML: the contract, our capture, what XML could be made to do."""

import pytest

from audit.formats.htcondor import xml as module
from audit.model import RefusalCode
from tests.formats import contract
from tests.formats.htcondor.histories import Remembered, case, parse

NAME = "htcondor-xml"


def returned(name: str) -> str:
    return "".join(
        char if char >= " " or char in "\t\n\r" else f"\\x{ord(char):02x}" for char in name
    )


XML = case(NAME, "xml", rb"</c>\n", returned)


@pytest.mark.parametrize("check", contract.CHECKS, ids=contract.name_of)
def test_contract(check: contract.Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "typed", Remembered())
    check(XML)


def test_entities_are_not_expanded() -> None:
    entities = b'<!DOCTYPE a [<!ENTITY b "cccc"><!ENTITY d "&b;&b;">]>'
    data = XML.sample.replace(b"<s>ana</s>", b"<s>&d;</s>", 1)
    parsed = parse(entities + b"\n" + data, dialect=NAME)
    assert contract.rows(parsed) == contract.rows(XML.whole)[1:]
    assert any("undefined entity" in reason for reason in parsed.refusals["reason"])


def test_values_of_all_kinds() -> None:
    texts = {
        "<i>7</i>": "7",
        "<r>7.5</r>": "7.5",
        "<s>a&lt;b</s>": '"a<b"',
        "<s/>": '""',
        '<b v="t"/>': "true",
        "<un/>": None,
        "<e>a + b</e>": "a + b",
        "<c><a n='x'><i>1</i></a></c>": "[ ]",
    }
    for written, expected in texts.items():
        found = ads_of(f'<c><a n="Owner">{written}</a></c>')
        assert found == expected, written


def ads_of(text: str) -> str | None:
    from xml.etree import ElementTree

    from audit.formats.htcondor.records import KEYS
    from audit.formats.htcondor.xml import _texts

    return _texts(ElementTree.fromstring(text))[KEYS.index("owner")]


def test_only_the_last_ad_can_be_cut() -> None:
    """One that another follows was not cut by the end of the log: it is no XML."""
    opened = XML.records[0].replace(b"</c>\n", b"")
    parsed = parse(XML.head + opened + XML.records[1] + opened, dialect=NAME)
    assert parsed.records.height == 1
    assert parsed.refusals["code"].to_list() == [RefusalCode.SHAPE, RefusalCode.CUT]
