"""The causes of waiting, drawn."""

import re
from dataclasses import replace

from audit.registry.causes import CAUSES
from audit.report.figures import Breakdown
from audit.report.sections.causes import section as causes_charts
from tests.report import sample
from tests.report.sample import figure, pool, present
from tests.report.tips import tips


def test_a_bar_is_divided_by_what_they_waited_for() -> None:
    made = present(causes_charts.why(sample.waiting(pool())))
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
    assert causes_charts.why(pool()) is None
    nothing = tuple(figure(cause.share, 0.0) for cause in CAUSES)
    part = replace(pool(), widths=(Breakdown("1", nothing),))
    assert causes_charts.why(part) is None
