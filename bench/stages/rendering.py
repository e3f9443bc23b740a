"""The report of KTH-SP2, or of the demo log: its figures, the page, the PDF.

Beside the page, its text with markup escaped once; beside the PDF, the bare text of its pages laid
out by WeasyPrint, without any styles, tables or pictures.
"""

import base64
import html
import re
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from bench.logs.real import real_log, some_log
from bench.measure.figures import Figure
from bench.measure.pairs import fairaudit, measured

STAGE = "Rendering"
NAME = base64.b64encode(bytes(16)).decode()


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """All three, in this process."""
    which = "KTH-SP2" if real_log() else "demo log"
    with tempfile.TemporaryDirectory() as name:
        fairaudit(["audit", some_log(Path(name)), "--no-pdf", "--out", Path(name, "out")])
        yield from _measure(which, Path(name, "out", "audit.duckdb"))


def _measure(which: str, path: Path) -> Iterator[Figure]:
    import weasyprint

    from audit import config
    from audit.model import Period
    from audit.pipeline import drawing
    from audit.report.render import page, paper
    from audit.store import database, snapshots

    con = snapshots.open_snapshot(path)
    [(cluster, period)] = database.rows(con, "SELECT DISTINCT cluster, period FROM summary")
    span = "SELECT min(arrival_time), max(end_time) FROM job_result"
    [(first, last)] = database.rows(con, span)
    read = partial(drawing.contents_of, con, config.Config(), cluster, Period(period, first, last))
    contents = read()
    scan = "SELECT sum(wait_s), max(end_time), count(DISTINCT job_id) FROM job_fairness"
    yield measured(
        STAGE,
        f"figures of the report, {which}",
        None,
        read,
        limit=("one pass over the attempts", partial(database.rows, con, scan)),
    )
    made = page.render_html(contents)
    yield measured(
        STAGE,
        f"page, {which}",
        None,
        lambda: page.render_html(contents, page.draw(contents)),
        limit=("its text escaped once", partial(html.escape, made)),
    )
    on_paper = page._page(contents, page.draw(contents), "paper")
    body = re.sub(r"<(style|script|svg)\b.*?</\1>", "", on_paper, flags=re.DOTALL)
    text = html.unescape(re.sub(r"<[^>]+>", " ", body))
    bare = f"<p>{html.escape(' '.join(text.split()))}</p>"
    yield measured(
        STAGE,
        f"PDF, {which}",
        None,
        partial(paper.lay_out, on_paper, [], last, NAME),
        limit=("WeasyPrint, bare text", lambda: weasyprint.HTML(string=bare).write_pdf()),
    )
    con.close()
