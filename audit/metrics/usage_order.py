"""Whether jobs start in an order by decayed usage, as under fairshare, without a model.

Over all pairs of the users' attempts (``pairs``), with weighted sums,

    difference = Σ lost / Σ pairs with rivals whose owner had used less when they arrived
               − Σ lost / Σ pairs with all other rivals

Under fairshare it is far above 0, under first come, first served about 0. Owners are users or
accounts. A log does not tell the half-life of its scheduler: of ``HALF_LIVES``, and of both kinds
of owners, the greatest difference is taken. Jobs start in that order if its one-sided 95 % bound is
at least ``LEAST``. The bound comes from a jackknife that leaves out one user at a time, so that a
single user with the lowest priority does not look like an order by usage.

Conventions: usage counts from the first attempt that is given, and is divided by the owner's share.
A tree of shares with several levels counts by users, or by accounts, but not by both.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.pairs import Decayed, Held, Log, Owners, paired
from audit.metrics.significance import Estimate, jackknife

Floats = NDArray[np.float64]

DAY_S: Final = 86_400
HALF_LIVES: Final = tuple(days * DAY_S for days in (1, 3, 7, 14, 30, 90))
LEAST: Final = 0.10
LEAST_USERS: Final = 8

Shares = Mapping[str, Mapping[str, float]]
"""By kind and name, relative to one another."""
EQUAL: Final[Shares] = {}


class UsageOrder(NamedTuple):
    """The order by usage in which jobs start."""

    owners: Owners
    half_life_s: int
    decayed: Decayed
    difference: Estimate


def usage_order(log: Log, held: Held, shares: Shares = EQUAL) -> UsageOrder | None:
    """Return the order by usage in which jobs start; None: they do not, or too few users tell.

    Args:
        held: as ``pairs.paired``.
        shares: the site's; a kind without any has equal ones.
    """
    best: UsageOrder | None = None
    for owners in ("user", "account"):
        if owners not in log.kinds:
            continue
        for half_life_s in HALF_LIVES:
            decayed = Decayed.of(log, owners, half_life_s, shares.get(owners))
            difference = _difference(paired(log, "user", held, decayed))
            if difference and (best is None or difference.value > best.difference.value):
                best = UsageOrder(owners, half_life_s, decayed, difference)
    return best if best and best.difference.lower >= LEAST else None


def _difference(of_users: pl.DataFrame) -> Estimate | None:
    """Return the difference; None where one of its shares rests on one user, or on few in all."""
    figures = ("lost", "pairs", "lost_less", "pairs_less")
    by_user = of_users.group_by("entity", maintain_order=True).agg(pl.col(figures).sum())
    by_user = by_user.filter(pl.col("pairs") > 0)
    lost, pairs, lost_less, pairs_less = (by_user[name].to_numpy() for name in figures)
    parts = (lost_less, pairs_less, lost - lost_less, pairs - pairs_less)
    if by_user.height < LEAST_USERS or any(_rests_on_one(part) for part in parts[1::2]):
        return None
    whole = [np.array([part.sum()]) for part in parts]
    value = float(_shares_apart(*whole)[0])
    return jackknife(value, _shares_apart(*(part.sum() - part for part in parts)))


def _rests_on_one(pairs: Floats) -> bool:
    return bool((pairs.sum() - pairs <= 1e-9).any())


def _shares_apart(lost_less: Floats, pairs_less: Floats, lost: Floats, pairs: Floats) -> Floats:
    apart: Floats = lost_less / pairs_less - lost / pairs
    return apart
