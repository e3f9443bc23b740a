"""Cells of CSV files are harmless in spreadsheets and terminals, and keep their direction."""

import re

import duckdb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from audit.spreadsheets import PATTERN, cell, defused, visible


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t", "\r", "\n", " =", "\0=", "\u3000@", "\uff1d"]
)
def test_no_cell_is_a_formula(start: str) -> None:
    assert cell(start + "1+1")[0] == "'"
    assert duckdb.execute(f"SELECT regexp_matches(?, '{PATTERN}')", [start]).fetchone() == (True,)


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
