"""Predicted starts with 80 % intervals, of submitted and of pending jobs (SPEC §13).

Conventions as in ``scenario.workload``. A prediction uses only what was known when it was made.
"""

from math import ceil
from typing import Any, Final

import numpy as np
import polars as pl

from audit.array_types import Bools, Ints
from audit.model import Standing
from audit.scenario.budget import depths
from audit.scenario.predict import similar
from audit.scenario.predict.calibration import (
    CONTESTED_S,
    Bounds,
    Group,
    Levels,
    Life,
    Record,
    Shifts,
    Withheld,
)
from audit.scenario.predict.known import QueuedAttempts, known_of
from audit.scenario.predict.similar import Curve, NeighbourSearch, PredictionTable
from audit.scenario.predict.sweep import QueueState, QueueSweep
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER

SUBMISSIONS: Final = NeighbourSearch(window=12_000, known=60, per_group=3)
"""A group is what a user submits in one hour: of a burst, 60 alike would hide all others."""
PAIRS: Final = NeighbourSearch(window=30_000, known=50, per_group=3)
"""A group is a job."""
SAMPLED: Final = 30_000
"""Largest number of submissions that are predicted."""
SAMPLED_NIGHTLY: Final = 10_000
"""The same each night."""
LEAD: Final = 3 * SUBMISSIONS.window
"""Number of submissions before those that matter that are predicted: bounds adapt to them."""
ASKED: Final = 4_000
"""Largest number of submissions that are predicted to answer a question."""
SIMULATED: Final = 7_000_000
"""Largest number of jobs that run or wait where simulations begin, added up over all of them."""
HOUR_S: Final = 3_600
SEARCHED_S: Final = 45 * 86_400  # past in which similar pending jobs are searched
DRAWN: Final = 40  # largest number of pending jobs that are simulated at a past hour
DAY_S: Final = 86_400
"""The pending jobs of a user on one day are one observation: their hours are not independent."""
ANY: Final = pl.col("standing").is_not_null()
"""All attempts."""
FEATURES: Final = 13  # the age of a pending job is one more

PREDICTIONS: Final = pl.Schema(
    {
        "row": pl.Int64,  # of the attempt in the frame of the scenario
        "made_at": pl.Int64,
        "p10": pl.Int64,  # epoch s; null: no prediction, or withheld
        "p50": pl.Int64,
        "p90": pl.Int64,
        "contested": pl.Boolean,  # whether the median is more than 60 s ahead; null: none
        "withheld_because": pl.String,  # Withheld
        "modelled": pl.Int64,  # start under the model; null: never, or no prediction
        "recent": pl.Int64,  # median of ``latest``; null: of pending jobs, or none known
        "alike": pl.Int64,
    }
)


