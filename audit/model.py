"""The columns of a schedule, and the records that all parts of fairaudit share.

A schedule is a table, observed or simulated, with the columns of ``ATTEMPTS`` and those that
``attempts.population.describe`` adds (``DESCRIBED``). Times are int64 seconds since the epoch
(UTC), durations int64 seconds, memory int64 bytes. Unknown values are null.
"""

from enum import StrEnum
from typing import Final, Literal, NamedTuple

import polars as pl

from audit.policies import BY_OWNER as BY_OWNER
from audit.policies import BY_USAGE as BY_USAGE
from audit.policies import Backfill as Backfill
from audit.policies import Order as Order
from audit.policies import Policy as Policy
from audit.rules import Limit as Limit
from audit.rules import Per as Per
from audit.rules import PreemptionRule as PreemptionRule
from audit.rules import Scope as Scope
from audit.rules import Window as Window
from audit.words import Placement as Placement
from audit.words import Resource as Resource


class JobState(StrEnum):
    """States that fairaudit interprets; other states of a log are kept unchanged."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    PARTIAL = "PARTIAL"  # one execution burst of a job that continued later (SWF status 2)


WAITING: Final = (
    *(JobState.PENDING.value, "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"),
)
"""States of jobs that have not started and may still start, in Slurm's names."""


class RecordKind(StrEnum):
    """Subject of one record of a log."""

    JOB = "job"
    """A whole job, or one attempt that the log identifies by itself."""
    BURST = "burst"
    """One of several executions of a job, which may also have a summary record (SWF)."""
    TASK = "task"
    """One of several records of a job that may be equal: each is an attempt (tables)."""
    EXECUTION = "execution"
    """One execution, identified by job id and submit time (Slurm); may have several records."""
    RUN = "run"
    """One finished execution (LSF, Grid Engine). Records with the same job id and submit time are
    successive runs; another submit time means another job with the same number."""
    PAST = "past"
    """Earlier runs of a job together: only how long they lasted (Kueue)."""
    SIGHTING = "sighting"
    """The start or end of a run, identified by job id and start time (PBS)."""
    QUEUED = "queued"
    """A job entered a queue (PBS)."""
    LEFT = "left"
    """Only the time at which a job left its run or the queue."""
    PAUSED = "paused"
    """Only the time at which a run was suspended."""
    RESUMED = "resumed"
    """Only the time at which a suspended run continued."""


EVENTS: Final = (
    *(RecordKind.SIGHTING, RecordKind.QUEUED, RecordKind.LEFT),
    RecordKind.PAUSED,
    RecordKind.RESUMED,
)
"""Kinds of records that are combined into attempts."""

RECORDS: Final = pl.Schema(
    {
        "cluster": pl.String,  # as written in the log, if it is
        "job_id": pl.String,  # as written in the log
        "job_number": pl.Int64,  # its number, to break ties
        "array_task": pl.Int64,
        "het_offset": pl.Int64,
        "kind": pl.String,  # RecordKind
        "user": pl.String,
        "account": pl.String,
        "group": pl.String,
        "partition": pl.String,
        "qos": pl.String,
        "state": pl.String,
        "reason": pl.String,  # why the job was pending, if the log says so
        "priority": pl.Float64,
        "reservation": pl.String,
        "submit_time": pl.Int64,
        "eligible_time": pl.Int64,
        "start_time": pl.Int64,
        "end_time": pl.Int64,
        "occupancy_s": pl.Int64,  # may be known without the start (SWF with unknown wait)
        "waited_s": pl.Int64,  # queue wait of a later burst, which has no submit time in the log
        "suspended_s": pl.Int64,
        "walltime_s": pl.Int64,  # null: unknown or unlimited
        "cpus": pl.Int64,  # amounts: allocated if known, else requested
        "nodes": pl.Int64,
        "gpus": pl.Int64,  # of all types
        "gpu_types": pl.String,  # "a100:4,h100:2": those with a type; see ``gpu_types``
        "any_gpu_type": pl.Boolean,  # whether it requested GPUs, but no type; null: unknown
        "mem_bytes": pl.Int64,
        "req_cpus": pl.Int64,  # CPUs requested; null: the log does not give them apart
        "req_mem_bytes": pl.Int64,  # memory requested; null: the log does not give it apart
        "req_for_memory": pl.Boolean,  # whether memory raised the request; null: unknown
        "constraints": pl.String,  # node features that it requires, as Slurm writes them
        "required_nodes": pl.String,  # hostlist of the nodes that it requested by name
        "array_throttle": pl.Int64,  # most tasks of its array that may run at one time
        "tasks": pl.Int64,  # attempts for which the record stands; null: 1
        "array_tasks": pl.String,  # tasks for which it stands, see ``arrays``; null: its own
        "nice": pl.Int64,  # by how much its user lowered its priority
        "node_list": pl.String,  # hostlist of the nodes on which it ran
        "node_amounts": pl.String,  # amounts on each node of node_list; see ``hostlists``
        "line": pl.Int64,  # 1-based
        "byte_offset": pl.Int64,  # of the line in the decompressed log
    }
)
"""One row per record that a dialect accepted, in the order of the log."""


