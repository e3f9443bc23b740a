"""The picture of a wait: on a terminal and as a chart."""

import re
from dataclasses import replace

from audit.oneoff.explain import shown
from tests.oneoff.explain.scenes import story


def test_a_column_shows_what_was_in_use() -> None:
    made = story("4")
    drawn = shown.picture(made)
    bars = [line[11:] for line in drawn[: shown.ROWS]]
    # 160 s in 60 columns: 40 s full of earlier ones; then half of later ones; at last 3 of 4
    assert {bar[0] for bar in bars} == {"#"}
    assert [bar[20] for bar in bars] == ["+"] * 4 + ["#"] * 4
    assert [bar[-1] for bar in bars] == ["."] * 2 + ["#"] * 6
    assert "o the same user" in drawn[-1]
    assert drawn[0].startswith("        4 |")


def test_the_chart_s_areas_are_the_use() -> None:
    made = story("4")
    chart = shown.chart(made)
    assert chart is not None
    told = re.findall('data-tip="([^"]*)"', chart.body)
    assert told[0] == "from 2001-09-09 01:47: 4 by others that arrived earlier of 4"
    assert any("by others that arrived later" in tip for tip in told)
    assert "it requested 3, of 4" in chart.title
    assert "by others that arrived later" in chart.alt


def test_who_did_not_wait_has_no_picture() -> None:
    made = story("1")
    assert shown.picture(made) == []
    assert shown.chart(made) is None
    assert shown.chart(replace(made, uses=())) is None


def test_long_causes_stand_last_on_a_terminal() -> None:
    """Names of rules are longer than a line, and pushed the times off the screen."""
    text = shown.as_text(story("4"))
    assert "\n  Time  Share of the wait  Cause\n" in re.sub(" {3,}", "  ", text)
    assert '<th scope="col">Cause</th><th scope="col">Time</th>' in shown.as_html(story("4"))
