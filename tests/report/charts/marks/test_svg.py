import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.report.charts.marks.svg import Canvas, number, shortened, text, width_of


@given(st.text())
def test_no_text_ends_what_it_stands_in(says: str) -> None:
    assert not set('<>"') & set(text(says))


@given(st.text(max_size=60), st.floats(20, 300))
def test_a_text_is_shortened_to_its_width(says: str, room: float) -> None:
    short = shortened(says, room)
    assert width_of(short) <= room
    assert short == says or "…" in short


def test_long_names_lose_whole_words_first() -> None:
    name = "daytime closure for jobs over 2 h ends"
    assert shortened(name, width_of(name) - 1) == "daytime closure for jobs … 2 h ends"


def test_coordinates_are_short() -> None:
    assert [number(value) for value in (1.0, 0.25, -0.04, 12.345)] == ["1", "0.2", "0", "12.3"]
    for value in (math.nan, math.inf):
        with pytest.raises(ValueError, match="cannot be drawn"):
            number(value)


def test_marks_are_written_in_order_and_what_one_points_at_above_them() -> None:
    canvas = Canvas()
    canvas.tip_area(0, 0, 5, 5, "here")
    canvas.rect(1, 2, 3, 4, "var(--own)", tip="so < so")
    canvas.rect(1, 2, 0, 4, "var(--own)")
    canvas.line((0, 0), (9, 0.5), "var(--line)")
    canvas.dot((3, 3), "square", "var(--later)")
    canvas.text((1, 2), "a & b", anchor="end")
    assert canvas.body == (
        '<rect x="1" y="2" width="3" height="4" fill="var(--own)" data-tip="so &lt; so"/>'
        '<line x1="0" y1="0" x2="9" y2="0.5" stroke="var(--line)" stroke-width="1"/>'
        '<polygon points="-1.5,-1.5 7.5,-1.5 7.5,7.5 -1.5,7.5" fill="var(--later)" '
        'stroke="var(--paper)" stroke-width="1"/>'
        '<text x="1" y="2" fill="var(--ink)" text-anchor="end">a &amp; b</text>'
        '<g fill="none" pointer-events="all">'
        '<rect data-tip="here" x="0" y="0" width="5" height="5"/></g>'
    )
