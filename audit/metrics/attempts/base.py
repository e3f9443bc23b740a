"""The base of a verdict: what ``metrics.verdict`` decides by, from the attempts of a pool.

The base is the period, or the 91 days up to its end where it is shorter. *Not judged* is waiting
without a known reason, and of attempts that are ever marked unstartable the whole wait except what
passed before the log begins, while the machine was down, held, or under a rule. Its interval is
bootstrapped over the local days of arrival.

Conventions: jobs are those of which an attempt ended in the base, also where each has several; one
waited long if one of its attempts did. Attempts without an account of their wait have no causes and
count in no share. An attempt has the *reason of its wait recorded* if the log gives its eligible
time, a reason or a priority.

Source: SPEC §14.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs

from audit import periods
from audit.config import VerdictConfig as Thresholds
from audit.metrics.attempts.passed_over import HELD_ACCOUNT, HELD_USER, MANY_SHARES
from audit.metrics.attempts.population import day_number, ended, in_period, width_class
from audit.metrics.quantiles import MEDIAN, P90, rank
from audit.metrics.uncertainty import NONE, Interval, Resamples
from audit.metrics.verdict import KnownCause, PassedEntity, VerdictBase
from audit.model import Period, Standing
from audit.registry.passed import PassedWhy

BASE_DAYS: Final = 91
RECORDED: Final = 0.95
"""Share of started attempts whose reasons are recorded, from which on records hold reasons."""
_KNOWN: Final = ("outside", "unavailable", "held", "rule")
_OF_ENDED: Final = cs.by_name(
    *("job_id", "standing", "user", "arrival_time", "wait_s", "width_class", "gpus", "occupancy_s"),
    *("unstartable_from", *(f"cause_{key}_s" for key in (*_KNOWN, "unexplained"))),
    require_all=False,
)
"""Causes that stay known for attempts that are marked unstartable."""

BASE_SCHEMA: Final = pl.Schema(
    {
        "from_time": pl.Int64,
        "to_time": pl.Int64,
        "ended": pl.Int64,
        "placed": pl.Int64,
        "users": pl.Int64,
        "waits": pl.Int64,
        "long_waits": pl.Int64,
        "long_class": pl.Boolean,
        "wait_p90": pl.Int64,
        "waited_s": pl.Float64,
        "unknown_users_s": pl.Float64,
        "no_reason_s": pl.Float64,
        "not_judged_s": pl.Float64,
        "not_judged_lower": pl.Float64,
        "not_judged_upper": pl.Float64,
        "occupied_s": pl.Float64,
        "holds": pl.Boolean,
        "tested": pl.Int64,
        "tested_s": pl.Float64,
    }
)
"""Columns of the table ``base_result`` that are computed here."""
OVERTAKEN_SCHEMA: Final = pl.Schema(
    {
        "entity_kind": pl.String,
        "entity": pl.String,
        "jobs": pl.Int64,
        "attempts": pl.Int64,
        "passed_jobs": pl.Int64,
        "passed_median_s": pl.Int64,
        "passed_s": pl.Int64,
        "named": pl.Boolean,
        "why": pl.String,
        "cause": pl.String,
        "usage_multiple": pl.Float64,
    }
)
"""Columns of the table ``overtaken_result`` that are computed here."""


def base_of(period: Period, log: Period, zone: ZoneInfo) -> Period:
    """Return the base of a period; it does not begin before the log, unless the period does."""
    first = periods.day_of(period.to_time, zone) - timedelta(days=BASE_DAYS)
    begin = max(periods.day_start(first, zone), log.from_time)
    if period.whole_log or begin >= period.from_time:
        return period
    return Period("base", begin, period.to_time)


def of_base(
    jobs: pl.DataFrame,
    base: Period,
    passed: pl.DataFrame,
    thresholds: Thresholds,
    zone: ZoneInfo,
    seed: int,
    resamples: int,
) -> pl.DataFrame:
    """Return the row of a pool's base, columns of ``BASE_SCHEMA``.

    Args:
        jobs: attempts of a pool, at least those of the base, with the columns of ``account`` and
            ``unstartable_from``.
        passed: what ``passed_over.of_period`` gave for the base.
        seed: of the bootstrap, ≥ 0.
    """
    mine = in_period(jobs, base)
    subjects = ended(mine.select(_OF_ENDED))
    with_start = [Standing.ENDED.value, Standing.ARRIVAL_UNKNOWN.value]
    job_id = pl.col("job_id")
    ran, placed = (
        mine.select(job_id.filter(pl.col("standing").is_in(some)).n_unique()).item()
        for some in ([*with_start, Standing.START_UNKNOWN.value], with_start)
    )
    waits = _waits(subjects, zone)
    lower, upper = _interval(waits, seed, resamples)
    recorded = pl.any_horizontal(pl.col("eligible_time", "reason", "priority").is_not_null())
    started = mine.select(recorded.filter(pl.col("standing").is_in(with_start))).to_series()
    judged = passed.filter(pl.col("entity_kind") == "user").select("entity", "why")
    tested = [name for name, why in judged.iter_rows() if why is None or PassedWhy(why).tested]
    long = subjects["job_id"].filter(subjects["wait_s"] > thresholds.long_wait_s)
    ascending = subjects["wait_s"].sort()
    row = {
        "from_time": base.from_time,
        "to_time": base.to_time,
        "ended": ran,
        "placed": placed,
        "users": subjects["user"].drop_nulls().n_unique(),
        "waits": subjects["job_id"].n_unique(),
        "long_waits": long.n_unique(),
        "long_class": _long_class(subjects, thresholds),
        "wait_p90": ascending[rank(len(ascending), P90) - 1] if len(ascending) else None,
        "waited_s": float(waits["waited"].sum()),
        "unknown_users_s": float(waits.filter(pl.col("user").is_null())["waited"].sum()),
        "no_reason_s": float(waits["no_reason"].sum()),
        "not_judged_s": float(waits["not_judged"].sum()),
        "not_judged_lower": lower,
        "not_judged_upper": upper,
        "occupied_s": float(subjects["occupancy_s"].sum()),
        "holds": bool(len(started)) and int(started.sum()) >= RECORDED * len(started),
        "tested": len(tested),
        "tested_s": float(waits.filter(pl.col("user").is_in(tested))["waited"].sum()),
    }
    return pl.DataFrame([row], BASE_SCHEMA)


def _waits(subjects: pl.DataFrame, zone: ZoneInfo) -> pl.DataFrame:
    """Return the waits of ended attempts, without the waiting before the log begins; s."""
    cause = {key: pl.col(f"cause_{key}_s") for key in (*_KNOWN, "unexplained")}
    marked = pl.col("unstartable_from").is_not_null()
    known = pl.sum_horizontal(cause[key] for key in _KNOWN)
    return subjects.filter(cause["unexplained"].is_not_null()).select(
        "user",
        day=day_number(zone),
        waited=pl.col("wait_s") - cause["outside"],
        no_reason=cause["unexplained"],
        not_judged=pl.when(marked).then(pl.col("wait_s") - known).otherwise(cause["unexplained"]),
    )


def _interval(waits: pl.DataFrame, seed: int, resamples: int) -> Interval:
    """Return the interval of *not judged* / W over days."""
    by_day = waits.group_by("day").agg(pl.col("waited", "not_judged").sum()).sort("day")
    if by_day.is_empty():
        return NONE
    units = np.arange(by_day.height)
    drawn = Resamples(by_day.height, seed, resamples)
    return drawn.ratio(units, by_day["not_judged"].to_numpy(), by_day["waited"].to_numpy())


def _long_class(subjects: pl.DataFrame, of: Thresholds) -> bool:
    classes = [subjects.select("job_id", "wait_s", of="width_class")]
    if "gpus" in subjects.columns:
        some = subjects.filter(pl.col("gpus") > 0)
        classes.append(some.select("job_id", "wait_s", of=width_class(pl.col("gpus"))))
    return any(
        waits.sort()[rank(len(waits), MEDIAN) - 1] > of.long_wait_s
        for frame in classes
        for waits in frame.group_by("of")
        .agg("wait_s", jobs=pl.col("job_id").n_unique())
        .filter(pl.col("jobs") >= of.few_jobs)["wait_s"]
    )


def overtaken(
    jobs: pl.DataFrame,
    base: Period,
    passed: pl.DataFrame,
    lower_priority: Mapping[str, Collection[str]],
) -> pl.DataFrame:
    """Return the users and accounts that have pairs in the base, columns of ``OVERTAKEN_SCHEMA``.

    Args: as of ``of_base``.
        lower_priority: names by kind for which a lower priority is configured.
    """
    subjects = ended(in_period(jobs, base).select("job_id", "standing", "user", "account"))
    number = pl.col("job_id").n_unique().cast(pl.Int64).alias("jobs")
    counts = pl.concat(
        subjects.group_by(entity=kind).agg(number).with_columns(entity_kind=pl.lit(kind))
        for kind in ("user", "account")
    )
    rows = passed.filter(pl.col("attempts") > 0).join(
        counts, on=("entity_kind", "entity"), maintain_order="left"
    )
    causes = pl.Series("cause", list(_causes(rows, lower_priority)), pl.String)
    return rows.with_columns(causes).select(OVERTAKEN_SCHEMA.names())


def _causes(
    rows: pl.DataFrame, lower_priority: Mapping[str, Collection[str]]
) -> Iterator[str | None]:
    for row in rows.iter_rows(named=True):
        least = HELD_USER if row["entity_kind"] == "user" else HELD_ACCOUNT
        if (row["held_share"] or 0.0) >= least:
            yield KnownCause.HELD.value
        elif row["entity"] in lower_priority.get(row["entity_kind"], ()):
            yield KnownCause.PRIORITY.value
        elif (row["usage_multiple"] or 0.0) > MANY_SHARES:
            yield KnownCause.USAGE.value
        else:
            yield None


def figures(base: dict[str, object], entities: pl.DataFrame) -> VerdictBase:
    """Return what a verdict is decided by.

    Args:
        base: a row of ``base_result``, by column.
        entities: columns of ``OVERTAKEN_SCHEMA``.
    """
    found = tuple(
        PassedEntity(kind, name, seconds, named, None if cause is None else KnownCause(cause))
        for kind, name, seconds, named, cause in entities.select(
            "entity_kind", "entity", "passed_s", "named", "cause"
        ).iter_rows()
    )
    fields = VerdictBase.__dataclass_fields__.keys() - {"overtaken"}
    return VerdictBase(**{name: base[name] for name in fields}, overtaken=found)  # type: ignore[arg-type]
