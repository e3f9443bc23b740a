"""How well rules agree with the observed starts of a pool, read from the database."""

import polars as pl

from audit.report.reading import records
from audit.report.record.pool import Fidelity, Figure, RuleFit


def fidelity_of(rows: pl.DataFrame) -> Fidelity | None:
    """Return what the rows of a pool in the view ``fidelity`` say; None: there are none."""
    of_policy = rows.filter(pl.col("own_peak").is_null())
    if of_policy.is_empty():
        return None
    order, backfill, fair_order = of_policy.select("order", "backfill", "fair_order").row(0)
    rules = {rule[:3]: rule for rule in _rules(rows, "agreement")}
    used = next(iter(_rules(rows, "rule_used")), None)
    return Fidelity(
        *(order, backfill, records(Figure, of_policy), fair_order, tuple(rules.values())),
        None if used is None else rules.get(used[:3], used._replace(agreement=None)),
    )


def _rules(rows: pl.DataFrame, metric: str) -> list[RuleFit]:
    """Return the rules with a figure, the greatest first."""
    found = rows.filter(pl.col("own_peak").is_not_null(), metric=metric)
    found = found.sort("value", descending=True, nulls_last=True, maintain_order=True)
    return [RuleFit(*row) for row in found.select("order", "backfill", "own_peak", "value").rows()]
