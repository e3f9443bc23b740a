"""The test of passed-over users of a pool, with holds and limits of its log."""

from typing import NamedTuple, Self
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics.attempts import account, passed_over, population
from audit.metrics.attempts.passed_over import PassedEvidence
from audit.metrics.pairs import EARLIER_S, Barred, Unstarted
from audit.metrics.passed import limited
from audit.metrics.passed.usage import Shares
from audit.model import Period, Pool
from audit.registry.reasons import DEPENDENCY_INFERRED
from audit.scenario.releases.holds import Holding, silent_starts


class OfLog(NamedTuple):
    """Evidence of a pool's whole log, by the key of an attempt."""

    pool: Pool
    holding: Holding
    limited_users: frozenset[str]
    """Users with a limit of users or accounts."""
    forbidden: pl.DataFrame
    """Columns of ``limited.FORBIDDEN``."""
    held: pl.DataFrame
    """The same columns."""
    silent: pl.DataFrame
    """Keys of the starts after own ends, and at begin times."""

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
        return cls(
            pool,
            holding,
            limited.users_under(jobs, limits, pool.zone),
            limited.forbidden(jobs, pool, now, limits),
            limited.joined(held.with_columns(pl.col("end") - 1), account.KEY),
            jobs.select(account.KEY).filter(silent_starts(jobs, pool, now, holding)),
        )

    def passed_over(
        self, jobs: pl.DataFrame, period: Period, zone: ZoneInfo, shares: Shares
    ) -> pl.DataFrame:
        """Return the result of each entity in a period, columns of ``passed_over.RESULT_SCHEMA``.

        Args:
            jobs: as of ``of``, with ``unstartable_from`` where it is known.
        """
        around = population.around(jobs, period, EARLIER_S)
        keys = around.select(*account.KEY, row=pl.int_range(pl.len()))
        marked = around["unstartable_from"] if "unstartable_from" in around.columns else None
        silent = keys.join(self.silent, on=account.KEY, how="semi")["row"]
        evidence = PassedEvidence(
            Unstarted(_barred(keys, self.held), _barred(keys, self.forbidden), marked),
            self.limited_users,
            self.holding.released,
            keys["row"].is_in(silent.implode()),
            self.holding.by_own_ends,
            around["held_by"] == DEPENDENCY_INFERRED if "held_by" in around.columns else None,
        )
        return passed_over.of_period(around, self.pool, period, zone, shares, evidence)


def _barred(keys: pl.DataFrame, spans: pl.DataFrame) -> Barred:
    """Return spans of attempts by row."""
    barred = spans.join(keys, on=account.KEY).sort("row", "begin")
    return Barred(*(barred[name].to_numpy() for name in ("row", "begin", "end")))
