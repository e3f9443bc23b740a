"""What an attempt is: the columns that every part of fairaudit agrees on.

A schedule is a table. Observed or simulated, it has the columns of ``ATTEMPTS``, and what
``attempts.population.describe`` adds to them (``DESCRIBED``). Times are int64 seconds since the
epoch (UTC), durations int64 seconds, memory int64 bytes; what is unknown is null, never a sentinel.
"""

from enum import StrEnum
from typing import Final, NamedTuple

import polars as pl

from audit.policies import BY_OWNER, BY_USAGE, Backfill, Order, Policy
from audit.rules import Limit, Per, Scope, Window
from audit.words import Resource

__all__ = [
    "ATTEMPTS",
    "BY_OWNER",
    "BY_USAGE",
    "COUNTED",
    "DESCRIBED",
    "EVENTS",
    "OBSERVED",
    "RECORDS",
    "REFUSALS",
    "SEQUENCE",
    "WAITING",
    "Backfill",
    "FstStatus",
    "JobState",
    "Limit",
    "Order",
    "Per",
    "Period",
    "Policy",
    "Pool",
    "RecordKind",
    "RefusalCode",
    "Resource",
    "Scope",
    "Standing",
    "Step",
    "Window",
]


class JobState(StrEnum):
    """States that fairaudit gives a meaning to; logs may hold others, which are kept as such."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    PARTIAL = "PARTIAL"
    """One execution burst of a job that went on later (SWF status 2)."""


WAITING: Final = (
    *(JobState.PENDING.value, "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"),
)
"""States of what has not started and may yet: PENDING, and what Slurm calls some kinds of it."""


class RecordKind(StrEnum):
    """What one record of a log speaks of."""

    JOB = "job"
    """A whole job, or one attempt of it that the log tells apart by itself."""
    BURST = "burst"
    """One of several executions of a job; a summary record may stand beside them (SWF)."""
    EXECUTION = "execution"
    """One execution, named by job id and submit time (Slurm). Several records of it are what was
    known of it at different times."""
    RUN = "run"
    """One execution of a job, told once it was over (LSF, Grid Engine). Several with the same job
    id and submit time are its runs, one after the other; with another submit time it is another
    job of the same number."""
    SIGHTING = "sighting"
    """What was known of a run when it started, or ended (PBS). The run is named by job id and start
    time."""
    QUEUED = "queued"
    """That a job came into a queue (PBS)."""
    LEFT = "left"
    """When a job left its run, or the queue, and nothing else: its other records say the rest."""
    PAUSED = "paused"
    """When a job's run was suspended, and nothing else."""
    RESUMED = "resumed"
    """When a suspended run went on, and nothing else."""


EVENTS: Final = (
    *(RecordKind.SIGHTING, RecordKind.QUEUED, RecordKind.LEFT),
    *(RecordKind.PAUSED, RecordKind.RESUMED),
)
"""Kinds of records of which several make an attempt."""

RECORDS: Final = pl.Schema(
    {
        "cluster": pl.String,  # as the log names it, where it does
        "job_id": pl.String,  # as the log writes it
        "job_number": pl.Int64,  # its number, for the order of ties
        "array_task": pl.Int64,
        "het_offset": pl.Int64,
        "kind": pl.String,  # RecordKind
        "user": pl.String,
        "account": pl.String,
        "group": pl.String,
        "partition": pl.String,
        "qos": pl.String,
        "state": pl.String,
        "reason": pl.String,  # why it was still pending, where the log says so
        "priority": pl.Float64,
        "reservation": pl.String,
        "submit_time": pl.Int64,
        "eligible_time": pl.Int64,
        "start_time": pl.Int64,
        "end_time": pl.Int64,
        "occupancy_s": pl.Int64,  # known even where the start is not (SWF with unknown wait)
        "waited_s": pl.Int64,  # queue wait of a later burst, whose submit the log leaves out
        "suspended_s": pl.Int64,
        "walltime_s": pl.Int64,  # null: unknown or unlimited
        "cpus": pl.Int64,  # amounts: allocated where known, else requested
        "nodes": pl.Int64,
        "gpus": pl.Int64,
        "mem_bytes": pl.Int64,
        "line": pl.Int64,  # 1-based line in the log
        "byte_offset": pl.Int64,  # of that line's first byte in the (decompressed) log
    }
)
"""One row per record that a dialect accepted, in the order of the log."""


