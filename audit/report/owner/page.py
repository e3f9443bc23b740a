"""The page of one user or account as a self-contained HTML file, or as a PDF."""

from audit.registry.causes import CAUSES
from audit.report import wording
from audit.report.charts.series import value
from audit.report.charts.style import Chart
from audit.report.contents import REPORT
from audit.report.figures import Figure
from audit.report.owner import text
from audit.report.owner.record import OwnerContents, OwnerPart
from audit.report.part import meanwhile
from audit.report.render import identity, page, sandbox
from audit.report.render.page import Medium
from audit.report.render.sandbox import SandboxLimits
from audit.report.sections.causes.section import DividedWaits, has, stacked
from audit.report.sections.changes.charts import trend
from audit.report.stored import reading


def owner_why(of: OwnerPart, name: str) -> Chart | None:
    """Draw the causes of waiting of one user or account, and of all users."""
    if not of.parts:
        return None
    shares = {part.cause: Figure("", part.share) for part in of.parts}
    everybody = {part.cause: Figure("", part.of_all) for part in of.parts}
    label = wording.name(name, 20)
    rows = [DividedWaits(label, label, shares, of.wait_mean.value)]
    if of.everybody is not None and any(map(value, everybody.values())):
        rows.append(DividedWaits("all users", "all users", everybody, of.everybody.wait_mean))
    present = [cause for cause in CAUSES if has(rows, cause)]
    most = text.main_cause(of)
    title = f"Main cause of waiting ({wording.rough_percent(most.share)}): {most.cause.legend}"
    note = "Share of waiting time; mean wait at the right."
    return stacked(title, rows, present, CAUSES, note)


def render_html(contents: OwnerContents, *, linked: bool = False) -> str:
    """Return the page of one user or account; ``linked``: with links to the report.

    Raises:
        ReportError: a result cannot be shown.
    """
    return _page(contents, "screen", linked=linked)


def render_pdf(contents: OwnerContents, limits: SandboxLimits = sandbox.DEFAULT) -> bytes:
    """Return the page as a tagged A4 PDF without links; errors as ``page.render_pdf``."""
    return sandbox.lay_out(_page(contents, "paper"), [], contents.span.to_time, limits)


def _page(contents: OwnerContents, medium: Medium, *, linked: bool = False) -> str:
    with reading(contents.cluster, contents.span.name):
        return page.html(
            "report/owner.html", _values(contents, linked=linked), ["point.js"], medium
        )


def _values(contents: OwnerContents, *, linked: bool) -> dict[str, object]:
    days, dated = page.dates(contents.span)
    return {
        "identity": identity.written(
            contents, owner=contents.who, linked=linked, seen=contents.seen
        ),
        "report": REPORT if linked else None,
        "title": f"Waits of {text.owner(contents.who)} on {wording.name(contents.cluster)}",
        "contents": contents,
        "nothing": text.nothing(contents),
        "days": days,
        "starts": text.starts(contents),
        "fairshare": [text.fairshare(of, contents.span.zone) for of in contents.fairshare],
        "parts": [_part(part, contents) for part in contents.parts],
        "version": contents.provenance.version,
        "dated": dated,
    }


def _part(of: OwnerPart, contents: OwnerContents) -> dict[str, object]:
    who, their = contents.who, text.possessive(contents.who)
    return {
        "of": of,
        "verdict": text.typically(of, who),
        "mostly": text.mostly(of, their),
        "their": their,
        "answers": text.answers(of, their),
        "notes": text.notes(of, their),
        "charts": page.by_key([owner_why(of, who.name), trend(of.trend, delayed=False)]),
        "waits": [
            (part, meanwhile(part.cause, part=of.pool.part)) for part in of.parts if part.share
        ],
        "used": text.used(of, their),
        "beyond": text.beyond(of, their),
        "ways": [text.way(way, of, their) for way in of.ways],
        "no_way": text.no_way(of),
        "longest": [
            (text.long_title(wait, of, contents.span.zone), text.explained(wait, who, of))
            for wait in of.longest
        ],
    }
