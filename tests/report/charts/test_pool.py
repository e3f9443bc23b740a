import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from audit.report.charts import drawing, series
from audit.report.charts import pool as charts
from audit.report.charts.style import Chart
from audit.report.contents import Entities, Step
from tests.report.sample import (
    HOSTILE,
    figure,
    pool,
    without_fair_starts,
)


def test_every_chart_is_drawn_and_described() -> None:
    made = charts.of_pool(pool())
    assert list(made) == [
        "miss",
        "missed",
        "miss_week",
        "shortfall_share",
        "shortfall",
        "nuwt",
        "waits",
        "week",
        "utilization",
        "queued",
    ]
    for chart in made.values():
        drawn = ElementTree.fromstring(drawing.svg(chart))
        assert chart.alt.endswith(".")
        assert chart.spec["description"] == chart.alt
        assert "DejaVu Sans" in ElementTree.tostring(drawn, "unicode")
        assert not [said for said in _notes(chart) if said]


def _notes(chart: Chart) -> list[str]:
    """Nothing in a chart points outside the page."""
    data = dict(chart.spec)
    data.pop("$schema", None)
    return [text for text in (json.dumps(data),) if "http" in text]


def test_nothing_is_drawn_of_nothing() -> None:
    nobody = Entities("user", (), (), ())
    part = without_fair_starts(pool())
    part = replace(part, hours=(), days=(), users=nobody, accounts=nobody)
    assert charts.of_pool(part) == {}


def test_attempts_of_unknown_width_are_not_drawn() -> None:
    unknown = replace(pool().widths[0], label="unknown")
    made = charts.of_pool(replace(pool(), widths=(*pool().widths, unknown)))
    assert "unknown" not in json.dumps(made["waits"].spec)


def _drawn(steps: tuple[Step, ...]) -> list[dict[str, float]]:
    part = replace(pool(), users=Entities("user", (), (), steps), accounts=pool().users)
    part = replace(part, accounts=Entities("account", (), (), ()))
    values: list[dict[str, float]] = charts.of_pool(part)["nuwt"].spec["data"]["values"]
    return values


def test_the_distribution_is_thinned_to_pixels_and_ends_at_the_cut() -> None:
    steps = tuple(Step(number / 1_000, (number + 1) / 20_000) for number in range(20_000))
    drawn = _drawn(tuple(step for step in steps if step.nuwt <= series.NUWT_CUT))
    assert len(drawn) < 700
    assert (drawn[0]["nuwt"], drawn[0]["share"]) == (0, 0.0)
    assert (drawn[-1]["nuwt"], drawn[-1]["share"]) == (series.NUWT_CUT, steps[10_000].share)
    # What is drawn at any pixel is the value of the distribution there, not near it.
    assert all(Step(point["nuwt"], point["share"]) in steps for point in drawn[1:-1])


def test_the_axis_ends_early_where_all_values_are_small() -> None:
    drawn = _drawn((Step(0.001, 0.5), Step(0.13, 1.0)))
    assert drawn[-1] == {"of": "users", "nuwt": 0.2, "share": 1.0}


def test_long_periods_are_drawn_by_week() -> None:
    day = pool().days[0]
    part = replace(
        pool(), days=tuple(replace(day, label=f"{2000 + n // 300}-01-01") for n in range(1_400))
    )
    assert len(charts.of_pool(part)["utilization"].spec["data"]["values"]) == 200


@pytest.mark.parametrize("name", [*HOSTILE[:4], "".join(HOSTILE)])
def test_hostile_names_leave_the_picture_whole(name: str) -> None:
    part = replace(pool(name), resource=name, hours=(), days=())
    for chart in charts.of_pool(part).values():
        drawn = drawing.svg(chart)
        root = ElementTree.fromstring(drawn)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {
            *("svg", "g", "path", "rect", "text", "defs", "linearGradient", "stop", "clipPath"),
            *("line", "title"),
        }


def test_the_week_is_drawn_where_hours_can_be_told_apart() -> None:
    part = pool()
    assert charts.miss_week(part) is not None
    for value, attempts in ((0.0, 40), (60.0, 5)):
        figures = (figure("miss_strict_mean", value, unit="s", attempts=attempts),)
        hours = tuple(replace(hour, figures=figures) for hour in part.hours)
        assert charts.miss_week(replace(part, hours=hours)) is None
