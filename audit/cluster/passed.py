"""The test of passed-over users of a pool, with holds and limits of its log."""

from typing import NamedTuple, Self
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics.attempts import account, passed_over, population
from audit.metrics.attempts.passed_over import PassedEvidence
from audit.metrics.attempts.reasons import held_up
from audit.metrics.pairs import EARLIER_S, Barred, Unstarted
from audit.metrics.passed import limited
from audit.metrics.passed.usage import Shares
from audit.model import Period, Pool
from audit.registry.reasons import DEPENDENCY_INFERRED
from audit.scenario.releases.holds import Holding, silent_starts


class OfLog(NamedTuple):
    """Evidence of a pool's whole log, by row of its attempts."""

    pool: Pool
    holding: Holding
    limited_users: frozenset[str]  # users with a limit of users or accounts
    forbidden: pl.DataFrame  # columns of ``limited.FORBIDDEN``
    held: pl.DataFrame  # the same columns
    by_reasons: pl.DataFrame  # the same, and whole waits of jobs whose last reason is a hold
    silent: pl.Series  # whether each attempt starts after an own end, or at a begin time

    @classmethod
    def of(
        cls, jobs: pl.DataFrame, pool: Pool, now: int, holding: Holding, held: pl.DataFrame
    ) -> Self:
        """Of a pool's attempts.

        Args:
            jobs: columns of ``model.DESCRIBED``.
            held: when attempts were held: the key, begin and end (exclusive).
        """
        limits = [*pool.limits, *holding.own]
        silent = silent_starts(jobs, pool, now, holding)
        return cls(
            pool,
            holding,
            limited.users_under(jobs, limits, pool.zone),
            limited.forbidden(jobs, pool, now, limits),
            *_held(jobs, held, pool),
            silent,
        )

    def passed_over(
        self, jobs: pl.DataFrame, period: Period, zone: ZoneInfo, shares: Shares
    ) -> pl.DataFrame:
        """Return the result of each entity in a period, columns of ``passed_over.RESULT_SCHEMA``.

        Args:
            jobs: those of ``of``, with ``unstartable_from`` where it is known.
        """
        around = population.around(jobs.with_row_index("row"), period, EARLIER_S)
        row = around["row"]
        marked = around["unstartable_from"] if "unstartable_from" in around.columns else None
        evidence = PassedEvidence(
            Unstarted(_barred(row, self.held), _barred(row, self.forbidden), marked),
            self.limited_users,
            self.holding.released,
            self.silent[row],
            self.holding.by_own_ends,
            around["held_by"] == DEPENDENCY_INFERRED if "held_by" in around.columns else None,
            _barred(row, self.by_reasons),
        )
        around = around.drop("row")
        return passed_over.of_period(around, self.pool, period, zone, shares, evidence)


def _held(jobs: pl.DataFrame, held: pl.DataFrame, pool: Pool) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return holds by row, columns of ``limited.FORBIDDEN``: known ones, and with last reasons.

    A log keeps the last reason of a job, but not how long it applied. One that is not the job's
    turn may explain its whole wait, unless a limit of the pool tells when it applied.
    """
    keys = jobs.select(*account.KEY).with_row_index("row")
    known = held.join(keys, on=account.KEY).select("row", "begin", pl.col("end") - 1)
    last = jobs.with_row_index("row").with_columns(occupancy="occupancy_s")
    said = last.filter(held_up(last, pool.limits)).select(
        "row", begin="arrival_time", end=pl.col("start_time") - 1
    )
    spans = [one.cast(limited.FORBIDDEN) for one in (known, said)]
    both = pl.concat(spans).filter(pl.col("begin") <= pl.col("end"))
    return limited.joined(spans[0]), limited.joined(both if said.height else both.clear())


def _barred(row: pl.Series, spans: pl.DataFrame) -> Barred:
    """Return spans of the attempts in these rows, by their place among them."""
    place = pl.DataFrame({"row": row, "place": pl.arange(len(row), eager=True)})
    barred = spans.join(place, on="row").sort("place", "begin")
    return Barred(*(barred[name].to_numpy() for name in ("place", "begin", "end")))
