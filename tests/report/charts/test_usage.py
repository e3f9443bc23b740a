import re
from xml.etree import ElementTree

from audit.report.charts import drawing
from audit.report.charts.usage import usage as chart
from tests.report.sample import HOSTILE, usage


def test_each_account_has_a_dot_and_its_target() -> None:
    made = chart(usage())
    assert made is not None
    assert made.title == "Account physics had 60.0 % of all usage; promised were 20.0 %"
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[:2] == ["physics: 60.0 % in the mean, 60.0 % to 60.0 %", "physics: target 20.0 %"]
    assert tips[-1].startswith("3 other accounts together: ")
    assert "physics 60.0 % against a target of 20.0 %" in made.alt
    assert made.alt.endswith(".")


def test_without_targets_nothing_is_said_of_them() -> None:
    made = chart(usage(targets=False))
    assert made is not None
    assert "target" not in made.title + made.alt + made.body
    assert made.title == "Account physics used most: 60.0 % of all"


def test_hostile_names_are_labels_of_their_own() -> None:
    names = (*HOSTILE, "long" * 126, None, "(not named in the log)")
    made = chart(usage(names))
    assert made is not None
    root = ElementTree.fromstring(drawing.inline(made))
    assert all(text.isprintable() for text in root.itertext())
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert len({tip.partition(": 0")[0] for tip in tips}) == len(set(tips)) == 2 * len(names) + 1
