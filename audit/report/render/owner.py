"""The page of one user or account as HTML: one self-contained file, as the report's is."""

from audit.config import places
from audit.report.charts import owner as why_chart
from audit.report.charts.trend import trend
from audit.report.owner import text as said
from audit.report.owner.contents import OwnerContents, OwnerPart, Who
from audit.report.render import page
from audit.report.text import wording


def file_name(who: Who) -> str:
    """What the page's file is called, whatever the owner is: ``user-3.html``."""
    return f"{places.file_name(f'{who.kind}-{who.name}')}.html"


def render_html(contents: OwnerContents) -> str:
    """The page of one user or account.

    Args:
        contents: what it says.
    """
    script = page.text_of("point.js")
    span, who = contents.span, contents.who
    end = span.to_time if span.whole_log else span.to_time - 1
    text = page.fill(
        "report/owner.html",
        {
            "medium": "screen",
            "screen": True,
            "small_sample": 0,
            "policy": page.policy(script),
            "script": page.trusted(script),
            "css": page.styles("screen"),
            "title": f"Waits of {said.owner(who)} on {wording.name(contents.cluster)}",
            "contents": contents,
            "owner": said.owner(who),
            "from_day": wording.day(span.from_time, span.zone),
            "to_day": wording.day(end, span.zone),
            "parts": [_part(part, contents) for part in contents.parts],
            "version": contents.provenance.version,
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
        "both_true": said.both_true(of),
        "charts": page.pictures(chart for chart in charts if chart is not None),
        "waits": [(part, said.part_of_wait(part.key, who)) for part in of.parts if part.wait_s],
        "ways": [said.way(way, of) for way in of.ways],
        "no_way": said.no_way(of),
        "longest": [
            (said.long_title(wait, of, contents.span.zone), said.explained(wait, who))
            for wait in of.longest
        ],
    }
