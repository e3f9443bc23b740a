"""A report as an HTML page and as a PDF, from the same templates. The only module that uses Jinja2.

The HTML page is one file without external references, and its security policy allows only its own
script. The PDF is laid out without access to files or addresses. The same content always gives the
same bytes.
"""

import base64
import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from audit import resources
from audit.files import caches
from audit.model import COUNTED
from audit.registry.measure import Heading
from audit.report import labels, wording
from audit.report.charts import drawing, style
from audit.report.charts.style import Chart
from audit.report.contents import Contents, PoolPart, Span
from audit.report.figures import SMALL_SAMPLE
from audit.report.finding import UNEXPLAINED, Place
from audit.report.first_page import amounts, phrases
from audit.report.render import export, identity, sandbox
from audit.report.render.sandbox import SandboxLimits
from audit.report.sections.changes.charts import changes
from audit.report.sections.changes.section import passed_before
from audit.report.sections.registry import SECTIONS, findings, notices, of_waiting
from audit.report.sections.usage import shown as usage_charts
from audit.report.sections.usage.section import BALANCE
from audit.report.sections.waits.section import QUEUES
from audit.report.standing import no_verdict, standing
from audit.report.stored import reading
from audit.spreadsheets import visible

if TYPE_CHECKING:
    from jinja2 import BytecodeCache, Environment
    from markupsafe import Markup

Medium = Literal["screen", "paper"]

PAPER_ROWS: Final = 5
"""Most rows of a table on paper; WeasyPrint's memory grows with them."""
_APART: Final = re.compile(
    r"<(script|style|pre|code)\b.*?</\1>|<[^>]*>|(?<=\d) (?=(?:%|min|h|s|d)(?![\w&]))", re.DOTALL
)
"""Parts of a page that stay as they are, and spaces at which no line may break."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """All charts of a report by key, for the page and for paper."""

    pools: tuple[Mapping[str, Chart], ...]
    usages: tuple[Mapping[str, Chart], ...]
    parts: Mapping[str, Chart]


def charts_of(pool: PoolPart) -> dict[str, Chart]:
    """Return the charts of one pool that have data, by key."""
    return by_key(draw(pool) for section in SECTIONS for draw in section.charts)


def by_key(charts: Iterable[Chart | None]) -> dict[str, Chart]:
    """Return charts by key, without those that have no data."""
    return {chart.key: chart for chart in charts if chart is not None}


def draw(contents: Contents) -> Drawn:
    """Draw all charts of a report; errors as of ``render_html``."""
    some = not contents.empty
    with reading(contents.cluster, contents.span.name):
        usages = [usage_charts.usage(usage) for usage in contents.usages if some]
        occupied = usage_charts.occupied(contents.occupied) if some else None
        penalties = usage_charts.penalties(contents.choice) if some else None
        return Drawn(
            tuple(charts_of(pool) if pool.attempts else {} for pool in contents.pools),
            tuple(by_key([usage]) for usage in usages),
            by_key([occupied, penalties]),
        )


def render_html(contents: Contents, drawn: Drawn | None = None) -> str:
    """Return the report as one self-contained HTML page; ``drawn`` are its charts.

    Raises:
        ReportError: a result cannot be shown.
    """
    with reading(contents.cluster, contents.span.name):
        return _page(contents, drawn or draw(contents), "screen")


def render_pdf(
    contents: Contents, drawn: Drawn | None = None, limits: SandboxLimits = sandbox.DEFAULT
) -> bytes:
    """Return the report as a tagged A4 PDF with the full tables of users and accounts attached.

    Args:
        drawn: its charts.
        limits: of the process that lays it out.

    Raises:
        ReportError: a result cannot be shown, the limits were exceeded, the process died, or
            libraries are not installed.
    """
    with reading(contents.cluster, contents.span.name):
        page = _page(contents, drawn or draw(contents), "paper")
    attachments = [
        (file.name, f"All {file.what}", file.text)
        for of_pool in export.files(contents).values()
        for file in of_pool
    ]
    return sandbox.lay_out(page, attachments, contents.span.to_time, limits)


def try_out() -> int:
    """Return the size of a PDF of one word, to check fonts and libraries.

    Raises:
        ReportError: as :func:`render_pdf`.
    """
    word = "<p style='font-family: DejaVu Sans'>fairaudit</p>"
    return len(sandbox.lay_out(f"<html lang='en'><title>fairaudit</title>{word}", [], 0))


def _page(contents: Contents, drawn: Drawn, medium: Medium) -> str:
    screen = medium == "screen"
    rows = contents.options.rows if screen else min(contents.options.rows, PAPER_ROWS)
    one = contents.first[0] if contents.first else None
    places = [
        Place(contents.cluster, contents.span.name, pool, number, len(contents.pools) > 1)
        for number, pool in enumerate(contents.pools, start=1)
    ]
    main = next((place for place in places if one and place.pool.name == one.pool), None)
    days, dated = dates(contents.span)
    return html(
        f"report/{'page' if screen else 'paper'}.html",
        {
            "title": f"Fairness of {wording.name(contents.cluster)}, {days}",
            "days": days,
            "dated": dated,
            "identity": identity.written(contents),
            "contents": contents,
            "one": one,
            "has_why": bool(main and main.pool.figure(UNEXPLAINED).value is not None),
            "one_number": main.number if main else 1,
            "drawn_one": by_key([changes(one.steps, one.step, one.marks)]) if one else {},
            "asked": phrases.ASKED,
            "thresholds": contents.options.thresholds.model_dump(exclude={"fail"}),
            "others": contents.first[1:],
            "findings": findings(contents, main) if main else (),
            "answers": [of_waiting(place, contents.settings.assumed) for place in places],
            "passed_before": [passed_before(place) for place in places],
            "notices": notices(contents),
            "standing": standing(contents),
            "no_verdict": "" if one else no_verdict(contents),
            "charts": drawn.pools,
            "usage_charts": drawn.usages,
            "parts_charts": drawn.parts,
            "downloads": export.files(contents),
            "pages": {who: who.file for who in contents.options.pages} if screen else {},
            "key_figures": labels.key_figures(),
            "nuwt_measures": labels.listed(Heading.OWNERS),
            "population": labels.population(),
            "fair_start_figures": labels.fair_start_figures(),
            "counted": COUNTED,
            "small_sample": SMALL_SAMPLE,
            "balance": BALANCE,
            "rows_shown": rows,
            "queue_rows": QUEUES if screen else rows,
            "resource_rows": rows if screen else min(rows, 5),
            "refusals_shown": 200 if screen else 20,
            "inputs_shown": 400,
            "header_notes_shown": 20,
        },
        ["point.js", "reading.js"],
        medium,
    )


def dates(span: Span) -> tuple[str, str]:
    """Return the days of a period in words, and the date of its page."""
    dated = datetime.fromtimestamp(span.to_time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return wording.days(span.from_time, span.last, span.zone), dated


def html(
    template: str,
    values: Mapping[str, object],
    scripts: Iterable[str] = (),
    medium: Medium = "screen",
) -> str:
    """Return a page as one self-contained file with a security policy; all text is escaped.

    Args:
        template: its name in ``templates``.
        values: of the template, besides those that all pages have.
        scripts: files of ``templates/report``, for the screen.
    """
    screen = medium == "screen"
    script = "".join(map(_text_of, scripts)) if screen else ""
    sheets = ("common.css", "owner.css", "page_one.css", f"{medium}.css")
    shared = {
        "medium": medium,
        "screen": screen,
        "small_sample": 0,  # reports have a larger one
        "policy": _policy(script),
        "script": trusted(script),
        "css": trusted(style.css() + "".join(map(_text_of, sheets))),
    }
    text = _without_blank_lines(fill(template, {**shared, **values}))
    return f"{unbroken(text)}\n"


def unbroken(text: str) -> str:
    """Return HTML in which no line ends between a number and its unit."""
    return _APART.sub(lambda found: "\u00a0" if found[0] == " " else found[0], text)


def fill(template: str, values: Mapping[str, object]) -> str:
    """Return a template of ``templates`` with these values; all text is escaped."""
    return _environment().get_template(template).render(values)


def trusted(text: str) -> "Markup":
    """Return text that templates do not escape: scripts, styles and charts of fairaudit."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704


