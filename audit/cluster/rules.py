"""The rules of a pool as rows of the view ``rules``, and the waiting under them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from audit.cluster.inference import NOTHING
from audit.metrics.attempts import account
from audit.model import Declared, Limit, Pool
from audit.model import Window as Hours
from audit.rule_text import scope_text, short_text

RULES: Final = pl.Schema(
    {
        "rule": pl.String,
        "name": pl.String,
        "kind": pl.String,
        "scope": pl.String,
        "per": pl.String,
        "level": pl.Int64,
        "unit": pl.String,
        "source": pl.String,
        "valid_from": pl.Date,
        "valid_to": pl.Date,
        "starts": pl.Int64,
        "breaks": pl.Int64,
        "stops": pl.Int64,
    }
)


def rules_of(
    pool: Pool, evidence: Sequence[Mapping[str, Any]], declared: Declared = NOTHING
) -> pl.DataFrame:
    """Return the limits and windows of a pool, columns of ``RULES``.

    Args:
        evidence: rows about the inferred rules; those without a row are configured.
        declared: the limits that the scheduler's own files state.
    """
    inferred = {row["rule"]: row for row in evidence}
    rows = []
    in_order: list[Limit | Hours] = [*pool.limits, *pool.windows]
    for name, rule in zip(account.rule_names(pool), in_order, strict=True):
        found = inferred.get(name, {})
        stated = declared.limits_of if rule in declared.limits else "configured"
        rows.append(
            {
                "rule": name,
                "name": short_text(rule, pool.resource),
                "scope": scope_text(rule, pool.resource) or None,
                **_kind(rule),
                "source": "inferred" if found else stated,
                "valid_from": rule.valid_from,
                "valid_to": rule.valid_to,
                **{key: found.get(key) for key in ("starts", "breaks", "stops")},
            }
        )
    return pl.DataFrame(rows, RULES)


def recorded_rules(pool: Pool, jobs: pl.DataFrame) -> pl.DataFrame:
    """Return the rules that the scheduler recorded of jobs, columns of ``RULES``.

    Args:
        jobs: with the column ``rule`` of the account.
    """
    known = account.rule_names(pool)
    names = [name for name in jobs["rule"].drop_nulls().unique().sort() if name not in known]
    rows = [{"rule": name, "name": name, "kind": "limit", "source": "recorded"} for name in names]
    return pl.DataFrame(rows, RULES)


def with_waiting(rules: pl.DataFrame, ended: pl.DataFrame) -> pl.DataFrame:
    """Add waiting_s and free_s: the seconds under rules of the jobs that each delayed longest."""
    spent = ended.group_by("rule").agg(
        waiting_s=pl.col("cause_rule_s").sum(), free_s=pl.col(account.RULE_FREE).sum()
    )
    both = rules.join(spent, on="rule", how="left", maintain_order="left")
    seconds = pl.col("waiting_s", "free_s").fill_null(0.0).round().cast(pl.Int64)
    return both.with_columns(seconds)


def _kind(rule: Limit | Hours) -> dict[str, Any]:
    if not isinstance(rule, Limit):
        return {"kind": "overlap window" if rule.overlap else "window"}
    unit = (rule.resource or "jobs") + ("_s" if rule.remaining else "")
    return {"kind": "limit", "per": rule.per, "level": rule.most, "unit": unit}


def waiting_by_rule(jobs: pl.DataFrame, pool: Pool) -> dict[str, float]:
    """Return the share of all waiting that each rule causes, also while the machine was full.

    Keys are numbers of limits (``1``) and windows (``window1``), as for ``whatif --lift``, and
    ``nodes``: enough was free, but on no node.
    """
    waited = float(jobs["wait_s"].sum() or 0)
    held = jobs.filter(pl.col("rule").is_not_null()).group_by("rule")
    by_name = dict(held.agg(pl.col("cause_rule_s").sum()).iter_rows())
    numbers = [str(k) for k in range(1, len(pool.limits) + 1)]
    numbers += [f"window{k}" for k in range(1, len(pool.windows) + 1)]
    held_s = [by_name.get(name, 0.0) for name in account.rule_names(pool)]
    scattered_s = float(jobs["cause_nodes_s"].sum() or 0)
    return {
        number: seconds / waited if waited else 0.0
        for number, seconds in zip([*numbers, "nodes"], [*held_s, scattered_s], strict=True)
    }
