import re
from dataclasses import replace

from audit.report.charts.machine import machine
from audit.report.record.pool import Breakdown, Flood, Pictured
from tests.report.sample import figure, pool, waiting


def test_a_day_is_what_one_points_at() -> None:
    made = machine(waiting(pool()))
    assert made is not None
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert len(tips) == 2 * 31
    assert tips[0] == "1 Oct 2026: 3.2 % busy"
    assert tips[-1] == "31 Oct 2026: 31 h of work waiting"
    assert "half of the days 16 h of work or less" in made.alt


def test_long_periods_are_drawn_by_week() -> None:
    days = tuple(
        Breakdown(f"20{year}-{month:02}-{day:02}", (figure("utilization", 0.5),))
        for year in range(10, 14)
        for month in range(1, 13)
        for day in range(1, 29)
    )
    made = machine(replace(pool(), days=days, pictured=Pictured()))
    assert made is not None
    assert "weekly means" in made.body
    assert len(made.body) < 20_000
    assert "1 Jan 2010 to" in made.body


def test_floods_are_marked() -> None:
    part = waiting(pool())
    plain = machine(part)
    floods = (
        Flood("2026-10-03", "anna", 12, 9e4),
        Flood("2026-10-04", "cyd", 80, 8e4),  # too close to a larger one
        Flood("2026-10-20", "<script>", 10, 7e4),
        Flood("2026-11-20", "dot", 10, 6e4),  # on a day that is not drawn
    )
    marked = machine(replace(part, pictured=replace(part.pictured, floods=floods)))
    assert plain is not None
    assert marked is not None
    assert "Grey" not in plain.note
    assert "at least 25 % of a day" in marked.note
    assert re.findall(">user ([^<]*)<", marked.body) == ["anna", "&lt;script&gt;"]


def test_work_of_days_that_the_log_does_not_tell_of_is_left_out() -> None:
    part = waiting(pool())
    work = (("2026-09-01", 1e9), *part.pictured.waiting_work)
    made = machine(replace(part, pictured=Pictured(work)))
    assert made is not None
    assert "31 h of work waited, on 31 Oct 2026" in made.title
