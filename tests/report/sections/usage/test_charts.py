"""Fractions of usage, drawn."""

import re
from dataclasses import replace
from xml.etree import ElementTree

from audit.report.charts import drawing
from audit.report.render import page as render
from audit.report.sections.usage import shown as usage_charts
from audit.report.sections.usage.shown import usage as chart
from tests.report.sample import HOSTILE, choice, contents, known, of_resources, present, usage


def test_each_account_has_a_dot_and_its_target() -> None:
    made = present(chart(usage()))
    assert made.title == "Account physics had 60.0 % of all usage, with a target of 20.0 %"
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[:2] == ["physics: mean 60.0 %, 60.0 % to 60.0 %", "physics: target 20.0 %"]
    assert tips[-1].startswith("3 other accounts together: ")
    assert "physics 60.0 % against a target of 20.0 %" in made.alt
    assert made.alt.endswith(".")


def test_without_targets_nothing_is_stated_of_them() -> None:
    made = present(chart(usage(targets=False)))
    assert "target" not in made.title + made.alt + made.body
    assert made.title == "Account physics used most: 60.0 % of all usage"


def test_hostile_names_are_labels_of_their_own() -> None:
    names = (*HOSTILE, "long" * 126, None, "(not named in the log)")
    made = present(chart(usage(names)))
    root = ElementTree.fromstring(drawing.inline(made))
    assert all(text.isprintable() for text in root.itertext())
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert len(set(tips)) == 2 * len(names) + 1


def test_hostile_names_stay_text() -> None:
    names = (*HOSTILE, None)
    made = replace(contents(), occupied=of_resources(names), choice=choice(names), charges=known())
    page = render.render_html(made)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    for drawn in (usage_charts.occupied(made.occupied), usage_charts.penalties(made.choice)):
        assert drawn is not None
        root = ElementTree.fromstring(drawing.inline(drawn))
        assert all(text.isprintable() for text in root.itertext())
    occupied = present(usage_charts.occupied(of_resources(names)))
    labels = set(re.findall(r'data-tip="([^"]*), CPUs: ', occupied.body))
    assert len(labels) == len(names) + 1