class RefusalCode(StrEnum):
    """What kind of thing is wrong with a record that is refused; its reason says the rest."""

    SHAPE = "shape"
    """It has not the fields that a record of its dialect has."""
    VALUE = "value"
    """A field holds what it cannot."""
    ORDER = "order"
    """Its times contradict each other: it ends before it starts."""
    TIME = "time"
    """A time that never was in the log's zone, or lies beyond what a clock can say."""
    CUT = "cut"
    """It ends in the middle: the log was cut there."""
    CLUSTER = "cluster"
    """It names another cluster than nearly all records of its log."""
    DOUBTFUL = "doubtful"
    """It was read, but a time of it lies far from all others of its source."""


REFUSALS: Final = pl.Schema(
    {
        "line": pl.Int64,
        "byte_offset": pl.Int64,
        "code": pl.String,  # RefusalCode
        "reason": pl.String,
        "text": pl.String,
    }
)
"""One row per record that a dialect could not take, with its text."""

ATTEMPTS: Final = pl.Schema(
    # cluster: as it is audited; attempt: 1, 2, … within a job
    [*RECORDS.items(), ("attempt", pl.Int64())]
)
"""One row per attempt of the observed schedule, keyed by (cluster, job_id, attempt)."""

SEQUENCE: Final = ("job_number", "array_task", "het_offset", "attempt", "line")
"""Sort key that breaks all ties (SPEC §1, *sequence*); nulls first."""


class Standing(StrEnum):
    """What is known of an attempt's life; each has exactly one (SPEC §1)."""

    ENDED = "ended"
    """Arrival, start and end known: the only subjects of metrics."""
    NEVER_STARTED = "never_started"
    """Left the queue at ``end_time`` without having started."""
    RUNNING = "running"
    """Open: started, not ended when the log was taken. Context, never a subject."""
    PENDING = "pending"
    """Open: not started when the log was taken. Context, never a subject."""
    START_UNKNOWN = "start_unknown"
    """Ran, but the log does not say when: left out of metrics on the observed schedule."""
    ARRIVAL_UNKNOWN = "arrival_unknown"
    """Started and ended, but the log does not say when it arrived: its wait is unknown. It counts
    in what was in use and in usage; elsewhere it is context, never a subject."""


DESCRIBED: Final = pl.Schema(
    [
        *ATTEMPTS.items(),
        ("pool", pl.String()),
        ("schedule", pl.String()),  # "observed", or the name of a simulated one
        ("standing", pl.String()),  # Standing
        ("size", pl.Int64()),  # amount of the pool's counted resource
        ("arrival_time", pl.Int64()),
        ("arrival_clipped", pl.Boolean()),  # by the log, it started before it was there
        ("wait_s", pl.Int64()),
        ("runtime_s", pl.Int64()),
        ("bounded_slowdown", pl.Float64()),
        ("width_class", pl.String()),
    ]
)
"""``ATTEMPTS`` with what follows from it once the pool and its counted resource are known."""

OBSERVED: Final = "observed"
"""Name of the schedule that the log recorded."""


class Step(NamedTuple):
    """From when on a pool had other amounts."""

    since: int  # epoch s
    amounts: tuple[tuple[str, int], ...]  # by column of ``ATTEMPTS``; the others stay
    planned: bool = False
    """Whether schedulers knew of it beforehand."""


