"""What a run infers: once for each period, from the 400 days before its end, and kept with it."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit import config
from audit.cluster import fitted
from audit.cluster.fairshare import FairshareInputs
from audit.cluster.fitted import Fitted
from audit.cluster.setting import ClusterSettings
from audit.config.places import Site
from audit.nightly import due
from audit.nightly.run import run
from audit.oneoff.explain import explain
from audit.pipeline import inferring
from audit.pipeline.opening import LogRequest, Session
from audit.pipeline.published import open_published
from audit.store import archive
from tests import stores
from tests.logs import line, log, write
from tests.nightly import test_run
from tests.nightly.test_run import FIGURES, NOW, PowerCutError
from tests.scenario.windows.sites import CPUS, DAY, EPOCH, Planted, made
from tests.shared import once

EDGES = (0, 31, 60, 91)
"""Days on which the months of early 2024 begin."""
MONTHS = ("2024-01", "2024-02", "2024-03")
RULE = "limit of 64 CPUs per user"
VIEWS = ("rules", "chains", "releases", "fidelity", "summary", "job_fairness")


def site(folder: Path, capacity: int, months: int = 0, **pool: object) -> config.Config:
    pools = ({"name": "all", "capacity": {"cpus": capacity}, **pool},)
    more = {
        "simulation": {"advice_budget_s": 0, "budget_s": 1},
        "retention": {"archive_months": months},
    }
    plain = test_run.site(folder, zone="UTC", pools=pools).model_dump()
    return config.Config.model_validate({**plain, **more})


def write_logs(folder: Path) -> None:
    """For each month, the log of the jobs that ended in it; users have a limit of CPUs."""
    described, pool = made(Planted(CPUS, days=80, a_day=80), 1)
    described = described.sort("submit_time").with_row_index("number", 1)
    for number, (first, last) in enumerate(pairwise(EDGES)):
        ends = pl.col("end_time").is_between(EPOCH + first * DAY, EPOCH + last * DAY, closed="left")
        lines = [
            line(
                row["number"],
                submit=row["submit_time"] - EPOCH,
                wait=row["start_time"] - row["submit_time"],
                run=row["end_time"] - row["start_time"],
                allocated=row["cpus"],
                walltime=row["walltime_s"],
                user=int(row["user"][1:]) + 1,
            )
            for row in described.filter(ends).iter_rows(named=True)
        ]
        header = {"UnixStartTime": EPOCH, "MaxProcs": pool.capacity}
        write(folder / f"{number}.swf", log(lines, **header))
    write(folder / "capacity", str(pool.capacity))


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "logs-of-a-limit", write_logs)


def night(folder: Path, logs: Path, *numbers: int, months: int = 0, now: int = NOW) -> list[str]:
    """Take logs of months in, and compute what is due; return what was computed."""
    settings = site(folder, int((logs / "capacity").read_text()), months)
    for number in numbers:
        write(folder / "logs" / f"{number}.swf", (logs / f"{number}.swf").read_text())
    done = run(Site(settings, folder), now, stages=FIGURES)
    assert done.failures == []
    return done.computed


def view(folder: Path, sql: str) -> pl.DataFrame:
    return stores.fetch(folder / "fairaudit.duckdb", sql)


def content(folder: Path) -> list[pl.DataFrame]:
    return [view(folder, f"SELECT * EXCLUDE (run_id) FROM {name} ORDER BY ALL") for name in VIEWS]


def rules(folder: Path) -> pl.DataFrame:
    return view(folder, "SELECT period, rule, source, starts, stops FROM rules ORDER BY period")


@pytest.fixture(scope="module")
def whole(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of three months, of which all logs came in one night."""

    def make(folder: Path) -> None:
        assert night(folder, logs, 0, 1, 2) == [f"c {month}" for month in MONTHS]

    return once(tmp_path_factory, "nights-of-a-limit", make)


@pytest.mark.thorough
def test_each_period_has_the_rules_of_the_log_up_to_its_end(whole: Path, logs: Path) -> None:
    found = rules(whole)
    assert found["period"].to_list() == [*MONTHS]
    assert found["rule"].unique().to_list() == [RULE]
    assert found["source"].unique().to_list() == ["inferred"]
    stops = found["stops"].to_list()
    assert stops == sorted(set(stops))  # each has seen more than the one before
    # the last is what an audit of the whole log infers
    settings = site(whole, int((logs / "capacity").read_text()))
    read = open_published(whole / "fairaudit.duckdb", settings, fit=False)
    usage = FairshareInputs(config.UsageConfig())
    [audited] = inferring.inferred(read.described, read.setting, usage, ())
    [evidence] = audited.shown.evidence
    assert found.row(2, named=True)["starts"] == evidence["starts"]
    booked = view(whole, "SELECT count(*) AS n FROM job_fairness WHERE cause_rule_s > 0")
    assert booked.item() > 0


