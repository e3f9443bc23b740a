"""Fair start times of a pool, read from the database."""

from typing import Final

import polars as pl

from audit.model import FstStatus
from audit.registry.causes import COLUMNS
from audit.report.figures import Breakdown, Figure, by_total
from audit.report.rows import records
from audit.report.sections.fair_starts.record import (
    Delayed,
    FairStart,
    Fidelity,
    RuleFit,
    StatusCount,
)
from audit.report.source import SectionSource

DELAYED: Final = 10
"""Most delayed attempts listed for each pool."""
_STATUSES: Final = {status.value: place for place, status in enumerate(FstStatus)}


def read(source: SectionSource) -> dict[str, FairStart]:
    """Return the statuses, fidelity and delayed attempts of each pool."""
    fidelity = source.by_pool("fair_starts/fidelity") if source.observed else {}
    delayed = source.by_pool("fair_starts/delayed", most=DELAYED)
    known = source.settings.known
    found = {}
    for pool, parts in source.parts.items():
        partitions = by_total(parts.get("partition", ()), "miss_delivered_mean")
        found[pool] = FairStart(
            _statuses(parts.get("fst_status", ())),
            partitions if len(partitions) > 1 else (),
            fidelity_of(fidelity[pool]) if fidelity else None,
            source.settings.metrics.tolerance_s if known else None,
            _delayed(delayed[pool]),
        )
    return found


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


def _statuses(parts: tuple[Breakdown, ...]) -> tuple[StatusCount, ...]:
    """Return the number of attempts by status, in the order of ``FstStatus``."""
    counts = [
        StatusCount(part.label, int(number))
        for part in parts
        if (number := part.figure("fst_attempts").value)
    ]
    return tuple(sorted(counts, key=lambda of: (_STATUSES.get(of.status, len(_STATUSES)), of)))


def _delayed(rows: pl.DataFrame) -> tuple[Delayed, ...]:
    """Return the attempts of a pool that later arrivals delayed most."""
    parts = rows.select(COLUMNS).rows()
    return records(Delayed, rows.with_columns(pl.Series("parts", parts, pl.Object)))
