"""``fairaudit when``: when pending jobs will start, from logs or from a published database."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from audit.errors import UsageError
from audit.json_answers import Instant, JsonAnswer
from audit.metrics.attempts import population
from audit.model import Pool, Standing
from audit.oneoff.explain.explain import charged, unknown_job
from audit.pipeline.opening import ClusterLog, Session
from audit.pipeline.published import open_either
from audit.progress import printable
from audit.report import wording
from audit.report.sections import predicted
from audit.scenario.predict import predictions
from audit.scenario.predict.calibration import TOLERANCE_S, Bounds, Withheld
from audit.scenario.predict.estimates import PlansJudged, judged
from audit.scenario.scenario import Scenario

DAY_S: Final = 86_400
SHOWN_S: Final = 30 * DAY_S  # past whose intervals are counted
STALE_S: Final = 3_600
"""Age of the newest record from which on it is stated."""


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """The prediction for a pending job."""

    pool: str
    job_id: str
    attempt: int
    user: str | None
    p10: Instant | None  # null: no prediction
    p50: Instant | None
    p90: Instant | None
    contested: bool | None  # whether p50 is more than 60 s ahead
    withheld_because: Withheld | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class WhenAnswer(JsonAnswer):
    """The answer of ``fairaudit when --format json``."""

    cluster: str
    zone: str
    as_of: Instant  # the time of the newest records
    jobs: tuple[Forecast, ...]
    scheduler: PlansJudged | None  # of the pool with most pairs; null: no samples of its plans


def when(session: Session, job: str | None = None, user: str | None = None) -> WhenAnswer:
    """Return the prediction for a pending job, for those of a user, or for all.

    Raises:
        UsageError: the job is unknown or not pending.
        AuditError: logs or the database cannot be read, see ``audit.errors``.
    """
    log, on_progress = open_either(session), session.on_progress
    wanted = _wanted(log, job, user)
    used = [pool for pool in log.setting.pools if (wanted["pool"] == pool.name).any()]
    made: list[Forecast] = []
    plans: list[PlansJudged] = []
    for number, pool in enumerate(used):
        on_progress("predicting", number, len(used))
        scenario, past, present = _predicted(log, pool, session.folder)
        made += forecasts(scenario, past, present, log, wanted)
        found = judged(past, scenario.attempts, log.planned)
        plans += [] if found is None else [found]
    on_progress("predicting", len(used), len(used))
    of = log.setting
    return WhenAnswer(
        cluster=of.cluster,
        zone=of.zone.key,
        as_of=of.now,
        jobs=tuple(made),
        scheduler=max(plans, key=lambda one: one.pairs, default=None),
    )


def lines(answer: WhenAnswer, user: str | None) -> Iterator[str]:
    """Yield the answer in sentences; ``user``: whose jobs it is about, if not everyone's."""
    if not answer.jobs:
        of = "" if user is None else f" of user {printable(user)}"
        as_of = wording.instant(answer.as_of, answer.zone)
        yield f"No job{of} was pending at {as_of}, when the records end."
    for job in answer.jobs:
        yield job.sentence
    if answer.scheduler is not None:
        yield predicted.beside_plans(answer.scheduler)


def _wanted(log: ClusterLog, job: str | None, user: str | None) -> pl.DataFrame:
    """Return the pool, job and attempt of each pending job to predict."""
    pending = pl.col("standing") == Standing.PENDING
    if job is not None:
        of_job = _of_job(log.described, job)
        shown = printable(job)
        if of_job.is_empty():
            unknown = unknown_job(log.described, job, "when")
            raise UsageError(f"{unknown}, and there is no file of this name")
        found = of_job.filter(pending)
        if found.is_empty():
            raise UsageError(f"when: job {shown!r} is not pending; see 'fairaudit explain'")
    else:
        found = log.described.filter(pending)
        if user is not None:
            found = found.filter(pl.col("user") == user)
    return found.select("pool", "job_id", "attempt")


