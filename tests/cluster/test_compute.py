"""Work that periods share is done once, however many there are."""

from pathlib import Path

import polars as pl
import pytest

from audit.metrics.attempts.summary import summarise
from audit.nightly.run import run
from audit.scenario.workload import workload_of_rows
from tests.logs import line, log
from tests.nightly.test_run import NOW, site

DAY = 86_400


def test_a_first_night_of_many_months(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        line(k, submit=k * DAY, wait=60, run=3_600, walltime=4_000, allocated=1)
        for k in range(1, 366)
    ]
    looked_at: list[int] = []
    workloads: list[int] = []

    def counted(held: pl.DataFrame, *rest: object, **named: object) -> pl.DataFrame:
        looked_at.append(held.height)
        return summarise(held, *rest, **named)  # type: ignore[arg-type]

    def made(held: pl.DataFrame, *rest: object) -> object:
        workloads.append(held.height)
        return workload_of_rows(held, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("audit.cluster.compute.summarise", counted)
    monkeypatch.setattr("audit.scenario.scenario.workload_of_rows", made)
    config = site(tmp_path, pools=({"name": "all", "backfill": "easy"},))
    (tmp_path / "logs" / "year.swf").write_text(log(lines, MaxProcs=4))
    run(config, tmp_path, NOW, stages=("ingest", "compute"))
    assert len(looked_at) > 6
    assert sum(looked_at) < 1.2 * len(lines)
    assert workloads == [len(lines)]