def _policy(script: str) -> str:
    """Return a content security policy that allows this script and inline styles only."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    allowed = f"'sha256-{digest}'" if script else "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _inline(chart: Chart) -> "Markup":
    """Return a chart as SVG with the colours of the page."""
    return trusted(drawing.inline(chart))


def _still(chart: Chart) -> str:
    """Return the address of a chart in light colours, for paper."""
    return _data_uri(drawing.still(chart), "image/svg+xml")


def _data_uri(text: str, kind: str) -> str:
    return f"data:{kind};charset=utf-8;base64,{base64.b64encode(text.encode()).decode()}"


def _text_of(name: str) -> str:
    text = resources.path(f"templates/report/{name}").read_text(encoding="utf-8")
    return _without_blank_lines(text)


def _without_blank_lines(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if line.strip())


_FILTERS: Final = {
    amounts: "short_time short_share",
    wording: "name plural count number percent duration instant day resource resources hours value "
    "bare interval width points decay penalty first_upper rough rough_interval rough_percent",
}
"""Functions that all templates may use as filters."""


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    def shown(value: object) -> str:
        """Return the text of any value, with unprintable characters as code points."""
        text = visible(str(value))
        return Markup(text) if isinstance(value, Markup) else text  # noqa: S704

    environment = Environment(
        loader=FileSystemLoader(resources.path("templates")),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"inline": _inline, "still": _still, "data_uri": _data_uri}
    for module, names in _FILTERS.items():
        environment.filters.update({name: getattr(module, name) for name in names.split()})
    for section in SECTIONS:
        environment.filters.update({of.__name__: of for of in section.filters})
    environment.bytecode_cache = _compiled(environment)
    return environment


def _compiled(environment: "Environment") -> "BytecodeCache":
    """Return a cache of compiled templates: compiling takes longer than filling them."""
    import jinja2
    from jinja2.bccache import Bucket, BytecodeCache

    folder = caches.folder(Path(__file__).parent, "templates")
    blocks = (environment.trim_blocks, environment.lstrip_blocks, environment.autoescape)
    tag = sys.implementation.cache_tag
    finalize = environment.finalize is not None
    made_with = f"{jinja2.__version__} {tag} {blocks} {finalize} {sorted(environment.filters)}"

    class Kept(BytecodeCache):
        """A file for each template."""

        def get_cache_key(self, name: str, filename: str | None = None) -> str:
            return f"{name.replace('/', '-')}.{tag}"

        def load_bytecode(self, bucket: Bucket) -> None:
            key = f"{made_with} {bucket.checksum}".encode()
            if kept := caches.kept(folder / bucket.key, key):
                bucket.bytecode_from_string(kept)

        def dump_bytecode(self, bucket: Bucket) -> None:
            key = f"{made_with} {bucket.checksum}".encode()
            caches.keep(folder / bucket.key, key, bucket.bytecode_to_string())

    return Kept()
