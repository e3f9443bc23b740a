"""Makes a report, or the page of a user or account, again from a database, and compares bytes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from audit import __version__
from audit.config import Config, Report, places
from audit.errors import ReportError, UsageError
from audit.model import Period
from audit.report import build
from audit.report.owner import build as pages
from audit.report.record.page import Contents
from audit.report.render import identity, owner, page, sandbox
from audit.report.render.identity import Claim
from audit.report.render.sandbox import Limits
from audit.store import database, queries
from audit.store.database import Connection

_SHOWN = 60


@dataclass(frozen=True)
class Verdict:
    """Whether a report is what the database gives, and if not, where and likely why."""

    same: bool
    text: str


def verify(report: Path, published: Path | None, config: Config, folder: Path) -> Verdict:
    """Makes the report again and compares.

    Args:
        report: a page or a PDF that fairaudit made: a report, or of a user or account.
        published: the database; None takes ``audit.duckdb`` beside the report, else the one that
            ``config`` publishes.

    Raises:
        UsageError: the report or the database does not exist.
        ReportError: the file does not say which report it is, or the PDF cannot be laid out.
        StoreError: the database cannot be read.
    """
    try:
        given = report.read_bytes()
    except OSError as error:
        raise UsageError(f"{report}: cannot be read: {error.strerror}") from error
    try:
        claim = identity.read(given)
    except ReportError as error:
        raise ReportError(f"{report}: {error}") from error
    path = _database(report, published, config, folder)
    archive = places.archive(config, folder, path)
    with closing(database.open_snapshot(path, archive=archive)) as con:
        return _compared(con, claim, given, config.report)


def _database(report: Path, published: Path | None, config: Config, folder: Path) -> Path:
    if published is not None:
        return published
    beside = report.parent / "audit.duckdb"
    if beside.exists():
        return beside
    if config.clusters:
        return folder / config.output.database
    raise UsageError(
        f"{report}: no audit.duckdb lies beside it; name its database with --db, or the "
        "configuration that it was made by with --config"
    )


def _compared(con: Connection, claim: Claim, given: bytes, chosen: Report) -> Verdict:
    named = _named(claim)
    current = queries.run(con, "report_run", cluster=claim.cluster, period=claim.period.name)
    if current.is_empty():
        return Verdict(False, f"{named}: the database knows no such period; is it the right one?")
    run_id, version = current.row(0)[:2]
    if run_id != claim.run_id:
        return Verdict(False, f"{named}: {_restated(con, claim, run_id, version)}")
    # the page of somebody says of a whole log only when their jobs began and ended
    period = next(
        Period(*row[:3])
        for row in queries.rows(con, "computed", cluster=claim.cluster)
        if row[0] == claim.period.name
    )
    contents = build.build(
        con, claim.cluster, claim.period if claim.owner is None else period, claim.options
    )
    again, seen = _again(con, contents, claim, sandbox.limits(chosen), pdf=_is_pdf(given))
    if again == given:
        return Verdict(True, f"{named}: the same, byte for byte")
    if seen != claim.seen:
        return Verdict(
            False,
            f"{named}: not compared: it was made of other attempts or published weeks than the "
            "database has by now; 'fairaudit report' makes it again",
        )
    return Verdict(False, f"{named}: differs {_where(again, given)}: {_why(claim)}")


def _named(claim: Claim) -> str:
    of = f"{claim.cluster}, {claim.period.name}, by run {claim.run_id}"
    if claim.owner is None:
        return f"report of {of}"
    return f"page of {claim.owner.kind} {claim.owner.name} on {of}"


def _again(
    con: Connection, contents: Contents, claim: Claim, limits: Limits, *, pdf: bool
) -> tuple[bytes, str]:
    """The file made again, and of a page of somebody a digest of what it was made of."""
    if claim.owner is None:
        if pdf:
            return page.render_pdf(contents, limits=limits), ""
        return page.render_html(contents).encode(), ""
    (made,) = pages.build(con, contents, [claim.owner])
    if pdf:
        return owner.render_pdf(made, limits), made.seen
    return owner.render_html(made, linked=claim.linked).encode(), made.seen


def _is_pdf(given: bytes) -> bool:
    return given.startswith(b"%PDF-")


def _restated(con: Connection, claim: Claim, run_id: str, version: str) -> str:
    """Why figures of this period are those of another run now."""
    changed = queries.run(
        con, "restated", cluster=claim.cluster, period=claim.period.name, run_id=claim.run_id
    ).item()
    text = f"not compared: the period was computed again since, by run {run_id}"
    if version != claim.version:
        return f"{text} of version {version}; the report is of {claim.version}"
    return (
        f"{text}, for its logs or its configuration changed; {changed:,} figures of the report "
        "were restated since (view restatements)"
    )


def _why(claim: Claim) -> str:
    if claim.version != __version__:
        return f"it was made by version {claim.version}, and this is {__version__}"
    return (
        "the figures are those of the same run, so the file was edited, or made with other fonts "
        "or libraries than are installed here"
    )


def _where(again: bytes, given: bytes) -> str:
    """Where two files first differ, and what stands there."""
    shorter = min(len(again), len(given))
    at = next((n for n in range(shorter) if again[n] != given[n]), shorter)
    line = given.count(b"\n", 0, at) + 1
    where = f"first at byte {at:,}"
    if _is_pdf(given):
        return where
    shown, expected = (
        text[max(at - 10, 0) : at + _SHOWN].decode(errors="replace").strip()
        for text in (given, again)
    )
    return f"{where} (line {line:,}), {shown!r} instead of {expected!r}"
