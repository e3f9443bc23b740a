"""A period's figures to its report: the page, and the PDF of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.config import Config
from audit.errors import ReportError
from audit.files import privacy
from audit.files.replace import drafting
from audit.ingest.ingest import Progress
from audit.model import Period
from audit.pipeline import owners
from audit.report import build
from audit.report.record.page import Bound, Bounds, Contents, Options, Who
from audit.report.render import owner, page, sandbox
from audit.store.database import Connection

HTML = owner.REPORT
PDF = "report.pdf"


@dataclass(frozen=True)
class Report:
    """A report whose files were written."""

    contents: Contents
    html: Path
    pdf: Path | None
    failure: ReportError | None
    """Why there is no PDF, where one was to be made."""
    pages: tuple[Path, ...] = ()
    """Of single users and accounts."""


def prepare(config: Config, *, pdf: bool) -> None:
    """Starts what a PDF waits for, in the background; call it before logs are read."""
    if pdf:
        sandbox.prepare(sandbox.limits(config.report))


def contents_of(con: Connection, config: Config, cluster: str, period: Period) -> Contents:
    """All that the report of a period says; as long as the configuration wants it."""
    of = config.verdict
    bounds = Bounds(*(Bound(each.warn, each.fail) for each in (of.overtaken, of.room, of.longer)))
    options = Options(rows=config.report.rows, examples=config.report.examples, bounds=bounds)
    return build.build(con, cluster, period, options)


def draw(
    con: Connection,
    config: Config,
    cluster: str,
    period: Period,
    folder: Path,
    *,
    pdf: bool,
    asked: Sequence[Who] = (),
    progress: Progress = lambda what, done, of: None,
) -> Report:
    """Writes the report of a period into a folder; each file replaces what was there in one step.

    A PDF, or a page of somebody, that was there would speak of other figures: where no new one is
    made, it goes.

    Args:
        con: a store with the period's figures.
        config: the configuration in force.
        cluster: its name.
        period: one that was computed.
        folder: where the files go; nobody else is writing there.
        pdf: whether to make the PDF, too. Where that fails, the page is there nevertheless.
        asked: users and accounts who get a page in any case, known to the log.
        progress: told how far it is.

    Raises:
        ReportError: the page cannot be made.
        OSError: a file cannot be written.
    """

    def put(name: str, content: bytes) -> Path:
        with drafting(folder / name, alone=True) as draft:
            draft.write_bytes(content)
            privacy.share(draft, with_group=config.output.shared_with_group)
        return folder / name

    what = "making the report"
    progress(what, 0, 3)
    contents = owners.with_pages(contents_of(con, config, cluster, period), config, asked)
    pages = owners.write(con, config, contents, contents.options.pages, folder, linked=True)
    drawn = page.draw(contents)
    progress(what, 1, 3)
    html = put(HTML, page.render_html(contents, drawn).encode())
    progress(what, 2, 3)
    pdf_file, failure = None, None
    if pdf:
        try:
            pdf_file = put(PDF, page.render_pdf(contents, drawn, sandbox.limits(config.report)))
        except ReportError as error:
            failure = error
    if pdf_file is None:
        (folder / PDF).unlink(missing_ok=True)
    owners.remove_others(folder, pages)
    progress(what, 3, 3)
    return Report(contents, html, pdf_file, failure, pages)


def put_in_place(report: Report, folder: Path) -> Report:
    """Moves a report into another folder of the same file system, for what was there."""
    pages = tuple(page.replace(folder / page.name) for page in report.pages)
    html = report.html.replace(folder / HTML)
    pdf = folder / PDF
    if report.pdf is None:
        pdf.unlink(missing_ok=True)
    else:
        report.pdf.replace(pdf)
    owners.remove_others(folder, pages)
    return Report(report.contents, html, report.pdf and pdf, report.failure, pages)
