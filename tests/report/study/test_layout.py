"""Pages from their texts, and that every text is complete."""

import math
from pathlib import Path
from typing import NamedTuple

import pytest

from audit import resources
from audit.report.study import layout
from audit.report.study.page import Section, Table, TableColumn

TEXT = """
# About {log}

Found {number}
of them.

- Seed: {number}
- pools

> A paper.

## first: Of {log}

A paragraph
of two lines.

[table {log}-a] Caption
columns: Who | F(0, x) <at_0 number> |
  Share of all <percent>
note: A note.
shown: 1

[words]

## last: More

[table b] All
shown: all
"""


@pytest.fixture(autouse=True)
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.txt").write_text(TEXT, encoding="utf-8")
    monkeypatch.setattr(resources, "path", lambda name: tmp_path / Path(name).name)
    layout._read.cache_clear()


class Row(NamedTuple):
    share_of_all: float
    at_0: int
    who: str


VALUES = {"log": "[table x]", "number": 3}
PARTS = {
    "pools": [("Pool a", "4 cpus")],
    "[table x]-a": [
        Row(0.5, 1, "ann"),
        ("bob", math.nan, 0.25),
        {"who": "c", "at_0": None, "share_of_all": 0.0},
    ],
    "words": ["One.", "Two."],
    "b": ((TableColumn("A", "a"),), [(k,) for k in range(50)]),
}


def test_a_page_is_its_text_with_the_parts_of_the_study() -> None:
    made = layout.study("mine", PARTS, VALUES)
    assert (made.key, made.title, made.lead) == ("mine", "About [table x]", "Found 3 of them.")
    assert made.settings == (("Seed", "3"), ("Pool a", "4 cpus"))
    assert made.sources == ("A paper.",)
    first, last = made.sections
    assert (first.title, last.title) == ("Of [table x]", "More")
    paragraph, table, *words = first.parts
    assert (paragraph, words) == ("A paragraph of two lines.", ["One.", "Two."])
    assert isinstance(table, Table)
    assert (table.caption, table.note, table.shown) == ("Caption", "A note.", 1)
    assert table.rows == (("ann", 1, 0.5), ("bob", None, 0.25), ("c", None, 0.0))
    assert isinstance(last.parts[0], Table)
    assert last.parts[0].shown == 50


def test_columns_have_a_title_a_name_and_a_kind() -> None:
    found = [
        (of.title, of.name, of.kind) for of in layout.columns("Left out | F(0, x) <at_0 number>")
    ]
    assert found == [("Left out", "left_out", "text"), ("F(0, x)", "at_0", "number")]


def test_a_study_may_choose_its_sections() -> None:
    own = Section("Own", ())
    assert layout.study("mine", PARTS, VALUES, [own]).sections == (own,)


def test_what_a_text_needs_must_be_given() -> None:
    with pytest.raises(KeyError, match="words"):
        layout.section("mine", "first", {"[table x]-a": []}, VALUES)
    with pytest.raises(KeyError, match="log"):
        layout.section("mine", "first", PARTS, {})
