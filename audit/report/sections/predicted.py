"""Predicted starts: in sentences, on the cluster's clock, and how good they were (SPEC §13)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from audit.metrics.attempts.similar import WALLTIMES
from audit.progress import printable
from audit.report import wording
from audit.report.contents import PoolPart
from audit.report.figures import SMALL_SAMPLE, by_width, records
from audit.report.source import ReportSection, SectionSource
from audit.scenario.predict.calibration import (
    FEWEST_GROUPS,
    LEAST_COVERAGE,
    TOLERANCE_S,
    Bounds,
    Withheld,
)
from audit.scenario.predict.estimates import PlansJudged
from audit.scenario.predict.similar import FEWEST

WHY: Final = {
    Withheld.HELD: "it waits for something other than its turn",
    Withheld.UNSCHEDULABLE: (
        "its request is unknown, or more than the pool or one of its limits ever allows"
    ),
    Withheld.NEVER_STARTS: "under the modelled policy it would never start",
    Withheld.FEW_SIMILAR: f"fewer than {FEWEST} similar jobs have started",
    Withheld.FEW_DECIDED: (
        f"fewer than {FEWEST_GROUPS} independent earlier predictions of this kind can be checked"
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
    low, mid, high, today = (
        datetime.fromtimestamp(time, ZoneInfo(zone)) for time in (*bounds, now)
    )
    unique = mid.date() == low.date() and high - low < timedelta(days=1)
    likely = f"{mid:%H:%M}" if unique else _day(mid, today)
    first, last = _day(low, today), _day(high, today)
    if first == last:
        return f"{subject}: around {first}{record}."
    return f"{subject}: between {first} and {last}, most likely around {likely}{record}."


def beside_plans(of: PlansJudged) -> str:
    """Return how far the scheduler's own plans and fairaudit's predictions were from the starts."""
    earlier, later = map(wording.rough_percent, (of.before_plan, of.after_plan))
    return (
        f"The scheduler's own estimates, for {wording.count(of.pairs)} pending jobs at full hours: "
        f"median error {wording.duration(of.planned_error_s)}; {earlier} started more than a "
        f"minute earlier and {later} later. Median error of fairaudit for the same jobs: "
        f"{wording.duration(of.predicted_error_s)}."
    )


def _day(time: datetime, today: datetime) -> str:
    """Return an instant to the minute, with its day relative to ``today``."""
    ahead = time.date() - today.date()
    day = {timedelta(0): "today", timedelta(1): "tomorrow"}.get(ahead, f"{time:%Y-%m-%d}")
    return f"{day} {time:%H:%M}"


class Predicted(NamedTuple):
    """How often predicted starts of one kind were right; times in s, None: none were made."""

    kind: str  # submission | pending
    contested: bool  # whether the median was more than a minute ahead
    dimension: str  # all | month | width | walltime
    label: str  # of the class
    predictions: int  # that were not withheld
    withheld: int
    right_share: float | None
    early_share: float | None
    late_share: float | None
    error_s: float | None  # medians of absolute errors: of the predictions
    recent_error_s: float | None  # of the median of the last 200 waits
    alike_error_s: float | None  # of the median of the last 20 waits of similar jobs
    modelled_error_s: float | None  # of the model alone


@dataclass(frozen=True, slots=True)
class Predictions:
    """How good the predicted starts of a pool were."""

    rows: tuple[Predicted, ...] = ()


def read(source: SectionSource) -> dict[str, Predictions]:
    """Return how good the predictions of each pool were: contested ones first, classes in order."""
    if not source.observed:
        return {}
    found = source.by_pool("predicted/judged", tolerance_s=TOLERANCE_S)
    return {
        pool: Predictions(tuple(sorted(records(Predicted, rows), key=_place)))
        for pool, rows in found.items()
    }


def _place(one: Predicted) -> tuple[object, ...]:
    place: tuple[int, int] | str = one.label
    if one.dimension == "width":
        place = by_width(one.label)
    elif one.dimension == "walltime":
        place = (WALLTIMES.index(one.label), 0)
    dimension = ("all", "month", "width", "walltime").index(one.dimension)
    return one.kind == "pending", not one.contested, dimension, place


_KINDS: Final = {"submission": "at submission", "pending": "of pending jobs"}


def judged(pool: PoolPart) -> list[Predicted]:
    """Return the rows of the table: contested predictions by class, others as a whole."""
    return [
        one
        for one in pool[Predictions].rows
        if one.dimension == "all" or (one.contested and one.predictions >= SMALL_SAMPLE)
    ]


def predicted_of(one: Predicted) -> str:
    """Return what a row is about: ``At submission, width 5–8``."""
    kind = wording.first_upper(_KINDS[one.kind])
    if one.dimension == "all":
        return f"{kind}, more than a minute ahead" if one.contested else f"{kind}, others"
    label = wording.width(one.label) if one.dimension == "width" else one.label
    return f"{kind}, {one.dimension if one.dimension != 'month' else 'in'} {label}"


def predicted_lead(pool: PoolPart) -> str:
    """Return how often the predictions of contested starts were right."""
    whole = [one for one in pool[Predictions].rows if one.dimension == "all" and one.contested]
    return " ".join(filter(None, map(_sentence, whole))) or (
        "No prediction of a start more than a minute ahead could be judged."
    )


def predicted_number(pool: PoolPart) -> str:
    """Return how many attempts have a prediction at their submission that was judged."""
    rows = pool[Predictions].rows
    of = [one for one in rows if one.dimension == "all" and one.kind == "submission"]
    number = sum(one.predictions + one.withheld for one in of)
    return f"{wording.count(number)} of {wording.count(pool.attempts)} attempts"


def _sentence(one: Predicted) -> str:
    kind = _KINDS[one.kind]
    withheld = f"{wording.count(one.withheld)} predictions {kind} were withheld."
    if not one.predictions:
        return withheld
    shares = (one.right_share, one.early_share, one.late_share)
    right, early, late = (wording.rough_percent(share or 0.0) for share in shares)
    sentence = (
        f"Of {wording.count(one.predictions)} predictions {kind} of a start more than a minute "
        f"ahead, {right} were right; 80 % should be. Jobs started earlier than predicted in "
        f"{early} of the cases, and later in {late}."
    )
    return f"{sentence} Another {withheld}" if one.withheld else sentence


SECTION: Final = ReportSection(
    "predicted",
    Predictions,
    read,
    filters=(judged, predicted_lead, predicted_number, predicted_of),
)
