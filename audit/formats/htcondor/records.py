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
- The limit is the least of the attributes that hold one (HTCondor itself enforces the first two).

A job is called by its schedd, too (``schedd#ClusterId.ProcId``), as each schedd counts for itself.

Sources: HTCondor manual, "Job ClassAd Attributes"; ``condor_utils/classadHistory.cpp``,
``job_ad_instance_recording.cpp``.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

import polars as pl

from audit.formats.elements import holdable
from audit.formats.instants import LATEST
from audit.formats.shaping import LARGEST, MIB, Texts, faulted, positive
from audit.model import RecordKind, RefusalCode


class Kind(Enum):
    """What an attribute holds."""

    ID = "number of a job"
    TIME = "epoch s"
    CODE = "code"
    SECONDS = "limit in s"
    MINUTES = "limit in minutes"
    AMOUNT = "amount"
    FIGURE = "number"
    TEXT = "text"
    FLAG = "true or false"


ATTRIBUTES: Final = {
    "ClusterId": Kind.ID,
    "ProcId": Kind.ID,
    "QDate": Kind.TIME,  # submitted
    "JobStartDate": Kind.TIME,  # of the first execution
    "JobCurrentStartDate": Kind.TIME,  # of the last
    "CompletionDate": Kind.TIME,
    "EnteredCurrentStatus": Kind.TIME,
    "LastVacateTime": Kind.TIME,
    "EpochWriteDate": Kind.TIME,  # when an epoch's ad was written: the end of its execution
    "JobStatus": Kind.CODE,
    "LastJobStatus": Kind.CODE,
    "JobUniverse": Kind.CODE,
    "AllowedJobDuration": Kind.SECONDS,
    "AllowedExecuteDuration": Kind.SECONDS,
    "BatchRuntime": Kind.SECONDS,  # this and the next are what users set
    "MaxRuntime": Kind.SECONDS,
    "MaxWallTime": Kind.MINUTES,
    "MaxWallTimeMins": Kind.MINUTES,
    "RequestCpus": Kind.AMOUNT,
    "CpusProvisioned": Kind.AMOUNT,
    "RequestMemory": Kind.AMOUNT,  # MiB
    "MemoryProvisioned": Kind.AMOUNT,
    "RequestGPUs": Kind.AMOUNT,
    "GPUsProvisioned": Kind.AMOUNT,
    "MaxHosts": Kind.AMOUNT,  # of the parallel universe
    "RemoteWallClockTime": Kind.FIGURE,  # of all executions, s
    "LastRemoteWallClockTime": Kind.FIGURE,  # of the last
    "CumulativeSuspensionTime": Kind.FIGURE,
    "CommittedSuspensionTime": Kind.FIGURE,
    "NumJobStarts": Kind.FIGURE,
    "NumShadowStarts": Kind.FIGURE,
    "ExitCode": Kind.FIGURE,
    "HoldReasonCode": Kind.FIGURE,
    "GlobalJobId": Kind.TEXT,  # schedd#ClusterId.ProcId#QDate
    "Owner": Kind.TEXT,
    "User": Kind.TEXT,
    "AcctGroup": Kind.TEXT,
    "AccountingGroup": Kind.TEXT,
    "ProjectName": Kind.TEXT,
    "EpochAdType": Kind.TEXT,
    "ExitBySignal": Kind.FLAG,
}
"""What is read of an ad; the case of names does not matter."""

KEYS: Final = tuple(name.lower() for name in ATTRIBUTES)
NOTHING: Final = ("undefined", "error")
"""Words for a value that is none."""

_NEEDED: Final = ("ClusterId", "ProcId", "JobStatus", "QDate")
_QUOTED: Final = r'(?s)^"(.*)"$'

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

_status = pl.col("JobStatus")
_start, _end = pl.col("start_time"), pl.col("end_time")


def quoted(text: str) -> str:
    """A text as the long form has it: ``"`` is escaped, and nothing else."""
    escaped = holdable(text).replace('"', '\\"')
    return f'"{escaped}"'


def defined(expression: str) -> str | None:
    """An expression without blanks around it; None where it is the word for nothing."""
    bare = expression.strip()
    return None if bare.lower() in NOTHING else bare


def typed(ads: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Convert ads; return columns of ``REFUSED`` and ``RECORDS``, and how many are no batch jobs.

    ``ads`` holds ``number`` and ``ATTRIBUTES``, as ``condor_history -long`` prints them without
    blanks around them; null where there is none, or none is defined.
    """
    numbers = ads.select(
        pl.col(name).cast(pl.Float64, strict=False)
        for name, kind in ATTRIBUTES.items()
        if kind not in (Kind.TEXT, Kind.FLAG)
    ).with_columns(pl.when(pl.all().is_finite()).then(pl.all()))
    values = ads.select(
        "number",
        *(_value(numbers, name, kind) for name, kind in ATTRIBUTES.items()),
        **_faults(ads, numbers),
    )
    other = (
        pl.col("JobUniverse").is_in(list(_NOT_BATCH))
        | (pl.col("EpochAdType").is_not_null() & (pl.col("EpochAdType") != "EPOCH"))
    ).fill_null(value=False) & pl.col("problem").is_null()
    jobs = values.filter(~other)
    return _shaped(_timed(jobs)), values.height - jobs.height


def _value(numbers: pl.DataFrame, name: str, kind: Kind) -> pl.Expr:
    """An attribute; null where it is not of its kind."""
    if kind is Kind.TEXT:
        return pl.col(name).str.extract(_QUOTED).str.replace_all('\\"', '"', literal=True)
    if kind is Kind.FLAG:
        return pl.col(name).str.to_lowercase() == "true"
    least, most = (1, LATEST) if kind is Kind.TIME else (-2 * LATEST, 2 * LATEST)
    number = pl.lit(numbers[name])
    return pl.when(number.is_between(least, most)).then(number.floor()).cast(pl.Int64).alias(name)


def _faults(ads: pl.DataFrame, numbers: pl.DataFrame) -> dict[str, pl.Series]:
    """The first attribute of each ad that does not hold what it must."""
    given = Texts(ads, "attribute")
    for name in _NEEDED:
        given.note(ads[name].is_null(), f"attribute {name} is missing")
    for kind in (Kind.ID, Kind.CODE, Kind.TIME, Kind.TEXT, Kind.AMOUNT):
        for name in (name for name, of in ATTRIBUTES.items() if of is kind):
            text = ads[name]
            if kind is Kind.ID:
                good = numbers[name].is_between(0, 1 << 31).fill_null(value=False)
                given.check(name, ~good & text.is_not_null(), "is no number of a job")
            elif kind is Kind.CODE:
                given.check(name, ~text.str.contains(r"^[0-9]{1,2}$"), "is no code")
            elif kind is Kind.TIME:
                given.check(name, numbers[name].is_null() & text.is_not_null(), "is no time")
                what = "lies beyond 2242: damaged, or not in seconds"
                given.check(name, numbers[name] > LATEST, what)
            elif kind is Kind.TEXT:
                given.check(name, ~text.str.contains(_QUOTED), "is no text")
            else:
                given.check(name, numbers[name].abs() > LARGEST << 10, "is more than can be")
        if kind is Kind.CODE:
            given.check("JobStatus", ~numbers["JobStatus"].is_between(1, 7), "is no state")
    return given.faults()


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
        **faulted(
            [
                (pl.col("lost") & pl.col("unseen_s").is_null(), RefusalCode.VALUE, _NO_TIMES),
                (
                    _end < _start,
                    RefusalCode.ORDER,
                    pl.format("ends {} s before it starts (JobCurrentStartDate)", _start - _end),
                ),
            ],
            "problem",
            "code",
        ),
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

    units = {Kind.SECONDS: 1, Kind.MINUTES: 60}
    limits = [positive(name) * units[kind] for name, kind in ATTRIBUTES.items() if kind in units]
    return {
        "cpus": amount("CpusProvisioned", "RequestCpus") * hosts,
        "nodes": hosts.cast(pl.Int64),
        "gpus": pl.coalesce(amount("GPUsProvisioned", "RequestGPUs"), pl.lit(0, pl.Int64)) * hosts,
        "mem_bytes": amount("MemoryProvisioned", "RequestMemory") * hosts * MIB,
        "walltime_s": pl.min_horizontal(limits),
    }
