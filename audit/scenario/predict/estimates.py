"""The scheduler's own planned starts (``squeue --start``), judged beside predictions."""

from dataclasses import dataclass
from typing import Final

import polars as pl

from audit.scenario.predict.calibration import TOLERANCE_S

REACH_S: Final = 1_800  # longest time between a plan and the prediction beside it
FEWEST: Final = 20
"""Fewest pairs of a plan and a prediction that are compared."""


@dataclass(frozen=True, kw_only=True)
class PlansJudged:
    """How far planned and predicted starts of the same jobs at the same hours were from the starts.

    Errors are medians of absolute values, s.
    """

    pairs: int
    planned_error_s: int
    predicted_error_s: int
    before_plan: float  # share of jobs that started more than 60 s before the plan, in [0, 1]
    after_plan: float


def judged(past: pl.DataFrame, attempts: pl.DataFrame, planned: pl.DataFrame) -> PlansJudged | None:
    """Return the errors of plans and predictions; None: there are too few of both.

    Args:
        past: predictions of pending jobs, columns of ``predictions.PREDICTIONS``.
        attempts: the frame that their rows are of.
        planned: job_id, instant, expected_start (epoch s). The last one at or before a prediction
            is compared with it, if it is at most ``REACH_S`` old.
    """
    if planned.is_empty():
        return None
    named = attempts.select("job_id", "start_time")[past["row"]]
    pairs = (
        past.select("made_at", "p50")
        .hstack(named)
        .filter(pl.col("start_time").is_not_null(), pl.col("p50").is_not_null())
        .sort("made_at")
        .join_asof(
            planned.sort("instant"),
            left_on="made_at",
            right_on="instant",
            by="job_id",
            tolerance=REACH_S,
            check_sortedness=False,
        )
        .drop_nulls("expected_start")
    )
    if pairs.height < FEWEST:
        return None
    late = pl.col("start_time") - pl.col("expected_start")
    error = pl.col("start_time") - pl.col("p50")
    (row,) = pairs.select(
        pairs=pl.len(),
        planned_error_s=late.abs().median().round().cast(pl.Int64),
        predicted_error_s=error.abs().median().round().cast(pl.Int64),
        before_plan=(late < -TOLERANCE_S).mean(),
        after_plan=(late > TOLERANCE_S).mean(),
    ).to_dicts()
    return PlansJudged(**row)
