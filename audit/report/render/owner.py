"""The page of one user or account: one self-contained HTML file, as the report's is, or a PDF."""

from datetime import UTC, datetime
from typing import Final

from audit.report.charts import owner as why_chart
from audit.report.charts.trend import trend
from audit.report.owner import text as said
from audit.report.owner.contents import OwnerContents, OwnerPart
from audit.report.render import identity, page, sandbox
from audit.report.render.page import Medium
from audit.report.render.sandbox import Limits
from audit.report.text import wording

REPORT: Final = "report.html"
"""Where the report lies beside such a page."""


def render_html(contents: OwnerContents, *, linked: bool = False) -> str:
    """The page of one user or account.

    Args:
        contents: what it says.
        linked: whether it leads to the report, which lies beside it.
    """
    return _page(contents, "screen", linked=linked)


def render_pdf(contents: OwnerContents, limits: Limits = sandbox.DEFAULT) -> bytes:
    """The same as a tagged A4 PDF, which leads nowhere.

    Args:
        contents: what it says.
        limits: what laying it out may take.

    Raises:
        ReportError: as ``page.render_pdf``.
    """
    return sandbox.lay_out(_page(contents, "paper"), [], contents.span.to_time, limits)


def _page(contents: OwnerContents, medium: Medium, *, linked: bool = False) -> str:
    screen = medium == "screen"
    script = page.text_of("point.js") if screen else ""
    span = contents.span
    end = span.to_time if span.whole_log else span.to_time - 1
    text = page.fill(
        "report/owner.html",
        {
            "medium": medium,
            "screen": screen,
            "small_sample": 0,
            "policy": page.policy(script),
            "script": page.trusted(script),
            "css": page.styles(medium),
            "identity": identity.of_page(contents, linked=linked),
            "report": REPORT if linked else None,
            "title": f"Waits of {said.owner(contents.who)} on {wording.name(contents.cluster)}",
            "contents": contents,
            "nothing": said.nothing(contents),
            "from_day": wording.day(span.from_time, span.zone),
            "to_day": wording.day(end, span.zone),
            "parts": [_part(part, contents) for part in contents.parts],
            "version": contents.provenance.version,
            "dated": datetime.fromtimestamp(span.to_time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    )
    return "\n".join(line for line in text.split("\n") if line.strip()) + "\n"


def _part(of: OwnerPart, contents: OwnerContents) -> dict[str, object]:
    """One pool in words and pictures."""
    who = contents.who
    charts = (why_chart.why(of, who.name), trend(of.trend))
    return {
        "of": of,
        "verdict": said.verdict(of, who),
        "answers": said.answers(of, who),
        "notes": [note for note in (said.one_wait(of), said.both_true(of)) if note],
        "charts": page.pictures(chart for chart in charts if chart is not None),
        "waits": [(part, said.part_of_wait(part, who)) for part in of.parts if part.share],
        "used": said.used(of),
        "ways": [said.way(way, of) for way in of.ways],
        "no_way": said.no_way(of),
        "longest": [
            (said.long_title(wait, of, contents.span.zone), said.explained(wait, who, of))
            for wait in of.longest
        ],
    }
