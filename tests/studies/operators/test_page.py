import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from audit.metrics.fairshare.operators import OPERATORS
from audit.report.charts.style import Chart
from audit.report.study import page as study
from audit.report.study.page import Study, Table
from audit.studies.operators import page as operator_study
from audit.studies.operators import resolution
from tests.report import chromium


@cache
def made() -> Study:
    return operator_study.study(range(3, 7))


@cache
def rendered() -> str:
    return study.render_html(made())


def table(key: str) -> Table:
    [found] = [table for table in study.tables(made()) if table.key == key]
    return found


def charts() -> Iterator[Chart]:
    for section in made().sections:
        yield from (part for part in section.parts if isinstance(part, Chart))


def test_the_tables_are_those_of_the_analyses() -> None:
    assert [found.key for found in study.tables(made())] == [
        *("formulas", "conformance", "witnesses", "boundaries", "equivalence", "unlike"),
        *("effective", "serialised", "input-density", "input-density-areas", "local-density"),
        *("job-size", "bits", "bits-by-target", "orders"),
    ]
    assert len(table("job-size").rows) == 2 * 7 * 4 * 3 * 11
    assert len(table("input-density-areas").rows) <= 2 * 7 * 4 * 3
    assert len(table("local-density").rows) == 2 * 7 * 8 * 10


def test_bits_stand_beside_the_printed_ones_with_their_difference() -> None:
    rows = {(row[0], row[1]): row[2:] for row in table("bits").rows}
    assert rows["absolute", "over target"][0] == "14"
    assert rows["absolute", "over target"][1:] == (">\u00a06", ">\u00a06", "more than were studied")
    full = resolution.bits_needed(resolution.job_sizes(range(3, 14)))
    beside = resolution.beside_printed(full).filter(operator="slurm", area="over")
    assert beside["difference"].to_list() == [0]
    said = [part for of in made().sections for part in of.parts if isinstance(part, str)]
    assert any("0 of 21 figures are equal" in text for text in said)


def test_a_dash_by_target_says_that_no_state_is_there() -> None:
    rows = {(row[0], row[1]): row[2:] for row in table("bits-by-target").rows}
    # F(t, 0) = t: below 0.6 the operator absolute has no priority "under target".
    assert [cell is None for cell in rows["absolute", "under target"]] == [True] * 7 + [False] * 3
    # s < 1 and t = 0: it is −s.
    assert rows["absolute", "over target"][0] == ">\u00a06"
    assert rows["relative", "around balance"][0] is None


def test_each_figure_of_the_paper_has_its_chart() -> None:
    assert [chart.key for chart in charts()] == [
        *("input_density", "profile_1", "profile_5", "local_density", "targets"),
        *("jobs_balance", "jobs_under", "jobs_over"),
    ]
    for chart in charts():
        assert chart.alt.endswith(".")


def test_bars_of_a_profile_lie_beside_the_states_that_they_are_of() -> None:
    [profile] = [chart for chart in charts() if chart.key == "profile_5"]
    told = re.findall('data-tip="([^"]*)"', profile.body)
    shown = resolution.profile(operator_study.BITS, 0.5)
    for name in OPERATORS:
        curve = {s: p for of, s, p in shown.curves.iter_rows() if of == name}
        assert curve[0.5] == 0
        bars = [bar for bar in shown.bars.iter_rows(named=True) if bar["operator"] == name]
        assert len([tip for tip in told if tip.startswith(f"{name}, ")]) == len(bars)
        for bar in bars:
            inside = [s for s, p in curve.items() if p != 0 or s == 0.5]
            inside = [s for s in inside if bar["priority"] <= curve[s] < bar["next"]]
            assert len(inside) / 100 == pytest.approx(bar["density"], abs=0.021)


def test_cells_without_a_value_are_known_to_be_none() -> None:
    [density] = [chart for chart in charts() if chart.key == "local_density"]
    cells = re.findall(r'fill="var\(--(\w+)\)"[^>]* data-tip="([^"]*)"', density.body)
    assert {fill for fill, _ in cells} == {"earlier", "line"}
    assert all(tip.endswith(": none") == (fill == "line") for fill, tip in cells)
    last = [fill for fill, tip in cells if "corrected" in tip and "−1 to 1) 7:" in tip]
    assert set(last) == {"line"}


def test_the_lead_names_who_keeps_what() -> None:
    assert made().lead.startswith(
        "Of 7 operators, relative, relative_n, sigmoid, sigmoid_n, slurm keep all rules of [R] but "
        "(13), which (4) excludes, "
    )
    assert "absolute and combined do neither" in made().lead


def test_progress_is_reported_for_every_operator() -> None:
    told: list[tuple[str, int, int]] = []
    sizes = resolution.job_sizes([3], lambda *step: told.append(step))
    assert told == [("job sizes", done, 7) for done in range(8)]
    assert sizes.filter(pl.col("target").is_null()).height == 2 * 7 * 3


@pytest.mark.thorough
@pytest.mark.chromium
@chromium.needed
def test_a_browser_draws_it_without_complaint(tmp_path: Path) -> None:
    page = tmp_path / "operators.html"
    page.write_text(rendered(), encoding="utf-8")
    chromium.check_study(page, len(list(charts())))
