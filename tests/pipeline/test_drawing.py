"""A period's report as files: each complete, and all with the same figures."""

import stat
from pathlib import Path

import pytest

from audit.config import Config
from audit.config.places import Site
from audit.errors import ReportError
from audit.nightly.run import run
from tests.logs import write
from tests.nightly.test_run import NOW, month, site

pytestmark = pytest.mark.usefixtures("short_paper")


def printing(settings: Config, *, pdf: bool = True, with_group: bool = False) -> Config:
    wish = {"report": {"pdf": pdf}, "output": {"shared_with_group": with_group}}
    return Config.model_validate({**settings.model_dump(), **wish})


@pytest.fixture
def reported(tmp_path: Path, short_paper: bytes) -> Path:
    """The folder of a report with a PDF; a log that came since makes another one due."""
    write(tmp_path / "logs.swf", "")
    settings = printing(site(tmp_path))
    write(tmp_path / "logs" / "1.swf", month(0, jobs=9))
    (page,) = run(Site(settings, tmp_path), NOW).reports
    assert (page.parent / "report.pdf").read_bytes() == short_paper
    write(tmp_path / "logs" / "late.swf", month(0, jobs=3, first=50))
    return page.parent


@pytest.mark.thorough
def test_a_pdf_of_other_figures_goes_if_pdfs_are_switched_off(
    tmp_path: Path, reported: Path
) -> None:
    before = (reported / "report.html").read_bytes()
    run(Site(printing(site(tmp_path), pdf=False), tmp_path), NOW)
    assert (reported / "report.html").read_bytes() != before
    assert [path.name for path in reported.iterdir()] == ["report.html"]


@pytest.mark.thorough
def test_a_pdf_that_cannot_be_made_leaves_the_page_to_its_readers(
    tmp_path: Path, reported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise ReportError("no fonts")

    monkeypatch.setattr("audit.report.render.page.render_pdf", fail)
    done = run(Site(printing(site(tmp_path), with_group=True), tmp_path), NOW)
    assert [str(failure) for failure in done.failures] == ["no fonts"]
    (page,) = reported.iterdir()
    assert page.name == "report.html"
    assert stat.S_IMODE(page.stat().st_mode) == 0o640
