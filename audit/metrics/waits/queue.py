"""A pool's queue, what is known of holds, and the rules in force, for the account of waits.

Conventions: n attempts in the order (arrival, submit, sequence); times in epoch s.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from audit import periods
from audit.array_types import Ints
from audit.metrics.attempts.contention import CapacitySteps, ints, reserved_rows
from audit.metrics.attempts.population import only, ordered
from audit.metrics.attempts.reasons import any_of, in_scope
from audit.metrics.attempts.recorded import SITE_PRIORITY
from audit.metrics.closed_hours import offsets, spans_of_hours
from audit.model import SEQUENCE, Standing
from audit.rules import Limit, Window
from audit.words import OF_TYPE

TRACED: Final = 2  # flag of the attempt of which the kernel keeps every stretch
NEVER: Final = int(np.iinfo(np.int64).max)


READ: Final = cs.by_name(
    *("standing", "arrival_time", "submit_time", "start_time", "end_time", "user", "reason"),
    *("reservation", "node_list", "node_amounts", "cpus", "nodes", "gpus", "mem_bytes"),
    *("account", "partition", "qos", "size", "walltime_s", "occupancy_s", *SEQUENCE, "recorded"),
    *("any_gpu_type", "constraints", "required_nodes", "array_throttle", SITE_PRIORITY),
    require_all=False,
) | cs.starts_with(OF_TYPE)
"""The columns of attempts that a queue, its rules and its nodes are made of, besides ``pool``."""

AS_HELD, AS_PLANNED = -1, -2
"""Kinds of ``Holds.recorded_as``: it was held; the scheduler planned it later."""


class Holds(NamedTuple):
    """Times in which single attempts may not start.

    Those of one attempt and kind ascend and are disjoint.
    """

    row: Ints  # place in the order of attempts, ascending
    begin: Ints
    end: Ints
    recorded_as: Ints  # ``AS_HELD``, ``AS_PLANNED``, or the number of a recorded rule


_NONE: Final[Ints] = np.zeros(0, np.int64)
NO_HOLDS: Final = Holds(_NONE, _NONE, _NONE, _NONE)
NO_STEPS: Final = CapacitySteps(_NONE, np.zeros((0, 0), np.int64), np.zeros(0, np.bool_))


@dataclass(frozen=True)
class Queued:
    """The attempts of a pool in their order."""

    rows: pl.DataFrame
    """With ``waits``, whether the wait is booked; ``leave``, when it leaves the queue; ``end``,
    assumed for running attempts; and ``came``, the place in (arrival, submit, sequence)."""
    reserved: pl.DataFrame  # the same for attempts in reservations

    def column(self, name: str) -> Ints:
        """Return an integer column, with 0 for null."""
        return ints(self.rows[name])

    def of(self, columns: cs.Selector) -> "Queued":
        """Return the same with these columns: rows that were sorted are copies."""
        return replace(self, rows=self.rows.select(columns))


def queued(
    numbered: pl.DataFrame, now: int, waits: pl.Expr | bool, *, priority: str | None = None
) -> Queued:
    """Return the attempts that wait or run in a pool.

    Args:
        numbered: columns of ``model.DESCRIBED`` and ``row``, of one pool, in any order.
        now: time until which open attempts wait.
        waits: condition for waiting, of attempts with a known arrival and end of the wait.
        priority: column by which the queue descends, nulls last; None: (arrival, submit, sequence).
    """
    standing, start = pl.col("standing"), pl.col("start_time")
    leaves = (
        pl.when(standing == Standing.PENDING)
        .then(pl.lit(now))
        .when(standing == Standing.NEVER_STARTED)
        .then("end_time")
        .otherwise(start)
    )
    ends = pl.when(standing == Standing.RUNNING).then(pl.max_horizontal(pl.lit(now), start) + 1)
    known = leaves.is_not_null() & pl.col("arrival_time").is_not_null()
    held = (
        numbered.with_columns(waits=(known & waits).fill_null(value=False), leave=leaves)
        .pipe(only, start.is_not_null() | pl.col("waits"))
        .with_columns(
            arrival_time=pl.coalesce("arrival_time", "start_time"), end=ends.otherwise("end_time")
        )
        .pipe(ordered, "arrival_time", "submit_time", *SEQUENCE)
    )
    inside = reserved_rows(held)
    rows = only(held, ~inside).with_columns(came=pl.int_range(pl.len(), dtype=pl.Int64))
    if priority is not None:
        rows = rows.sort(priority, descending=True, nulls_last=True, maintain_order=True)
    return Queued(rows, held.filter(inside))


class InForce(NamedTuple):
    """A pool's limits and windows for n attempts, as the kernel takes them."""

    counter: Ints  # [L, n]
    amount: Ints
    remaining: NDArray[np.uint8]  # [L]: whether amounts count × what is left of ``length``
    length: Ints  # [n], s ≥ 1: the walltime, else the occupancy
    binding: Ints  # [L, n]
    most: Ints  # [L]
    valid_from: Ints
    valid_to: Ints
    reach: Ints  # [W, n]
    first_span: Ints  # [W + 1]
    span_from: Ints
    span_to: Ints
    counters: int
    recorded: int = 0
    """Rules that the scheduler recorded, behind the windows; ``Holds`` says when they forbid."""

    @property
    def bounded(self) -> int:
        """The number of limits and windows."""
        return len(self.most) + len(self.first_span) - 1


