"""Planned starts of the scheduler beside predictions: by hand."""

import polars as pl

from audit.report.sections import predicted
from audit.scenario.predict.estimates import FEWEST, REACH_S, PlansJudged, judged

HOUR_S = 3_600


def test_plans_and_predictions_of_the_same_jobs_and_hours() -> None:
    """The plan is two hours late for all jobs but one, and the prediction ten minutes early.

    Of two plans the last one counts. A plan that is too old, or later than the prediction, does
    not; nor a job without a start, a prediction or a plan.
    """
    count = FEWEST + 4
    start = [10 * HOUR_S] * (count - 1)
    attempts = pl.DataFrame(
        {"job_id": [str(k) for k in range(count)], "start_time": [*start, None]}
    )
    past = pl.DataFrame(
        {
            "row": range(count),
            "made_at": [5 * HOUR_S] * count,
            "p50": [None, *[10 * HOUR_S - 600] * (count - 1)],
        }
    )
    plans = [(str(k), 5 * HOUR_S - 60, 12 * HOUR_S) for k in range(4, count)]
    plans += [(str(k), 5 * HOUR_S - 120, 20 * HOUR_S) for k in range(3, count)]
    plans += [("0", 5 * HOUR_S, 1), ("1", 5 * HOUR_S - REACH_S - 1, 1), ("2", 5 * HOUR_S + 1, 1)]
    plans += [("3", 5 * HOUR_S, 10 * HOUR_S - 61)]
    planned = pl.DataFrame(plans, ["job_id", "instant", "expected_start"], orient="row")
    got = judged(past, attempts, planned)
    assert got == PlansJudged(
        pairs=FEWEST,
        planned_error_s=2 * HOUR_S,
        predicted_error_s=600,
        before_plan=(FEWEST - 1) / FEWEST,
        after_plan=1 / FEWEST,
    )
    assert predicted.beside_plans(got) == (
        "The scheduler's own estimates, for 20 pending jobs at full hours: median error 2 h; 95 % "
        "started more than a minute earlier and 5 % later. Median error of fairaudit for the same "
        "jobs: 10 min."
    )
    assert judged(past, attempts, planned.filter(pl.col("job_id") != "9")) is None
    assert judged(past, attempts, planned.clear()) is None
