"""The page of penalties and its files."""

import functools
import re
from pathlib import Path

import polars as pl
import pytest

from audit.report.study import page as study
from audit.report.study.page import Table
from audit.studies.penalties import compute as penalties
from audit.studies.penalties import page as penalty_study
from tests.places import ROOT
from tests.report import chromium
from tests.studies import commands
from tests.studies.penalties.test_rules import TABLE_1

made = functools.cache(penalty_study.study)


def test_a_surface_says_its_corners() -> None:
    square = {"cpus": [0.0, 0.0, 1.0, 1.0], "mem_bytes": [0.0, 1.0, 0.0, 1.0]}
    flat = pl.DataFrame(square | {"penalty": [0.0, 0.25, 1, 1]})
    chart = penalty_study.surfaces("s", "S", {"one": flat}, marked=True)
    assert "one: 1.00 for all processors and no memory, 0.25 for no processors" in chart.alt
    shapes = re.findall(r'<polygon points="([^"]*)" fill="var\(--earlier\)"', chart.body)
    assert [len(shape.split()) for shape in shapes] == [4]


def test_squares_cover_a_surface_from_its_far_corner() -> None:
    first, *_, last = squares = list(penalty_study.squares(penalties.surface("sum")))
    assert len(squares) == penalties.STEPS**2
    assert first[2] == (1.0, 1.0, 1.0)
    step = 1 / penalties.STEPS
    assert {corner[:2] for corner in last} == {(0, 0), (0, step), (step, step), (step, 0)}


def table(key: str) -> Table:
    [found] = [found for found in study.tables(made()) if found.key == key]
    return found


def test_the_page_and_the_document_say_what_the_checker_found() -> None:
    rows = {row[0]: row[3:8] for row in table("rules").rows}
    assert {name: rows[name] for name in TABLE_1} == TABLE_1
    document = ROOT / "docs" / "penalties.md"
    if not document.exists():
        pytest.skip("tested outside a checkout: no document to compare")
    told = {}
    for names, *answers in re.findall(
        r"^\| (`.*?) \|" + 5 * r" (yes|no) \|", document.read_text(encoding="utf-8"), re.M
    ):
        label = "billing, MAX_TRES" if names.endswith("MAX_TRES") else None
        for name in [label] if label else re.findall(r"`(\w+)`", names):
            told[name] = tuple(answer == "yes" for answer in answers)
    # A maximum with weights in effect breaks more: the page shows that, the document says it.
    assert told == {name: rows[name] for name in rows if name in told}
    assert set(rows) - set(told) == {"max_capped", "max_scaled", "root, GPUs exempt"}


def test_each_broken_rule_has_its_witness_on_the_page() -> None:
    broken = {
        (row[0], rule)
        for row in table("rules").rows
        for rule, kept in enumerate(row[3:8], 1)
        if not kept
    }
    assert {(row[0], int(str(row[1]))) for row in table("witnesses").rows} == broken


def test_the_command_writes_the_page_and_its_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.run("experiment", "penalties", "--out", tmp_path) == 0
    written = sorted(path.name for path in tmp_path.iterdir())
    assert sorted(Path(line).name for line in capsys.readouterr().out.split()) == written
    page = (tmp_path / "penalties.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    first = commands.table(tmp_path / "penalties-rules.csv")[0]
    assert first["penalty"] == "cpu"
    assert [first[f"rule_{rule}"] for rule in range(1, 6)] == [*["false"] * 3, "true", "false"]


@pytest.mark.thorough
@pytest.mark.chromium
@chromium.needed
def test_a_browser_draws_every_surface(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(study.render_html(made()), encoding="utf-8")
    with chromium.Page() as page:
        page.show(file, 420)
        shapes = page.evaluate(
            "[...document.querySelectorAll('.chart svg')]"
            ".map(e => e.querySelectorAll('polygon[data-tip]').length)"
        )
        assert shapes == [2 * penalties.STEPS**2] * len(penalties.FIGURES)
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert page.complaints == []
