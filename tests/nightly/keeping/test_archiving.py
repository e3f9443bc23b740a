"""Old months in files: the figures are those of a site that keeps all in its database."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit import config
from audit.cluster.setting import ClusterSettings
from audit.config.places import Site
from audit.errors import StoreError, UsageError
from audit.model import Period
from audit.nightly import due
from audit.nightly.keeping import archiving, backup
from audit.nightly.run import run
from audit.nightly.stages import STAGES, Work
from audit.oneoff import audit
from audit.oneoff.explain import explain
from audit.oneoff.explain.story import Story
from audit.pipeline.opening import LogRequest, Session
from audit.pipeline.published import open_published
from audit.report.build import build
from audit.report.contents import Contents, Who
from audit.report.owner import build as owner
from audit.report.sections.changes.record import Trend
from audit.store import archive, database, queries, snapshots
from audit.store.database import Connection
from tests import stores
from tests.nightly import test_run
from tests.nightly.months import CAPACITY, write_months
from tests.nightly.test_run import FIGURES
from tests.shared import once

NOW = 2_000_000_000
MONTHS = ["2026-01", "2026-02", "2026-03", "2026-04"]
VIEWS = (
    *("job_fairness", "user_fairness", "account_fairness", "summary", "coverage"),
    *("fairshare_history", "fidelity", "stuck"),
)


def site(folder: Path, months: int = 1, **pool: object) -> config.Config:
    pools = ({"name": "all", "capacity": {"cpus": CAPACITY}, **pool},)
    more = {
        "report": {"pdf": False, "owner_pages": "asked"},
        "simulation": {"advice_budget_s": 0},
        "retention": {"archive_months": months},
    }
    plain = test_run.site(folder, pools=pools).model_dump()
    return config.Config.model_validate({**plain, **more})


def night(
    folder: Path, logs: list[Path], stages: Sequence[str] = FIGURES, **changes: object
) -> list[str]:
    """Brings logs and does what the night does; gives what was computed."""
    settings = site(folder, **changes)  # type: ignore[arg-type]
    for log in logs:
        shutil.copy(log, folder / "logs")
    done = run(Site(settings, folder), NOW, stages=stages)
    assert done.failures == []
    return done.computed


def content(folder: Path) -> dict[str, pl.DataFrame]:
    """All figures, but how exactly those of all attempts at hand cancel out."""
    found = {
        view: stores.fetch(folder / "fairaudit.duckdb", f"SELECT * FROM {view}") for view in VIEWS
    }
    found["summary"] = found["summary"].filter(pl.col("metric") != "re_conservation")
    return {
        view: frame.drop("run_id", strict=False).sort(pl.all()) for view, frame in found.items()
    }


def archived(folder: Path) -> list[archive.Month]:
    with closing(snapshots.open_snapshot(folder / "fairaudit.duckdb")) as con:
        return archive.months(con)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sorted(once(tmp_path_factory, "logs-of-months", write_months).iterdir())


@pytest.fixture(scope="module")
def all_hot(logs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that archives nothing."""

    def make(folder: Path) -> None:
        assert len(night(folder, logs, months=0)) == 4
        assert archived(folder) == []

    return once(tmp_path_factory, "nothing-archived", make)


@pytest.fixture(scope="module")
def kept(all_hot: Path) -> dict[str, pl.DataFrame]:
    """Its figures."""
    return content(all_hot)


