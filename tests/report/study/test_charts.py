"""Parts of charts that several studies share."""

import re
from typing import Any

import pytest

from audit.report.charts.style import DASHES, SERIES
from audit.report.study.charts import Layout, Value, ends, heat_map, several


def test_series_differ_in_colour_and_in_dash_or_shape() -> None:
    lines, dots = several("abcdef"), several("abcdef", "dot")
    assert len({of.colour for of in lines}) == len({of.dash for of in lines}) == 6
    assert len({of.shape for of in dots}) == 6
    assert (lines[1].colour, lines[1].dash, lines[1].shape) == (SERIES[1], DASHES[1], "line")


@pytest.mark.parametrize(
    ("scale", "strengths"),
    [
        ({}, [0.53, 1.0, 0.06]),
        ({"most": 5.0}, [0.81, 1.0, 0.06]),
        ({"logarithmic": True}, [0.69, 1.0, 0.06]),
    ],
)
def test_the_greatest_value_has_the_full_colour(
    scale: dict[str, Any], strengths: list[float]
) -> None:
    values = [Value("p", "r", x + 1, value, f"{value}") for x, value in enumerate((4, 8, 0, None))]
    layout = Layout(["p"], ["r"], "X", "L", x_values=[1, 2])._replace(**scale)
    chart = heat_map("k", "T", "Alt.", values, layout)
    told = re.findall(
        r'fill="var\(--(\w+)\)" fill-opacity="([^"]*)" data-tip="([^"]*)"', chart.body
    )
    assert [float(opacity) for fill, opacity, _ in told[:3]] == strengths
    assert told[0][2] == "p, r, X 1: 4"
    assert [fill for fill, _, _ in told] == ["earlier"] * 3 + ["line"]
    assert ">1<" in chart.body
    assert ">3<" not in chart.body


def test_a_title_names_the_least_and_the_most() -> None:
    assert ends({"easy": 2.0, "sjf": 1.0, "fcfs": 9.0}, str) == "1.0 with sjf, 9.0 with fcfs"
    assert ends({"easy": 2.0, "sjf": 2.0}, str) == "all the same, 2.0"
