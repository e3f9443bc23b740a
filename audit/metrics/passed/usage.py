"""Whether jobs start in an order by recent usage, and whom that explains (SPEC §11, *Passed over*).

Of the pairs of all users (``metrics.pairs``), with more: those in which j's user had used much more
than k's, and less: those in which k's user had. Jobs start in an order by usage if

    lost_more / pairs_more − lost_less / pairs_less ≥ 0.15
    lost_more / pairs_more ≥ 2.5 · lost_less / pairs_less

*Explained*: nothing shows a scheduler's half-life, nor whether it counts the usage of users or of
accounts. Before an entity is named, the orders by all of ``HALF_LIVES`` and of both kinds of owners
are compared, in which any difference of usage counts. The one with the greatest difference of the
two shares is taken, from the pairs of all other entities, so that an entity of low priority makes
no order. Where jobs start in that order, the entity is tested once more, by the pairs in which its
owner had not used more. If it would not be named, the order explains why it was passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

import polars as pl

from audit.metrics.pairs import Kind, Log, Usage
from audit.metrics.passed.tested import ROUNDING, JudgedEntity

Shares = Mapping[str, Mapping[str, float]]
"""By kind and name, relative to one another."""

LEAST_APART: Final = 0.15
LEAST_TIMES: Final = 2.5
DAY_S: Final = 86_400
HALF_LIVES: Final = (3 * DAY_S, 14 * DAY_S, 60 * DAY_S)
"""Of those that sites use, 1 to 120 days, each is within a factor of 3 of one of these."""
OWNERS: Final[tuple[Kind, ...]] = ("user", "account")


def follows_usage(attempts: pl.DataFrame) -> bool:
    """Return whether jobs start in an order by usage; columns of ``pairs.PAIRED_SCHEMA``."""
    more, less = _lost(attempts)
    return more - less >= LEAST_APART and more >= LEAST_TIMES * less


def without_more(attempts: pl.DataFrame) -> pl.DataFrame:
    """Leave out the pairs in which the attempt's owner had used much more."""
    return attempts.with_columns(
        pairs=pl.col("pairs") - pl.col("pairs_more"),
        lost=pl.col("lost") - pl.col("lost_more"),
        passed_s="passed_else_s",
    ).filter(pl.col("pairs") > ROUNDING)


def orders(log: Log, shares: Shares) -> Iterator[Usage]:
    """Yield the usage by each half-life and kind of owner, in which any difference counts."""
    for owners in OWNERS:
        if owners in log.kinds:
            for half_life_s in HALF_LIVES:
                of_owners = shares.get(owners, {})
                yield log.usage(of_owners, owners, half_life_s)._replace(much=1.0)


def explained(
    entities: Collection[str],
    by_order: Sequence[pl.DataFrame],
    judged: Callable[[pl.DataFrame], Sequence[JudgedEntity]],
) -> set[str]:
    """Return those of the entities that an order by usage explains.

    Args:
        by_order: the attempts under each of ``orders``; columns of ``pairs.PAIRED_SCHEMA``.
        judged: tests all entities by such attempts.
    """
    found = set()
    for entity in entities:
        best = max(by_order, key=lambda attempts: _apart(_without(attempts, entity)))
        if follows_usage(_without(best, entity)):
            again = judged(without_more(best))
            found |= {one.entity for one in again if one.entity == entity and one.why is not None}
    return found


def _without(attempts: pl.DataFrame, entity: str) -> pl.DataFrame:
    return attempts.filter(pl.col("entity") != entity)


def _apart(attempts: pl.DataFrame) -> float:
    more, less = _lost(attempts)
    return more - less


def _lost(attempts: pl.DataFrame) -> tuple[float, float]:
    """Return the shares of lost pairs with more and with less usage; equal ones: unknown."""
    sums = attempts.select("pairs_more", "lost_more", "pairs_less", "lost_less").sum()
    pairs_more, lost_more, pairs_less, lost_less = sums.row(0)
    if not pairs_more or not pairs_less:
        return 0.0, 0.0
    return lost_more / pairs_more, lost_less / pairs_less
