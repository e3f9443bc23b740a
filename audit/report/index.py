"""The index of all reports of a site, by cluster and period, with verdicts and trends.

Verdicts are stored when reports are made, for this page and for analysts.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.verdict import Decision
from audit.report.contents import Contents, Who
from audit.report.figures import records
from audit.report.first_page import phrases
from audit.report.render import page
from audit.report.sections.changes.charts import trend
from audit.report.sections.changes.page_one import LEAST_JOBS
from audit.report.sections.changes.record import Trend
from audit.report.stored import reading
from audit.store import database, queries
from audit.store.database import Connection


class IndexVerdict(NamedTuple):
    """The verdict of a report on one pool, with its main figures; times in s."""

    cluster: str
    pool: str
    period: str
    from_time: int
    to_time: int
    verdict: str
    sentence: str
    because: str | None
    attempts: int | None
    wait_median: float | None
    over_hour: float | None  # share of the jobs
    busy: float | None
    not_known: float | None  # share of the waiting


def keep(con: Connection, contents: Contents) -> None:
    """Store the verdicts of a report, replacing those on the same period."""
    span, pages = contents.span, {page.pool: page for page in contents.first}
    of = {"cluster": contents.cluster, "period": span.name}
    rows = [
        {
            **of,
            "pool": one.pool,
            "from_time": span.from_time,
            "to_time": span.to_time,
            "verdict": decision.word.value,
            "sentence": page.verdict if page else _word(decision),
            "run_id": contents.provenance.run_id,
            "base_from": one.base["from_time"],
            "because": decision.because.value,
            "bounds": sorted(decision.bounds),
            "not_judged": decision.not_judged,
            "treated_worse": decision.treated_worse,
            "not_tested": decision.not_tested,
            "waited_s": one.base["waited_s"],
            "cause": page.because if page else _text(decision).rstrip(".") or None,
            "over_hour": page.over_hour if page else None,
            "not_known": page.not_known if page else None,
        }
        for one in contents.verdicts
        for decision, page in ((one.decision, pages.get(one.pool)),)
        if one.base["ended"]
    ]
    with database.transaction(con):
        database.execute(
            con, "DELETE FROM verdict_result WHERE cluster = ? AND period = ?", list(of.values())
        )
        database.insert(con, "verdict_result", pl.DataFrame(rows, _VERDICTS))


_VERDICTS: Final = pl.Schema(
    {
        **dict.fromkeys(("cluster", "period", "pool"), pl.String()),
        **dict.fromkeys(("from_time", "to_time"), pl.Int64()),
        **dict.fromkeys(("verdict", "sentence", "run_id"), pl.String()),
        "base_from": pl.Int64(),
        "because": pl.String(),
        "bounds": pl.List(pl.String()),
        **dict.fromkeys(("not_judged", "treated_worse", "not_tested", "waited_s"), pl.Float64()),
        "cause": pl.String(),
        **dict.fromkeys(("over_hour", "not_known"), pl.Float64()),
    }
)


def _word(decision: Decision) -> str:
    """Return the verdict on a pool without figures of waits."""
    word, text = phrases.WORDS[decision.word], _text(decision)
    return f"{word}: {text}" if text else f"{word}."


def _text(decision: Decision) -> str:
    """Return what is missing for a verdict, without numbers."""
    return phrases.CANNOT.get(decision.because, "").format(days="some days")


def answers(con: Connection) -> tuple[IndexVerdict, ...]:
    """Return the verdicts of all reports, by cluster, the newest period first."""
    return records(IndexVerdict, queries.run(con, "index_verdicts"))


def render_index(
    answers: Sequence[IndexVerdict],
    trends: Mapping[str, Trend],
    href: Callable[[str, str], str | None],
    pages: Callable[[IndexVerdict], Sequence[tuple[Who, str]]],
) -> str:
    """Return the page as one self-contained file.

    Args:
        answers: as from ``answers``.
        trends: by cluster, of the main pool.
        href: returns the address of the report on a cluster and a period, relative to the page;
            or None.
        pages: returns the users and accounts with a page beside a report, and its address.

    Raises:
        ReportError: a verdict cannot be shown.
    """
    parts = []
    for cluster, of_cluster in groupby(answers, lambda answer: answer.cluster):
        reports = []
        for period, of_period in groupby(of_cluster, lambda answer: answer.period):
            main = next(of_period)  # of the pool with most waiting
            if where := href(cluster, period):
                reports.append((main, where))
        if reports:
            of = trends.get(cluster, Trend())
            enough = tuple(point for point in of.points if point.attempts >= LEAST_JOBS)
            drawn = trend(replace(of, points=enough), delayed=False)
            parts.append((cluster, page.by_key([drawn]), reports, pages(reports[0][0])))
    words = {word.value: title for word, title in phrases.WORDS.items()}
    with reading("index of reports"):
        return page.html("report/index.html", {"parts": parts, "words": words}, ["point.js"])
