"""Bursts: submissions of one user that form a queue by themselves (SPEC §11).

A burst is a maximal run of a user's arrivals in a pool, each while an earlier attempt of the same
user is queued. A run of a single attempt is not a queue: it counts as *outside* bursts.

Conventions: attempts are in the order (arrival, submit, sequence), in which ties are broken. An
attempt is queued from its arrival until it starts, or leaves the queue without a start.
"""

from typing import Final

import numpy as np
import polars as pl

from audit.kernels import bursts as kernel
from audit.metrics.attempts.population import numbered, ordered
from audit.model import SEQUENCE

READ: Final = ("user", "arrival_time", "submit_time", "start_time", "end_time", *SEQUENCE)
"""Columns that bursts are made of."""


def bursts(attempts: pl.DataFrame) -> pl.Series:
    """Return the number of the burst of each attempt, a run of one included.

    Args:
        attempts: of one pool, with the columns of ``READ``.

    Returns:
        int64, null where the user or the arrival is unknown. O(n log n).
    """
    read = attempts.select(*READ).with_columns(numbered(attempts["user"])).with_row_index("row")
    known = read.drop_nulls(["user", "arrival_time"])
    held = ordered(known, "arrival_time", "submit_time", *SEQUENCE)
    user = held["user"].to_physical().cast(pl.Int64).to_numpy()
    arrival = held["arrival_time"].to_numpy()
    never = np.iinfo(np.int64)
    left = held.select(pl.coalesce("start_time", "end_time", pl.lit(never.max))).to_series()
    before = np.empty(held.height, np.int64)
    latest = np.full(int(user.max(initial=-1)) + 1, never.min)
    kernel.last_gone(user, left.to_numpy(), latest, before)
    by_user = np.argsort(user, kind="stable")
    begins = (before <= arrival)[by_user]  # the first of each user does
    number = np.empty(held.height, np.int64)
    number[by_user] = np.cumsum(begins) - 1
    placed = pl.DataFrame({"row": held["row"], "burst": number})
    rows = read.select("row").join(placed, on="row", how="left", maintain_order="left")
    return rows["burst"]
