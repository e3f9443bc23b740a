"""The page of the study of users, and the command."""

from pathlib import Path

import polars as pl
import pytest

from audit.metrics.draws import Draws
from audit.report.charts.style import Chart
from audit.report.study import page as study
from audit.scenario.tabu import TabuSearch
from audit.store import database, snapshots
from audit.studies.users import compute as users
from audit.studies.users import page
from audit.studies.users.compute import ESTIMATES, POLICIES, TS
from tests.logs import busy, write
from tests.studies.commands import run
from tests.studies.users.episodes import attempts, compare


def test_rows_for_the_database_and_the_page() -> None:
    episode = [("a", 0, 1_000, 1), ("b", 10, 10_000, 1), ("a", 20, 100, 1), ("b", 30, 50, 1)]
    found = compare(attempts(episode, 3), 1)
    rows = users.rows(found)
    assert rows["setting"].unique(maintain_order=True).to_list() == [
        f"{name}, exact estimates" for name in POLICIES
    ]
    of_users = rows.filter(
        pl.col("dimension") == "user", pl.col("setting") == "BF, exact estimates"
    )
    assert of_users["value"].to_list() == found.outcomes["BF"].nuwt.tolist()
    uwt = rows.filter(metric="uwt", setting="TS, exact estimates")
    assert uwt["value"].to_list() == [pytest.approx(found.outcomes[TS].nuwt.mean())]
    made = page.study("c", [found], TabuSearch(seed=7), Draws(7))
    keys = [table.key for table in study.tables(made)]
    assert keys == [
        "policies",
        "verdicts",
        *(f"exact-{of}" for of in ("performance", "nuwt", "intervals", "seeds")),
    ]
    charts = [chart.key for of in made.sections for chart in of.parts if isinstance(chart, Chart)]
    assert charts == ["performance_exact", "nuwt_exact", "spread_exact"]
    again = compare(attempts(episode, 3), 1)
    assert users.rows(again).equals(rows)
    assert page.study("c", [again], TabuSearch(seed=7), Draws(7)) == made


def test_charts_leave_out_what_is_far_off() -> None:
    kept, note = page._without_far({"FCFS": 30.0, "BF": 9.0, "TS": 1.0})
    assert (kept, note) == (["BF", "TS"], "FCFS is off the scale.")
    assert page._without_far({"FCFS": 27.0, "BF": 9.0}) == (["FCFS", "BF"], "")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, made = write(tmp_path / "my.swf", busy(40)), tmp_path / "made"
    assert run("experiment", "users", log, "--out", made) == 0
    _, *listed = capsys.readouterr().out.splitlines()
    assert (listed[0], listed[-1]) == (str(made / "users.html"), str(made / "users.duckdb"))
    page = (made / "users.html").read_text("utf-8")
    assert "TS has a lower wait than all others" in page
    con = snapshots.open_snapshot(made / "users.duckdb")
    asked = "SELECT DISTINCT setting FROM studies WHERE study = 'users' AND metric = 'wait_mean'"
    found = database.fetch(con, asked)["setting"].to_list()
    con.close()
    assert len(found) == len(POLICIES) * len(ESTIMATES)
