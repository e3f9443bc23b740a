"""Predicted starts in sentences, on the cluster's clock."""

from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from audit.progress import printable
from audit.report import wording
from audit.scenario.predict.calibration import FEWEST_GROUPS, LEAST_COVERAGE, Bounds, Withheld
from audit.scenario.predict.estimates import PlansJudged
from audit.scenario.predict.similar import FEWEST

WHY: Final = {
    Withheld.HELD: "it waits for something other than its turn",
    Withheld.UNSCHEDULABLE: (
        "its request is unknown, or more than the pool or one of its limits ever allows"
    ),
    Withheld.NEVER_STARTS: "under the modelled policy it would never start",
    Withheld.FEW_SIMILAR: f"fewer than {FEWEST} similar pending jobs have started",
    Withheld.FEW_DECIDED: (
        f"earlier predictions of this kind can be checked for fewer than {FEWEST_GROUPS} "
        "hours of users"
    ),
    Withheld.MISCALIBRATED: (
        f"fewer than {wording.percent(LEAST_COVERAGE)} of the latest intervals of this kind "
        "were right"
    ),
}
"""Why no prediction is made."""


def job(job_id: str) -> str:
    """Return how sentences call a job."""
    return f"Job {printable(job_id)}"


def withheld(subject: str, why: Withheld) -> str:
    """Return why no prediction is made for a job."""
    return f"{subject}: no prediction, because {WHY[why]}."


def expected(subject: str, bounds: Bounds, now: int, zone: str, record: str = "") -> str:
    """Return when a job should start, as known at ``now``; ``record`` ends the sentence."""
    low, mid, high, today = (_local(time, zone) for time in (*bounds, now))
    likely = f"{mid:%H:%M}" if mid.date() == low.date() else _day(mid, today)
    between = f"between {_day(low, today)} and {_day(high, today)}"
    return f"{subject}: {between}, most likely around {likely}{record}."


def beside_plans(of: PlansJudged) -> str:
    """Return how far the scheduler's own plans and fairaudit's predictions were from the starts."""
    earlier, later = map(wording.rough_percent, (of.before_plan, of.after_plan))
    return (
        f"The scheduler's own estimates, for {wording.count(of.pairs)} pending jobs at full hours: "
        f"median error {wording.duration(of.planned_error_s)}; {earlier} started more than a "
        f"minute earlier and {later} later. Median error of fairaudit for the same jobs: "
        f"{wording.duration(of.predicted_error_s)}."
    )


def _local(time: int, zone: str) -> datetime:
    return datetime.fromtimestamp(time, ZoneInfo(zone))


def _day(time: datetime, today: datetime) -> str:
    """Return an instant to the minute, with its day relative to ``today``."""
    ahead = time.date() - today.date()
    day = {timedelta(0): "today", timedelta(1): "tomorrow"}.get(ahead, f"{time:%Y-%m-%d}")
    return f"{day} {time:%H:%M}"
