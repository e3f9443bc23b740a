import json
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

from audit.report.charts import drawing
from audit.report.charts import parts as parts_chart
from audit.report.render import page as render
from tests.report.sample import HOSTILE, choice, contents, known, of_resources


def test_charts_have_shapes_and_dashes_beside_colours() -> None:
    made = replace(contents(), occupied=of_resources(), choice=choice(), charges=known())
    drawn = parts_chart.of_contents(made)
    assert set(drawn) == {"occupied", "occupied_over_time", "penalties"}
    dots = drawn["occupied"].spec["layer"][0]
    assert dots["encoding"]["shape"]["scale"]["range"] == ["circle", "square"]
    ticks = drawn["occupied"].spec["layer"][1]["data"]["values"]
    assert ticks == [{"of": "physics", "part": 0.25}, {"of": "maths", "part": 0.25}]
    (panels,) = drawn["occupied_over_time"].spec["vconcat"]
    assert panels["facet"]["sort"] == ["physics", "maths"]
    assert "strokeDash" in panels["spec"]["layer"][0]["encoding"]
    assert "physics 40.0 % of the CPUs, 10.0 % of the GPUs" in drawn["occupied"].alt
    assert "anna 0.0 % by cpu, 60.0 % by root" in drawn["penalties"].alt
    for chart in drawn.values():
        ElementTree.fromstring(drawing.svg(chart))


def test_hostile_names_stay_text() -> None:
    names = (*HOSTILE, None)
    made = replace(contents(), occupied=of_resources(names), choice=choice(names), charges=known())
    page = render.render_html(made)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    for chart in parts_chart.of_contents(made).values():
        labels = {row["of"] for row in _rows(chart.spec)}
        assert all(label.isprintable() for label in labels)
        tags = {
            element.tag.rpartition("}")[2]
            for element in ElementTree.fromstring(drawing.svg(chart)).iter()
        }
        assert tags <= {"svg", "g", "path", "rect", "text", "line", "title", "defs", "clipPath"}
    titles = parts_chart.occupied(of_resources(names))
    assert titles is not None
    assert len({row["of"] for row in _rows(titles.spec)}) == len(names) + 1


def _rows(spec: object) -> Iterator[dict[str, str]]:
    """All rows of data in a specification."""
    if isinstance(spec, dict):
        for key, value in spec.items():
            if key == "values":
                yield from value
            else:
                yield from _rows(value)
    elif isinstance(spec, list):
        for item in spec:
            yield from _rows(item)


def test_specifications_are_json() -> None:
    made = replace(contents(), occupied=of_resources(), choice=choice(), charges=known())
    for chart in parts_chart.of_contents(made).values():
        json.dumps(chart.spec, allow_nan=False)
