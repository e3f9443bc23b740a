"""Fair start times in the store: a sample within the budget."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from audit.array_types import Floats
from audit.config.file import Simulation
from audit.config.places import Site
from audit.nightly.run import run
from audit.policies import Policy
from audit.scenario.workload import Workload
from audit.store import database, snapshots
from tests.logs import line, log
from tests.nightly.test_run import FIGURES, NOW, site

DAY = 86_400


def jobs(first: int, last: int) -> str:
    """Jobs that keep a pool of 4 full, two hours apart, each longer than that."""
    lines = [
        line(
            number,
            submit=40 * DAY + number * 7200,
            wait=number % 5 * 3000,
            run=9000,
            walltime=12_000,
            allocated=1 + number % 3,
        )
        for number in range(first, last)
    ]
    return log(lines, MaxProcs=4)


def results(folder: Path) -> pl.DataFrame:
    con = snapshots.open_snapshot(folder / "fairaudit.duckdb")
    columns = "job_id, fst_strict, fst_relaxed, fst_status, miss_strict_s, fair_slowdown"
    found = database.fetch(con, f"SELECT {columns} FROM job_fairness ORDER BY job_id")
    con.close()
    return found


@pytest.mark.thorough
def test_a_sample_is_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cost(work: Workload, policy: Policy) -> Floats:
        return np.ones(len(work.arrival))

    monkeypatch.setattr("audit.scenario.fair_start.fair_cost", cost)
    config = site(tmp_path).model_copy(update={"simulation": Simulation(budget_s=80)})
    (tmp_path / "logs" / "log.swf").write_text(jobs(1, 220))
    assert run(Site(config, tmp_path), NOW, stages=FIGURES).computed
    found = results(tmp_path)
    sampled = found.filter(pl.col("fst_status") != "not_sampled")
    assert 60 < sampled.height < 100
    assert found["fair_slowdown"].null_count() == 0  # by fair starts that need no budget
    assert not run(Site(config, tmp_path), NOW + DAY, stages=FIGURES).computed
