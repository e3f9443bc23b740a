"""Predicted starts that the store keeps, to show how good they are (SPEC §13).

Those at submission are made anew, of every n-th. Those of pending jobs are made at
the newest record and kept; later runs judge them.
"""

from typing import Final
from zoneinfo import ZoneInfo

import polars as pl

from audit.cluster.windows import ComputedWindow
from audit.model import Standing
from audit.scenario.predict import predictions
from audit.scenario.scenario import Scenario

HOURS: Final = 3  # step between the past hours that are searched for similar pending jobs
SUBMISSION: Final = "submission"
PENDING: Final = "pending"


def predicted(
    scenario: Scenario, zone: ZoneInfo, window: ComputedWindow, *, nightly: bool = False
) -> pl.DataFrame:
    """Return the predictions of a pool's attempts in a window, columns of ``prediction_result``.

    The columns ``cluster`` and ``pool`` are missing.

    Args:
        scenario: all attempts that rows of the window need.
        nightly: whether a night asks, not an audit.
    """
    attempts = scenario.attempts
    since = window.from_time if nightly else None
    made = predictions.at_submission(scenario, zone.key, nightly=nightly, since=since)
    own = attempts.select(window.holds()).to_series()
    kinds = [made.filter(own.gather(made["row"])).with_columns(kind=pl.lit(SUBMISSION))]
    if window.to_time is None and (attempts["standing"] == Standing.PENDING).any():
        since = scenario.now - predictions.SEARCHED_S
        records = pl.col("tasks") > 0
        _, present = predictions.pending(scenario, zone.key, since, HOURS, records)
        kinds.append(present.with_columns(kind=pl.lit(PENDING)))
    found = pl.concat(kinds)
    named = attempts.select("job_id", "attempt", "tasks")[found["row"]]
    return found.drop("row").hstack(named).filter(pl.col("tasks") > 0).drop("tasks")
