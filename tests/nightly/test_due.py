"""The page over all reports: what it lists, where it leads, and that names stay text."""

import re
import shutil
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from audit.config.places import Site
from audit.nightly.due import PAGE
from audit.nightly.run import run
from tests.logs import write
from tests.nightly.test_run import NOW, month, published, site

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
    return (folder / "fairaudit-reports" / PAGE).read_text(encoding="utf-8")


@pytest.mark.thorough
def test_each_report_is_listed_with_its_verdict_the_newest_first(folder: Path) -> None:
    text = page(folder)
    links = [unquote(link) for link in re.findall(r'<th scope="row"><a href="([^"]*)"', text)]
    assert [link.split("/")[-2] for link in links] == ["2026-04", "2026-03", "2026-02"]
    said = dict(published(folder, "SELECT period, sentence FROM verdicts"))
    for link in links:
        report = (folder / "fairaudit-reports" / link).read_text(encoding="utf-8")
        sentence = said[link.split("/")[-2]]
        unbroken = sentence.replace(" %", "\u00a0%")
        assert f">{unbroken}</h1>" in unescape(report)
        assert sentence in unescape(text).replace("\u00a0", " ")


def test_names_stay_text(folder: Path) -> None:
    text = page(folder)
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert not re.search(r'(?:src|href)="(?:[a-z]+:|//)', text)


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


def test_without_reports_there_is_no_page(tmp_path: Path) -> None:
    settings = site(tmp_path)
    write(tmp_path / "logs" / "1.swf", "no log at all\n")
    run(Site(settings, tmp_path), NOW)
    assert not (tmp_path / "fairaudit-reports" / PAGE).exists()


def test_a_stated_part_of_the_workload_is_in_the_report_and_recomputes(tmp_path: Path) -> None:
    """The population belongs to the settings in force: the whole cluster is done again."""
    for population, told in ((None, False), ("part", True), ("all", False)):
        source = {"files": "logs/*.swf"} | ({"population": population} if population else {})
        settings = site(tmp_path, sources=(source,))
        write(tmp_path / "logs" / "1.swf", month(1, 250))
        done = run(Site(settings, tmp_path), NOW)
        assert len(done.reports) == 1
        ((sentence,),) = published(tmp_path, "SELECT sentence FROM verdicts")
        why = "Cannot tell: the log is a part of the workload (its sources hold only a part"
        assert sentence.startswith(why) is told
        assert any("The log is a part of the workload" in text for text in done.warnings) is told
