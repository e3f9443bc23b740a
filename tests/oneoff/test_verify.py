"""A report is made again from its database, byte for byte; differences are explained."""

from pathlib import Path

import pytest

from audit import config
from audit.config.places import Site
from audit.errors import UsageError
from audit.nightly.run import run
from audit.oneoff.audit import AuditOptions, audit
from audit.oneoff.verify import Reproduction, verify
from audit.pipeline.opening import LogRequest, Session
from tests.logs import busy, write
from tests.nightly.test_run import NOW, month, site

DEFAULT = config.Config()
FEW = config.Uncertainty(resamples=100)


def _verify(
    report: Path, db: Path | None = None, settings: config.Config = DEFAULT
) -> Reproduction:
    return verify(report, db, settings, report.parents[-1])


@pytest.mark.thorough
def test_a_one_off_report_is_recreated_and_edits_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = write(tmp_path / "my.swf", busy())
    settings = config.Config(uncertainty=FEW, report=config.ReportConfig(rows=3))
    made = audit(
        Session(LogRequest(logs=[log], cluster="<b>|ü"), settings, fit=False),
        AuditOptions(out=tmp_path / "out"),
    )
    assert made.pdf is not None
    for report in (made.html, made.pdf):
        verdict = _verify(report)
        assert verdict.same, verdict.text

    page = made.html.read_text(encoding="utf-8")
    made.html.write_text(page.replace("Passed over by later jobs", "All fine", 1), encoding="utf-8")
    verdict = _verify(made.html)
    assert not verdict.same
    assert "All fine" in verdict.text
    assert "the file was edited" in verdict.text

    whole = made.pdf.read_bytes()  # as it is made again, which was seen above
    monkeypatch.setattr("audit.report.render.page.render_pdf", lambda *_, **__: whole)
    made.pdf.write_bytes(whole + b"\n")
    assert "first at byte" in _verify(made.pdf).text

    texts = {"<html></html>": "contains no identity", "fairaudit-report:e30=": "edited"}
    for text, said in texts.items():
        with pytest.raises(UsageError, match=said):
            _verify(write(tmp_path / "x.html", text), made.database)
    with pytest.raises(UsageError, match="--db"):
        _verify(write(tmp_path / "y.html", page))


@pytest.mark.thorough
def test_later_logs_change_only_the_reports_of_their_periods(tmp_path: Path) -> None:
    settings = site(tmp_path)
    for number in (0, 1):
        write(tmp_path / "logs" / f"{number}.swf", month(number))
    run(Site(settings, tmp_path), NOW)
    reports = tmp_path / "fairaudit-reports" / "c"
    january = reports / "2026-01" / "report.html"
    before = january.read_bytes()

    write(tmp_path / "logs" / "2.swf", month(2) + "not a record\n")
    run(Site(settings, tmp_path), NOW)
    assert january.read_bytes() == before
    for report in (january, reports / "2026-03" / "report.html"):
        verdict = verify(report, None, settings, tmp_path)
        assert verdict.same, verdict.text

    write(tmp_path / "logs" / "late.swf", month(0, jobs=3, first=50))
    run(Site(settings, tmp_path), NOW)
    assert verify(january, None, settings, tmp_path).same
    old = tmp_path / "old.html"
    old.write_bytes(before)
    verdict = verify(old, None, settings, tmp_path)
    assert not verdict.same
    assert "recomputed" in verdict.text
    assert "were restated since" in verdict.text


@pytest.mark.thorough
def test_another_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write(tmp_path / "my.swf", busy())
    options = AuditOptions(out=tmp_path / "out", pdf=False)
    made = audit(
        Session(LogRequest(logs=[log]), config.Config(uncertainty=FEW), fit=False), options
    )
    monkeypatch.setattr("audit.report.render.page.SMALL_SAMPLE", 10_000)
    assert "other fonts or libraries" in _verify(made.html).text
    monkeypatch.setattr("audit.oneoff.verify.__version__", "99")
    assert "by version" in _verify(made.html).text
