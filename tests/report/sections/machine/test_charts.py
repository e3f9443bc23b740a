"""The machine over time, drawn."""

import re
from dataclasses import replace

import pytest

from audit.report.figures import Breakdown
from audit.report.sections.machine.record import Burst, MachineOverTime
from audit.report.sections.machine.section import machine
from tests.report.sample import figure, having, pool, present, waiting


def test_a_day_is_what_one_points_at() -> None:
    made = present(machine(waiting(pool())))
    tips = re.findall('data-tip="([^"]*)"', made.body)
    assert len(tips) == 2 * 31
    assert tips[0] == "1 Oct 2026: 3.2 % busy"
    assert tips[-1] == "31 Oct 2026: 31 h of waiting work"
    assert "Median waiting work by day: 16 h." in made.alt


def test_long_periods_are_drawn_by_week() -> None:
    days = tuple(
        Breakdown(f"20{year}-{month:02}-{day:02}", (figure("utilization", 0.5),))
        for year in range(10, 14)
        for month in range(1, 13)
        for day in range(1, 29)
    )
    made = present(machine(having(pool(), MachineOverTime(), days=days)))
    assert "weekly means" in made.body
    assert len(made.body) < 20_000
    assert "1 Jan 2010 to" in made.body


def test_the_largest_bursts_are_marked() -> None:
    part = waiting(pool())
    plain = machine(part)
    bursts = (
        Burst("2026-10-02", "2026-10-04", "anna"),
        Burst("2026-10-04", "2026-10-05", "cyd"),  # too close to a larger one
        Burst("2026-10-20", "2026-10-20", "<script>"),
        Burst("2026-11-20", "2026-11-20", "dot"),  # after the days that are drawn
    )
    marked = machine(having(part, replace(part[MachineOverTime], bursts=bursts)))
    assert plain is not None
    assert marked is not None
    assert "Grey" not in plain.note
    assert "the largest bursts" in marked.note
    assert re.findall(">user ([^<]*)<", marked.body) == ["anna", "&lt;script&gt;"]


def test_outages_are_shaded_and_in_the_legend() -> None:
    """Both panels show those of the days that are drawn, on the cluster's clock."""
    part = waiting(pool())
    begin = 1_791_763_200  # 2026-10-12 02:00 in Berlin
    outages = ((begin, begin + 86_400), (1_000_000_000, 1_000_003_600))
    plain = machine(replace(part, zone="Europe/Berlin"))
    over = replace(part[MachineOverTime], outages=outages)
    shaded = machine(having(part, over, zone="Europe/Berlin"))
    assert plain is not None
    assert shaded is not None
    assert "outage" not in plain.body + plain.alt
    assert shaded.body.count("outage: nothing ran although a job could have") == 1
    assert shaded.alt.endswith("Shaded: 1 outage.")
    mark = r'x="([\d.]+)" y="\d+" width="([\d.]+)"'
    drawn = re.findall(f'<rect {mark}[^>]*fill-opacity="0.35"', shaded.body)
    tip = re.search(f'data-tip="12 Oct 2026[^"]*" {mark}', shaded.body)
    assert tip is not None
    left, wide = map(float, tip.groups())
    assert len(drawn) == 2
    for x, width in drawn:
        assert float(x) == pytest.approx(left + wide / 12, abs=0.2)  # 2 h later
        assert float(width) == wide


def test_work_of_days_that_the_log_does_not_tell_of_is_left_out() -> None:
    part = waiting(pool())
    work = (("2026-09-01", 1e9), *part[MachineOverTime].waiting_work)
    made = present(machine(having(part, MachineOverTime(waiting_work=work))))
    assert "waiting work reached 31 h on 31 Oct 2026" in made.title
