"""The study of penalties: [M]'s table, figures and examples, and the page and files they make."""

import base64
import csv
import inspect
import io
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from audit.cli import app as cli
from audit.metrics.fairshare.penalty import RELATIVE
from audit.metrics.fairshare.penalty_choice import movers
from audit.report.charts import drawing
from audit.studies import page as study
from audit.studies.page import Table
from audit.studies.penalties import compute as penalties
from audit.studies.penalties import page as penalty_study
from audit.studies.penalties.charts import Panel, surfaces
from tests.metrics.fairshare.test_penalty_rules import TABLE_1
from tests.naive.penalties import penalty as exact
from tests.places import ROOT
from tests.report import chromium

PAGE = penalty_study.study()


def table(key: str) -> Table:
    [found] = [found for found in study.tables(PAGE) if found.key == key]
    return found


def test_every_penalty_is_judged_and_table_1_is_the_papers() -> None:
    judged = penalties.judged()
    assert {one.row.penalty for one in judged} == set(RELATIVE)
    assert len({one.row.label for one in judged}) == len(judged)
    of_table_1 = {
        one.row.label: tuple(verdict.kept for verdict in one.verdicts)
        for one in judged
        if one.row.in_table_1
    }
    assert of_table_1 == TABLE_1
    assert not any(all(verdict.kept for verdict in one.verdicts) for one in judged)


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


@pytest.mark.parametrize("figure", penalties.FIGURES, ids=lambda figure: f"figure {figure.number}")
def test_surfaces_are_the_formulas(figure: penalties.Figure) -> None:
    for name, weights in figure.panels:
        rows = penalties.surface(name, weights)
        assert rows.height == (penalties.STEPS + 1) ** 2
        by = dict(zip(("cpus", "mem_bytes"), map(Fraction, weights), strict=True))
        for cpus, memory, height in rows.gather_every(7).rows():
            held = {"cpus": Fraction(cpus), "mem_bytes": Fraction(memory)}
            assert height == pytest.approx(float(exact(name, held, by)), rel=1e-12, abs=1e-15)


def test_surfaces_rise_away_from_the_eye() -> None:
    """So nothing is hidden: each step back, or up, is higher on the page."""
    for figure in penalties.FIGURES:
        for name, weights in figure.panels:
            side = penalties.STEPS + 1
            height = penalties.surface(name, weights)["penalty"].to_numpy().reshape(side, side)
            assert (np.diff(height, axis=0) >= -1e-15).all()
            assert (np.diff(height, axis=1) >= -1e-15).all()


def test_problems_a_and_b() -> None:
    assert [(of.name, of.penalty, of.charged) for of in penalties.problems()] == [
        ("A", "max_capped", 1.0),
        ("A", "max_scaled", 0.5),
        ("B", "max_capped", 0.5),
        ("B", "max_scaled", 0.5),
    ]


def test_one_job_or_nine() -> None:
    rows = {row[0]: row[1:] for row in penalties.splitting().rows()}
    assert rows["product"][:2] == pytest.approx((0.81, 0.09))
    assert rows["product_weighted"][:2] == pytest.approx((0.9, 0.9))
    # (1 − 0.9)(1 − 0.18) = 0.082; (1 − 0.1)(1 − 0.02) = 0.882
    assert rows["root"] == pytest.approx((0.9, 0.9, 1 - 0.082**0.5, 9 * (1 - 0.882**0.5)))
    for name in ("cpu", "max", "sum"):
        assert rows[name][0] == pytest.approx(rows[name][1])
        assert rows[name][2] == pytest.approx(rows[name][3])


def test_a_fortnight_of_memory() -> None:
    parts = {
        (name, user): part
        for name, user, part in penalties.fortnight()
        .select("penalty", "entity", "usage_fraction")
        .rows()
    }
    assert parts["cpu", "memory"] == pytest.approx(1 / 11)
    assert parts["max", "memory"] == parts["root", "memory"] == pytest.approx(1 / 2)
    assert parts["product", "memory"] == pytest.approx(0.1 / (0.1 + 0.125))
    assert movers(penalties.fortnight())["penalty"].to_list() == ["max", "max"]


def test_exempting_gpus() -> None:
    rows = penalties.exempting()
    assert rows.row(-1) == pytest.approx((1.0, 1.0, 1 / 3))
    assert rows["exempt"].to_list() == pytest.approx((rows["gpus"] / 3).to_list())
    assert (rows["exempt"] <= rows["root"]).all()


def test_each_broken_rule_has_its_witness_on_the_page() -> None:
    broken = {
        (row[0], rule)
        for row in table("rules").rows
        for rule, kept in enumerate(row[3:8], 1)
        if not kept
    }
    assert {(row[0], int(str(row[1]))) for row in table("witnesses").rows} == broken


def test_a_surface_says_its_corners() -> None:
    flat = pl.DataFrame(
        {
            "cpus": [0.0, 0.0, 1.0, 1.0],
            "mem_bytes": [0.0, 1.0, 0.0, 1.0],
            "penalty": [0.0, 0.25, 1, 1],
        }
    )
    chart = surfaces("s", "S", [Panel("one", flat)], marked=True)
    assert "one: 1.00 for all processors and no memory, 0.25 for no processors" in chart.alt
    drawn = drawing.svg(chart)
    assert drawn == inspect.unwrap(drawing.svg)(chart)  # drawn anew
    shapes = re.findall(r'<path d="([^"]*)Z" fill="rgb', drawn)
    assert [len(shape.split("L")) for shape in shapes] == [4]


def test_the_command_writes_the_page_and_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sys.argv", ["fairaudit", "experiment", "penalties", "--out", str(tmp_path)]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    written = sorted(path.name for path in tmp_path.iterdir())
    assert sorted(Path(line).name for line in capsys.readouterr().out.split()) == written
    assert "penalties.html" in written
    page = (tmp_path / "penalties.html").read_text(encoding="utf-8")
    assert 'src="http' not in page
    [first, *_] = csv.DictReader(
        io.StringIO((tmp_path / "penalties-rules.csv").read_text(encoding="utf-8"))
    )
    assert first["penalty"] == "cpu"
    assert [first[f"rule_{rule}"] for rule in range(1, 6)] == [*["false"] * 3, "true", "false"]
    for still in re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', page):
        assert base64.b64decode(still).startswith(b"<svg")


@pytest.mark.chromium
@pytest.mark.skipif(
    not chromium.PROGRAM.exists(),
    reason=f"NOBODY LOOKED AT THE PAGE: no {chromium.PROGRAM}; apt-get install chromium",
)
def test_a_browser_draws_every_surface(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(study.render_html(PAGE), encoding="utf-8")
    with chromium.Page() as page:
        page.open(file, 420)
        shapes = page.evaluate(
            "[...document.querySelectorAll('.live')]"
            ".map(e => e.querySelectorAll('path[d$=Z][fill^=rgb]').length)"
        )
        assert shapes == [2 * penalties.STEPS**2] * len(penalties.FIGURES)
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert page.complaints == []
