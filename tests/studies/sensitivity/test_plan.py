"""``fairaudit experiment sensitivity``, from the command line on."""

from pathlib import Path

import duckdb
import pytest

from tests.logs import busy, write
from tests.studies.commands import run, table


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write(tmp_path / "busy.swf", busy(60))


@pytest.mark.thorough
def test_sensitivity_writes_a_page_tables_and_a_database(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("experiment", "sensitivity", log, "--out", out) == 0
    page = (out / "sensitivity.html").read_text(encoding="utf-8")
    assert "How far fairshare&#39;s settings matter" in page
    verdicts = table(out / "sensitivity-verdicts.csv")
    assert len(verdicts) == 16
    assert {row["holds"] for row in verdicts} <= {"yes", "no", "undecided"}
    groups = table(out / "sensitivity-groups.csv")
    assert sum(float(row["area_share"]) for row in groups) == pytest.approx(1)
    for run_ in (1, 2, 3):
        assert sum(float(row[f"target_run_{run_}"]) for row in groups) == pytest.approx(1)
    assert len(table(out / "sensitivity-two-at-once.csv")) == 162
    with duckdb.connect(str(out / "sensitivity.duckdb"), read_only=True) as con:
        (settings,) = con.execute(
            "SELECT count(DISTINCT setting) FROM studies WHERE study = 'sensitivity'"
        ).fetchone() or (0,)
    assert settings == 175


def test_sensitivity_needs_two_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alone = write(tmp_path / "one.swf", busy(1))
    assert run("experiment", "sensitivity", alone, "--out", tmp_path / "out") == 2
    assert "there are not two groups" in capsys.readouterr().err
