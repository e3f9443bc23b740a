"""Pictures as a page, paper and mail have them.

That they are the same in any process, zone and order: tests/report/render/test_page.py.
"""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from audit.report.charts import drawing, style
from audit.report.charts.style import SHADES, Chart
from audit.report.render.page import charts_of
from audit.report.sections.machine.record import MachineOverTime
from audit.report.sections.passed_over import OrderTest
from audit.report.sections.waits.record import Waits
from audit.report.sections.who.record import Entities
from audit.spreadsheets import visible
from tests.report.sample import HOSTILE, having, pool, waiting, without_fair_starts

WHY = charts_of(pool())["waits"]


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
    canvas.rect(0, 0, 9, 9, style.CLAIMED, tip=name)
    canvas.tip_area(0, 0, 9, 9, name)
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


ELEMENTS = {"svg", "g", "rect", "line", "polyline", "polygon", "circle", "text"}


def test_every_chart_is_drawn_and_described_and_says_what_it_answers() -> None:
    made = charts_of(waiting(pool()))
    assert {key: chart.title for key, chart in made.items()} == {
        "why": "40 % of all waiting time passed while enough was free, without a reason in the log",
        "passed": "Later jobs that requested at least as much often started first",
        "waits": "Mean wait of jobs of 1 CPU: 10 min",
        "week": "Longest mean wait by hour of arrival: 2.8 h, Sun 23–24 h",
        "miss": "Jobs of 3–4 CPUs started latest: on average 45 min after their fair start times",
        "shortfall": "Jobs of 1 CPU have a shortfall of 25 % of what they consumed",
        "lorenz": "10 % of the users account for 33 % of all usage, 10 % for 17 % of all waiting",
        "machine": "The pool was 70 % busy; waiting work reached 31 h on 31 Oct 2026",
        "walltime": "Half of the attempts used at most 15 % of their walltime",
    }
    for key, chart in made.items():
        assert chart.key == key
        assert chart.alt.endswith(".")
        root = ElementTree.fromstring(drawing.still(chart))
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= ELEMENTS
        assert "http" not in chart.body
        assert len(chart.body) < 30_000
        assert re.search('data-tip="[^"]+"', chart.body)


def test_nothing_is_drawn_of_nothing() -> None:
    nobody = Entities("user", (), ())
    part = without_fair_starts(waiting(pool()))
    part = having(
        part, OrderTest(passed=()), hours=(), days=(), users=nobody, accounts=nobody, widths=()
    )
    assert charts_of(having(part, MachineOverTime(), Waits())) == {}


def test_attempts_of_unknown_width_are_not_drawn() -> None:
    part = waiting(pool())
    unknown = replace(part.widths[0], label="unknown")
    made = charts_of(replace(part, widths=(*part.widths, unknown)))
    assert not any("unknown" in chart.body for chart in made.values())


@pytest.mark.parametrize("name", [*HOSTILE, "".join(HOSTILE)])
def test_hostile_names_leave_the_picture_whole(name: str) -> None:
    part = replace(waiting(pool(name), name), resource=name)
    for chart in charts_of(part).values():
        root = ElementTree.fromstring(drawing.inline(chart))
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= ELEMENTS
        assert all(text.isprintable() for text in root.itertext())


def test_marks_stand_within_the_picture() -> None:
    for chart in charts_of(waiting(pool())).values():
        root = ElementTree.fromstring(drawing.still(chart))
        for element in root.iter():
            for name, most in (("x", 520), ("cx", 520), ("x2", 520), ("y", chart.height)):
                if name in element.attrib and element.tag.endswith(("rect", "line", "circle")):
                    assert -1 <= float(element.attrib[name]) <= most + 1, (chart.key, name)