class Pool(NamedTuple):
    """A set of partitions that share hardware."""

    name: str
    resource: Resource
    capacity: int  # amount of the counted resource, ≥ 1
    steps: tuple[Step, ...] = ()
    """What changed, and when; ascending."""
    amounts: tuple[tuple[str, int], ...] = ()
    """All that it has, by column of ``ATTEMPTS`` (cpus, nodes, gpus, mem_bytes)."""
    exclusive_nodes: bool = False
    """Whether a node is given to one attempt at a time; only then do nodes limit who fits."""
    policy: Policy = Policy()
    """The policy that its fair start times assume."""
    fair_order: Order = Order.fcfs
    """In which order it would be fair to be served: ``fcfs`` or one of ``BY_OWNER``."""
    limits: tuple[Limit, ...] = ()
    """What may run at one time."""
    windows: tuple[Window, ...] = ()
    """When which attempts are not started."""
    zone: str = "UTC"
    """The cluster's, in which the hours of windows are."""

    def capacity_at(self, instant: int) -> int:
        """Amount of the counted resource at ``instant``."""
        had = [self.capacity]
        had += [
            amount
            for step in self.steps
            if step.since <= instant
            for resource, amount in step.amounts
            if resource == self.resource
        ]
        return had[-1]

    @property
    def largest(self) -> int:
        """The most it ever had of the counted resource."""
        return max([self.capacity, *(self.capacity_at(step.since) for step in self.steps)])


class FstStatus(StrEnum):
    """What the fair start times of an attempt are worth (SPEC §5)."""

    FINAL = "final"
    PROVISIONAL = "provisional"
    """Some attempt in the snapshot is still open: later logs may change them."""
    PREEMPTED_CONTEXT = "preempted_context"
    """Final, but the snapshot holds an attempt that was preempted later."""
    ASSUMED_ESTIMATE = "assumed_estimate"
    """Final, but the snapshot holds a running attempt without walltime, whose end is assumed."""
    OVER_CAPACITY = "over_capacity"
    """The snapshot holds more than the capacity: they are no part of any total."""
    EXCEEDS_CAPACITY = "exceeds_capacity"
    """It asks for more than the pool has: it has none."""
    EXCEEDS_LIMIT = "exceeds_limit"
    """By itself it breaks a limit of the pool: it has none."""
    BLOCKED = "blocked"
    """It waited for something other than its turn: it has none."""
    RESERVED = "reserved"
    """It ran in an advance reservation, outside the pool: it has none."""
    NOT_SAMPLED = "not_sampled"
    """There was no budget for it: it has none yet, and others stand for it."""


class Decision(StrEnum):
    """Whether the modelled policy would have started an attempt when the site did (SPEC §10)."""

    ON_TIME = "on_time"
    """It would have, at most the tolerance before."""
    LATE = "late"
    """It would have started it earlier."""
    UNFORESEEN = "unforeseen"
    """It would not have started it by then."""
    OVER_CAPACITY = "over_capacity"
    """More was in use than there is once it had started: left out of shares, and counted."""


class IdleBecause(StrEnum):
    """Why there was room for an attempt that the modelled policy would have started (SPEC §10).

    The first that holds. Who waited for something other than its turn is not judged.
    """

    LIMIT = "limit"
    """A modelled limit kept it from being started, at some time since; or its recorded reason names
    one."""
    WINDOW = "window"
    """A window did."""
    UNEXPLAINED = "unexplained"


COUNTED: Final = (
    *(FstStatus.FINAL.value, FstStatus.PROVISIONAL.value, FstStatus.PREEMPTED_CONTEXT.value),
    FstStatus.ASSUMED_ESTIMATE.value,
)
"""Statuses of the fair start times that are part of totals."""

FLOOD_ATTEMPTS: Final = 10
FLOOD_WORK: Final = 0.25
"""A user's attempts of one day are a flood where there are at least so many of them, and they bring
at least so much of what the whole pool does in a day."""


class Period(NamedTuple):
    """A half-open span ``[from_time, to_time)`` in epoch seconds; see ``audit.periods``.

    The period named ``all`` is closed instead: it spans the whole log, from its first arrival to
    its last end, and every attempt belongs to it.
    """

    name: str
    from_time: int
    to_time: int

    @property
    def whole_log(self) -> bool:
        """Whether every attempt belongs to this period."""
        return self.name == "all"
