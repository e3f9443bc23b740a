"""The page of the policy grid: what it shows is what was computed."""

import html
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from audit.metrics.attempts.population import TOP_WIDTH, describe
from audit.metrics.draws import Draws
from audit.report import wording
from audit.report.charts.style import Chart
from audit.report.study import page as study
from audit.report.study.page import Study, Table
from audit.studies import parts
from audit.studies.grid import claims, page
from audit.studies.grid import compute as grid
from audit.studies.grid.page import GridResults
from bench.pages.studies import PICTURE
from tests.report import chromium
from tests.strategies import EPOCH, POOLS, ended, frame

LOADS = (Fraction("0.8"), Fraction("0.9"), Fraction("0.95"))
LENGTHS = [(90, 1, "ann"), (60, 4, "bob"), (30, 2, "<b>cem</b>"), (75, 3, "ann"), (15, 1, "bob")]


@cache
def found() -> GridResults:
    records = [
        ended(EPOCH + 20 * k, EPOCH + 20 * k, EPOCH + 20 * k + length, size, user, walltime_s=200)
        for k, (length, size, user) in enumerate(LENGTHS * 8)
    ]
    records.append({"submit_time": EPOCH + 30, "end_time": EPOCH + 40, "cpus": 1})
    part = parts.part(describe(frame(records), [POOLS[0]]), POOLS[0])
    frames = {cell.key: cell.compute() for cell in grid.cells(part, LOADS)}
    of = grid.grid(part, LOADS, frames, Draws(5, 100))
    ranked = grid.correlations(of)
    return GridResults(
        "a <log>", of, grid.figures(of), ranked, claims.decide(of, ranked), 5, TOP_WIDTH
    )


@cache
def made() -> Study:
    return page.study(found())


@cache
def rendered() -> str:
    return study.render_html(made())


def table(key: str) -> list[dict[str, Any]]:
    [one] = [one for one in study.tables(made()) if one.key == key]
    names = [column.name for column in one.columns]
    return [dict(zip(names, row, strict=True)) for row in one.rows]


def charts() -> Iterator[Chart]:
    for section in made().sections:
        yield from (part for part in section.parts if isinstance(part, Chart))


@pytest.mark.thorough
def test_every_combination_has_its_row() -> None:
    rows = table("combinations")
    assert len(rows) == 27
    of = found().grid
    for row, (point, values) in zip(rows, of.values.items(), strict=False):
        assert (row["load"], row["order"], row["backfill"]) == (
            grid.load_name(point.load),
            point.order.value,
            point.backfill.value,
        )
        assert row["miss_strict_s"] == pytest.approx(values["strict"].mean())
        assert row["raqfm_unfairness"] == pytest.approx(values["raqfm"].mean())
        assert row["wait_s"] == pytest.approx(values["wait"].mean())
    assert len(table("exact_estimates")) == 6
    assert len(table("correlations")) == 11
    assert len(table("figures")) == 33 * 5 * (1 + len(table("widths")))


@pytest.mark.thorough
def test_the_lead_counts_the_verdicts() -> None:
    counts = {"yes": 0, "no": 0, "undecided": 0}
    for row in table("verdicts"):
        counts[row["holds"]] += 1
    one = {"yes": "holds", "no": "does not hold", "undecided": "cannot be decided"}
    more = {"yes": "hold", "no": "do not hold", "undecided": "cannot be decided"}
    for holds, number in counts.items():
        words = f"{number} {(one if number == 1 else more)[holds]}"
        assert (words in made().lead) == (number > 0)
    assert "40 attempts of a <log> under 27 combinations" in made().lead


@pytest.mark.thorough
def test_each_verdict_is_reported_with_its_figures() -> None:
    text = [
        part for of in made().sections for part in of.parts if not isinstance(part, Table | Chart)
    ]
    for one in found().decided:
        assert any(str(part).startswith(f"{one.number}. {one.verdict.claim}") for part in text)
    rows = table("comparisons")
    deciding = [row for row in rows if row["decides"]]
    assert rows[: len(deciding)] == deciding
    assert 0 < len(deciding) < len(rows)
    assert any("1 that never started" in str(part) for part in text)


def test_charts_show_what_the_papers_figures_do() -> None:
    drawn = list(charts())
    assert len(drawn) == 8
    notes = " ".join(chart.note for chart in drawn)
    for number in range(7, 19, 2):
        assert f"figs. {number} and {number + 1}" in notes
    values = {
        f"{row['backfill']}, {row['order']}": row["miss_strict_s"]
        for row in table("combinations")
        if row["load"] == "0.95"
    }
    said = re.fullmatch(
        "Mean strict miss at load 0.95: (.+) with (.+), (.+) with (.+, .+)", drawn[0].title
    )
    assert said is not None
    least, with_least, most, with_most = said.groups()
    assert (values[with_least], values[with_most]) == (min(values.values()), max(values.values()))
    assert least == wording.rough_duration(min(values.values()))
    assert most == wording.rough_duration(max(values.values()))
    told = re.findall('data-tip="([^"]*)"', drawn[0].body)
    assert len(told) == 2 * 9
    [bar] = [tip for tip in told if tip.startswith("Load 0.95, easy, sjf: ")]
    [row] = [
        row
        for row in table("combinations")
        if (row["load"], row["backfill"], row["order"]) == ("0.95", "easy", "sjf")
    ]
    shown = float(bar.rpartition(" ")[2].replace(",", ""))
    assert shown * 3_600 == pytest.approx(row["miss_strict_s"], rel=0.005)


@pytest.mark.parametrize(
    ("loads", "drawn"),
    [
        (["0.7", "0.8", "0.95"], ["0.8", "0.95"]),
        (["0.5", "0.6", "0.7"], ["0.6", "0.7"]),
        (["0.9"], ["0.9"]),
    ],
)
def test_two_loads_are_drawn(loads: list[str], drawn: list[str]) -> None:
    assert page._drawn(list(map(Fraction, loads))) == list(map(Fraction, drawn))


@pytest.mark.thorough
@pytest.mark.chromium
@chromium.needed
def test_a_browser_draws_it_without_complaint(tmp_path: Path) -> None:
    page = tmp_path / "grid.html"
    page.write_text(rendered(), encoding="utf-8")
    chromium.check_study(page, len(list(charts())))


def test_the_page_of_docs_finds_each_picture() -> None:
    assert [html.unescape(one) for one in PICTURE.findall(rendered())] == [
        chart.alt for chart in charts()
    ]