class RefusalCode(StrEnum):
    """The kind of fault for which a record was refused."""

    SHAPE = "shape"  # wrong fields for its dialect
    VALUE = "value"  # an impossible value in a field
    ORDER = "order"  # it ends before it starts
    TIME = "time"  # a time that does not exist in the log's zone or is out of range
    CUT = "cut"  # the log ends in the middle of the record
    CLUSTER = "cluster"  # another cluster than nearly all records of the log
    DOUBTFUL = "doubtful"  # readable, but its times are far from all others of its source


EVIDENCE: Final = pl.Schema(
    {
        "kind": pl.String,  # one of ``words.EvidenceKind``
        "instant": pl.Int64,  # at which it was so
        "job_id": pl.String,  # as in ``RECORDS``; null: it is about a node
        "node": pl.String,  # null: it is about a job
        "state": pl.String,
        "reason": pl.String,  # why the job was pending
        "priority": pl.Float64,
        "expected_start": pl.Int64,  # as the scheduler planned it
    }
)
"""One row for each statement of a scheduler about a job or a node at an instant."""

REFUSALS: Final = pl.Schema(
    {
        "line": pl.Int64,
        "byte_offset": pl.Int64,
        "code": pl.String,  # RefusalCode
        "reason": pl.String,
        "text": pl.String,
    }
)
"""One row per refused record, with its text."""

ATTEMPTS: Final = pl.Schema([*RECORDS.items(), ("attempt", pl.Int64())])
"""One row per attempt of the observed schedule, with the key (cluster, job_id, attempt).

``cluster`` is the audited cluster; ``attempt`` counts from 1 within a job.
"""

SEQUENCE: Final = ("job_number", "array_task", "het_offset", "attempt", "line")
"""Sort key that breaks all ties (SPEC §1, *sequence*); nulls first."""


class Standing(StrEnum):
    """The known part of an attempt's life; each has exactly one standing (SPEC §1).

    Metrics measure ENDED attempts only. The others are context.
    """

    ENDED = "ended"  # arrival, start and end are known
    NEVER_STARTED = "never_started"  # left the queue at ``end_time`` without starting
    RUNNING = "running"  # open: started, but not ended when the log was taken
    PENDING = "pending"  # open: not started when the log was taken
    START_UNKNOWN = "start_unknown"  # ran at an unknown time
    ARRIVAL_UNKNOWN = "arrival_unknown"  # ran, but its wait is unknown; counts as usage


DESCRIBED: Final = pl.Schema(
    [
        *ATTEMPTS.items(),
        ("pool", pl.String()),
        ("schedule", pl.String()),  # "observed", or the name of a simulated schedule
        ("standing", pl.String()),  # Standing
        ("size", pl.Int64()),  # amount of the pool's counted resource
        ("arrival_time", pl.Int64()),
        ("arrival_clipped", pl.Boolean()),  # the log has a start before the arrival
        ("wait_s", pl.Int64()),
        ("runtime_s", pl.Int64()),
        ("bounded_slowdown", pl.Float64()),
        ("width_class", pl.String()),
    ]
)
"""``ATTEMPTS`` and what follows from it once the pool and its counted resource are known.

A record that stands for several tasks has a row for each: ``tasks`` is their number in the first
and 0 in the others, so that the first are the records. ``array_tasks`` is null.
The types of GPUs of the pools add columns such as ``gpus:a100``: how many of them an attempt has.
"""

OBSERVED: Final = "observed"
"""Name of the schedule that the log recorded."""


class CapacityStep(NamedTuple):
    """A change of a pool's amounts."""

    since: int  # epoch s
    amounts: tuple[tuple[str, int], ...]  # by column of ``ATTEMPTS``; the others do not change
    planned: bool = False  # known to schedulers in advance


INFERRED: Final = "inferred"
"""Source of nodes of which only what ran on them is known."""


class Node(NamedTuple):
    """One machine of a pool."""

    name: str
    amounts: tuple[tuple[str, int], ...]  # by column of ``ATTEMPTS``, or ``gpus:TYPE``
    partitions: tuple[str, ...]  # none: all of the pool
    features: tuple[str, ...] | None = None
    """None: unknown; every constraint then holds."""
    source: str = INFERRED
    """Program that describes it, or config.toml."""


class Absence(NamedTuple):
    """A time in which a node takes no job, or only those of a reservation."""

    node: str
    begin: int  # epoch s
    end: int | None  # None: it is not known to have ended
    why: str  # drained, down or reserved; unseen: no job has run there yet, or none will any more
    reservation: str | None = None
    before: int | None = None
    """If set, ``begin`` is that of the node's record, and any start on the node before this instant
    (epoch s) is earlier than the absence."""


