"""The configured run: new data is processed, nothing twice, also after interruptions."""

import re
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from audit import config
from audit.config.places import Site
from audit.errors import AuditError, UsageError
from audit.files import lock
from audit.nightly.run import run
from audit.nightly.stages import Night
from audit.store import database
from tests import stores
from tests.logs import line, log, write

NOW = 2_000_000_000
DAY = 86_400
VIEWS = (
    *("job_fairness", "user_fairness", "account_fairness", "summary", "coverage"),
    *("fairshare_history", "refused_records"),
)
FIGURES = ("ingest", "compute", "publish")
"""Stages of a night without its report, which takes a third of the night."""


def site(folder: Path, **changes: object) -> config.Config:
    """A cluster whose logs are in ``logs``."""
    cluster: dict[str, object] = {
        "name": "c",
        "zone": "Europe/Berlin",
        "sources": ({"files": "logs/*.swf"},),
    }
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    content: dict[str, object] = {
        "uncertainty": {"resamples": 100},
        "report": {"pdf": False},
        "clusters": ({**cluster, **changes},),
    }
    return config.Config.model_validate(content)


def month(number: int, jobs: int = 40, first: int = 0) -> str:
    """A month of short jobs; months begin 31 days apart, well within calendar months."""
    begin = number * 31 * DAY + 5 * DAY
    lines = [
        line(
            number * 1000 + job,
            submit=begin + job * 3000,
            wait=job % 5 * 100,
            run=2000 + job % 3 * 500,
            allocated=1 + job % 4,
            user=1 + job % 3,
            group=1 + job % 2,
        )
        for job in range(first, first + jobs)
    ]
    return log(lines, UnixStartTime=1_767_225_600, MaxProcs=8)  # 2026-01-01 UTC


