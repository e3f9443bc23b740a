"""Rows of the views ``rules`` and ``outages`` about a pool."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from audit.metrics.attempts.account import rule_names
from audit.model import Limit, Period, Pool, Window

RULES: Final = pl.Schema(
    {
        "rule": pl.String,
        "kind": pl.String,
        "source": pl.String,
        "valid_from": pl.Date,
        "valid_to": pl.Date,
        "starts": pl.Int64,
        "breaks": pl.Int64,
        "breaks_by_chance": pl.Float64,
        "gain": pl.Float64,
    }
)


def rules_of(pool: Pool, evidence: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the limits and windows of a pool, columns of ``RULES``.

    Args:
        pool: with the rules in force.
        evidence: what is known of inferred ones; a rule without is configured.
    """
    inferred = {row["rule"]: row for row in evidence}
    rows = []
    in_order: list[Limit | Window] = [*pool.limits, *pool.windows]
    for name, rule in zip(rule_names(pool), in_order, strict=True):
        of = inferred.get(name, {})
        rows.append(
            {
                "rule": name,
                "kind": _kind(rule),
                "source": "inferred" if of else "configured",
                "valid_from": rule.valid_from,
                "valid_to": rule.valid_to,
                **{key: of.get(key) for key in ("starts", "breaks", "breaks_by_chance", "gain")},
            }
        )
    return pl.DataFrame(rows, RULES)


def _kind(rule: Limit | Window) -> str:
    if isinstance(rule, Limit):
        return "limit"
    return "overlap window" if rule.overlap else "window"


def outages_in(outages: pl.DataFrame, period: Period) -> pl.DataFrame:
    """Return the outages that overlap a period."""
    if period.whole_log:
        return outages
    return outages.filter(
        pl.col("from_time") < period.to_time, pl.col("to_time") > period.from_time
    )


def shares(jobs: pl.DataFrame, pool: Pool) -> dict[str, float]:
    """Return the share of all waiting for which each rule alone kept jobs from starting.

    By its number among the limits (``1``) or windows (``window1``), as ``whatif --lift`` takes it.
    """
    waited = float(jobs["wait_s"].sum() or 0)
    by_name = dict(
        jobs.filter(pl.col("rule").is_not_null())
        .group_by("rule")
        .agg(pl.col("cause_rule_free_s").sum())
        .iter_rows()
    )
    numbers = [str(k) for k in range(1, len(pool.limits) + 1)]
    numbers += [f"window{k}" for k in range(1, len(pool.windows) + 1)]
    return {
        number: by_name.get(name, 0.0) / waited if waited else 0.0
        for number, name in zip(numbers, rule_names(pool), strict=True)
    }