@pytest.mark.thorough
def test_nights_that_archive_infer_the_same_as_one_night(
    whole: Path, logs: Path, tmp_path: Path
) -> None:
    assert night(tmp_path, logs, 0, months=1) == ["c 2024-01"]
    january = rules(tmp_path)
    assert night(tmp_path, logs, 1, months=1)[-1] == "c 2024-02"
    night(tmp_path, logs, 2, months=1)
    with stores.published(tmp_path / "fairaudit.duckdb") as con:
        assert len(archive.months(con)) == 1
    assert rules(tmp_path).equals(rules(whole))
    assert rules(tmp_path).head(1).select("period", "rule").equals(january.select("period", "rule"))
    assert night(tmp_path, logs, months=1, now=NOW + 1) == []


@pytest.mark.thorough
def test_a_late_record_changes_what_was_inferred_in_a_restatement(
    whole: Path, logs: Path, tmp_path: Path
) -> None:
    """March infers from January too, so its identity changes, and it is computed again."""
    night(tmp_path, logs, 0, 1, 2)
    for one, other in zip(content(tmp_path), content(whole), strict=True):
        assert one.equals(other)  # the same logs give the same figures
    at = 15 * DAY
    late = [line(90_000 + k, submit=at, wait=3_000, run=9_000, allocated=64) for k in range(2)]
    write(tmp_path / "logs" / "late.swf", log(late, UnixStartTime=EPOCH))
    assert night(tmp_path, logs) == [f"c {month}" for month in MONTHS]
    before, after = rules(whole), rules(tmp_path)
    assert (after["starts"] == before["starts"] + 2).all()
    because = view(tmp_path, "SELECT DISTINCT period, because FROM restatements ORDER BY ALL")
    told = dict(because.rows())
    assert "records were added from late.swf (2 of this period)" in told["2024-01"]
    assert "settings changed" not in set(because["because"])


@pytest.mark.thorough
def test_a_killed_run_is_continued(
    whole: Path, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    infers = inferring.of_period
    asked: list[int] = []

    def killed(
        attempts: pl.DataFrame, setting: ClusterSettings, to_time: int, *more: Any
    ) -> list[Fitted]:
        asked.append(to_time)
        if len(asked) == 2:
            raise PowerCutError
        return infers(attempts, setting, to_time, *more)

    monkeypatch.setattr(due, "of_period", killed)
    monkeypatch.setattr(fitted, "alike", lambda one, other: False)
    with pytest.raises(PowerCutError):
        night(tmp_path, logs, 0, 1, 2)
    done = night(tmp_path, logs)
    assert done[-2:] == ["c 2024-02", "c 2024-03"]
    assert len(asked) == 2 + len(done)
    assert rules(tmp_path).equals(rules(whole))
    assert night(tmp_path, logs, now=NOW + 1) == []
    assert len(asked) == 2 + len(done)  # nothing is inferred twice


@pytest.mark.thorough
def test_a_job_is_explained_with_what_its_period_inferred(whole: Path, logs: Path) -> None:
    settings = site(whole, int((logs / "capacity").read_text()))
    published = whole / "fairaudit.duckdb"
    sql = "SELECT job_id, epoch(end_time)::BIGINT AS ended, cause_rule_s FROM job_fairness "
    [(job, ended, waited)] = view(
        whole, sql + "WHERE cause_rule_s > 0 ORDER BY end_time, job_id LIMIT 1"
    ).rows()
    assert ended < EPOCH + 31 * DAY
    found = open_published(published, settings, job=job).setting
    assert found.pools[0].limits == (CPUS,)
    january, march = rules(whole)["starts"].to_list()[::2]
    assert found.shown_of("all").evidence[0]["starts"] == january
    newest = open_published(published, settings).setting
    assert newest.shown_of("all").evidence[0]["starts"] == march
    session = Session(LogRequest(logs=()), settings, whole, published)
    told = explain.explain(session, job)
    assert told.account.causes["cause_rule_s"] == pytest.approx(waited)
    plain = explain.explain(replace(session, fit=False), job)
    assert plain.account.causes["cause_rule_s"] == 0
