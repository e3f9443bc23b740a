"""Makes the report of a period: the page, and its PDF."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from audit.config import Config
from audit.errors import ReportError
from audit.files import replace
from audit.model import Period
from audit.pipeline import owners
from audit.progress import OnProgress, silent
from audit.report import build
from audit.report.contents import Contents, Options, Who
from audit.report.owner import page as owner
from audit.report.render import page, sandbox
from audit.store.database import Connection

HTML = owner.REPORT
PDF = "report.pdf"


@dataclass(frozen=True)
class WrittenReport:
    """A report whose files were written."""

    contents: Contents
    html: Path
    pdf: Path | None
    failure: ReportError | None  # why the PDF could not be made
    pages: tuple[Path, ...] = ()  # of single users and accounts


def prepare(config: Config, *, pdf: bool) -> None:
    """Start in the background what a PDF needs; call it before logs are read."""
    if pdf:
        sandbox.prepare(sandbox.limits(config.report))


def contents_of(con: Connection, config: Config, cluster: str, period: Period) -> Contents:
    """Return the content of the report of a period, of the configured length."""
    chosen = config.report
    options = Options(
        chosen.rows, chosen.examples, thresholds=config.verdict, starts=chosen.owner_starts
    )
    return build.build(con, cluster, period, options)


def draw(
    con: Connection,
    config: Config,
    cluster: str,
    period: Period,
    folder: Path,
    *,
    pdf: bool,
    also: Sequence[Who] = (),
    on_progress: OnProgress = silent,
) -> WrittenReport:
    """Write the report of a computed period into a folder; each file is replaced in one step.

    An older PDF or page would have other figures, and is removed if no new one is made.

    Args:
        folder: no other process writes there.
        pdf: whether to make the PDF too. If that fails, the page is made nevertheless.
        also: users and accounts of the log that get a page in any case.

    Raises ReportError if the page cannot be made, OSError if a file cannot be written.
    """

    def put(name: str, content: bytes) -> Path:
        shared = config.output.shared_with_group
        replace.write(folder / name, content, alone=True, with_group=shared)
        return folder / name

    what = "making the report"
    on_progress(what, 0, 3)
    contents = owners.with_pages(contents_of(con, config, cluster, period), config, also)
    pages = owners.write(con, config, contents, contents.options.pages, folder, linked=True)
    drawn = page.draw(contents)
    on_progress(what, 1, 3)
    html = put(HTML, page.render_html(contents, drawn).encode())
    on_progress(what, 2, 3)
    pdf_file, failure = None, None
    if pdf:
        try:
            pdf_file = put(PDF, page.render_pdf(contents, drawn, sandbox.limits(config.report)))
        except ReportError as error:
            failure = error
    if pdf_file is None:
        (folder / PDF).unlink(missing_ok=True)
    owners.remove_others(folder, pages)
    on_progress(what, 3, 3)
    return WrittenReport(contents, html, pdf_file, failure, pages)


def put_in_place(report: WrittenReport, folder: Path) -> WrittenReport:
    """Move a report into another folder of the same file system, replacing the one there."""
    pages = tuple(page.replace(folder / page.name) for page in report.pages)
    html = report.html.replace(folder / HTML)
    if report.pdf is None:
        (folder / PDF).unlink(missing_ok=True)
    pdf = report.pdf and report.pdf.replace(folder / PDF)
    owners.remove_others(folder, pages)
    return WrittenReport(report.contents, html, pdf, report.failure, pages)
