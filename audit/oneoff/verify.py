"""``fairaudit verify``: makes a report or an owner's page again from a database, and compares."""

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from audit import __version__
from audit.config import Config, ReportConfig, places
from audit.errors import ReportError, UsageError, refusals
from audit.model import Period
from audit.report import build
from audit.report.owner import build as pages
from audit.report.owner import page as owner
from audit.report.render import identity, page, sandbox
from audit.report.render.identity import ClaimedReport
from audit.store import queries, snapshots
from audit.store.database import Connection

_SHOWN: Final = 60


@dataclass(frozen=True)
class Reproduction:
    """Whether a report equals what the database gives; if not, where it differs and why."""

    same: bool
    text: str


def verify(report: Path, published: Path | None, config: Config, folder: Path) -> Reproduction:
    """Make a report (page or PDF) or an owner's page again, and compare the bytes.

    The database is ``published``, else ``audit.duckdb`` beside the report, else the one that
    ``config`` publishes.

    Raises:
        UsageError: the report or the database does not exist, or the file identifies no report.
        ReportError: the PDF cannot be laid out.
        StoreError: the database cannot be read.
    """
    with refusals(UsageError, report, "cannot be read"):
        given = report.read_bytes()
    try:
        claim = identity.read(given)
    except ReportError as error:
        raise UsageError(f"{report}: {error}") from error
    path = published or report.parent / "audit.duckdb"
    if published is None and not path.exists():
        if not config.clusters:
            raise UsageError(
                f"{report}: no audit.duckdb beside it; name its database with --db, or its "
                "configuration with --config"
            )
        path = folder / config.output.database
    archive = places.Site(config, folder).archive_of(path)
    who = claim.owner
    what = "report of" if who is None else f"page of {who.kind} {who.name} on"
    named = f"{what} {claim.cluster}, {claim.period.name}, by run {claim.run_id}"
    with closing(snapshots.open_snapshot(path, archive=archive)) as con:
        difference = _difference(con, claim, given, config.report)
    text = difference or "the same, byte for byte"
    return Reproduction(difference is None, f"{named}: {text}")


def _difference(
    con: Connection, claim: ClaimedReport, given: bytes, chosen: ReportConfig
) -> str | None:
    current = queries.run(con, "provenance/run", cluster=claim.cluster, period=claim.period.name)
    if current.is_empty():
        return "the database has no such period; is it the right one?"
    run_id, version = current.row(0)[:2]
    if run_id != claim.run_id:
        return _restated(con, claim, run_id, version)
    again, seen = _again(con, claim, chosen, pdf=_is_pdf(given))
    if again == given:
        return None
    if seen != claim.seen:
        return (
            "not compared: it was made from other attempts or published weeks than the database "
            "has now; 'fairaudit report' makes it again"
        )
    why = (
        f"it was made by version {claim.version}, but this is {__version__}"
        if claim.version != __version__
        else "the figures are those of the same run, so the file was edited, or made with other "
        "fonts or libraries than are installed here"
    )
    return f"differs {_where(again, given)}: {why}"


def _again(
    con: Connection, claim: ClaimedReport, chosen: ReportConfig, *, pdf: bool
) -> tuple[bytes, str]:
    """Return the file made again, and for an owner's page the digest of its data."""
    limits = sandbox.limits(chosen)
    period = claim.period
    if claim.owner is not None:  # the claim has only the times of the owner's jobs
        rows = queries.rows(con, "computed", cluster=claim.cluster)
        period = next(Period(*row[:3]) for row in rows if row[0] == period.name)
    contents = build.build(con, claim.cluster, period, claim.options)
    if claim.owner is None:
        html_or_pdf = (
            page.render_pdf(contents, limits=limits) if pdf else page.render_html(contents).encode()
        )
        return html_or_pdf, ""
    (made,) = pages.build(con, contents, [claim.owner])
    if pdf:
        return owner.render_pdf(made, limits), made.seen
    return owner.render_html(made, linked=claim.linked).encode(), made.seen


def _is_pdf(given: bytes) -> bool:
    return given.startswith(b"%PDF-")


def _restated(con: Connection, claim: ClaimedReport, run_id: str, version: str) -> str:
    """Explain why the figures of this period now belong to another run."""
    text = f"not compared: the period was recomputed by run {run_id}"
    if version != claim.version:
        return f"{text} of version {version}; the report is of {claim.version}"
    cluster, period = claim.cluster, claim.period.name
    changed = queries.run(con, "restated", cluster=cluster, period=period, run_id=claim.run_id)
    return (
        f"{text}, since its logs or its configuration changed; {changed.item():,} figures of the "
        "report were restated since (view restatements)"
    )


def _where(again: bytes, given: bytes) -> str:
    """Return where two files first differ, and the text there."""
    shorter = min(len(again), len(given))
    at = next((n for n in range(shorter) if again[n] != given[n]), shorter)
    where = f"first at byte {at:,}"
    if _is_pdf(given):
        return where
    line = given.count(b"\n", 0, at) + 1
    shown, expected = (
        text[max(at - 10, 0) : at + _SHOWN].decode(errors="replace").strip()
        for text in (given, again)
    )
    return f"{where} (line {line:,}), {shown!r} instead of {expected!r}"
