"""Makes the report of a period: the page, its PDF, and the pages of single users and accounts."""

import dataclasses
import difflib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from audit import json_answers
from audit.config import Config, places
from audit.errors import ReportError, UsageError
from audit.files import replace
from audit.model import OBSERVED, Period
from audit.progress import OnProgress, printable, silent
from audit.report import build
from audit.report.contents import REPORT, Contents, Options, Who
from audit.report.render import identity, page, sandbox
from audit.report.sections.passed_over import named
from audit.store import queries
from audit.store.database import Connection

HTML = REPORT
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
    contents = with_pages(contents_of(con, config, cluster, period), config, also)
    pages = write(con, config, contents, contents.options.pages, folder, linked=True)
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
    remove_others(folder, pages)
    on_progress(what, 3, 3)
    return WrittenReport(contents, html, pdf_file, failure, pages)


def put_in_place(report: WrittenReport, folder: Path) -> WrittenReport:
    """Move a report into another folder of the same file system, replacing the one there."""
    pages = tuple(page.replace(folder / page.name) for page in report.pages)
    html = report.html.replace(folder / HTML)
    if report.pdf is None:
        (folder / PDF).unlink(missing_ok=True)
    pdf = report.pdf and report.pdf.replace(folder / PDF)
    remove_others(folder, pages)
    return WrittenReport(report.contents, html, pdf, report.failure, pages)


_CARD = ".json"
"""Suffix of the card beside a page."""


def with_pages(contents: Contents, config: Config, also: Sequence[Who]) -> Contents:
    """Return a report with links to the pages of ``also`` and of entities that it names.

    The pages are beside it.
    """
    chosen = config.report.owner_pages == "named" and not contents.brief
    pages = tuple(dict.fromkeys((*also, *(named(contents) if chosen else ()))))
    options = dataclasses.replace(contents.options, pages=pages)
    return dataclasses.replace(contents, options=options)


def write(
    con: Connection,
    config: Config,
    contents: Contents,
    owners: Sequence[Who],
    folder: Path,
    *,
    linked: bool,
) -> tuple[Path, ...]:
    """Write a page for each of ``owners`` into a folder, and return the files.

    Users also get a card if the configuration says so. ``linked`` pages link to the report in that
    folder. Raises OSError if a file cannot be written.
    """
    if not owners:
        return ()
    from audit.report.owner import build as pages
    from audit.report.owner import page as owner
    from audit.report.owner.card import card

    shared, files = config.output.shared_with_group, []
    for made in pages.build(con, contents, owners):
        files.append(folder / made.who.file)
        html = owner.render_html(made, linked=linked).encode()
        replace.write(files[-1], html, alone=True, with_group=shared)
        if config.report.owner_cards and made.who.kind == "user":
            files.append(files[-1].with_suffix(_CARD))
            json = json_answers.written(card(made)).encode()
            replace.write(files[-1], json, alone=True, with_group=shared)
    return tuple(files)


def remove_others(folder: Path, kept: Sequence[Path]) -> None:
    """Remove pages and their cards from a report's folder, except ``kept``; no other files."""
    for page_ in found(folder):
        for file in {page_, page_.with_suffix(_CARD)} - set(kept):
            file.unlink(missing_ok=True)


def found(folder: Path) -> dict[Path, Who]:
    """Return the pages in the folder of a report, and their users and accounts; no other files."""
    pages = {}
    for file in sorted(file for pattern in places.OWNER_PAGES for file in folder.glob(pattern)):
        with suppress(ReportError, OSError):
            claim = identity.read(file.read_bytes())
            if claim.owner is not None:
                pages[file] = claim.owner
    return pages


class EntityNames:
    """The users and accounts in a log; ``of`` has those of each attempt."""

    def __init__(self, of: Iterable[tuple[str | None, str | None]]) -> None:
        pairs = frozenset(of)
        self._of = {
            "user": {user for user, _ in pairs if user is not None},
            "account": {account for _, account in pairs if account is not None},
        }

    def __contains__(self, who: Who) -> bool:
        """Return whether the log has this user or account."""
        return who.name in self._of[who.kind]

    def nearest(self, who: Who) -> str | None:
        """Return the most similar name in the log, if any is similar."""
        near = difflib.get_close_matches(who.name, sorted(self._of[who.kind]), n=1)
        return near[0] if near else None

    def require(self, owners: Sequence[Who]) -> None:
        """Raise UsageError if the log lacks one of these."""
        for who in owners:
            if who not in self:
                known = f"the log names {len(self._of[who.kind]):,} {who.kind}s, but not this one"
                raise UsageError(f"--{who.kind} {printable(who.name)}: {known}")


def names(con: Connection, cluster: str) -> EntityNames:
    """Return the users and accounts of a cluster in a database."""
    return EntityNames(queries.rows(con, "owner/names", cluster=cluster, schedule=OBSERVED))
