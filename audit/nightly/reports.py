"""The stage ``report``: the reports of a cluster that are due, and the page over all of them.

A report is due where the run that made its period's figures has made none.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from audit.config import Cluster, Config, places
from audit.files import privacy
from audit.files.replace import drafting
from audit.model import OBSERVED, Period
from audit.nightly.stages import Night, Work
from audit.pipeline import drawing, owners
from audit.pipeline.drawing import HTML
from audit.report import index
from audit.report.index import Answer, Link, answers, render_index
from audit.report.reading.trending import trends
from audit.report.record.page import Contents, Who
from audit.report.record.pool import Trend
from audit.report.text.notices import notices
from audit.store import database, queries
from audit.store.database import Connection


def report(work: Work, cluster: Cluster, due: Sequence[tuple[str, int, int, str]]) -> None:
    """Makes the reports that are missing; they replace what was there in one step each.

    Args:
        due: name, start and end (epoch s) of each period, and the run that computed it.
    """
    con, config, night = work.con, work.config, work.night
    what = f"reports of {cluster.name}"
    asked = [
        who
        for recipient in config.recipients
        if recipient.gets(cluster.name, cluster.period)
        for who in itertools.starmap(Who, recipient.owners)
    ]
    if asked and due:  # all attempts are looked through
        names = owners.names(con, cluster.name)
        asked = [who for who in asked if who in names]
    for number, (name, start, end, run_id) in enumerate(due):
        work.progress(what, number, len(due))
        folder = places.of_report(config, work.folder, cluster.name, name)
        privacy.shared_folder(folder, with_group=config.output.shared_with_group)
        period = Period(name, start, end)
        report_made = drawing.draw(
            con, config, cluster.name, period, folder, pdf=config.report.pdf, also=asked
        )
        if report_made.failure is not None:
            night.failures.append(report_made.failure)
            continue
        index.keep(con, report_made.contents)
        _note_report(con, cluster.name, name, run_id, work.now)
        night.reports.append(report_made.html)
        _warn(night, f"{cluster.name} {name}", report_made.contents)
    if due:
        work.progress(what, len(due), len(due))


def _warn(night: Night, report: str, contents: Contents) -> None:
    """Says of a report that was made what its reader should know before reading."""
    if contents.empty:
        night.warnings.append(f"{report}: no attempt ended in this period")
    night.warnings += [f"{report}: {notice.text}" for notice in notices(contents) if notice.grave]


def _note_report(con: Connection, cluster: str, period: str, run_id: str, now: int) -> None:
    with database.transaction(con):
        database.execute(
            con,
            "DELETE FROM run WHERE cluster = ? AND period = ? AND stage = 'report'",
            [cluster, period],
        )
        database.execute(
            con,
            "INSERT INTO run SELECT * REPLACE ('report' AS stage, ? AS ended_at) FROM run "
            "WHERE cluster = ? AND period = ? AND stage = 'compute' AND run_id = ?",
            [now, cluster, period, run_id],
        )


PAGE = "index.html"


def write_index(con: Connection, config: Config, folder: Path) -> Path | None:
    """Writes the page anew; None where there is no report yet.

    Raises:
        OSError: the file cannot be written.
    """
    reports = folder / config.output.reports
    found = answers(con)

    def href(cluster: str, period: str) -> str | None:
        report = places.of_report(config, folder, cluster, period) / HTML
        if not report.is_file():  # no longer kept
            return None
        return quote(report.relative_to(reports).as_posix())

    shown = [answer for answer in found if href(answer.cluster, answer.period)]
    if not shown:
        return None

    def pages(answer: Answer) -> list[Link]:
        report = places.of_report(config, folder, answer.cluster, answer.period)
        return [
            Link(who, quote(file.relative_to(reports).as_posix()))
            for file, who in owners.found(report).items()
        ]

    page = render_index(shown, _trends(con, shown, config.uncertainty.resamples), href, pages)
    with drafting(reports / PAGE, alone=True) as draft:
        draft.write_text(page, encoding="utf-8")
        privacy.share(draft, with_group=config.output.shared_with_group)
    return reports / PAGE


def _trends(con: Connection, shown: list[Answer], resamples: int) -> dict[str, Trend]:
    """By cluster, the trend up to its newest report, of the main pool of that."""
    newest: dict[str, Answer] = {}
    for answer in shown:
        newest.setdefault(answer.cluster, answer)
    found = {}
    for cluster, answer in newest.items():
        zone = queries.run(con, "report_cluster", cluster=cluster, period=answer.period)["zone"][0]
        period = Period(answer.period, answer.from_time, answer.to_time)
        of_pools = trends(con, cluster, period, OBSERVED, zone, resamples)
        if answer.pool in of_pools:
            found[cluster] = of_pools[answer.pool]
    return found
