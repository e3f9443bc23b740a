"""What is replayed: attempts, a pool with its policy, and how owners are ranked."""

from fractions import Fraction
from typing import NamedTuple

import polars as pl

from audit.model import Pool
from audit.scenario.ownership import EQUAL_SHARES, Fairshare


class Scenario(NamedTuple):
    """What is replayed."""

    attempts: pl.DataFrame
    """Columns of ``model.DESCRIBED``, of the pool; ``penalty`` where usage is charged by one."""
    pool: Pool
    """With the policy in force."""
    fairshare: Fairshare = EQUAL_SHARES


def asking_for(
    attempts: pl.DataFrame, factor: Fraction, of: tuple[str, ...] | None = None
) -> pl.DataFrame:
    """Attempts with better walltimes: min(walltime, factor · occupancy), rounded up, ≥ 1 s.

    A walltime that is unknown stays so, as does that of an attempt whose occupancy is.

    Args:
        attempts: columns of ``model.DESCRIBED``.
        factor: ≥ 1; 1: all ask for exactly what they take.
        of: the users who do; None: all.
    """
    above, below = factor.numerator, factor.denominator
    enough = -((-pl.col("occupancy_s") * above) // below)
    better = pl.min_horizontal("walltime_s", pl.max_horizontal(enough, pl.lit(1)))
    known = pl.col("walltime_s").is_not_null() & pl.col("occupancy_s").is_not_null()
    if of is not None:
        known &= pl.col("user").is_in(list(of)).fill_null(value=False)
    return attempts.with_columns(walltime_s=pl.when(known).then(better).otherwise("walltime_s"))
