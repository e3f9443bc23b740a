"""The index of all reports of a site, by cluster and period, with verdicts and trends.

Verdicts are stored when reports are made, for this page and for analysts.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import polars as pl

from audit.report.charts.over_time import trend
from audit.report.judgement.page_one import of_pool
from audit.report.reading import records
from audit.report.record.page import Contents, Who
from audit.report.record.pool import Trend
from audit.report.render import page
from audit.store import database, queries
from audit.store.database import Connection


class Answer(NamedTuple):
    """The verdict of a report on one pool, with its main figures; times in s."""

    cluster: str
    pool: str
    period: str
    from_time: int
    to_time: int
    verdict: str
    sentence: str
    attempts: int | None
    wait_mean: float | None
    delay: float | None
    unexplained: float | None


class Line(NamedTuple):
    """One report: the verdict on its main pool, and the address."""

    answer: Answer
    href: str


class Link(NamedTuple):
    """The page of a user or account, and its address."""

    who: Who
    href: str


class Part(NamedTuple):
    """The reports of one cluster, the newest first."""

    cluster: str
    lines: Sequence[Line]
    picture: page.Picture | None
    pages: Sequence[Link]  # of users and accounts, with the newest report


def keep(con: Connection, contents: Contents) -> None:
    """Store the verdicts of a report, replacing those on the same period."""
    span = contents.span
    of = {"cluster": contents.cluster, "period": span.name}
    rows = [
        {
            **of,
            "pool": pool.name,
            "from_time": span.from_time,
            "to_time": span.to_time,
            "verdict": verdict.word.value,
            "sentence": verdict.sentence,
            "run_id": contents.provenance.run_id,
        }
        for pool in contents.pools
        if not contents.brief and (pool.attempts or pool.undated or pool.unplaced)
        for verdict in (of_pool(contents, pool).verdict,)
    ]
    with database.transaction(con):
        database.execute(
            con, "DELETE FROM verdict_result WHERE cluster = ? AND period = ?", list(of.values())
        )
        database.insert(con, "verdict_result", pl.DataFrame(rows))


def answers(con: Connection) -> tuple[Answer, ...]:
    """Return the verdicts of all reports, by cluster, the newest period first."""
    return records(Answer, queries.run(con, "index_verdicts"))


def render_index(
    answers: Sequence[Answer],
    trends: Mapping[str, Trend],
    href: Callable[[str, str], str | None],
    pages: Callable[[Answer], Sequence[Link]],
) -> str:
    """Return the page as one self-contained file.

    Args:
        answers: as from ``answers``.
        trends: by cluster, of the main pool.
        href: returns the address of the report on a cluster and a period, relative to the page;
            or None.
        pages: returns the pages of users and accounts with a report.
    """
    parts = []
    for cluster, of_cluster in groupby(answers, lambda answer: answer.cluster):
        lines = []
        for period, of_period in groupby(of_cluster, lambda answer: answer.period):
            main = next(of_period)  # of the pool with the most consumption
            if where := href(cluster, period):
                lines.append(Line(main, where))
        if lines:
            drawn = trend(trends.get(cluster), delayed=False)
            picture = page.picture(drawn) if drawn else None
            parts.append(Part(cluster, lines, picture, pages(lines[0].answer)))
    return page.html("report/index.html", {"parts": parts}, ["point.js"])
