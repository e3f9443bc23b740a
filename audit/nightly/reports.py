"""The stage ``report``: a cluster's due reports, and the index page of all reports.

A report is due if the run that computed its period's figures has made none.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from audit.config import Cluster
from audit.config.places import Site
from audit.files import privacy, replace
from audit.model import OBSERVED, Period
from audit.nightly.stages import Work
from audit.pipeline import drawing, owners
from audit.pipeline.drawing import HTML
from audit.report import index
from audit.report.index import Answer, Link, answers, render_index
from audit.report.reading.trending import trends
from audit.report.record.page import Who
from audit.report.record.pool import Trend
from audit.report.text.notices import notices
from audit.store import database, queries
from audit.store.database import Connection


def report(work: Work, cluster: Cluster, due: Sequence[tuple[str, int, int, str]]) -> None:
    """Make the reports that are due; each file replaces the old one in one step.

    ``due`` has the name, start and end (epoch s) of each period, and the run that computed it.
    """
    con, config, night, what = work.con, work.site.config, work.night, f"reports of {cluster.name}"
    named = [
        who
        for recipient in config.recipients
        if recipient.gets(cluster.name, cluster.period)
        for who in itertools.starmap(Who, recipient.owners)
    ]
    if named and due:  # reads all attempts
        names = owners.names(con, cluster.name)
        named = [who for who in named if who in names]
    for number, (name, start, end, run_id) in enumerate(due):
        work.progress(what, number, len(due))
        folder = work.site.report(cluster.name, name)
        privacy.shared_folder(folder, with_group=work.site.shared)
        period = Period(name, start, end)
        made = drawing.draw(
            con, config, cluster.name, period, folder, pdf=config.report.pdf, also=named
        )
        if made.failure is not None:
            night.failures.append(made.failure)
            continue
        index.keep(con, made.contents)
        _note_report(con, cluster.name, name, run_id, work.now)
        night.reports.append(made.html)
        grave = [notice.text for notice in notices(made.contents) if notice.grave]
        empty = ["no attempt ended in this period"] if made.contents.empty else []
        night.warnings += [f"{cluster.name} {name}: {text}" for text in (*empty, *grave)]
    if due:
        work.progress(what, len(due), len(due))


def _note_report(con: Connection, cluster: str, period: str, run_id: str, now: int) -> None:
    """Record that a report was made of a run's figures."""
    of = "cluster = ? AND period = ? AND stage ="
    copied = "SELECT * REPLACE ('report' AS stage, ? AS ended_at) FROM run"
    with database.transaction(con):
        database.execute(con, f"DELETE FROM run WHERE {of} 'report'", [cluster, period])  # noqa: S608
        database.execute(
            con,
            f"INSERT INTO run {copied} WHERE {of} 'compute' AND run_id = ?",
            [now, cluster, period, run_id],
        )


PAGE = "index.html"


def write_index(con: Connection, site: Site) -> Path | None:
    """Write the index page; return None if there is no report yet.

    Raises OSError if the file cannot be written.
    """

    def link(page: Path) -> str:
        return quote(page.relative_to(site.reports).as_posix())

    def href(cluster: str, period: str) -> str | None:
        page = site.report(cluster, period) / HTML
        return link(page) if page.is_file() else None  # None: it is no longer kept

    def pages(answer: Answer) -> list[Link]:
        found = owners.found(site.report(answer.cluster, answer.period))
        return [Link(who, link(file)) for file, who in found.items()]

    shown = [answer for answer in answers(con) if href(answer.cluster, answer.period)]
    if not shown:
        return None
    found = _trends(con, shown, site.config.uncertainty.resamples)
    page = render_index(shown, found, href, pages)
    replace.write(site.reports / PAGE, page.encode(), alone=True, with_group=site.shared)
    return site.reports / PAGE


def _trends(con: Connection, shown: list[Answer], resamples: int) -> dict[str, Trend]:
    """By cluster, the trend of the main pool up to its newest report."""
    newest = {answer.cluster: answer for answer in reversed(shown)}
    found = {}
    for cluster, answer in newest.items():
        zone = queries.run(con, "report_cluster", cluster=cluster, period=answer.period)["zone"][0]
        period = Period(answer.period, answer.from_time, answer.to_time)
        of_pools = trends(con, cluster, period, OBSERVED, zone, resamples)
        if answer.pool in of_pools:
            found[cluster] = of_pools[answer.pool]
    return found