class _Run:
    """Predictions in the order of time."""

    def __init__(
        self, known: QueuedAttempts, zone: str, search: NeighbourSearch, together: int = 1
    ) -> None:
        self.known = known
        self.sweep = QueueSweep(known, zone, together)
        self.search = search
        self.ages = search is PAIRS
        self.table = PredictionTable(FEATURES + self.ages)
        self._records = {contested: Record() for contested in (False, True)}
        self._span_s = DAY_S if self.ages else HOUR_S
        self.rows: list[tuple[Any, ...]] = []

    def estimate(self, row: int, before: int) -> Curve | None:
        """Return the estimate for a row of the table from those ``before``."""
        known = self.known
        near = similar.neighbours(
            self.table, row, before, self.search, known.work.start, known.leaves
        )
        return None if near is None else similar.estimate(near, float(self.table.model[row]))

    def hours_of(self, jobs: Ints) -> Ints:
        """Return a number for the user and the hour of each submission."""
        hours = self.known.work.arrival[jobs] // HOUR_S
        return hours * self.known.users + self.known.user[jobs]

    def life(self, job: int) -> Life:
        """Return what became of an attempt."""
        return Life(int(self.known.work.start[job]), int(self.known.leaves[job]))

    def keep(
        self, job: int, now: int, bounds: Bounds, *beside: int | None, contested: bool
    ) -> None:
        """Add a prediction to the results, unless it is withheld, and to the record of its kind.

        ``beside``: modelled, recent and alike.
        """
        group: Group = (int(self.known.user[job]), now // self._span_s)
        record = self._records[contested]
        why = record.verdict(now)
        record.made(group, bounds, self.life(job))
        shown = bounds if why is None else (None, None, None)
        self.rows.append((int(self.known.rows[job]), now, *shown, contested, why, *beside))

    def none(self, row: int, now: int, why: Withheld) -> None:
        """Add a row of the scenario of which no prediction is made."""
        self.rows.append((int(row), now, None, None, None, None, why, None, None, None))

    def frame(self) -> pl.DataFrame:
        """Return the results."""
        return pl.DataFrame(self.rows, schema=PREDICTIONS, orient="row")


def step_of(known: QueuedAttempts, subjects: Ints | None = None, most: int | None = None) -> int:
    """Return n of *every n-th submission*: at most ``most``, with ``SIMULATED`` jobs in all.

    Args:
        subjects: the submissions; None: all. most: None: ``SAMPLED``.
    """
    deep = depths(known.work)[known.subject if subjects is None else subjects]
    return max(1, ceil(len(deep) / (most or SAMPLED)), ceil(float(deep.sum()) / SIMULATED))


def at_submission(
    scenario: Scenario, zone: str, *, nightly: bool = False, since: int | None = None
) -> pl.DataFrame:
    """Return the predictions that would have been made at submissions.

    Similar ones are searched among all submissions. The model's starts of those between two
    predictions are simulated together, from what was known at the first.

    Args:
        zone: of the cluster.
        nightly: whether the predictions are those of a night.
        since: epoch s from which on submissions matter, with ``LEAD`` before it; None: all do.

    Returns:
        Columns of ``PREDICTIONS``, in the order of submission.
    """
    known = known_of(scenario)
    most = SAMPLED_NIGHTLY if nightly else SAMPLED
    step = step_of(known, most=most)
    subjects = np.flatnonzero(known.subject)
    if since is not None:
        first = int(known.work.arrival[subjects].searchsorted(since)) - LEAD
        subjects = subjects[max(0, first) // step * step :]  # those of all that are predicted
    run, *_ = _replayed(known, zone, subjects, step)
    return run.frame()


def before_submission(
    scenario: Scenario, zone: str, shapes: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what would be predicted for jobs if each were submitted now, without the others.

    Only the last ``SUBMISSIONS.window`` submissions are replayed, and at most ``ASKED`` of them
    predicted.

    Args:
        shapes: number of these jobs: the last rows of the scenario, which arrive after ``now``.
        zone: of the cluster.

    Returns:
        Two frames with columns of ``PREDICTIONS``: those of the last submissions, as of
        ``at_submission``; and those of the jobs.
    """
    known, now = known_of(scenario), scenario.now + 1
    asked = known.rows >= scenario.attempts.height - shapes
    arrived = int(np.searchsorted(known.work.arrival, now, side="left"))
    subjects = np.flatnonzero(known.subject & ~asked)
    subjects = subjects[subjects < arrived][-SUBMISSIONS.window :]
    step = step_of(known, subjects, ASKED)
    run, levels = _replayed(known, zone, subjects, step)
    past, run.rows = run.frame(), []
    scene = run.sweep.to(now, arrived)
    for job in np.flatnonzero(asked).tolist():
        if not known.subject[job]:
            run.none(known.rows[job], now, Withheld.UNSCHEDULABLE)
            continue
        number = run.table.number
        _predict(run, run.sweep.joined(scene, np.array([job])), job, levels)
        run.table.drop(number)
    return past, run.frame()


def _replayed(known: QueuedAttempts, zone: str, subjects: Ints, step: int) -> tuple[_Run, Levels]:
    """Predict every ``step``-th of these submissions; see ``at_submission``."""
    run = _Run(known, zone, SUBMISSIONS, step)
    levels = Levels()
    for place in range(0, len(subjects), step):
        job, now = int(subjects[place]), int(known.work.arrival[subjects[place]])
        scene = run.sweep.to(now, job + 1)
        _predict(run, scene, job, levels)
        if place + step <= len(subjects):
            _add(run, scene, subjects[place + 1 : place + step])
    return run, levels


def _predict(run: _Run, scene: QueueState, job: int, levels: Levels) -> None:
    """Predict the start of a job at its submission."""
    now, jobs = scene.now, np.array([job])
    waits = run.sweep.model_waits(scene, job)
    if NEVER in (waits[0][0], waits[1][0]):
        run.none(run.known.rows[job], now, Withheld.NEVER_STARTS)
        return
    features = run.sweep.features(scene, jobs, waits, ages=False)
    (row,) = run.table.add(now, jobs, run.hours_of(jobs), waits[0], *features)
    found = run.estimate(row, row)
    if found is None:
        run.none(run.known.rows[job], now, Withheld.FEW_SIMILAR)
        return
    wait, life = int(waits[0][0]), run.life(job)
    middle = round(found.wait(0.5))
    contested = middle > CONTESTED_S
    low, high = levels.at(now, wait, contested)
    bounds = _bounds(now, found.wait(low), middle, found.wait(high))
    levels.made(bounds, life, wait, contested)
    latest = run.sweep.baselines
    medians = (latest.recent, int(latest.alike(jobs)[0]))
    beside = (now + of if of >= 0 else None for of in medians)
    run.keep(job, now, bounds, now + wait, *beside, contested=contested)


def _add(run: _Run, scene: QueueState, jobs: Ints) -> None:
    """Add submissions that follow the one of a scene to those that are searched."""
    if not len(jobs):
        return
    sweep, arrival = run.sweep, run.known.work.arrival
    scene = sweep.joined(scene, jobs)
    waits = sweep.model_waits(scene)
    starts = np.maximum(*waits)[-len(jobs) :] != NEVER
    jobs = jobs[starts]
    since = arrival[jobs] - scene.now
    of = [np.maximum(one[-len(starts) :][starts] - since, 0) for one in waits]
    features = sweep.features(scene, jobs, (of[0], of[1]), ages=False)
    run.table.add(arrival[jobs], jobs, run.hours_of(jobs), of[0], *features)


def pending(
    scenario: Scenario, zone: str, since: int, every: int = 1, wanted: pl.Expr = ANY
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the predictions of what was pending at past full hours, and of what is pending.

    At most ``DRAWN`` jobs are drawn per hour.

    Args:
        zone: of the cluster.
        since: the first hour, epoch s.
        every: least step between hours; 1: all are searched, as long as their simulations have
            ``SIMULATED`` jobs in all.
        wanted: which attempts to predict of those that are pending when the log was taken.

    Returns:
        Two frames with columns of ``PREDICTIONS``: those of past hours in the order of time; and
        those made when the log was taken, after everything that it records.
    """
    known, shifts = known_of(scenario), Shifts()
    run = _Run(known, zone, PAIRS)
    first = max(since, int(known.work.arrival.min(initial=scenario.now)))
    deep = depths(known.work)
    jobs = (scenario.now - first) / HOUR_S * float(deep.mean()) if len(deep) else 0.0
    step = max(every, ceil(jobs / SIMULATED)) * HOUR_S
    for hour in range(-(-first // step) * step, scenario.now + 1, step):
        _pending_at(run, shifts, hour, DRAWN)
    past, run.rows = run.frame(), []
    chosen = scenario.attempts.select(held=wanted)["held"].to_numpy()
    _pending_at(run, shifts, scenario.now + 1, None, chosen)
    held = set(known.rows[known.work.blocked].tolist())
    is_pending = (pl.col("standing") == Standing.PENDING) & wanted
    rest = scenario.attempts.select(pl.arg_where(is_pending)).to_series().to_list()
    for row in sorted(set(rest) - {made[0] for made in run.rows}):
        why = Withheld.HELD if row in held else Withheld.UNSCHEDULABLE
        run.none(row, scenario.now + 1, why)
    return past, run.frame()


def _pending_at(
    run: _Run, shifts: Shifts, now: int, most: int | None, wanted: Bools | None = None
) -> None:
    """Make the predictions for what is pending at an instant, or for ``most`` drawn from it.

    Args:
        wanted: of each row of the scenario; None: all are.
    """
    known, sweep = run.known, run.sweep
    scene = sweep.to(now, int(np.searchsorted(known.work.arrival, now, side="left")))
    queue = scene.queue
    chosen = np.flatnonzero(known.subject[queue])
    if not len(chosen):
        return
    waits = sweep.model_waits(scene)
    if most is not None and len(chosen) > most:
        draw = np.random.default_rng(now // HOUR_S)
        chosen = np.sort(draw.choice(chosen, most, replace=False))
    if wanted is not None:
        chosen = chosen[wanted[known.rows[queue[chosen]]]]
    starts = np.maximum(*waits)[chosen] != NEVER
    for job in queue[chosen[~starts]].tolist():
        run.none(known.rows[job], now, Withheld.NEVER_STARTS)
    chosen = chosen[starts]
    jobs, of = queue[chosen], (waits[0][chosen], waits[1][chosen])
    before = run.table.number
    rows = run.table.add(now, jobs, jobs, of[0], *sweep.features(scene, jobs, of, ages=True))
    lower, upper = shifts.at(now)
    for row, job, wait in zip(rows, jobs.tolist(), of[0].tolist(), strict=True):
        found = run.estimate(row, before)
        if found is None:
            run.none(known.rows[job], now, Withheld.FEW_SIMILAR)
            continue
        life = run.life(job)
        middle = round(found.wait(0.5))
        bounds = _bounds(now, found.wait(0.1, -lower), middle, found.wait(0.9, upper))
        shifts.made(bounds, life)
        contested = middle > CONTESTED_S
        run.keep(job, now, bounds, now + wait, None, None, contested=contested)


def _bounds(now: int, low: float, median: int, high: float) -> Bounds:
    """Return the interval of the start, in whole seconds and in order."""
    return Bounds(now + int(min(low, median)), now + median, now + int(np.ceil(max(high, median))))
