"""Pictures as a page, paper and mail have them.

That they are the same in any process, zone and order: tests/report/render/test_page.py.
"""

import re
from xml.etree import ElementTree

import pytest

from audit.report.charts import drawing, style
from audit.report.charts import pool as charts
from audit.report.charts.style import SHADES, Chart
from audit.spreadsheets import visible
from tests.report.sample import HOSTILE, pool

WHY = charts.of_pool(pool())["waits"]


def test_a_page_s_picture_takes_the_page_s_colours() -> None:
    drawn = drawing.inline(WHY)
    assert 'role="img"' in drawn
    assert set(re.findall(r"#\w{6}", drawn)) == set()
    assert set(re.findall(r"var\(--(\w+)\)", drawn)) <= set(SHADES)
    assert "data-tip" in drawn


def test_a_picture_by_itself_is_light_and_has_nothing_to_point_at() -> None:
    drawn = drawing.still(WHY)
    root = ElementTree.fromstring(drawn)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert "var(" not in drawn
    assert "data-tip" not in drawn
    assert SHADES["later"].light in drawn
    assert drawing.still(WHY) == drawn


@pytest.mark.parametrize("name", [*HOSTILE, "var(--ink)", '"var(--none)"', "</g><g>", "]]>"])
def test_a_hostile_text_is_text_in_either(name: str) -> None:
    from audit.report.charts.marks.svg import Canvas

    canvas = Canvas()
    canvas.text((0, 10), name)
    canvas.rect(0, 0, 9, 9, style.ROOM, tip=name)
    canvas.area_to_point_at(0, 0, 9, 9, name)
    chart = Chart("k", "T", name, canvas.body, 20)
    for drawn in (drawing.inline(chart), drawing.still(chart)):
        root = ElementTree.fromstring(drawn)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "g", "rect", "text"}
        (text,) = (element for element in root.iter() if element.tag.endswith("text"))
        assert (text.text or "") == visible(name)
    assert drawing.png(chart, 1).startswith(b"\x89PNG")


@pytest.mark.parametrize("fonts", [True, False])
def test_a_mail_s_picture_shows_its_text(fonts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a font, all text would vanish silently; any font of the system is better."""
    from audit.report.charts.marks.svg import Canvas

    if not fonts:
        monkeypatch.setattr(drawing, "_fonts", list)
    drawn = []
    for words in ("Waits", "", "Weits"):
        canvas = Canvas()
        canvas.text((0, 10), words)
        drawn.append(drawing.png(Chart("k", "T", "alt", canvas.body, 20), 1))
    assert len(set(drawn)) == 3


def test_a_mail_s_picture_has_so_many_pixels() -> None:
    made = drawing.png(WHY, 1.5)
    assert int.from_bytes(made[16:20], "big") == round(1.5 * (style.WIDTH + 4))
    assert drawing.png(WHY, 1.5) == made