class Declared(NamedTuple):
    """Contents of files about the nodes of a cluster, and its limits."""

    nodes: tuple[Node, ...] = ()
    absences: tuple[Absence, ...] = ()
    cautions: tuple[str, ...] = ()
    counts_memory: bool | None = None
    """Whether the scheduler allocates memory, by slurm.conf; None: it does not say."""
    limits: tuple[Limit, ...] = ()
    """Those of the scheduler's files."""
    limits_of: Literal["slurm", "pbs"] = "pbs"


class Pool(NamedTuple):
    """A set of partitions that share hardware."""

    name: str
    resource: Resource
    capacity: int  # amount of the counted resource, ≥ 1
    steps: tuple[CapacityStep, ...] = ()  # ascending
    amounts: tuple[tuple[str, int], ...] = ()  # all resources; see ``words.is_amount``
    exclusive_nodes: bool = False
    """Whether nodes run one attempt at a time; only then does their number limit attempts."""
    policy: Policy = Policy()
    """The policy that fair start times assume."""
    fair_order: Order = Order.fcfs
    """The order that would be fair: ``fcfs`` or one of ``BY_OWNER``."""
    limits: tuple[Limit, ...] = ()
    windows: tuple[Window, ...] = ()
    zone: str = "UTC"
    """The zone of the hours of ``windows``."""
    nodes: tuple[Node, ...] = ()
    """Its nodes, in the order in which they are filled; none: its sums decide who fits."""
    absences: tuple[Absence, ...] = ()
    """Those of its nodes that are declared, or that what ran shows."""
    unseen: tuple[CapacityStep, ...] = ()
    """Steps by nodes that were not there all the time; each node decides what fits on it."""
    placement: Placement = Placement.packed
    preemption: tuple[PreemptionRule, ...] = ()
    states_backfill: bool = False
    """Whether the site states the backfilling of ``policy``, rather than the default or the log."""

    @property
    def by_nodes(self) -> bool:
        """Whether its nodes decide which attempts fit; steps of the capacity name no nodes."""
        return bool(self.nodes) and not self.steps

    @property
    def changes(self) -> tuple[CapacityStep, ...]:
        """The steps of its sums."""
        return self.steps or self.unseen

    def capacity_at(self, instant: int) -> int:
        """Return the amount of the counted resource at ``instant``."""
        changes = (
            amount
            for step in reversed(self.changes)
            if step.since <= instant
            for resource, amount in step.amounts
            if resource == self.resource
        )
        return next(changes, self.capacity)

    @property
    def largest(self) -> int:
        """The largest capacity that the pool ever had."""
        return max([self.capacity, *(self.capacity_at(step.since) for step in self.changes)])


class Announcement(NamedTuple):
    """The number of records of logs, where their headers name clearly more."""

    records: int
    named: int
    partly: bool = False
    """Whether ``named`` is of a part of the time of a header."""


class FstStatus(StrEnum):
    """How reliable the fair start times of an attempt are (SPEC §5)."""

    FINAL = "final"
    PROVISIONAL = "provisional"
    """Some attempt in the snapshot is open: later logs may change the times."""
    PREEMPTED_CONTEXT = "preempted_context"
    """Final, but the snapshot holds an attempt that was preempted later."""
    ASSUMED_ESTIMATE = "assumed_estimate"
    """Final, but the snapshot holds a running attempt without walltime, whose end is assumed."""
    OVER_CAPACITY = "over_capacity"
    """The snapshot holds more than the capacity: the times are excluded from totals."""
    # statuses without fair start times
    EXCEEDS_CAPACITY = "exceeds_capacity"  # it requests more than the pool has
    EXCEEDS_LIMIT = "exceeds_limit"  # it breaks a limit of the pool on its own
    BLOCKED = "blocked"  # it waited for something other than its turn
    RESERVED = "reserved"  # it ran in an advance reservation, outside the pool
    NOT_SAMPLED = "not_sampled"  # the budget was used up, and a sample represents it


COUNTED: Final = (
    *(FstStatus.FINAL.value, FstStatus.PROVISIONAL.value, FstStatus.PREEMPTED_CONTEXT.value),
    FstStatus.ASSUMED_ESTIMATE.value,
)
"""Statuses of the fair start times that count in totals."""


class Period(NamedTuple):
    """A half-open span ``[from_time, to_time)`` in epoch seconds; see ``audit.periods``.

    The period ``all`` is closed: it spans the whole log, from first arrival to last end.
    """

    name: str
    from_time: int
    to_time: int

    @property
    def whole_log(self) -> bool:
        """Whether every attempt belongs to this period."""
        return self.name == "all"
