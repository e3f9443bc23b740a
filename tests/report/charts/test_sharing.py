import re
from dataclasses import replace
from xml.etree import ElementTree

from audit.report.charts import drawing, sharing
from audit.report.charts.sharing import usage as chart
from audit.report.render import page as render
from tests.report.sample import (
    HOSTILE,
    choice,
    contents,
    known,
    of_resources,
    pool,
    present,
    usage,
    waiting,
)


def test_curves_bear_their_gini_index() -> None:
    made = present(sharing.lorenz(waiting(pool())))
    # Amounts 0 (no attempts: no row), 3, 9, …, 243 and 10, 20, … 50 in proportion.
    assert "usage (Gini 0.61)" in made.body
    assert "waiting (Gini 0.27)" in made.body
    tips = re.findall('data-tip="([^"]*)"', made.body)
    least = "the 100 % of users with the least"
    assert tips[-1] == f"{least}: 100 % of all usage, 100 % of all waiting"
    assert len(tips) == 10


def test_a_few_users_have_no_distribution() -> None:
    part = waiting(pool())
    few = replace(part, users=replace(part.users, rows=part.users.rows[:4]))
    assert sharing.lorenz(few) is None


def test_shortfalls_bear_their_intervals_and_how_many_they_rest_on() -> None:
    made = present(sharing.shortfall(pool()))
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0].startswith("1 CPU: shortfall of 25.0 % of what they consumed (95 % interval")
    assert tips[0].endswith("; 900 attempts")


def test_each_account_has_a_dot_and_its_target() -> None:
    made = present(chart(usage()))
    assert made.title == "Account physics had 60.0 % of all usage, with a target of 20.0 %"
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[:2] == ["physics: mean 60.0 %, 60.0 % to 60.0 %", "physics: target 20.0 %"]
    assert tips[-1].startswith("3 other accounts together: ")
    assert "physics 60.0 % against a target of 20.0 %" in made.alt
    assert made.alt.endswith(".")


def test_without_targets_nothing_is_said_of_them() -> None:
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


def test_charts_have_shapes_beside_colours() -> None:
    made = replace(contents(), occupied=of_resources(), choice=choice(), charges=known())
    occupied, penalties = sharing.occupied(made.occupied), sharing.penalties(made.choice)
    assert occupied is not None
    assert penalties is not None
    assert occupied.title == "Account physics occupied 40.0 % of the CPUs and 10.0 % of the GPUs"
    assert "physics 40.0 % of the CPUs, 10.0 % of the GPUs" in occupied.alt
    tips = re.findall('<(\\w+)[^>]*data-tip="([^"]*)"', occupied.body)
    assert tips[:3] == [
        ("circle", "physics, CPUs: 40.0 %"),
        ("polygon", "physics, GPUs: 10.0 %"),
        ("rect", "physics: target 25.0 %"),
    ]
    assert "anna 0.0 % by cpu, 60.0 % by root" in penalties.alt


def test_hostile_names_stay_text() -> None:
    names = (*HOSTILE, None)
    made = replace(contents(), occupied=of_resources(names), choice=choice(names), charges=known())
    page = render.render_html(made)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    for drawn in (sharing.occupied(made.occupied), sharing.penalties(made.choice)):
        assert drawn is not None
        root = ElementTree.fromstring(drawing.inline(drawn))
        assert all(text.isprintable() for text in root.itertext())
    occupied = present(sharing.occupied(of_resources(names)))
    labels = set(re.findall(r'data-tip="([^"]*), CPUs: ', occupied.body))
    assert len(labels) == len(names) + 1
