"""Texts that no column can store."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.formats.elements import holdable


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\N{SNOWMAN}\n", "a\N{SNOWMAN}\n"),
        ("a\0b", "a\\x00b"),
        (b"a\xffb".decode("utf-8", errors="surrogateescape"), "a\\xffb"),
        ("a\ud800b", "a\\ud800b"),
    ],
)
def test_escapes(text: str, expected: str) -> None:
    assert holdable(text) == expected


@given(st.text(st.characters(codec=None), max_size=9))
def test_any_text_can_be_held(text: str) -> None:
    held = holdable(text)
    assert pl.Series([held]).to_list() == [held]
    assert "\0" not in held
