"""The picture of a wait: on a terminal and as a chart."""

import re
from dataclasses import replace

from audit.oneoff.explain import picture
from audit.oneoff.explain.modelled import story
from tests.oneoff.explain.scenes import ORIGIN, POOL, scene


def test_a_column_shows_what_was_in_use() -> None:
    found = scene("4")
    made = story(found.described, POOL, ORIGIN + 1_000, "UTC", 3)
    assert made.subject.job_id == "4"
    drawn = picture.lines(made)
    bars = [line[11:] for line in drawn[: picture.ROWS]]
    # 160 s in 60 columns: 40 s full of earlier ones; then half of later ones; at last 3 of 4
    assert {bar[0] for bar in bars} == {"#"}
    assert [bar[20] for bar in bars] == ["+"] * 4 + ["#"] * 4
    assert [bar[-1] for bar in bars] == ["."] * 2 + ["#"] * 6
    assert "o the same user" in drawn[-1]
    assert drawn[0].startswith("        4 |")


def test_the_chart_s_areas_are_the_use() -> None:
    made = story(scene("4").described, POOL, ORIGIN + 1_000, "UTC", 3)
    chart = picture.chart(made)
    assert chart is not None
    told = re.findall('data-tip="([^"]*)"', chart.body)
    assert told[0] == "from 2001-09-09 01:47: 4 by others who had come before it of 4"
    assert any("by others who came after it" in tip for tip in told)
    assert "it asked for 3, of 4" in chart.title
    assert "by others who came after it" in chart.alt


def test_who_did_not_wait_has_no_picture() -> None:
    made = story(scene("1").described, POOL, ORIGIN + 1_000, "UTC", 0)
    assert picture.lines(made) == []
    assert picture.chart(made) is None
    assert picture.chart(replace(made, uses=())) is None
