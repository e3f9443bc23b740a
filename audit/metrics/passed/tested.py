"""Whether entities lose significantly more pairs than expected (SPEC §11, *Passed over*).

``attempts.passed_over`` defines shares, expected shares and conditions.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.quantiles import MEDIAN, rank
from audit.metrics.significance import TestStatistic, by_hochberg, of_sums, stretches
from audit.registry.passed import PassedWhy

LEAST: Final = (20, 8)
"""Attempts with pairs, and their days, that a test needs."""
STRETCHES: Final = 20
PRIOR: Final = 5.0
"""Weight of the overall rate within the rate of a class."""
LEAST_EXCESS: Final = 0.10
LEAST_OF_WAITING: Final = 0.005
LEAST_PER_JOB_S: Final = 86_400
LEAST_LEFT: Final = 0.6
"""Share of its attempts with pairs that must be left."""
ROUNDING: Final = 1e-9
"""Weights of pairs are sums: nothing but rounding may be left of one that is taken from another."""


class JudgedEntity(NamedTuple):
    """Result for an entity; see ``passed_over.RESULT_SCHEMA``."""

    entity: str
    attempts: int = 0
    days: int = 0
    pairs: float = 0.0
    lost: float = 0.0
    share: float | None = None
    expected: float | None = None
    passed_s: int = 0
    lower: float | None = None
    p: float | None = None
    why: PassedWhy | None = None
    own_share: float | None = None
    usage_multiple: float | None = None
    ahead: tuple[str | None, float | None, float | None] = (None, None, None)
    passed_jobs: int = 0
    passed_median_s: int | None = None
    held_share: float | None = None

    @property
    def shown(self) -> tuple[object, ...]:
        """Its part of the results."""
        named = None if self.why and not self.why.tested else self.why is None
        why = None if self.why is None else self.why.value
        return (*self[:10], named, why, *self[11:13], *self.ahead, *self[14:])


class PairsOfKind(NamedTuple):
    """The attempts with pairs of one kind."""

    paired: Mapping[str, int]  # the attempts with pairs of each entity
    counts: Mapping[str, int]  # the attempts of each entity, also those without pairs
    waiting: float

    def judged(self, kept: pl.DataFrame) -> list[JudgedEntity]:
        """Compare each entity with the others, by those of its attempts that are kept.

        Args:
            kept: columns of ``pairs.PAIRED``, and day.
        """
        read = kept.select("entity", "pairs", "lost", "passed_s", "day", due=_due(kept))
        parts = read.partition_by("entity", as_dict=True, include_key=False)
        by_entity = {name: rows for (name,), rows in parts.items()}
        none = read.clear()
        found = []
        for entity in self.counts:
            rows = by_entity.get(entity, none)
            left_out = rows.height < LEAST_LEFT * self.paired.get(entity, 0)
            found.append(_one(entity, rows, left_out=left_out))
        tested = [one for one in found if one.p is not None]
        rejected = by_hochberg([one.p for one in tested if one.p is not None])
        significant = {one.entity for one, holds in zip(tested, rejected, strict=True) if holds}
        return [
            one._replace(why=self._fault(one, significant)) if one.p is not None else one
            for one in found
        ]

    def _fault(self, one: JudgedEntity, significant: Collection[str]) -> PassedWhy | None:
        """Return the first condition that a tested entity fails; None: it is to be named."""
        much = min(LEAST_OF_WAITING * self.waiting, LEAST_PER_JOB_S * self.counts[one.entity])
        if one.entity not in significant:
            return PassedWhy.USUAL
        if one.lower is None or one.lower < LEAST_EXCESS:
            return PassedWhy.LITTLE_MORE
        return PassedWhy.LITTLE_TIME if one.passed_s < much else None


def _due(of_kind: pl.DataFrame) -> pl.Series:
    """Return the expected lost pairs of each attempt; null where others have no pairs."""

    def others(name: str, *within: str) -> pl.Expr:
        of = pl.col(name).sum()
        rest = (of.over(within) if within else of) - of.over("entity", *within)
        return pl.when(rest > ROUNDING).then(rest).otherwise(0.0)

    known = others("pairs") > 0
    rate = pl.when(known).then(others("lost") / others("pairs"))
    of_class = (others("lost", "class") + PRIOR * rate) / (others("pairs", "class") + PRIOR)
    return of_kind.select(due=pl.col("pairs") * of_class).to_series()


def _one(entity: str, rows: pl.DataFrame, *, left_out: bool) -> JudgedEntity:
    """Compare an entity with the others: its rows of ``pairs.PAIRED``, with days and due."""
    pairs, lost = (rows[name].to_numpy() for name in ("pairs", "lost"))
    all_pairs, all_lost = float(pairs.sum()), float(lost.sum())
    known = rows.height > 0 and not rows["due"].has_nulls()
    days = rows["day"].n_unique()
    lost_time = rows["passed_s"].filter(rows["passed_s"] > 0).sort()
    why, estimate = None, None
    if left_out:
        why = PassedWhy.LEFT_OUT
    elif rows.height < LEAST[0]:
        why = PassedWhy.FEW_JOBS
    elif days < LEAST[1]:
        why = PassedWhy.FEW_DAYS
    elif not known:
        why = PassedWhy.NO_OTHERS
    else:
        estimate = _estimate(rows)
        why = PassedWhy.FEW_DAYS if estimate is None else None
    return JudgedEntity(
        entity=entity,
        attempts=rows.height,
        days=days,
        pairs=all_pairs,
        lost=all_lost,
        share=all_lost / all_pairs if rows.height else None,
        expected=float(rows["due"].sum()) / all_pairs if known else None,
        passed_s=int(rows["passed_s"].sum()),
        lower=estimate and estimate.lower,
        p=estimate and estimate.p,
        why=why,
        passed_jobs=lost_time.len(),
        passed_median_s=lost_time[rank(lost_time.len(), MEDIAN) - 1] if lost_time.len() else None,
    )


def _estimate(rows: pl.DataFrame) -> TestStatistic | None:
    """Estimate share − expected, leaving out one stretch of days at a time."""
    stretch = stretches(rows["day"].to_numpy(), STRETCHES)
    above = (rows["lost"] - rows["due"]).to_numpy()
    sums = [np.bincount(stretch, one).astype(np.float64) for one in (above, rows["pairs"])]
    return of_sums(*sums)