def _of_job(described: pl.DataFrame, job: str) -> pl.DataFrame:
    """Return the attempts of a job, or all tasks of a record that stands for several."""
    named = described.filter((pl.col("job_id") == job) | (_shown_id() == job))
    records = named.filter(pl.col("job_id") == job, pl.col("tasks") > 1)
    if records.is_empty():
        return named
    record = ("job_number", "attempt", "line", "byte_offset")
    return described.join(records, on=record, how="semi", nulls_equal=True, maintain_order="left")


def _shown_id() -> pl.Expr:
    """Return the id of an attempt; of the first task of a record the task's, not the record's."""
    return pl.when(pl.col("tasks") > 1).then(population.id_of_task()).otherwise("job_id")


def _predicted(
    log: ClusterLog, pool: Pool, folder: Path
) -> tuple[Scenario, pl.DataFrame, pl.DataFrame]:
    """Return the attempts of a pool, past predictions, and those of what is pending."""
    described, ranked = charged(log, pool, folder)
    attempts = described.filter(pl.col("pool") == pool.name)
    scenario = Scenario(attempts, pool, log.setting.now, ranked)
    since = log.setting.now - predictions.SEARCHED_S
    return scenario, *predictions.pending(scenario, log.setting.zone.key, since)


def forecasts(
    scenario: Scenario,
    past: pl.DataFrame,
    present: pl.DataFrame,
    log: ClusterLog,
    wanted: pl.DataFrame,
) -> Iterator[Forecast]:
    """Yield the predictions for the jobs ``wanted``, in the order of their arrival."""
    zone, record = log.setting.zone.key, record_of(scenario, past)
    named = scenario.attempts.select(
        "pool", "job_id", "attempt", "user", shown=_shown_id()
    ).with_row_index("row")
    rows = (
        present.with_columns(pl.col("row").cast(pl.UInt32))
        .join(named, on="row")
        .join(wanted, on=["job_id", "attempt"], how="semi")
        .sort("row")
        .with_columns(job_id="shown")
    )
    keys = ("pool", "job_id", "attempt", "user", "p10", "p50", "p90", "contested")
    for one in rows.iter_rows(named=True):
        why, sentence = in_words(predicted.job(one["job_id"]), one, scenario.now, zone, record)
        known = {key: one[key] for key in keys}
        yield Forecast(**known, withheld_because=why, sentence=sentence)


def stale(as_of: int, zone: str, clock: int) -> Iterator[str]:
    """Yield a warning if the newest records are old at ``clock``, epoch s."""
    if clock - as_of >= STALE_S:
        end, ago = wording.instant(as_of, zone), wording.rough_duration(clock - as_of)
        yield f"the records end at {end}, {ago} ago: 'now' and 'today' are of that time"


def in_words(
    called: str, row: Mapping[str, Any], now: int, zone: str, record: Mapping[bool, str]
) -> tuple[Withheld | None, str]:
    """Return why a prediction is withheld, if it is, and the sentence on it."""
    if row["withheld_because"]:
        why = Withheld(row["withheld_because"])
        return why, predicted.withheld(called, why)
    bounds = Bounds(*(row[name] for name in Bounds._fields))
    return None, predicted.expected(called, bounds, now, zone, record[row["contested"]])


def record_of(scenario: Scenario, past: pl.DataFrame) -> dict[bool, str]:
    """Return how often intervals of the last 30 days were right, by whether they are contested.

    The interval of a job that was cancelled within it, or before it, is neither right nor wrong.
    """
    became = scenario.attempts.select(start="start_time", end="end_time")[past["row"]]
    low, high = pl.col("p10") - TOLERANCE_S, pl.col("p90") + TOLERANCE_S
    decided = past.hstack(became).filter(
        pl.col("made_at") >= scenario.now - SHOWN_S,
        pl.col("p10").is_not_null(),
        pl.col("start").is_not_null() | (high < pl.col("end").fill_null(scenario.now)),
    )
    right = decided.with_columns(right=pl.col("start").is_between(low, high).fill_null(False))
    said = {}
    for contested in (False, True):
        of = right.filter(pl.col("contested") == contested)["right"]
        share = round(10 * float(of.sum()) / len(of)) if len(of) else None
        tail = f"; {share} of 10 such intervals were right in the last 30 days"
        said[contested] = "" if share is None else tail
    return said
