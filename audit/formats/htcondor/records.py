"""Attributes of HTCondor's jobs → typed records, and what is wrong with those that are none.

An ad tells of a job's last execution; of earlier ones (it was evicted, or put on hold) it has the
number and the time they took in all, no more. So:

- A job that was started once waited from ``QDate``. The last of several executions waited from
  ``LastVacateTime``, where that lies between the first start and the last; else nobody knows since
  when. One that waits again does so since ``EnteredCurrentStatus``.
- It started at ``JobCurrentStartDate`` (else ``JobStartDate``, if that is the only one) and ended
  at ``CompletionDate`` or, removed while it ran, at ``EnteredCurrentStatus``; removed while it
  waited to run again, when it was vacated. Removed without a start it never started.
- Of a job that ran nobody knows when, its time counts (``RemoteWallClockTime``, if it ran once).
- Ads of an epoch file (``JOB_EPOCH_HISTORY``) are one execution each, which ended at
  ``EpochWriteDate``; its other ads, of transfers, are counted as steps.
- So are jobs of the scheduler and local universes (7, 12: DAGMan and the like), which run beside
  the schedd, and of the grid universe (9), which other systems run.
- CPUs, memory (MiB) and GPUs are those that were provided, else asked for, where that is a number;
  of the parallel universe (11) as often as it has hosts.
- The limit is the least of what is in ``_LIMITS`` (HTCondor itself enforces the first two).

A job is called by its schedd, too (``schedd#ClusterId.ProcId``), as each schedd counts for itself.

Sources: HTCondor manual, "Job ClassAd Attributes"; ``condor_utils/classadHistory.cpp``,
``job_ad_instance_recording.cpp``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from audit.formats.instants import LATEST
from audit.formats.slurm.fields import LARGEST, MIB
from audit.model import RecordKind, RefusalCode

_IDS: Final = ("ClusterId", "ProcId")
_TIMES: Final = (
    *("QDate", "JobStartDate", "JobCurrentStartDate", "CompletionDate", "EnteredCurrentStatus"),
    *("LastVacateTime", "EpochWriteDate"),
)
_CODES: Final = ("JobStatus", "LastJobStatus", "JobUniverse")
_STRINGS: Final = (
    *("GlobalJobId", "Owner", "User", "AcctGroup", "AccountingGroup", "ProjectName"),
    "EpochAdType",
)
_LIMITS: Final[Mapping[str, int]] = {
    # what users may set; seconds in one of it
    "AllowedJobDuration": 1,
    "AllowedExecuteDuration": 1,
    "BatchRuntime": 1,
    "MaxRuntime": 1,
    "MaxWallTime": 60,
    "MaxWallTimeMins": 60,
}
_AMOUNTS: Final = (
    *("RequestCpus", "CpusProvisioned", "RequestMemory", "MemoryProvisioned", "RequestGPUs"),
    *("GPUsProvisioned", "MaxHosts"),
)
_FIGURES: Final = (
    *("RemoteWallClockTime", "LastRemoteWallClockTime", "CumulativeSuspensionTime"),
    *("CommittedSuspensionTime", "NumJobStarts", "NumShadowStarts", "ExitCode", "HoldReasonCode"),
)
_NUMBERS: Final = (*_IDS, *_TIMES, *_CODES, *_LIMITS, *_AMOUNTS, *_FIGURES)
ATTRIBUTES: Final = (*_NUMBERS, *_STRINGS, "ExitBySignal")
"""What is read of an ad; case does not matter."""

KEYS: Final = tuple(name.lower() for name in ATTRIBUTES)

_IDLE, _RUNNING, _REMOVED, _COMPLETED, _HELD, _SENDING, _SUSPENDED = range(1, 8)
_PARALLEL: Final = 11
_NOT_BATCH: Final = (7, 9, 12)
_BY_USER: Final = (1, 15)
"""Hold reason codes: by the user, submitted on hold."""

_STATES: Final = {
    _IDLE: "PENDING",
    _HELD: "PENDING",
    _REMOVED: "CANCELLED",
    _SUSPENDED: "SUSPENDED",
}
_NO_TIMES: Final = (
    "attributes JobStartDate, RemoteWallClockTime: when and how long it ran is unknown"
)
_SHOWN: Final = 40

_status = pl.col("JobStatus")
_start, _end = pl.col("start_time"), pl.col("end_time")


def typed(ads: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Converts the attributes of ads.

    Args:
        ads: ``number`` (of the ad) and ``ATTRIBUTES``: their values as ``condor_history -long``
            prints them, without blanks around them; null where there is none, or none is defined.

    Returns:
        ``number``, ``problem`` and ``code`` (null where there is none) and columns of ``RECORDS``
        but for line and offset; and how many others were no batch jobs.
    """
    cast = [pl.col(name).cast(pl.Float64, strict=False).alias(f"{name}#") for name in _NUMBERS]
    values = ads.with_columns(cast).select("number", *_values(), problem=_unreadable())
    other = (
        pl.col("JobUniverse").is_in(list(_NOT_BATCH))
        | (pl.col("EpochAdType").is_not_null() & (pl.col("EpochAdType") != "EPOCH"))
    ).fill_null(value=False) & pl.col("problem").is_null()
    jobs = values.filter(~other)
    return _shaped(_timed(jobs)), values.height - jobs.height