def in_force(
    queue: Queued, limits: Sequence[Limit], windows: Sequence[Window], zone: str, recorded: int = 0
) -> InForce:
    """Return limits, windows and a number of recorded rules as the kernel takes them."""
    held = queue.rows.with_columns(occupancy=pl.col("occupancy_s"))
    n, clock = held.height, periods.zone(zone)
    counter = np.full((len(limits), n), -1)
    amount, binding = np.zeros((2, len(limits), n), np.int64)
    counters = 0
    for k, limit in enumerate(limits):
        adds = np.ones(n, np.int64) if limit.resource is None else queue.column(limit.resource)
        inside = in_scope(held, limit) & (adds > 0)
        whose = np.zeros(n, np.int64)
        if limit.per == "job":
            whose = np.arange(n)
        elif limit.per is not None:
            whose = coded(held[limit.per]) - 1
        counted = inside & (whose >= 0)
        counter[k, counted] = counters + whose[counted]
        amount[k], binding[k] = adds, ~any_of(held["qos"], limit.exempt_qos)
        counters += int(whose.max(initial=-1)) + 1
    reach = np.zeros((len(windows), n), np.int64)
    walltime = ints(held["walltime_s"].fill_null(held["occupancy_s"]))
    length = np.maximum(walltime, 1)
    since = int(queue.column("arrival_time").min()) if n else 0
    until = max(int(queue.column("leave").max(initial=since)), since) + 1
    spans = []
    for k, window in enumerate(windows):
        reach[k] = np.where(in_scope(held, window), length if window.overlap else 1, 0)
        last = until + (int(walltime.max(initial=0)) if window.overlap else 0)
        begin, end = validity(window, clock)
        begin, end = max(begin, since), min(end, last)
        on = list(offsets(clock, begin, end)) if begin < end else []
        spans.append(spans_of_hours(window.hours, on) if on else (_NONE, _NONE))
    in_force_at = [validity(limit, clock) for limit in limits]
    return InForce(
        counter=counter,
        amount=amount,
        remaining=np.array([limit.remaining for limit in limits], np.uint8),
        length=length,
        binding=binding,
        most=np.array([limit.most for limit in limits], np.int64),
        valid_from=np.array([begin for begin, _ in in_force_at], np.int64),
        valid_to=np.array([end for _, end in in_force_at], np.int64),
        reach=reach,
        first_span=np.cumsum([0, *(len(begins) for begins, _ in spans)]),
        span_from=np.concatenate([_NONE, *(begins for begins, _ in spans)]),
        span_to=np.concatenate([_NONE, *(ends for _, ends in spans)]),
        counters=counters,
        recorded=recorded,
    )


def validity(rule: Limit | Window, clock: ZoneInfo) -> tuple[int, int]:
    """Return the instants in which a rule is in force: from the first on, before the second."""
    begin = periods.day_start(rule.valid_from, clock) if rule.valid_from else -NEVER
    return begin, periods.day_start(rule.valid_to, clock) if rule.valid_to else NEVER


def cuts(
    rules: InForce, holds: Holds, queue: Queued, waiting: Ints, begin: Sequence[int] = ()
) -> Ints:
    """Return the instants at which rules and holds change while attempts wait, and ``begin``."""
    arrival, leave = (queue.column(name)[waiting] for name in ("arrival_time", "leave"))
    found = [
        np.array(begin, np.int64),
        rules.valid_from,
        rules.valid_to,
        holds.begin,
        holds.end,
        rules.span_to,
    ]
    for k, reach in enumerate(rules.reach):
        begins = rules.span_from[rules.first_span[k] : rules.first_span[k + 1]]
        reaches = np.unique(reach[waiting])
        if len(reaches[reaches > 1]) == 0:
            found.append(begins)
            continue
        # a job that must end before a closing may not start later than its walltime before it
        for one in reaches[reaches > 0]:
            mine = reach[waiting] == one
            edges = begins - one + 1
            low = np.searchsorted(edges, arrival[mine], side="right")
            high = np.searchsorted(edges, leave[mine])
            covered = np.zeros(len(edges) + 1, np.int64)
            np.add.at(covered, low, 1)
            np.add.at(covered, np.maximum(high, low), -1)
            found.append(edges[np.cumsum(covered)[:-1] > 0])
    cuts: Ints = np.unique(np.concatenate([_NONE, *found]))
    inside: Ints = cuts[(cuts >= arrival.min(initial=NEVER)) & (cuts < leave.max(initial=0))]
    return inside


def coded(names: pl.Series) -> Ints:
    """Return names as numbers from 1 on; 0 for null."""
    known = names.unique().drop_nulls().sort()
    return ints(names.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(-1)) + 1


def ranges(low: Ints, number: Ints) -> tuple[Ints, Ints]:
    """Return each k, ``number[k]`` times, and beside it low[k], low[k] + 1, …."""
    of = np.repeat(np.arange(len(low)), number)
    return of, np.arange(len(of)) + (low - np.cumsum(number) + number)[of]