@pytest.fixture(scope="module")
def by_nights(logs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that takes a log each night and archives what is a month old."""

    def make(folder: Path) -> None:
        months = [f"c {name}" for name in MONTHS]
        for number, log in enumerate(logs):
            assert night(folder, [log], STAGES) == months[max(number - 1, 0) : number + 1]

    return once(tmp_path_factory, "archived-by-nights", make)


@pytest.fixture
def nights(by_nights: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    folder = tmp_path / "site"
    shutil.copytree(by_nights, folder)
    return folder


def assert_same(found: dict[str, pl.DataFrame], expected: dict[str, pl.DataFrame]) -> None:
    """The same but for the rounding of divided seconds, whose sums begin elsewhere."""
    for view, frame in expected.items():
        assert_frame_equal(found[view], frame, rel_tol=1e-9, abs_tol=1e-6)


@pytest.mark.slow
@pytest.mark.thorough
def test_nights_that_archive_have_the_figures_of_one_that_does_not(
    by_nights: Path, kept: dict[str, pl.DataFrame]
) -> None:
    assert [month.files[0][:29] for month in archived(by_nights)] == [
        "fairaudit-archive/c/2026-01-r",
        "fairaudit-archive/c/2026-02-r",
    ]
    assert_same(content(by_nights), kept)


@pytest.mark.thorough
def test_a_report_needs_the_files_of_its_own_month_alone(nights: Path) -> None:
    def made() -> Contents:
        with closing(snapshots.open_snapshot(nights / "fairaudit.duckdb")) as con:
            ((first, last),) = database.rows(
                con,
                "SELECT from_time, to_time FROM run WHERE period = '2026-04' AND stage = 'compute'",
            )
            return build(con, "c", Period("2026-04", first, last))

    whole = made()
    assert [point.label for point in whole.pools[0][Trend].points] == MONTHS
    for month in archived(nights):
        for file in month.files:
            (nights / file).unlink()
    assert made() == whole


@pytest.mark.thorough
@pytest.mark.parametrize("period", MONTHS)
def test_a_page_of_a_user_is_that_made_of_all_attempts(
    by_nights: Path, monkeypatch: pytest.MonkeyPatch, period: str
) -> None:
    """It reads what the trend goes over."""
    owners = [Who("user", "1"), Who("account", "2")]
    with closing(snapshots.open_snapshot(by_nights / "fairaudit.duckdb")) as con:
        report = "SELECT from_time, to_time FROM run WHERE period = $period AND stage = 'compute'"
        ((first, last),) = database.rows(con, report, {"period": period})
        contents = build(con, "c", Period(period, first, last))
        pages = owner.build(con, contents, owners)
        read = queries.run

        def everything(con: Connection, query: str, /, **asked: Any) -> pl.DataFrame:
            if query == "owner/attempts":
                asked |= {"since": None}
            return read(con, query, **asked)

        monkeypatch.setattr(queries, "run", everything)
        of_all = owner.build(con, contents, owners)
    assert [page.parts[0].trend is not None for page in pages] == [True, True]
    assert pages == of_all


@pytest.mark.thorough
def test_ten_years_at_once_are_computed_a_few_periods_at_a_time(
    logs: list[Path], kept: dict[str, pl.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(due, "AT_ONCE", 100)
    assert len(night(tmp_path, logs)) == 4
    assert len(archived(tmp_path)) == 2
    assert_same(content(tmp_path), kept)


@pytest.mark.thorough
def test_nothing_is_archived_before_it_is_computed(
    logs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = site(tmp_path)
    for log in logs:
        shutil.copy(log, tmp_path / "logs")
    assert run(Site(settings, tmp_path), NOW, "2026-02", stages=FIGURES).computed == ["c 2026-02"]
    assert archived(tmp_path) == []
    assert run(Site(settings, tmp_path), NOW, "2026-02", stages=FIGURES).computed == []
    assert archived(tmp_path) == []
    moved: list[tuple[str, int]] = []
    put_away = archiving.put_away

    def noted(
        work: Work, cluster: config.Cluster, setting: ClusterSettings, done: list[Period]
    ) -> object:
        months = put_away(work, cluster, setting, done)
        moved.append((done[-1].name, len(months)))
        return months

    monkeypatch.setattr(archiving, "put_away", noted)
    monkeypatch.setattr(due, "AT_ONCE", 1)
    assert night(tmp_path, [], months=1) == ["c 2026-01", "c 2026-03", "c 2026-04"]
    assert moved == [("2026-02", 2), ("2026-03", 0), ("2026-04", 0)]


@pytest.mark.thorough
@pytest.mark.parametrize("statement", ["COPY (SELECT * FROM job_result", "DELETE FROM job_result"])
def test_killed_while_it_archives(
    logs: list[Path], kept: dict[str, pl.DataFrame], tmp_path: Path, statement: str
) -> None:
    """kill -9 within the second month: after its first file, and after both, before it is noted."""
    site(tmp_path)
    for log in logs:
        shutil.copy(log, tmp_path / "logs")
    script = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from audit.config.places import Site\n"
        "from audit.nightly.run import run\nfrom audit.store import archive\n"
        "from tests.nightly.keeping.test_archiving import FIGURES, NOW, site\n"
        "seen = []\n"
        "def killing(do):\n"
        "    def done(con, sql, *more):\n"
        f"        seen.extend([sql] if sql.startswith({statement!r}) else [])\n"
        "        if len(seen) == 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return do(con, sql, *more)\n"
        "    return done\n"
        "archive.execute, archive.rows = killing(archive.execute), killing(archive.rows)\n"
        "folder = Path(sys.argv[1])\nrun(Site(site(folder), folder), NOW, stages=FIGURES)\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert night(tmp_path, []) == []
    assert len(archived(tmp_path)) == 2
    assert_same(content(tmp_path), kept)
    files = {file.name for file in (tmp_path / "fairaudit-archive" / "c").iterdir()}
    assert files == {Path(file).name for month in archived(tmp_path) for file in month.files}


@pytest.mark.thorough
def test_an_idle_night_leaves_the_archive_as_it_is(nights: Path) -> None:
    before = archived(nights)
    assert night(nights, []) == []
    assert archived(nights) == before


@pytest.mark.thorough
def test_months_come_back_and_go_again(nights: Path, kept: dict[str, pl.DataFrame]) -> None:
    settings = site(nights, months=3)
    before = archived(nights)
    assert archiving.bring_back(Site(settings, nights), "c", date(2026, 2, 3)) == before[1:]
    night(nights, [], months=3)
    assert archived(nights) == before[:1]
    assert_same(content(nights), kept)
    assert archiving.listed(Site(settings, nights), None) == [
        f"c  before 2026-02-01  {before[0].records:>12,} records         0 MiB"
    ]
    files = list((nights / "fairaudit-archive").rglob("*.parquet"))
    assert sorted(files) == sorted(nights / file for file in before[0].files)
    night(nights, [], months=1)
    assert archived(nights)[0] == before[0]
    assert_same(content(nights), kept)
    with pytest.raises(UsageError, match=r"--cluster 'd': config\.toml has: c"):
        archiving.bring_back(Site(settings, nights), "d", date(2026, 2, 3))
    with pytest.raises(UsageError, match=r"--cluster 'd': config\.toml has: c"):
        archiving.listed(Site(settings, nights), "d")


@pytest.mark.thorough
def test_records_read_again_count_as_known_and_late_ones_wait(
    nights: Path, logs: list[Path], kept: dict[str, pl.DataFrame]
) -> None:
    lines = logs[0].read_text().splitlines(keepends=True)
    again = nights / "logs" / "9.swf"
    late = lines[-1].split()
    late[0] = "90001"
    again.write_text("".join([*lines[:-1], " ".join(late) + "\n"]))
    assert night(nights, []) == []
    with closing(snapshots.open_snapshot(nights / "fairaudit.duckdb")) as con:
        ((records, refused, duplicates),) = database.rows(
            con, "SELECT records, refused, duplicates FROM inputs WHERE file = '9.swf'"
        )
        reasons = database.rows(con, "SELECT reason, text FROM refused_records")
    assert (refused, duplicates) == (1, records - 1)
    ((reason, text),) = reasons
    assert reason == (
        "ended before 2026-03-01, up to which its cluster is archived "
        "('fairaudit archive --back' brings months back)"
    )
    assert text == " ".join(late)
    jobs = content(nights)["job_fairness"], kept["job_fairness"]
    assert_frame_equal(*jobs, rel_tol=1e-9, abs_tol=1e-6)
    archiving.bring_back(Site(site(nights), nights), "c", date(2026, 1, 1))
    assert night(nights, [], months=9)[0] == "c 2026-01"
    found = content(nights)["job_fairness"]
    assert found.height == kept["job_fairness"].height + 1
    assert "90001" in found["job_id"]


@pytest.mark.thorough
def test_the_archive_is_saved_and_comes_back(nights: Path, tmp_path: Path) -> None:
    settings = site(nights)
    before = content(nights)
    saved, told = backup.save(Site(settings, nights), tmp_path / "saved.tar", NOW)
    assert len(told.archive) == 4
    there = tmp_path / "there"
    backup.restore(Site(site(there), there), saved, force=False)
    shutil.copytree(nights / "logs", there / "logs", dirs_exist_ok=True)
    assert run(Site(site(there), there), NOW).failures == []
    assert_same(content(there), before)
    elsewhere = tmp_path / "elsewhere"
    other = site(elsewhere).model_copy(
        update={"output": settings.output.model_copy(update={"archive": "old"})}
    )
    with pytest.raises(StoreError, match=r"output\.archive"):
        backup.restore(Site(other, elsewhere), saved, force=False)


@pytest.mark.parametrize(
    ("pool", "says"),
    [
        ({"capacity": {}}, r"capacity of pool 'all' must be configured .*capacity\.cpus"),
        ({"by_nodes": True}, "nodes of pool 'all' cannot be inferred"),
        ({"partitions": ("gone",)}, r"these have none: \(none\)"),
    ],
)
def test_pools_must_be_known_without_all_attempts(
    tmp_path: Path, logs: list[Path], pool: dict[str, object], says: str
) -> None:
    settings = site(tmp_path, 1, **pool)
    shutil.copy(logs[0], tmp_path / "logs")
    (failure,) = run(Site(settings, tmp_path), NOW).failures
    assert isinstance(failure, UsageError)
    with pytest.raises(UsageError, match=says):
        raise failure


@pytest.mark.thorough
def test_a_single_audit_leaves_such_a_database_alone(nights: Path, logs: list[Path]) -> None:
    published = nights / "fairaudit.duckdb"
    before = published.read_bytes()
    session = Session(LogRequest(logs=[logs[0]]), site(nights), fit=False)
    options = audit.AuditOptions(out=nights / "out", database=published, pdf=False)
    with pytest.raises(UsageError, match="has months in the archive"):
        audit.audit(session, options)
    assert published.read_bytes() == before


@pytest.mark.thorough
def test_a_job_of_an_archived_month_is_explained(nights: Path) -> None:
    ((job, waited),) = stores.rows(
        nights / "fairaudit.duckdb",
        "SELECT job_id, wait_s FROM job_fairness ORDER BY end_time LIMIT 1",
    )
    for whom in (None, job):
        log = open_published(nights / "fairaudit.duckdb", site(nights), job=whom)
        of_job = log.described.filter(pl.col("job_id") == job)
        assert of_job["wait_s"].to_list() == [waited]


def _explained(folder: Path, settings: config.Config, job: str) -> Story:
    database = folder / "fairaudit.duckdb"
    session = Session(LogRequest(logs=()), settings, database=database, folder=folder)
    return explain.explain(session, job)


@pytest.mark.thorough
def test_of_an_archived_cluster_the_attempts_around_a_job_explain_it(
    nights: Path, all_hot: Path
) -> None:
    published = nights / "fairaudit.duckdb"
    jobs = stores.rows(
        published,
        "SELECT job_id, epoch(end_time)::BIGINT FROM job_fairness "
        "WHERE wait_s > 0 ORDER BY end_time",
    )
    for job, end in (jobs[0], jobs[len(jobs) // 2], jobs[-1]):
        part = open_published(published, site(nights), job=job).described
        assert part["arrival_time"].max() <= end
        told = _explained(nights, site(nights), job)
        whole = _explained(all_hot, site(all_hot, 0), job)
        # which rule is known is judged by the attempts that were read: those around the job
        told, whole = (replace(one, delay=None, undelayed="") for one in (told, whole))
        causes, expected = told.account.causes, whole.account.causes
        assert causes == pytest.approx(expected, rel=1e-9, abs=1e-6)
        told = replace(told, account=replace(told.account, causes=expected))
        assert told == whole
    early = open_published(published, site(nights), job=jobs[0][0]).described
    assert early.height < open_published(published, site(nights)).described.height


@pytest.mark.thorough
def test_all_attempts_are_read_where_turns_rest_on_them(nights: Path) -> None:
    published = nights / "fairaudit.duckdb"
    every = open_published(published, site(nights)).described
    ((job,),) = stores.rows(published, "SELECT min(job_id) FROM job_fairness")
    asked = open_published(published, site(nights, interval_s=60), job=job).described
    assert asked["job_id"].to_list() == every["job_id"].to_list()


@pytest.mark.thorough
def test_a_job_that_an_archived_cluster_does_not_have(nights: Path) -> None:
    with pytest.raises(UsageError, match=r"cluster 'c' has no job 'nobody\\\\x07s'"):
        open_published(nights / "fairaudit.duckdb", site(nights), job="nobody\x07s")


@pytest.mark.thorough
def test_a_lost_report_of_an_archived_period_is_made_again(nights: Path) -> None:
    report = nights / "fairaudit-reports" / "c" / "2026-01" / "report.html"
    report.unlink(missing_ok=True)
    night = run(Site(site(nights), nights), NOW, "2026-01")
    assert (night.computed, night.reports, night.failures) == ([], [report], [])
    assert run(Site(site(nights), nights), NOW, "2026-01").reports == []
    (failure,) = run(Site(site(nights), nights), NOW, "2025-12").failures
    assert "has 2026-03 to 2026-04, and archived periods" in str(failure)