def published(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query over the published database."""
    return stores.rows(folder / "fairaudit.duckdb", sql)


def content(folder: Path) -> dict[str, object]:
    """All that a run leaves for people: every view, and every page.

    Of the runs those that made figures and reports; what else was tried is history.
    """
    found: dict[str, object] = {}
    with stores.published(folder / "fairaudit.duckdb") as con:
        for view in (*VIEWS, "runs"):
            made = "WHERE config_hash IS NOT NULL" if view == "runs" else ""
            found[view] = database.fetch(con, f"FROM {view} {made}").sort(pl.all()).rows()
    for page in sorted((folder / "fairaudit-reports").rglob("*")):
        if page.is_file():
            found[str(page.relative_to(folder))] = page.read_bytes()
    return found


@pytest.mark.thorough
def test_what_is_new_is_done_and_nothing_twice(tmp_path: Path) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0))
    first = run(Site(settings, tmp_path), NOW)
    assert first.computed == ["c 2026-01"]
    assert first.published
    before = content(tmp_path)
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.html")}

    again = run(Site(settings, tmp_path), NOW + 99)
    assert again == Night()
    assert content(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.html")} == stamps

    write(tmp_path / "logs" / "2.swf", month(1))
    more = run(Site(settings, tmp_path), NOW)
    assert more.read == ["2.swf: 40 records, 0 refused"]
    # the logs had ended long before January did
    assert more.computed == ["c 2026-01", "c 2026-02"]
    assert [path.parent.name for path in more.reports] == ["2026-01", "2026-02"]

    write(tmp_path / "logs" / "late.swf", month(0, jobs=3, first=50))
    late = run(Site(settings, tmp_path), NOW, stages=FIGURES)
    assert late.computed == ["c 2026-01", "c 2026-02"]  # similar jobs may be of the month before
    sql = "SELECT period, old_value, new_value FROM restatements WHERE metric = 'attempts'"
    assert published(tmp_path, sql) == [("2026-01", 40.0, 43.0)]


def test_a_quiet_end_of_a_month_is_missing_only_until_later_records_come(tmp_path: Path) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "0.swf", month(0, jobs=240))
    (report,) = run(Site(settings, tmp_path), NOW).reports
    text = report.read_text(encoding="utf-8")
    assert "Records of 22 days are missing." in text  # five before the log begins
    assert "records end on 2026-01-14" in text
    write(tmp_path / "logs" / "1.swf", month(1, jobs=240))
    again, newest = run(Site(settings, tmp_path), NOW).reports
    assert again == report
    assert "Records of 5 days are missing." in report.read_text(encoding="utf-8")
    assert "records end on" not in report.read_text(encoding="utf-8")
    assert "under other settings" not in newest.read_text(encoding="utf-8")
    because = published(tmp_path, "SELECT DISTINCT because FROM restatements")
    assert because == [("the log covers another part of the period",)]
    assert run(Site(settings, tmp_path), NOW) == Night()


def test_each_month_names_the_capacity_that_it_had(tmp_path: Path) -> None:
    steps = ({"since": date(2026, 2, 1), "cpus": 16},)
    settings = site(tmp_path, pools=({"name": "p", "capacity": {"cpus": 8}, "steps": steps},))
    for number in (0, 1):
        write(tmp_path / "logs" / f"{number}.swf", month(number, jobs=240))
    reports = run(Site(settings, tmp_path), NOW).reports
    for report, cpus in zip(reports, (8, 16), strict=True):
        assert re.search(rf"of {cpus}\s*CPUs were busy", report.read_text(encoding="utf-8"))


def test_a_report_that_is_missing_is_made_again_on_request(tmp_path: Path) -> None:
    settings = site(tmp_path)
    for number in (0, 1):
        write(tmp_path / "logs" / f"{number}.swf", month(number))
    (lost, *_) = run(Site(settings, tmp_path), NOW).reports
    before, period = lost.read_bytes(), lost.parent.name
    lost.unlink()
    assert run(Site(settings, tmp_path), NOW + 9) == Night()
    again = run(Site(settings, tmp_path), NOW + 9, period)
    assert (again.reports, again.computed, again.sent) == ([lost], [], [])
    assert lost.read_bytes() == before
    assert run(Site(settings, tmp_path), NOW + 99, period).reports == []


@pytest.mark.thorough
def test_a_change_of_the_configuration_computes_all_anew(tmp_path: Path) -> None:
    write(tmp_path / "logs.swf", "")
    settings = site(tmp_path)
    for number in (0, 1):
        write(tmp_path / "logs" / f"{number}.swf", month(number, jobs=15))
    run(Site(settings, tmp_path), NOW, stages=FIGURES)
    pools = ({"name": "p", "capacity": {"cpus": 16}},)
    changed = run(Site(site(tmp_path, pools=pools), tmp_path), NOW, stages=FIGURES)
    assert changed.read == []
    assert changed.computed == ["c 2026-01", "c 2026-02"]
    weekly = run(Site(site(tmp_path, pools=pools, period="week"), tmp_path), NOW, stages=FIGURES)
    assert all("-W" in name for name in weekly.computed)
    left = published(tmp_path, "SELECT DISTINCT period FROM summary ORDER BY period")
    assert all("-W" in name for (name,) in left)


@pytest.mark.thorough
def test_only_one_period(tmp_path: Path) -> None:
    settings = site(tmp_path)
    for number in (0, 1):
        write(tmp_path / "logs" / f"{number}.swf", month(number))
    assert run(Site(settings, tmp_path), NOW, "2026-02", stages=FIGURES).computed == ["c 2026-02"]
    assert run(Site(settings, tmp_path), NOW, stages=FIGURES).computed == ["c 2026-01"]
    (failure,) = run(Site(settings, tmp_path), NOW, "2027-01", stages=FIGURES).failures
    assert isinstance(failure, UsageError)
    assert "cluster 'c' has 2026-01 to 2026-02" in str(failure)


STAGES = {
    "reading a log": "audit.ingest.ingest.weigh_dates",
    "storing results": "audit.cluster.results._describe",
    "noting the run": "audit.cluster.identity.Identity.note",
    "drawing": "audit.report.render.page.draw",
    "writing a page": "audit.pipeline.drawing.replace.write",
    "noting the report": "audit.nightly.due._note_report",
    "publishing": "audit.store.publish.attach",
}


class PowerCutError(BaseException):
    """Nothing in the code catches this."""


OFTEN = "storing results"


@pytest.mark.parametrize(
    "stage",
    [pytest.param(stage, marks=() if stage == OFTEN else pytest.mark.thorough) for stage in STAGES],
)
def test_stopped_at_any_stage_and_run_again_it_ends_as_if_undisturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: dict[str, object], stage: str
) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0))
    calls = 0

    def cut(*_arguments: object, **_named: object) -> None:
        nonlocal calls
        calls += 1
        raise PowerCutError

    with monkeypatch.context() as broken:
        broken.setattr(STAGES[stage], cut)
        with pytest.raises(PowerCutError):
            run(Site(settings, tmp_path), NOW)
    assert calls == 1
    run(Site(settings, tmp_path), NOW)
    assert content(tmp_path) == undisturbed


def test_one_run_at_a_time(tmp_path: Path) -> None:
    settings = site(tmp_path)
    (tmp_path / "fairaudit-state").mkdir()
    store = tmp_path / "fairaudit-state" / "store.duckdb"
    with lock.held(store), pytest.raises(AuditError) as caught:
        run(Site(settings, tmp_path), NOW)
    assert caught.value.exit_code == 75


@pytest.mark.thorough
def test_one_bad_log_stops_nothing(tmp_path: Path) -> None:
    """The bad log is named, in the report too; the rest is computed and published."""
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0))
    write(tmp_path / "logs" / "2.swf", "no log at all\n")
    write(tmp_path / "logs" / "3.swf", "")  # as logrotate leaves one
    done = run(Site(settings, tmp_path), NOW)
    assert [failure.exit_code for failure in done.failures] == [2]
    assert any("3.swf: empty" in said for said in done.warnings)
    assert done.computed == ["c 2026-01"]
    assert done.published
    page = (tmp_path / "fairaudit-reports" / "c" / "2026-01" / "report.html").read_text("utf-8")
    assert "Log 2.swf could not be read, so its records are missing: not a log that" in page
    assert "3.swf" not in page

    write(tmp_path / "logs" / "4.swf", month(1, jobs=9) + "1 2 3\n" * 5)
    refused = run(Site(settings, tmp_path), NOW, stages=FIGURES)
    assert sorted(failure.exit_code for failure in refused.failures) == [2, 3]
    codes = dict(published(tmp_path, "SELECT file, code FROM set_aside_logs"))
    assert codes == {"2.swf": "unknown", "3.swf": "empty", "4.swf": "limit"}

    (tmp_path / "logs" / "2.swf").unlink()
    write(tmp_path / "logs" / "3.swf", month(2, jobs=9))
    write(tmp_path / "logs" / "4.swf", month(1, jobs=9))
    mended = run(Site(settings, tmp_path), NOW, stages=FIGURES)
    assert mended.failures == []
    # nothing is missing from January any more
    assert mended.computed == ["c 2026-01", "c 2026-02", "c 2026-03"]
    assert content(tmp_path)["refused_records"] == []


def test_a_mostly_refused_source_does_not_keep_the_others_out(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    settings = site(tmp_path, sources=({"files": "logs/*.swf"}, {"files": "more/*.swf"}))
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9) + "1 2 3\n" * 5)
    write(tmp_path / "more" / "1.swf", month(1, jobs=9))
    done = run(Site(settings, tmp_path), NOW, stages=FIGURES)
    assert [failure.exit_code for failure in done.failures] == [3]
    assert done.computed == ["c 2026-02"]


@pytest.mark.thorough
def test_periods_without_records_are_not_computed_and_the_next_report_says_so(
    tmp_path: Path,
) -> None:
    settings = site(tmp_path, period="day")
    begin = 5 * DAY
    days = [
        line(n, submit=begin + day * DAY, run=200, user=n)
        for n, day in enumerate((0, 0, 1, 9, 9, 10))
    ]
    write(tmp_path / "logs" / "1.swf", log(days, UnixStartTime=1_767_225_600, MaxProcs=8))
    done = run(Site(settings, tmp_path), NOW)
    assert done.computed == [f"c 2026-01-{day:02}" for day in (6, 7, 15, 16)]
    pages = tmp_path / "fairaudit-reports" / "c"
    assert len(list(pages.glob("2026-*"))) == 4
    said = "There are no records between"
    told = [
        day.name
        for day in sorted(pages.glob("2026-*"))
        if said in (day / "report.html").read_text("utf-8")
    ]
    assert told == ["2026-01-15"]


@pytest.mark.thorough
def test_a_wrong_clock_makes_no_days_and_is_reported(tmp_path: Path) -> None:
    settings = site(tmp_path, period="day")
    wrong = line(99, submit=-50 * 365 * DAY + 9, wait=5, run=10)
    text = log(
        [*month(0, jobs=50).splitlines()[2:], line(98, submit=33 * 365 * DAY, run=10), wrong],
        UnixStartTime=1_767_225_600,
        MaxProcs=8,
    )
    write(tmp_path / "logs" / "1.swf", text)
    done = run(Site(settings, tmp_path), NOW, stages=FIGURES)
    assert done.computed == ["c 2026-01-06", "c 2026-01-07"]
    assert "doubtful" in str(content(tmp_path)["refused_records"])


def test_nothing_to_read_is_stated(tmp_path: Path) -> None:
    done = run(Site(site(tmp_path), tmp_path), NOW)
    assert any("no file matches 'logs/*.swf'" in said for said in done.warnings)
    assert any("no records yet" in said for said in done.warnings)
    with pytest.raises(UsageError, match="no \\[\\[clusters\\]\\]"):
        run(Site(config.Config(), tmp_path), NOW)


def command(*words: str) -> dict[str, object]:
    return {"sources": ({"command": words, "timeout_s": 20},)}


def test_a_command_is_a_source_and_no_shell_reads_it(tmp_path: Path) -> None:
    hidden = write(tmp_path / "a b;$(c).txt", month(0))
    where = Site(site(tmp_path, **command("cat", str(hidden))), tmp_path)
    done = run(where, NOW, stages=FIGURES)
    assert done.read == ["c-0.log: 40 records, 0 refused"]
    assert done.computed == ["c 2026-01"]
    again = run(where, NOW, stages=FIGURES)
    assert again.read == []
    assert again.computed == []
    assert not list((tmp_path / "fairaudit-state").glob("*.log"))


def test_output_that_is_no_log_is_that_of_a_command(tmp_path: Path) -> None:
    """Its file is gone when the message is read."""
    done = run(Site(site(tmp_path, **command("echo", "no connection")), tmp_path), NOW)
    (failure,) = done.failures
    assert str(failure).startswith("output of command 'echo' (c-0.log): not a log that fairaudit")
    assert str(failure).endswith("; run it by hand to see what it prints (clusters.sources)")
    assert "connection" not in str(failure)


def test_thresholds_find_what_exceeds_them(tmp_path: Path) -> None:
    write(tmp_path / "log", "")
    base = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", month(0))
    limits = (
        {"metric": "attempts", "above": 39.0},
        {"metric": "wait_mean", "above": 1e9},
        {"metric": "re_unfairness", "above": -1.0, "dimension": "account"},
    )
    settings = config.Config.model_validate({**base.model_dump(), "thresholds": limits})
    found = run(Site(settings, tmp_path), NOW, stages=FIGURES).exceeded
    assert found[0] == "c 2026-01, pool all: attempts is 40 attempts, above 39"
    assert [text.split(" is ")[0] for text in found[1:]] == [
        "c 2026-01, pool all: re_unfairness of account 1",
        "c 2026-01, pool all: re_unfairness of account 2",
    ]


@pytest.mark.thorough
def test_pools_and_their_steps(tmp_path: Path) -> None:
    records = [
        line(k, submit=k * 100, run=3600, allocated=2, queue=k % 2, user=k % 3) for k in range(40)
    ]
    text = log(records, UnixStartTime=1_767_225_600, MaxProcs=64, Queue="0 fast")
    pools = (
        {
            "name": "fast",
            "partitions": ("fast",),
            "capacity": {"cpus": 16, "gpus": 4},
            "steps": ({"since": date(2026, 1, 2), "cpus": 32},),
        },
    )
    settings = site(tmp_path, pools=pools, zone="UTC")
    write(tmp_path / "logs" / "1.swf", text)
    done = run(Site(settings, tmp_path), NOW, stages=FIGURES)
    assert any("have these partitions" in said or "has these" in said for said in done.warnings)
    found = published(tmp_path, "SELECT pool, count(*) FROM job_fairness GROUP BY pool")
    assert dict(found) == {"fast": 20, "others": 20}
    of = "pool = 'fast' AND metric = 'utilization' AND dimension = 'all'"
    ((used,),) = published(tmp_path, f"SELECT value FROM summary WHERE {of}")
    # 20 attempts of 2 cpus over 16 cpus, from the first end, at 3600, to the last, at 7500
    after = sum(min(k * 100, 3600) for k in range(0, 40, 2))  # s of them in that time
    assert used == pytest.approx(after * 2 / ((7500 - 3600) * 16))
