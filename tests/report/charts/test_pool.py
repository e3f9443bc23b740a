import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from audit.report.charts import drawing
from audit.report.charts import pool as charts
from audit.report.record.pool import Entities, Pictured
from tests.report.sample import HOSTILE, pool, waiting, without_fair_starts

ELEMENTS = {"svg", "g", "rect", "line", "polyline", "polygon", "circle", "text"}


def test_every_chart_is_drawn_and_described_and_says_what_it_answers() -> None:
    made = charts.of_pool(waiting(pool()))
    assert {key: chart.title for key, chart in made.items()} == {
        "why": "40 % of all waiting passed with room; for over 128 CPUs, 50 % behind later "
        "arrivals",
        "peers": "User anna waits 3.1 times as long as others with jobs alike",
        "waits": "Jobs of 1 CPU wait 10 min in the mean",
        "week": "Who arrives on Sun 23–24 h waits longest: 2.8 h in the mean",
        "miss": "Jobs of 3–4 CPUs started latest, 45 min after their fair start times",
        "shortfall": "Jobs of 1 CPU went short of 25 % of what they used",
        "lorenz": "A tenth of the users used 33 % of all and did 17 % of the waiting",
        "machine": "The pool was 70 % busy; at most 31 h of work waited, on 31 Oct 2026",
        "walltime": "Half of the attempts used 15 % of their walltime or less",
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
    nobody = Entities("user", (), (), ())
    part = without_fair_starts(waiting(pool()))
    part = replace(part, hours=(), days=(), users=nobody, accounts=nobody, widths=())
    assert charts.of_pool(replace(part, pictured=Pictured())) == {}


def test_attempts_of_unknown_width_are_not_drawn() -> None:
    part = waiting(pool())
    unknown = replace(part.widths[0], label="unknown")
    made = charts.of_pool(replace(part, widths=(*part.widths, unknown)))
    assert not any("unknown" in chart.body for chart in made.values())


@pytest.mark.parametrize("name", [*HOSTILE, "".join(HOSTILE)])
def test_hostile_names_leave_the_picture_whole(name: str) -> None:
    part = replace(waiting(pool(name), name), resource=name)
    for chart in charts.of_pool(part).values():
        root = ElementTree.fromstring(drawing.inline(chart))
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= ELEMENTS
        assert all(text.isprintable() for text in root.itertext())


def test_marks_stand_within_the_picture() -> None:
    for chart in charts.of_pool(waiting(pool())).values():
        root = ElementTree.fromstring(drawing.still(chart))
        for element in root.iter():
            for name, most in (("x", 520), ("cx", 520), ("x2", 520), ("y", chart.height)):
                if name in element.attrib and element.tag.endswith(("rect", "line", "circle")):
                    assert -1 <= float(element.attrib[name]) <= most + 1, (chart.key, name)
