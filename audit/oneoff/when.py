"""``fairaudit when``: when pending jobs will start, from logs or from a published database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit import config
from audit.cluster.inference import Fact
from audit.config import places
from audit.errors import UsageError
from audit.ingest.ingest import Progress
from audit.model import Pool, Standing
from audit.oneoff.explain.explain import charged
from audit.pipeline.opening import Log, Request, open_log
from audit.pipeline.published import open_published
from audit.progress import printable
from audit.report.text import wording
from audit.scenario.predict import predictions
from audit.scenario.predict.calibration import FEWEST_GROUPS, LEAST_COVERAGE, TOLERANCE_S, Withheld
from audit.scenario.predict.similar import FEWEST
from audit.scenario.scenario import Scenario

DAY_S: Final = 86_400
SEARCHED_S: Final = 45 * DAY_S  # past in which similar pending jobs are searched
SHOWN_S: Final = 30 * DAY_S  # past whose intervals are counted

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


class Subject(NamedTuple):
    """The pending jobs to predict; neither: all."""

    job: str | None = None
    user: str | None = None


def when(
    request: Request,
    subject: Subject,
    database: Path,
    chosen: config.Config,
    progress: Progress = lambda what, done, of: None,
    inferred: Callable[[Fact], None] = lambda fact: None,
    folder: Path = Path(),
) -> list[str]:
    """Return one sentence per pending job.

    Args:
        request: logs, if any.
        database: a published one, where no logs are given.

    Raises:
        UsageError: the job is unknown or not pending.
        AuditError: logs or the database cannot be read, see ``audit.errors``.
    """
    if request.logs:
        log = open_log(request, chosen, progress, folder)
        for fact in log.setting.facts:
            inferred(fact)
    else:
        progress("reading", 0, 1)
        kept = places.Site(chosen, folder).archive_of(database)
        log = open_published(database, chosen, request.cluster, archive=kept)
    wanted = _wanted(log, subject)
    if wanted.is_empty():
        of = "" if subject.user is None else f" of {printable(subject.user)}"
        as_of = wording.instant(log.setting.now, log.setting.zone.key)
        return [f"No job{of} was pending at {as_of}, when the records end."]
    used = [pool for pool in log.setting.pools if (wanted["pool"] == pool.name).any()]
    made: list[str] = []
    for number, pool in enumerate(used):
        progress("predicting", number, len(used))
        made += sentences(*_predicted(log, pool, folder), log, wanted)
    progress("predicting", len(used), len(used))
    return made


def _wanted(log: Log, subject: Subject) -> pl.DataFrame:
    """Return the pool, job and attempt of each pending job to predict."""
    pending = pl.col("standing") == Standing.PENDING
    if subject.job is not None:
        of_job = log.described.filter(pl.col("job_id") == subject.job)
        shown = printable(subject.job)
        if of_job.is_empty():
            number = f"{log.described.height:,}"
            raise UsageError(f"when: there is no job {shown!r} among {number} attempts")
        found = of_job.filter(pending)
        if found.is_empty():
            raise UsageError(f"when: job {shown!r} is not pending; see 'fairaudit explain'")
    else:
        found = log.described.filter(pending)
        if subject.user is not None:
            found = found.filter(pl.col("user") == subject.user)
    return found.select("pool", "job_id", "attempt")


def _predicted(log: Log, pool: Pool, folder: Path) -> tuple[Scenario, pl.DataFrame, pl.DataFrame]:
    """Return the attempts of a pool, past predictions, and those of what is pending."""
    described, ranked = charged(log, pool, folder)
    attempts = described.filter(pl.col("pool") == pool.name)
    scenario = Scenario(attempts, pool, log.setting.now, ranked)
    since = log.setting.now - SEARCHED_S
    return scenario, *predictions.pending(scenario, log.setting.zone.key, since)


def sentences(
    scenario: Scenario, past: pl.DataFrame, present: pl.DataFrame, log: Log, wanted: pl.DataFrame
) -> Iterator[str]:
    """Return the sentences about the jobs ``wanted``, in the order of their arrival."""
    zone, now = ZoneInfo(log.setting.zone.key), scenario.now
    named = scenario.attempts.select("job_id", "attempt", "user").with_row_index("row")
    rows = (
        present.with_columns(pl.col("row").cast(pl.UInt32))
        .join(named, on="row")
        .join(wanted, on=["job_id", "attempt"], how="semi")
        .sort("row")
    )
    record = _record(scenario, past)
    for one in rows.iter_rows(named=True):
        job = f"Job {printable(one['job_id'])}"
        if one["withheld_because"] is not None:
            yield f"{job}: no prediction, because {WHY[Withheld(one['withheld_because'])]}."
            continue
        low, mid, high = (_local(one[name], zone) for name in ("p10", "p50", "p90"))
        today = _local(now, zone)
        likely = f"{mid:%H:%M}" if mid.date() == low.date() else _day(mid, today)
        between = f"between {_day(low, today)} and {_day(high, today)}"
        yield f"{job}: {between}, most likely around {likely}{record[one['contested']]}."


def _record(scenario: Scenario, past: pl.DataFrame) -> dict[bool, str]:
    """Return how often intervals of the last 30 days were right, by whether they are contested."""
    start = scenario.attempts["start_time"].gather(past["row"])
    low, high = pl.col("p10") - TOLERANCE_S, pl.col("p90") + TOLERANCE_S
    decided = past.with_columns(start=start).filter(
        pl.col("made_at") >= scenario.now - SHOWN_S,
        pl.col("p10").is_not_null(),
        pl.col("start").is_not_null() | (high < scenario.now),
    )
    right = decided.with_columns(right=pl.col("start").is_between(low, high).fill_null(False))
    said = {}
    for contested in (False, True):
        of = right.filter(pl.col("contested") == contested)["right"]
        share = round(10 * float(of.sum()) / len(of)) if len(of) else None
        tail = f"; {share} of 10 such intervals were right in the last 30 days"
        said[contested] = "" if share is None else tail
    return said


def _local(time: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(time, zone)


def _day(time: datetime, today: datetime) -> str:
    """Return an instant to the minute, with its day relative to ``today``."""
    ahead = time.date() - today.date()
    day = {timedelta(0): "today", timedelta(1): "tomorrow"}.get(ahead, f"{time:%Y-%m-%d}")
    return f"{day} {time:%H:%M}"