def _number(name: str) -> pl.Expr:
    number = pl.col(f"{name}#")
    return pl.when(number.is_finite()).then(number)


def _whole(name: str, least: int, most: int) -> pl.Expr:
    number = pl.col(f"{name}#")
    return pl.when(number.is_between(least, most)).then(number.floor()).cast(pl.Int64).alias(name)


def _values() -> list[pl.Expr]:
    whole = [
        _whole(name, -2 * LATEST, 2 * LATEST)
        for name in (*_IDS, *_CODES, *_LIMITS, *_AMOUNTS, *_FIGURES)
    ]
    times = [_whole(name, 1, LATEST) for name in _TIMES]
    strings = [
        pl.col(name).str.extract(r'(?s)^"(.*)"$').str.replace_all('\\"', '"', literal=True)
        for name in _STRINGS
    ]
    signal = pl.col("ExitBySignal").str.to_lowercase() == "true"
    return [*whole, *times, *strings, signal.alias("ExitBySignal")]


def _unreadable() -> pl.Expr:
    """The first attribute that does not hold what it must."""

    def wrong(name: str, what: str) -> pl.Expr:
        return pl.format("attribute {}: {} {}", pl.lit(name), _shown(name), pl.lit(what))

    checks: list[pl.Expr] = [
        pl.when(pl.col(name).is_null()).then(pl.lit(f"attribute {name} is missing"))
        for name in (*_IDS, "JobStatus", "QDate")
    ]
    checks += [
        pl.when(~_number(name).is_between(0, 1 << 31).fill_null(value=False)).then(
            wrong(name, "is no number of a job")
        )
        for name in _IDS
    ]
    checks += [
        pl.when(~pl.col(name).str.contains(r"^[0-9]{1,2}$")).then(wrong(name, "is no code"))
        for name in _CODES
    ]
    checks.append(
        pl.when(~_number("JobStatus").is_between(1, 7)).then(wrong("JobStatus", "is no state"))
    )
    checks += [
        pl.when(_number(name).is_null() & pl.col(name).is_not_null())
        .then(wrong(name, "is no time"))
        .when(_number(name) > LATEST)
        .then(wrong(name, "lies beyond 2242: damaged, or not in seconds"))
        for name in _TIMES
    ]
    checks += [
        pl.when(~pl.col(name).str.contains(r'(?s)^".*"$')).then(wrong(name, "is no text"))
        for name in _STRINGS
    ]
    checks += [
        pl.when(_number(name).abs() > LARGEST * (1 << 10)).then(wrong(name, "is more than can be"))
        for name in _AMOUNTS
    ]
    return pl.coalesce(*checks)


def _shown(name: str) -> pl.Expr:
    return pl.format("'{}'", pl.col(name).str.slice(0, _SHOWN))


def _timed(jobs: pl.DataFrame) -> pl.DataFrame:
    """Adds when jobs arrived, started and ended, and whether that is of a later execution."""
    first, last = pl.col("JobStartDate"), pl.col("JobCurrentStartDate")
    left, since = pl.col("LastVacateTime"), pl.col("EnteredCurrentStatus")
    counted = pl.max_horizontal("NumJobStarts", "NumShadowStarts") > 1
    epoch = pl.col("EpochWriteDate").is_not_null()
    waits = _status.is_in([_IDLE, _HELD]) & ~epoch
    runs = _status.is_in([_RUNNING, _SENDING, _SUSPENDED]) & ~epoch
    waited = pl.col("LastJobStatus").is_in([_IDLE, _HELD]).fill_null(value=False)
    jobs = jobs.with_columns(
        again=(counted | (first < last)).fill_null(value=False), waits=waits, epoch=epoch
    ).with_columns(
        start_time=pl.when(~waits).then(pl.coalesce(last, pl.when(~pl.col("again")).then(first)))
    )
    spent = _start + pl.col("LastRemoteWallClockTime").clip(0)
    vacated = pl.coalesce(pl.when(left >= _start).then(left), spent, since)
    left_queue = (
        pl.when(epoch)
        .then("EpochWriteDate")
        .when(_status == _COMPLETED)
        .then(pl.coalesce("CompletionDate", since))
        .when(_start.is_not_null() & waited)
        .then(vacated)
        .otherwise(since)
    )
    ran = ~waits & ~runs & (epoch | (_status == _COMPLETED))
    lost = ran & _start.is_null()
    returned = pl.when(left.is_between(pl.coalesce(first, "QDate"), _start)).then(left)
    rest = pl.when(waits).then(pl.coalesce(since, left)).otherwise(returned)
    started = pl.coalesce(first, last).is_not_null()
    return jobs.with_columns(
        end_time=pl.when(~waits & ~runs & ~lost).then(left_queue),
        submit_time=pl.when(pl.col("again") | (waits & started)).then(rest).otherwise("QDate"),
        unseen_s=pl.when(lost & ~pl.col("again")).then(pl.col("RemoteWallClockTime").clip(0)),
        lost=lost,
    )


