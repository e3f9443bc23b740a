"""The page over all reports, beside them: ``index.html`` in the folder of the reports."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from audit.config import Config, places
from audit.files import privacy
from audit.files.replace import drafting
from audit.model import OBSERVED, Period
from audit.pipeline import owners
from audit.pipeline.drawing import HTML
from audit.report.index import Answer, Link, answers, render_index
from audit.report.reading.trending import trends
from audit.report.record.pool import Trend
from audit.store import queries
from audit.store.database import Connection

PAGE = "index.html"


def write(con: Connection, config: Config, folder: Path) -> Path | None:
    """Writes the page anew; None where there is no report yet.

    Args:
        con: a store.
        config: the configuration in force.
        folder: what its paths are relative to.

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
