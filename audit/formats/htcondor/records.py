"""Attributes of HTCondor's jobs → typed records.

An ad describes a job's last execution; of earlier ones (evicted, or put on hold) it has only the
number and the total time. So:

- The only execution of a job waited from ``QDate``. The last of several waited from
  ``LastVacateTime`` if that lies between the first start and the last, else from an unknown time. A
  job that waits again does so since ``EnteredCurrentStatus``.
- It started at ``JobCurrentStartDate`` (else ``JobStartDate``, if it is the only execution) and
  ended at ``CompletionDate``; if removed while running, at ``EnteredCurrentStatus``; if removed
  while waiting to run again, when it was vacated. A job removed without a start never started.
- The time of a job that ran at an unknown time counts (``RemoteWallClockTime``, if it ran once).
- Ads of an epoch file (``JOB_EPOCH_HISTORY``) are one execution each, which ended at
  ``EpochWriteDate``. The file's other ads, of transfers, are counted as steps.
- Jobs of the scheduler and local universes (7, 12: DAGMan and the like) run beside the schedd, and
  those of the grid universe (9) on other systems: they are counted as steps.
- CPUs, memory (MiB) and GPUs are the provisioned ones, else the requested ones where these are
  numbers; in the parallel universe (11) times the number of hosts, which are then unknown.
- The walltime limit is the smallest of all limits.

The job id includes the schedd (``schedd#ClusterId.ProcId``), as each schedd counts for itself.

Sources: HTCondor manual, "Job ClassAd Attributes"; ``condor_utils/classadHistory.cpp``,
``job_ad_instance_recording.cpp``.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Final

import polars as pl

from audit.formats.elements import holdable
from audit.formats.instants import LATEST
from audit.formats.shaping import (
    MIB,
    Texts,
    case,
    ends_early,
    faulted,
    positive,
    remarks,
    single_node,
)
from audit.model import RecordKind, RefusalCode


class AttributeKind(Enum):
    """Content of an attribute."""

    ID = "number of a job"
    STATE = "state of a job"
    CODE = "code"
    TIME = "epoch s"
    TEXT = "text"
    HOST = "slot and host"
    AMOUNT = "amount"
    SECONDS = "limit in s"
    MINUTES = "limit in minutes"
    FIGURE = "number"
    FLAG = "true or false"


_TABLE: Final = (
    # kind, attributes, remark
    (AttributeKind.ID, "ClusterId ProcId", ""),
    (AttributeKind.STATE, "JobStatus", ""),
    (AttributeKind.CODE, "LastJobStatus JobUniverse", ""),
    (AttributeKind.TIME, "QDate", "submission"),
    (AttributeKind.TIME, "JobStartDate JobCurrentStartDate", "of the first and last execution"),
    (AttributeKind.TIME, "CompletionDate EnteredCurrentStatus LastVacateTime", ""),
    (AttributeKind.TIME, "EpochWriteDate", "end of an epoch's execution"),
    (AttributeKind.TEXT, "GlobalJobId", "schedd#ClusterId.ProcId#QDate"),
    (AttributeKind.TEXT, "Owner User AcctGroup AccountingGroup ProjectName EpochAdType", ""),
    (AttributeKind.HOST, "RemoteHost LastRemoteHost", "of the last execution, slot1_2@host"),
    (AttributeKind.AMOUNT, "RequestCpus CpusProvisioned RequestGPUs GPUsProvisioned", ""),
    (AttributeKind.AMOUNT, "RequestMemory MemoryProvisioned", "MiB"),
    (AttributeKind.AMOUNT, "MaxHosts", "of the parallel universe"),
    (AttributeKind.SECONDS, "AllowedJobDuration AllowedExecuteDuration", "enforced by HTCondor"),
    (AttributeKind.SECONDS, "BatchRuntime MaxRuntime", "set by users"),
    (AttributeKind.MINUTES, "MaxWallTime MaxWallTimeMins", "set by users"),
    (AttributeKind.FIGURE, "RemoteWallClockTime", "s, of all executions"),
    (AttributeKind.FIGURE, "LastRemoteWallClockTime", "s, of the last"),
    (AttributeKind.FIGURE, "CumulativeSuspensionTime CommittedSuspensionTime", "s"),
    (AttributeKind.FIGURE, "NumJobStarts NumShadowStarts ExitCode HoldReasonCode", ""),
    (AttributeKind.FLAG, "ExitBySignal", ""),
)
ATTRIBUTES: Final = {name: kind for kind, names, _ in _TABLE for name in names.split()}
"""The attributes that are read; their case does not matter."""
KEYS: Final = tuple(name.lower() for name in ATTRIBUTES)
_UNTYPED: Final = (AttributeKind.TEXT, AttributeKind.HOST, AttributeKind.FLAG)  # no numbers
NOTHING: Final = ("undefined", "error")  # expressions without a value

_NEEDED: Final = ("ClusterId", "ProcId", "JobStatus", "QDate")
_NEEDS: Final = f"an ad needs {', '.join(_NEEDED)}, which condor_history prints without -attributes"
_IDENTIFYING: Final = ("GlobalJobId", "EpochAdType")  # texts without which an ad is refused
_FURTHEST: Final = 2 * LATEST  # largest number that is read
_QUOTED: Final = r'(?s)^"(.*)"$'

_HOST: Final = r'^"(?:.*@)?([^@"]*)"$'

_IDLE, _RUNNING, _REMOVED, _COMPLETED, _HELD, _SENDING, _SUSPENDED = range(1, 8)
_PARALLEL: Final = 11
_NOT_BATCH: Final = (7, 9, 12)
_BY_USER: Final = (1, 15)  # hold reason codes: by the user, submitted on hold

_NO_TIMES: Final = (
    "attributes JobStartDate, RemoteWallClockTime: when and how long it ran is unknown"
)

_status = pl.col("JobStatus")
_start, _end = pl.col("start_time"), pl.col("end_time")


def quoted(text: str) -> str:
    """Return a text as the long form writes it: only ``"`` is escaped."""
    escaped = holdable(text).replace('"', '\\"')
    return f'"{escaped}"'


