"""An order of starts by recent usage, and the users whom it explains (SPEC §11, *Passed over*).

Of the pairs of all users (``metrics.pairs``), with more: those in which j's user had used much more
than k's, and less: those in which k's user had. Jobs start in an order by usage if

    lost_more / pairs_more − lost_less / pairs_less ≥ 0.15
    lost_more / pairs_more ≥ 2.5 · lost_less / pairs_less

also without the pairs of any one entity: one that has used much and is served last is no order.

*Explained*: nothing shows a scheduler's half-life, nor whether it counts the usage of users or of
accounts. Before an entity is named, the orders by all of ``HALF_LIVES`` and of both kinds of owners
are compared, in which any difference of usage counts. The one with the greatest difference of the
two shares is taken, from the pairs of all other entities, so that an entity of low priority makes
no order. Where jobs start in that order, the entity is tested once more, by the pairs in which its
owner had not used more. If it would not be named, the order explains why it was passed over.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from audit.array_types import Bools, Floats
from audit.metrics.pairs import EntityUsage, Kind, Log
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
    """Return whether jobs start in an order by usage, also without any one entity.

    Args:
        attempts: columns of ``pairs.PAIRED``.
    """
    of_each = attempts.group_by("entity", maintain_order=True).agg(pl.col(_SUMS).sum())
    sums = of_each.select(_SUMS).to_numpy()
    return bool(_follows(sums.sum(axis=0) - sums).all()) if len(sums) > 1 else False


def without_more(attempts: pl.DataFrame) -> pl.DataFrame:
    """Leave out the pairs in which the attempt's owner had used much more."""
    return attempts.with_columns(
        pairs=pl.col("pairs") - pl.col("pairs_more"),
        lost=pl.col("lost") - pl.col("lost_more"),
        passed_s="passed_else_s",
    ).filter(pl.col("pairs") > ROUNDING)


class OrderByUsage(NamedTuple):
    """An order by the usage of one kind of owner, with one half-life."""

    owners: Kind
    half_life_s: int

    def usage(self, log: Log, shares: Shares) -> EntityUsage:
        """Return the usage in a log, in which any difference counts."""
        of_owners = shares.get(self.owners, {})
        return log.usage(of_owners, self.owners, self.half_life_s)._replace(much=1.0)


def orders(log: Log) -> list[OrderByUsage]:
    """Return the orders by usage that may explain a log."""
    return [
        OrderByUsage(owners, half_life_s)
        for owners in OWNERS
        if owners in log.kinds
        for half_life_s in HALF_LIVES
    ]


def explained(
    entities: Collection[str],
    by_order: Sequence[Callable[[], pl.DataFrame]],
    judged: Callable[[pl.DataFrame], Sequence[JudgedEntity]],
) -> set[str]:
    """Return those of the entities that an order by usage explains.

    Args:
        by_order: return the attempts under each of ``orders``; columns of ``pairs.PAIRED``.
            Those of all orders would be as large as the log.
        judged: tests all entities by such attempts.
    """
    sums = np.zeros((len(entities), len(by_order), len(_SUMS)))
    for number, under_order in enumerate(by_order):
        attempts = under_order().select("entity", *_SUMS)
        for row, entity in enumerate(entities):
            others = attempts.filter(pl.col("entity") != entity)
            sums[row, number] = others.select(pl.col(_SUMS).sum()).row(0)
        del attempts
    found = set()
    best_of = dict[int, list[str]]()
    for entity, of_others in zip(entities, sums, strict=True):
        more, less = _lost(of_others)
        best = int((more - less).argmax())
        if _follows(of_others)[best]:
            best_of.setdefault(best, []).append(entity)
    for best, names in best_of.items():
        again = judged(without_more(by_order[best]()))
        found |= {one.entity for one in again if one.entity in names and one.why is not None}
    return found


_SUMS: Final = ("pairs_more", "lost_more", "pairs_less", "lost_less")


def _follows(sums: Floats) -> Bools:
    """Return whether sums, [n, 4], show an order by usage."""
    more, less = _lost(sums)
    follows: Bools = (more - less >= LEAST_APART) & (more >= LEAST_TIMES * less)
    return follows


def _lost(sums: Floats) -> tuple[Floats, Floats]:
    """Return the shares of lost pairs with more and with less usage; 0 and 0: unknown."""
    pairs = sums[:, ::2]
    known = (pairs > ROUNDING).all(axis=1, keepdims=True)
    shares = np.divide(sums[:, 1::2], pairs, out=np.zeros_like(pairs), where=known)
    return shares[:, 0], shares[:, 1]
