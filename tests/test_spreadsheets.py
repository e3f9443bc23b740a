"""Cells of CSV files are harmless in spreadsheets and terminals, and keep their direction."""

import re

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.analyst.answers import _defused
from audit.spreadsheets import cell, defused, visible


def in_duckdb(text: str) -> str:
    found = duckdb.execute(f"SELECT {_defused('$text')}", {"text": text}).fetchone()
    assert found is not None
    return str(found[0])


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\0=", "\u3000@", "\uff1d"]
)
def test_no_cell_is_a_formula(start: str) -> None:
    assert cell(start + "1+1")[0] == "'"
    assert in_duckdb(start + "1+1")[0] == "'"


@pytest.mark.parametrize("between", [";", "|", "\t", "\n", "; ", "; \t", ";;", "|\0"])
def test_no_part_of_a_cell_is_a_formula_where_a_spreadsheet_splits_it(between: str) -> None:
    for text in (defused(f"a{between}=cmd(1)"), in_duckdb(f"a{between}=cmd(1)")):
        assert not any(
            re.match(r"[\s\0]*[=+@-]", part) for part in re.split(r"[;|\t\r\n]", text)[1:]
        )
        assert text.replace("'", "") == f"a{between}=cmd(1)"


def test_what_steers_a_terminal_or_turns_writing_shows_as_its_code_point() -> None:
    assert cell("\x1b[31mred\x07\u202e\u2066x\rover") == r"\x1b[31mred\x07\u202e\u2066x\rover"
    assert cell("ünï–çødé 数据\u00a0\u3000 two\nlines\tand tab") == (
        "ünï–çødé 数据\u00a0\u3000 two\nlines\tand tab"
    )
    assert cell(None) == cell("") == ""


@given(st.text(max_size=6))
@example("\ud800")
def test_nothing_unseen_is_left_and_the_rest_stays(text: str) -> None:
    shown = visible(text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ud800]", shown)
    assert visible(shown) == shown
    shown.encode()
    if text.isprintable():
        assert shown == text
    assert defused(defused(text)) == defused(text)
    if "\0" not in text and "\ud800" not in text:
        assert in_duckdb(text) == defused(text)
