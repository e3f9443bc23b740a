"""The longest waits of one user or account."""

from typing import Any, Final

import polars as pl

from audit.report.owner.attempts import Scene
from audit.report.owner.contents import LongWait

MOST: Final = 5
"""So many are told of."""


def longest(scene: Scene) -> tuple[LongWait, ...]:
    """The longest waits that ended in the period, longest first."""
    waited = scene.subjects.filter(pl.col("wait_s") > 0).sort(
        "wait_s", "arrival_time", "job_id", "attempt", descending=[True, False, False, False]
    )
    return tuple(_told(scene, row) for row in waited.head(MOST).iter_rows(named=True))


def _told(scene: Scene, row: dict[str, Any]) -> LongWait:
    return LongWait(
        row["job_id"] if scene.who.kind == "user" else None,
        row["arrival_time"],
        row["start_time"],
        row["wait_s"],
        row["size"],
        row["walltime_s"],
        row["similar_wait_s"],
        _held(scene.attempts, row["arrival_time"], row["start_time"]),
    )


def _held(attempts: pl.DataFrame, begin: int, end: int) -> float:
    """How much of the pool's resource running attempts held in a span, mean."""
    until = pl.col("end_time").fill_null(end).clip(upper_bound=end)
    since = pl.col("start_time").clip(lower_bound=begin)
    held = pl.col("size").fill_null(0) * (until - since).clip(lower_bound=0)
    return float(attempts.select(held.sum()).item()) / (end - begin)
