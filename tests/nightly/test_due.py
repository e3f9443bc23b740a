"""The page over all reports: what it lists, where it leads, and that names stay text."""

import re
import shutil
from datetime import date
from html import unescape
from pathlib import Path
from typing import Literal
from unittest.mock import Mock
from urllib.parse import unquote
from zoneinfo import ZoneInfo

import polars as pl
import pytest

from audit import config
from audit.config.places import Site
from audit.nightly import due
from audit.nightly.run import run
from tests.logs import write
from tests.nightly.test_run import DAY, FIGURES, NOW, month, published, site
from tests.places import SLURM

HOSTILE = "<b>\"x'&..|ü"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site of one cluster with three months of reports."""
    folder = tmp_path_factory.mktemp("site")
    settings = site(folder)
    clusters = tuple(of.model_copy(update={"name": HOSTILE}) for of in settings.clusters)
    for number in (1, 2, 3):
        write(folder / "logs" / f"{number}.swf", month(number))
    done = run(Site(settings.model_copy(update={"clusters": clusters}), folder), NOW)
    assert len(done.reports) == 3
    return folder


def page(folder: Path) -> str:
    return (folder / "fairaudit-reports" / "index.html").read_text(encoding="utf-8")


@pytest.mark.thorough
def test_each_report_is_listed_with_its_verdict_the_newest_first(folder: Path) -> None:
    text = page(folder)
    links = [unquote(link) for link in re.findall(r'<th scope="row"><a href="([^"]*)"', text)]
    assert [link.split("/")[-2] for link in links] == ["2026-04", "2026-03", "2026-02"]
    said = dict(published(folder, "SELECT period, sentence FROM verdicts"))
    for link in links:
        report = (folder / "fairaudit-reports" / link).read_text(encoding="utf-8")
        sentence = said[link.split("/")[-2]]
        (title,) = re.findall(r"<h1[^>]*>(.*?)</h1>", report, re.DOTALL)
        shown = unescape(re.sub(r"<[^>]*>", " ", title)).split()
        assert shown == sentence.replace(": ", " ", 1).split()
        assert f'{sentence.partition(": ")[0]}</td><td class="reason">' in text


@pytest.mark.thorough
def test_what_is_no_longer_kept_is_not_listed(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "site"
    shutil.copytree(folder, copy)
    gone = next((copy / "fairaudit-reports").glob("*/2026-02"))
    shutil.rmtree(gone)
    settings = site(copy)
    clusters = tuple(of.model_copy(update={"name": HOSTILE}) for of in settings.clusters)
    write(copy / "logs" / "4.swf", month(4))
    run(Site(settings.model_copy(update={"clusters": clusters}), copy), NOW + 40 * 86_400)
    text = page(copy)
    assert ">2026-05</a>" in text
    assert ">2026-02</a>" not in text


@pytest.mark.thorough
def test_a_run_that_was_killed_before_the_page_was_written_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = Site(site(tmp_path, name=HOSTILE), tmp_path)
    write(tmp_path / "logs" / "1.swf", month(1, jobs=9))
    write(tmp_path / "logs" / "2.swf", month(2, jobs=9))
    with monkeypatch.context() as killed:
        killed.setattr(due, "write_index", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            run(where, NOW)
    assert not (tmp_path / "fairaudit-reports" / "index.html").exists()
    assert run(where, NOW).reports == []
    text = page(tmp_path)
    assert ">2026-02</a>" in text
    assert ">2026-03</a>" in text
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert not re.search(r'(?:src|href)="(?:[a-z]+:|//)', text)


def test_without_reports_there_is_no_page(tmp_path: Path) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", "no log at all\n")
    run(Site(settings, tmp_path), NOW)
    assert not (tmp_path / "fairaudit-reports" / "index.html").exists()


PLANNED = (SLURM / "begin_in_future" / "sacct.txt").read_text().replace("03-12", "05-20")
LAST = 1_772_420_400  # its latest submission, start or end


@pytest.mark.thorough
def test_no_report_of_a_month_that_has_not_happened(tmp_path: Path) -> None:
    """A pending job may start on 20 May at the earliest; all that happened was in March."""
    settings = site(tmp_path, sources=({"files": "logs/*.txt", "silent_days": 2},))
    write(tmp_path / "logs" / "1.txt", PLANNED)
    done = run(Site(settings, tmp_path), LAST + DAY)
    assert done.computed == ["c 2026-03"]
    assert [path.parent.name for path in done.reports] == ["2026-03"]
    assert done.failures == []
    assert published(tmp_path, "SELECT max(as_of)::DATE::VARCHAR FROM fairshare_history") == [
        ("2026-03-02",)
    ]
    silent = run(Site(settings, tmp_path), LAST + 3 * DAY)
    assert ["is silent" in str(failure) for failure in silent.failures] == [True]


def begins(folder: Path) -> list[tuple[str, float]]:
    sql = "SELECT period, value FROM fidelity WHERE metric = 'log_begin' ORDER BY period"
    return published(folder, sql)


@pytest.mark.thorough
def test_a_source_may_say_when_its_log_begins(tmp_path: Path) -> None:
    """Only figures that depend on the begin are computed again when it changes."""
    records = site(tmp_path)
    for number in (1, 2):
        write(tmp_path / "logs" / f"{number}.swf", month(number))
    first = run(Site(records, tmp_path), NOW, stages=FIGURES)
    assert first.computed == ["c 2026-02", "c 2026-03"]
    of_records = 1_767_225_600 + 36 * DAY + 2_000  # the first end
    assert begins(tmp_path) == [(f"2026-0{k}", of_records) for k in (2, 3)]
    assert run(Site(records, tmp_path), NOW + 1, stages=FIGURES).computed == []

    source = {"files": "logs/*.swf", "since": date(2026, 2, 4)}
    known = site(tmp_path, sources=(source,))
    assert run(Site(known, tmp_path), NOW + 2, stages=FIGURES).computed == ["c 2026-02"]
    since = 1_770_159_600  # midnight in Berlin
    assert begins(tmp_path)[0] == ("2026-02", since)
    [(covered,)] = published(
        tmp_path,
        "SELECT value FROM summary WHERE metric = 'covered_time' AND period = '2026-02'",
    )
    assert covered == 1_772_319_600 - since
    assert run(Site(known, tmp_path), NOW + 3, stages=FIGURES).computed == []


@pytest.mark.thorough
def test_a_stated_part_of_the_workload_is_in_the_report_and_recomputes(tmp_path: Path) -> None:
    """The population belongs to the settings in force: the whole cluster is done again."""
    for population, told in (("part", True), (None, False)):
        source = {"files": "logs/*.swf"} | ({"population": population} if population else {})
        settings = site(tmp_path, sources=(source,))
        write(tmp_path / "logs" / "1.swf", month(1, 250))
        done = run(Site(settings, tmp_path), NOW)
        assert len(done.reports) == 1
        ((sentence,),) = published(tmp_path, "SELECT sentence FROM verdicts")
        assert (sentence == "Cannot tell: The log holds only a part of the jobs.") is told
        assert any("The log is a part of the workload" in text for text in done.warnings) is told


APRIL = 1_775_001_600  # 2026-04-01 UTC


@pytest.mark.parametrize(
    ("kind", "zone", "taken", "found"),
    [
        ("month", "UTC", (), {"2026-04": (0, 30, 1), "2026-05": (30, 61, 1)}),
        ("month", "Etc/GMT-2", (), {"2026-04": (0, 30 - 1 / 12, 1), "2026-05": (30, 61, 1)}),
        ("month", "Etc/GMT+2", ("2026-03",), {"2026-04": (0, 30 + 1 / 12, 1)}),
        ("week", "UTC", ("2026-03",), {"2026-W14": (0, 5, 1), "2026-W19": (33, 40, 1)}),
    ],
)
def test_the_rest_of_a_period_that_is_archived_in_part_is_not_lost(
    kind: Literal["week", "month"],
    zone: str,
    taken: tuple[str, ...],
    found: dict[str, tuple[float, float, int]],
) -> None:
    """The zone or the length of periods may change after months of the former are archived."""
    ends = [APRIL - DAY, APRIL + DAY, APRIL + 36 * DAY]
    hours = pl.DataFrame({"first": ends, "last": ends, "attempts": [1, 1, 1]})
    cluster = config.Cluster(name="c", zone=zone, period=kind)
    made = due._periods(hours, cluster, Mock(zone=ZoneInfo(zone)), APRIL, taken)
    assert sum(made.values()) == 2
    for name, (begin, end, attempts) in found.items():
        period = next(period for period in made if period.name == name)
        assert made[period] == attempts
        assert period.from_time >= APRIL
        if begin == 0:
            assert (period.from_time, period.to_time) == (APRIL, APRIL + end * DAY)
