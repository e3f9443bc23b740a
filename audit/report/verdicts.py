"""What each report answers, kept for the page over all reports and for analysts."""

from dataclasses import dataclass

import polars as pl

from audit.report.contents import Contents
from audit.report.judgement.page_one import of_pool
from audit.report.judgement.questions import undated
from audit.store import database, queries
from audit.store.database import Connection


@dataclass(frozen=True, slots=True)
class Answer:
    """What a report answers of one pool, with its main figures; times in s, None: not known."""

    cluster: str
    pool: str
    period: str
    from_time: int
    to_time: int
    verdict: str
    sentence: str
    attempts: int | None
    wait_mean: float | None
    overtaken: float | None
    room: float | None


def keep(con: Connection, contents: Contents) -> None:
    """Puts the verdict on each pool in the place of what was said of the period before.

    Args:
        con: a store.
        contents: the report that was made.
    """
    span = contents.span
    rows = [
        {
            "cluster": contents.cluster,
            "pool": pool.name,
            "period": span.name,
            "from_time": span.from_time,
            "to_time": span.to_time,
            "verdict": said.word.value,
            "sentence": said.sentence,
            "run_id": contents.provenance.run_id,
        }
        for pool in contents.pools
        if not contents.brief and (pool.attempts or undated(pool))
        for said in (of_pool(contents, pool).verdict,)
    ]
    with database.transaction(con):
        database.execute(
            con,
            "DELETE FROM verdict_result WHERE cluster = ? AND period = ?",
            [contents.cluster, span.name],
        )
        database.insert(con, "verdict_result", pl.DataFrame(rows))


def answers(con: Connection) -> tuple[Answer, ...]:
    """What all reports answer, by cluster, the newest period first."""
    return tuple(Answer(*row) for row in queries.run(con, "index_verdicts").iter_rows())
