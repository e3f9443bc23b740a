import json
from xml.etree import ElementTree

from audit.report.charts import drawing
from audit.report.charts.usage import usage as chart
from tests.report.sample import HOSTILE, usage


def test_each_account_has_a_panel_with_its_target() -> None:
    made = chart(usage())
    assert made is not None
    panels, others = made.spec["vconcat"]
    assert [row["target"] for row in panels["data"]["values"] if "target" in row] == [0.2, 0.2]
    assert panels["facet"]["sort"] == ["physics", "maths"]
    assert others["title"]["text"] == "3 other accounts together"
    assert "dashed" in made.title
    assert "physics 60.0 % against a target of 20.0 %" in made.alt
    assert made.alt.endswith(".")
    ElementTree.fromstring(drawing.svg(made))


def test_without_targets_there_is_no_dashed_line() -> None:
    made = chart(usage(targets=False))
    assert made is not None
    assert "strokeDash" not in json.dumps(made.spec)
    assert "target" not in made.title + made.alt


def test_hostile_names_are_titles_of_their_own() -> None:
    names = (*HOSTILE, "long" * 126, None, "(not named in the log)")
    made = chart(usage(names))
    assert made is not None
    titles = made.spec["vconcat"][0]["facet"]["sort"]
    assert len(set(titles)) == len(names)
    assert all(title.isprintable() for title in titles)
    drawn = ElementTree.fromstring(drawing.svg(made))
    assert {element.tag.rpartition("}")[2] for element in drawn.iter()} <= {
        *("svg", "g", "path", "rect", "text", "line", "title", "defs", "clipPath"),
    }
