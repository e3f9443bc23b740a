import re
from dataclasses import replace
from xml.etree import ElementTree

from audit.report.charts import drawing
from audit.report.charts import parts as parts_chart
from audit.report.render import page as render
from tests.report.sample import HOSTILE, choice, contents, known, of_resources


def test_charts_have_shapes_beside_colours() -> None:
    made = replace(contents(), occupied=of_resources(), choice=choice(), charges=known())
    drawn = parts_chart.of_contents(made)
    assert set(drawn) == {"occupied", "penalties"}
    occupied = drawn["occupied"]
    assert occupied.title == "Account physics held 40.0 % of the CPUs and 10.0 % of the GPUs"
    assert "physics 40.0 % of the CPUs, 10.0 % of the GPUs" in occupied.alt
    tips = re.findall('<(\\w+)[^>]*data-tip="([^"]*)"', occupied.body)
    assert tips[:3] == [
        ("circle", "physics, CPUs: 40.0 %"),
        ("polygon", "physics, GPUs: 10.0 %"),
        ("rect", "physics: target 25.0 %"),
    ]
    assert "anna 0.0 % by cpu, 60.0 % by root" in drawn["penalties"].alt


def test_hostile_names_stay_text() -> None:
    names = (*HOSTILE, None)
    made = replace(contents(), occupied=of_resources(names), choice=choice(names), charges=known())
    page = render.render_html(made)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    for chart in parts_chart.of_contents(made).values():
        root = ElementTree.fromstring(drawing.inline(chart))
        assert all(text.isprintable() for text in root.itertext())
    occupied = parts_chart.occupied(of_resources(names))
    assert occupied is not None
    labels = set(re.findall(r'data-tip="([^"]*), CPUs: ', occupied.body))
    assert len(labels) == len(names) + 1
