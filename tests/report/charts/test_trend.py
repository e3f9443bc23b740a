import re
from dataclasses import replace

from audit.report.charts.trend import trend
from audit.report.record.pool import Figure, Trend, TrendPoint


def point(label: str, hours: float | None, overtaken: float | None = None) -> TrendPoint:
    wait = Figure("", None)
    if hours is not None:
        wait = Figure("", 3_600 * hours, 3_000 * hours, 4_200 * hours)
    return TrendPoint(label, 0, 1, 99, wait, Figure("", overtaken), Figure("", None))


MONTHS = Trend("month", tuple(point(f"1996-{10 + k}", 3.0 + k, 600.0) for k in range(3)))


def test_the_first_and_the_last_are_compared() -> None:
    made = trend(MONTHS)
    assert made is not None
    assert made.title == "Mean wait: 3 h in Oct 1996, 5 h in Dec 1996"
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert tips[0] == (
        "1996-10: mean wait 3 h (95 % interval 2.50 to 3.50 h), of it overtaken 10 min; 99 attempts"
    )
    assert re.findall(">(Oct|Nov|Dec)<", made.body) == ["Oct", "Nov", "Dec"]
    assert ">of it overtaken<" in made.body
    assert made.body.count("<polygon") == 1  # one band


def test_a_gap_stays_a_gap_and_one_point_is_no_trend() -> None:
    first, _, last = MONTHS.points
    made = trend(replace(MONTHS, points=(first, point("1996-11", None), last)))
    assert made is not None
    assert len(re.findall("data-tip", made.body)) == 2
    assert ">Nov<" in made.body
    assert trend(replace(MONTHS, points=(first,))) is None
    assert trend(None) is None


def test_what_is_not_known_is_not_drawn() -> None:
    points = tuple(point(f"2026-W4{k}", 1.0) for k in range(3))
    made = trend(Trend("week", points))
    assert made is not None
    assert "overtaken" not in made.body
    assert re.findall(">(W4.)<", made.body) == ["W40", "W41", "W42"]
