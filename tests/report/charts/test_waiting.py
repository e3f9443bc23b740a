import re
from dataclasses import replace

from audit.registry.causes import CAUSES
from audit.report.charts import waiting
from audit.report.charts.style import Chart
from audit.report.charts.waiting import miss
from audit.report.record.pool import Breakdown
from tests.report import sample
from tests.report.sample import figure, pool, present, without_fair_starts


def tips(chart: Chart | None) -> list[str]:
    assert chart is not None
    return re.findall('data-tip="([^"]*)"', chart.body)


def test_a_bar_is_divided_by_what_they_waited_for() -> None:
    made = present(waiting.why(sample.waiting(pool())))
    assert set(tips(made)) >= {
        "1 CPU, unexplained: 50.0 % (95 % interval 5.0 to 60.0 %)",
        "1 CPU, for a job ahead that was about to start: 20.0 % (95 % interval 5.0 to 60.0 %)",
    }
    assert "outage" not in made.body
    wide = re.findall(r'width="([\d.]+)" height="16" fill="var\(--(\w+)\)"', made.body)
    drawn = [float(width) + 1 for width, name in wide if name == "unexplained"]
    assert [round(width / drawn[0], 2) for width in drawn] == [1.0, 0.6, 0.2]
    assert made.title.startswith("40 % of all waiting time passed while enough was free")
    assert made.alt.startswith("Bars divided by cause of waiting. 1 CPU: ")


def test_where_nobody_waited_there_is_nothing_to_divide() -> None:
    assert waiting.why(pool()) is None
    nothing = tuple(figure(cause.share, 0.0) for cause in CAUSES)
    part = replace(pool(), widths=(Breakdown("1", nothing),))
    assert waiting.why(part) is None


def test_few_arrivals_do_not_set_the_scale() -> None:
    part = pool()
    last = replace(part.hours[-1], figures=(figure("wait_mean", 1e9, unit="s", attempts=2),))
    made = present(waiting.week(replace(part, hours=(*part.hours[:-1], last))))
    assert "Sun 22–23 h" in made.title
    assert "few arrivals" in made.body
    assert len(tips(made)) == 168


def test_dots_of_waits_say_what_they_are_of() -> None:
    made = waiting.waits(pool())
    assert tips(made)[0] == "1 CPU, median: 0 s; 900 attempts"


def test_misses_stand_below_each_other() -> None:
    made = present(miss(pool()))
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0].startswith("all attempts, delivered: 30 min (95 % interval")
    assert tips[1].startswith("all attempts, strict: ")
    assert tips[2].startswith("all attempts, relaxed: ")
    assert tips[3].startswith("1 CPU, delivered: ")
    assert made.alt.startswith("Dots with 95 % intervals. Mean miss of the fair start time")
    assert miss(without_fair_starts(pool())) is None