def defined(expression: str) -> str | None:
    """Return an expression without blanks around it; None where it has no value."""
    bare = expression.strip()
    return None if bare.lower() in NOTHING else bare


def typed(ads: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Convert ads; return columns of ``REFUSED`` and ``RECORDS``, and the number of other ads.

    ``ads`` holds ``number`` and ``ATTRIBUTES`` as ``condor_history -long`` prints them, without
    blanks around them; null where an attribute is missing or undefined.
    """
    numbers = ads.select(
        pl.col(name).cast(pl.Float64, strict=False)
        for name, kind in ATTRIBUTES.items()
        if kind not in _UNTYPED
    ).with_columns(pl.when(pl.all().is_finite()).then(pl.all()))
    given = _checked(ads, numbers)
    values = ads.select(
        "number",
        *(_value(numbers, name, kind) for name, kind in ATTRIBUTES.items()),
        remarks=remarks(*given.doubts),
        **given.faults(),
    )
    epoch = pl.col("EpochAdType")
    other = pl.col("JobUniverse").is_in(_NOT_BATCH) | (epoch.is_not_null() & (epoch != "EPOCH"))
    jobs = values.filter(~(other.fill_null(value=False) & pl.col("problem").is_null()))
    return _records(_timed(jobs)), values.height - jobs.height


def _value(numbers: pl.DataFrame, name: str, kind: AttributeKind) -> pl.Expr:
    if kind is AttributeKind.TEXT:
        return pl.col(name).str.extract(_QUOTED).str.replace_all('\\"', '"', literal=True)
    if kind is AttributeKind.HOST:
        return pl.col(name).str.extract(_HOST)
    if kind is AttributeKind.FLAG:
        return pl.col(name).str.to_lowercase() == "true"
    least, most = (1, LATEST) if kind is AttributeKind.TIME else (-_FURTHEST, _FURTHEST)
    number = pl.lit(numbers[name])
    return pl.when(number.is_between(least, most)).then(number.floor()).cast(pl.Int64).alias(name)


def _checked(ads: pl.DataFrame, numbers: pl.DataFrame) -> Texts:
    """Return the ads with their invalid attributes, and doubts about those that are not needed."""
    given = Texts(ads, "attribute")
    for name in _NEEDED:
        given.note(ads[name].is_null(), f"attribute {name} is missing: {_NEEDS}")
    for name, kind in ATTRIBUTES.items():
        number = None if kind in _UNTYPED else numbers[name]
        optional = kind is AttributeKind.AMOUNT or (
            kind is AttributeKind.TEXT and name not in _IDENTIFYING
        )
        for bad, what in _wrong(kind, ads[name], number):
            if optional:
                given.doubt(name, bad.fill_null(value=False))
            else:
                given.check(name, bad, what)
    return given


def _wrong(
    kind: AttributeKind, text: pl.Series, number: pl.Series | None
) -> Iterator[tuple[pl.Series, str]]:
    if number is None:
        if kind is AttributeKind.TEXT:
            yield ~text.str.contains(_QUOTED), "is not a text"
    elif kind is AttributeKind.ID:
        good = number.is_between(0, 1 << 31).fill_null(value=False)
        yield ~good & text.is_not_null(), "is not a number of a job"
    elif kind in (AttributeKind.STATE, AttributeKind.CODE):
        yield ~text.str.contains(r"^[0-9]{1,2}$"), "is not a code"
        if kind is AttributeKind.STATE:
            yield ~number.is_between(1, 7), "is not a state"
    elif kind is AttributeKind.TIME:
        yield number.is_null() & text.is_not_null(), "is not a time"
        yield number > LATEST, "lies beyond 2242: damaged, or not in seconds"
    elif kind is AttributeKind.AMOUNT:
        yield number.abs() > _FURTHEST, "is more than can be"


def _timed(jobs: pl.DataFrame) -> pl.DataFrame:
    """Add submission, start and end, and whether these are of a later execution (``again``)."""
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
    left_queue = case(
        (epoch, pl.col("EpochWriteDate")),
        (_status == _COMPLETED, pl.coalesce("CompletionDate", since)),
        (
            _start.is_not_null() & waited,
            pl.coalesce(pl.when(left >= _start).then(left), spent, since),
        ),
        otherwise=since,
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


def _records(jobs: pl.DataFrame) -> pl.DataFrame:
    occupancy = pl.coalesce(_end - _start, "unseen_s")
    last = pl.when(_status == _COMPLETED).then("CommittedSuspensionTime")
    suspended = pl.when(~pl.col("again")).then("CumulativeSuspensionTime").otherwise(last)
    possible = suspended.is_between(0, pl.coalesce(occupancy, suspended))
    schedd = pl.col("GlobalJobId").str.extract("^([^#]+)#")
    number = pl.format("{}.{}", "ClusterId", "ProcId")
    group = pl.col("AccountingGroup").str.replace(r"\.[^.]*$", "")
    host = pl.coalesce("RemoteHost", "LastRemoteHost")
    lost = pl.col("lost") & pl.col("unseen_s").is_null()
    faults = [(lost, RefusalCode.VALUE, _NO_TIMES), ends_early("JobCurrentStartDate")]
    return jobs.select(
        *("number", "start_time", "end_time", "submit_time", "remarks"),
        **_amounts(),
        **_states(),
        job_id=pl.coalesce(pl.format("{}#{}", schedd, number), number),
        job_number="ClusterId",
        array_task="ProcId",
        kind=pl.lit(RecordKind.EXECUTION),
        user=pl.coalesce("Owner", pl.col("User").str.extract("^([^@]+)")),
        account=pl.coalesce("AcctGroup", group, "ProjectName"),
        occupancy_s=occupancy,
        suspended_s=pl.when(_start.is_not_null() & possible).then(suspended),
        node_list=pl.when(_start.is_not_null() & ~_parallel()).then(single_node(host)),
        **faulted(faults, "problem", "code"),
    )


def _parallel() -> pl.Expr:
    return (pl.col("JobUniverse") == _PARALLEL).fill_null(value=False)


def _states() -> dict[str, pl.Expr]:
    """Return the last known state, in Slurm's words, and the reason of a hold."""
    signalled = pl.col("ExitBySignal").fill_null(value=False)
    exited = pl.col("ExitCode").is_not_null() | signalled
    failed = signalled | (pl.col("ExitCode") != 0).fill_null(value=False)
    ended = pl.col("epoch") | (_status == _COMPLETED)
    by_user = pl.col("HoldReasonCode").is_in(_BY_USER).fill_null(value=False)
    held = case((by_user, "JobHeldUser"), otherwise="JobHeldAdmin")
    return {
        "state": case(
            (pl.col("epoch") & ~exited, "PREEMPTED"),
            (ended & failed, "FAILED"),
            (ended, "COMPLETED"),
            (_status.is_in([_IDLE, _HELD]), "PENDING"),
            (_status == _REMOVED, "CANCELLED"),
            (_status == _SUSPENDED, "SUSPENDED"),
            otherwise="RUNNING",
        ),
        "reason": pl.when(_status == _HELD).then(held),
    }


def _amounts() -> dict[str, pl.Expr]:
    hosts = pl.when(_parallel()).then(pl.col("MaxHosts").clip(1)).otherwise(1)

    def amount(*names: str) -> pl.Expr:
        return pl.coalesce(*(pl.when(pl.col(name) >= 0).then(name) for name in names))

    units = {AttributeKind.SECONDS: 1, AttributeKind.MINUTES: 60}
    limits = [positive(name) * units[kind] for name, kind in ATTRIBUTES.items() if kind in units]
    return {
        "cpus": amount("CpusProvisioned", "RequestCpus") * hosts,
        "nodes": hosts.cast(pl.Int64),
        "req_cpus": amount("RequestCpus") * hosts,
        "gpus": pl.coalesce(amount("GPUsProvisioned", "RequestGPUs"), pl.lit(0, pl.Int64)) * hosts,
        "mem_bytes": amount("MemoryProvisioned", "RequestMemory") * hosts * MIB,
        "walltime_s": pl.min_horizontal(limits),
    }