def _shaped(jobs: pl.DataFrame) -> pl.DataFrame:
    occupancy = pl.coalesce(_end - _start, "unseen_s")
    suspended = (
        pl.when(~pl.col("again"))
        .then("CumulativeSuspensionTime")
        .otherwise(pl.when(_status == _COMPLETED).then("CommittedSuspensionTime"))
    )
    possible = suspended.is_between(0, pl.coalesce(occupancy, suspended))
    schedd = pl.col("GlobalJobId").str.extract("^([^#]+)#")
    number = pl.format("{}.{}", "ClusterId", "ProcId")
    early = (_end < _start).fill_null(value=False)
    return jobs.select(
        "number",
        "start_time",
        "end_time",
        "submit_time",
        **_amounts(),
        **_states(),
        job_id=pl.coalesce(pl.format("{}#{}", schedd, number), number),
        job_number="ClusterId",
        array_task="ProcId",
        kind=pl.lit(RecordKind.EXECUTION.value),
        user=pl.coalesce("Owner", pl.col("User").str.extract("^([^@]+)")),
        account=pl.coalesce(
            "AcctGroup", pl.col("AccountingGroup").str.replace(r"\.[^.]*$", ""), "ProjectName"
        ),
        occupancy_s=occupancy,
        suspended_s=pl.when(_start.is_not_null() & possible).then(suspended),
        problem=pl.coalesce(
            "problem",
            pl.when(pl.col("lost") & pl.col("unseen_s").is_null()).then(pl.lit(_NO_TIMES)),
            pl.when(early).then(
                pl.format("ends {} s before it starts (JobCurrentStartDate)", _start - _end)
            ),
        ),
        code=pl.when(pl.col("problem").is_null() & early)
        .then(pl.lit(RefusalCode.ORDER.value))
        .otherwise(pl.lit(RefusalCode.VALUE.value)),
    )


def _states() -> dict[str, pl.Expr]:
    """In which state it was last seen, and what held it."""
    signalled = pl.col("ExitBySignal").fill_null(value=False)
    exited = pl.col("ExitCode").is_not_null() | signalled
    failed = signalled | (pl.col("ExitCode") != 0).fill_null(value=False)
    ended = pl.when(failed).then(pl.lit("FAILED")).otherwise(pl.lit("COMPLETED"))
    by_user = pl.col("HoldReasonCode").is_in(list(_BY_USER)).fill_null(value=False)
    held = pl.when(by_user).then(pl.lit("JobHeldUser")).otherwise(pl.lit("JobHeldAdmin"))
    others = _status.replace_strict(_STATES, default="RUNNING", return_dtype=pl.String)
    return {
        "state": pl.when(pl.col("epoch") & ~exited)
        .then(pl.lit("PREEMPTED"))
        .when(pl.col("epoch") | (_status == _COMPLETED))
        .then(ended)
        .otherwise(others),
        "reason": pl.when(_status == _HELD).then(held),
    }


def _amounts() -> dict[str, pl.Expr]:
    """CPUs, nodes, GPUs, memory and limit."""
    parallel = (pl.col("JobUniverse") == _PARALLEL).fill_null(value=False)
    hosts = pl.when(parallel).then(pl.col("MaxHosts").clip(1)).otherwise(1)

    def amount(*names: str) -> pl.Expr:
        return pl.coalesce(*(pl.when(pl.col(name) >= 0).then(name) for name in names))

    limits = [pl.when(pl.col(name) > 0).then(pl.col(name) * unit) for name, unit in _LIMITS.items()]
    return {
        "cpus": amount("CpusProvisioned", "RequestCpus") * hosts,
        "nodes": hosts.cast(pl.Int64),
        "gpus": pl.coalesce(amount("GPUsProvisioned", "RequestGPUs"), pl.lit(0, pl.Int64)) * hosts,
        "mem_bytes": amount("MemoryProvisioned", "RequestMemory") * hosts * MIB,
        "walltime_s": pl.min_horizontal(limits),
    }
