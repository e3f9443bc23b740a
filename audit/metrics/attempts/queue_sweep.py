"""The sweep through a pool's queue that books each second of each wait (``audit.kernels.account``).

The anatomy of waits (SPEC §10) and the account of waits (SPEC §11) are two readings of it.
Conventions: n attempts in the order (arrival, submit, sequence); times in epoch s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit import periods
from audit.metrics.attempts.closed_hours import closed_spans
from audit.metrics.attempts.contention import (
    amounts,
    capacity_steps,
    counted_resources,
    reserved_rows,
    time_order,
)
from audit.metrics.attempts.population import only, ordered
from audit.metrics.attempts.reasons import any_of, in_scope
from audit.model import SEQUENCE, Pool, Standing
from audit.rules import Limit, Window

Ints = NDArray[np.int64]

BOOKED: Final = (
    *("held", "unavailable", "rule", "rule_free", "own_queued", "own_running"),
    *("claimed", "earlier", "later", "cycle", "unexplained", "kept"),
)
"""What the kernel books, in its order. ``rule_free`` is part of ``rule``, and ``kept`` of ``cycle``
and ``unexplained``."""

TRACED: Final = 2
"""The kernel's flag of an attempt of which every stretch is kept."""
NEVER: Final = int(np.iinfo(np.int64).max)


class Holds(NamedTuple):
    """Times in which single attempts may not start; of an attempt they follow each other."""

    row: Ints  # place in the order of attempts, ascending
    begin: Ints
    end: Ints


NO_HOLDS: Final = Holds(*(np.zeros(0, np.int64) for _ in range(3)))


@dataclass(frozen=True)
class Queued:
    """The attempts of a pool in their order, and when each queued and ran."""

    rows: pl.DataFrame
    """With ``waits``, whether its wait is booked; ``leave``, when it leaves the queue; and ``end``,
    that of running ones assumed."""
    reserved: pl.DataFrame
    """The same of those that ran in reservations."""

    def column(self, name: str) -> Ints:
        """Return an integer column, unknown ones as 0."""
        return _ints(self.rows[name].fill_null(0))


def queued(numbered: pl.DataFrame, now: int, waits: pl.Expr | bool) -> Queued:
    """Return the attempts that wait or run in a pool.

    Args:
        numbered: columns of ``model.DESCRIBED`` and ``row``, of one pool, in any order.
        now: until when open attempts wait.
        waits: which of those whose arrival and end of waiting are known wait for the pool.
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
            arrival_time=pl.coalesce("arrival_time", "start_time"),
            end=ends.otherwise("end_time"),
        )
        .pipe(ordered, "arrival_time", "submit_time", *SEQUENCE)
    )
    inside = reserved_rows(held)
    return Queued(only(held, ~inside), held.filter(inside))


class InForce(NamedTuple):
    """A pool's limits and windows for n attempts, as the kernel takes them."""

    counter: Ints  # [L, n]
    amount: Ints
    binding: Ints
    most: Ints  # [L]
    valid_from: Ints
    valid_to: Ints
    reach: Ints  # [W, n]
    first_span: Ints  # [W + 1]
    span_from: Ints
    span_to: Ints
    counters: int


def in_force(
    queue: Queued, limits: Sequence[Limit], windows: Sequence[Window], zone: str
) -> InForce:
    """Return limits and windows in the form that the kernel takes."""
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
            whose = numbered(held[limit.per]) - 1
        counted = inside & (whose >= 0)
        counter[k, counted] = counters + whose[counted]
        amount[k], binding[k] = adds, ~any_of(held["qos"], limit.exempt_qos)
        counters += int(whose.max(initial=-1)) + 1
    reach = np.zeros((len(windows), n), np.int64)
    walltime = _ints(held["walltime_s"].fill_null(held["occupancy_s"]).fill_null(0))
    since = int(queue.column("arrival_time").min()) if n else 0
    until = max(int(queue.column("leave").max(initial=since)), since) + 1
    spans = []
    for k, window in enumerate(windows):
        reach[k] = np.where(
            in_scope(held, window), np.maximum(walltime, 1) if window.overlap else 1, 0
        )
        last = until + (int(walltime.max(initial=0)) if window.overlap else 0)
        begin, end = _validity(window, clock)
        begin, end = max(begin, since), min(end, last)
        spans.append(
            closed_spans(window.hours, clock, begin, end) if begin < end else (_none(), _none())
        )
    validity = [_validity(limit, clock) for limit in limits]
    return InForce(
        *(counter, amount, binding, np.array([limit.most for limit in limits], np.int64)),
        np.array([begin for begin, _ in validity], np.int64),
        np.array([end for _, end in validity], np.int64),
        reach,
        np.cumsum([0, *(len(begins) for begins, _ in spans)]),
        np.concatenate([_none(), *(begins for begins, _ in spans)]),
        np.concatenate([_none(), *(ends for _, ends in spans)]),
        counters,
    )


def _validity(rule: Limit | Window, clock: ZoneInfo) -> tuple[int, int]:
    """Return the span in which a rule is in force, epoch s."""
    begin, end = (_midnight(day, clock) for day in (rule.valid_from, rule.valid_to))
    return -NEVER if begin is None else begin, NEVER if end is None else end


def _midnight(day: date | None, clock: ZoneInfo) -> int | None:
    if day is None:
        return None
    return int(datetime(day.year, day.month, day.day, tzinfo=clock).timestamp())


class Booked(NamedTuple):
    """The result of a sweep, for n attempts and R rules (limits, then windows)."""

    seconds: NDArray[np.float64]  # [len(BOOKED), n], ≥ 0
    forbidden: Ints  # [R, n]: s in which each rule forbids an attempt
    stretches: pl.DataFrame
    """place (of the attempt), cause (place in ``BOOKED``), begin, end: stretches held or under a
    rule, ascending by attempt and time; of a traced attempt all."""

    def of(self, cause: str) -> NDArray[np.float64]:
        """Return the seconds of one of ``BOOKED``, [n]."""
        seconds: NDArray[np.float64] = self.seconds[BOOKED.index(cause)]
        return seconds


def book(
    queue: Queued,
    pool: Pool,
    rules: InForce,
    *,
    holds: Holds = NO_HOLDS,
    noted: NDArray[np.bool_] | None = None,
    cycle_s: int = 0,
    outage_s: int | None = None,
    ready: Ints | None = None,
    traced: int | None = None,
) -> tuple[Booked, Ints]:
    """Book each second of the waits of a pool's attempts.

    Args:
        queue: the attempts, [n].
        pool: its amounts, and what changed in them.
        rules: its rules.
        holds: times in which single attempts may not start.
        noted: which attempts something else was recorded to hold when they left the queue, [n].
        cycle_s: for how long before its start an attempt may wait for the next pass, s.
        outage_s: the least length of an outage, s; None: outages are not looked for.
        ready: when a policy would have started each, [n]; ``NEVER``: not.
        traced: an attempt of which every stretch of its wait is kept.

    Returns:
        What was booked; and the outages, [3, k]: begin, end, s in which a job waited that fits.
    """
    from audit.kernels import account as kernels

    log, most, cuts, blocks = _log(queue, pool, rules, holds, noted, cycle_s, ready, traced)
    steps = capacity_steps(pool, queue.reserved)
    outages = np.zeros((3, 0), np.int64)
    taken = kernels.Rules(**rules._asdict())
    if outage_s is not None:
        times = kernels.Times(
            steps.time, steps.change, cuts, holds.begin, holds.end, _none(), _none()
        )
        idle = kernels.find_idle(log, times, taken, amounts(pool), most)
        long = (idle[1] - idle[0] >= outage_s) & (idle[2] >= outage_s)
        outages = np.ascontiguousarray(idle[:, long])
    times = kernels.Times(
        steps.time, steps.change, cuts, holds.begin, holds.end, outages[0], outages[1]
    )
    n, count = queue.rows.height, len(rules.most) + len(rules.first_span) - 1
    seconds, forbidden = np.zeros((len(BOOKED), n)), np.zeros((count, n), np.int64)
    spans = kernels.Spans()
    made = kernels.Bookings(seconds, forbidden, spans)
    kernels.book_waits(log, times, taken, amounts(pool), most, made)
    return Booked(seconds, forbidden, _stretches(spans.taken(), blocks)), outages


STRETCHES: Final = 20_000_000
"""The most stretches of single attempts that are kept apart."""


def _stretches(spans: Ints, blocks: pl.DataFrame) -> pl.DataFrame:
    """Return the stretches of each attempt; blocks with too many have one for each cause."""
    held = pl.DataFrame(spans, ("first", "cause", "begin", "end"), orient="row")
    members = blocks.group_by("first").agg(members=pl.len())
    sizes = held.group_by("first").agg(number=pl.len()).join(members, on="first")
    if int((sizes["number"] * sizes["members"]).sum()) > STRETCHES:
        held = held.group_by("first", "cause").agg(pl.col("begin").min(), pl.col("end").max())
    return (
        held.join(blocks, on="first")
        .with_columns(end=pl.min_horizontal("end", "leave"))
        .filter(pl.col("begin") < pl.col("end"))
        .sort("place", "begin", "cause")
        .select("place", "cause", "begin", "end")
    )


def _log(
    queue: Queued,
    pool: Pool,
    rules: InForce,
    holds: Holds,
    noted: NDArray[np.bool_] | None,
    cycle_s: int,
    ready: Ints | None,
    traced: int | None,
) -> tuple[Any, int, Ints, pl.DataFrame]:
    """Return the log that the kernel takes, the most blocks that wait at one time, the cuts, and
    the members of each block.
    """
    from audit.kernels import account as kernels

    held, n = queue.rows, queue.rows.height
    arrival, leave = _ints(held["arrival_time"]), queue.column("leave")
    start, end = queue.column("start_time"), queue.column("end")
    waiting = np.flatnonzero(held["waits"].to_numpy() & (leave > arrival))
    at_work = np.flatnonzero(held["start_time"].is_not_null().to_numpy() & (end > start))
    request = np.stack([queue.column(name) for name in counted_resources(pool)])
    user = numbered(held["user"])
    first_hold = np.searchsorted(holds.row, np.arange(n))
    last_hold = np.searchsorted(holds.row, np.arange(n), side="right")
    flags = np.zeros(n, np.int64) if noted is None else noted.astype(np.int64)
    block = _blocks([arrival, user, flags, *request, *rules.counter, *rules.amount, *rules.reach])
    if traced is not None:
        flags[traced] |= TRACED
    single = (user == 0) | (last_hold > first_hold) | (flags & TRACED > 0)
    block[single] = np.arange(n)[single]
    by_leave = _by(leave, waiting)
    changes = np.concatenate(([True], np.diff(block[waiting]) != 0))[: len(waiting)]
    firsts = waiting[changes]
    lasts = _last_of_blocks(block, waiting, leave)
    gone = np.searchsorted(np.sort(lasts), arrival[firsts], side="right")
    most = int((np.arange(1, len(firsts) + 1) - gone).max(initial=0))
    log = kernels.Log(
        arrival=arrival,
        leave=leave,
        start=start,
        end=end,
        user=user,
        request=request,
        block=block,
        ready=np.full(n, NEVER) if ready is None else ready,
        cycle=np.where(held["start_time"].is_not_null().to_numpy(), start - cycle_s, NEVER),
        flags=flags,
        first_hold=first_hold,
        last_hold=last_hold,
        by_arrival=waiting,
        by_leave=by_leave,
        by_start=_by(start, at_work),
        by_end=_by(end, at_work),
    )
    blocks = pl.DataFrame(
        {
            "first": firsts[np.cumsum(changes) - 1] if len(firsts) else _none(),
            "place": waiting,
            "leave": leave[waiting],
        }
    )
    return log, most, _cuts(rules, holds, arrival[waiting], leave[waiting], waiting), blocks


def _blocks(columns: list[Ints]) -> Ints:
    """Return a number for each attempt that changes where any column does."""
    changed = np.zeros(len(columns[0]), np.bool_)
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    # numbers of single attempts are their places: those of blocks come after them
    return (np.cumsum(changed) + len(changed)).astype(np.int64)


def _last_of_blocks(block: Ints, waiting: Ints, leave: Ints) -> Ints:
    """Return when the last member of each block leaves the queue."""
    if not len(waiting):
        return _none()
    firsts = np.flatnonzero(np.concatenate(([True], np.diff(block[waiting]) != 0)))
    return np.maximum.reduceat(leave[waiting], firsts)


def _cuts(rules: InForce, holds: Holds, arrival: Ints, leave: Ints, waiting: Ints) -> Ints:
    """Return the instants at which what is held or forbidden may change."""
    found = [rules.valid_from, rules.valid_to, holds.begin, holds.end, rules.span_to]
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
    cuts = np.unique(np.concatenate([_none(), *found]))
    inside: Ints = cuts[(cuts >= arrival.min(initial=NEVER)) & (cuts < leave.max(initial=0))]
    return inside


def _by(times: Ints, chosen: Ints) -> Ints:
    order: Ints = chosen[time_order(times[chosen])]
    return order


def numbered(names: pl.Series) -> Ints:
    """Return names as numbers from 1 on; 0: unknown."""
    known = names.unique().drop_nulls().sort()
    return _ints(names.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(-1)) + 1


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.to_numpy(), np.int64)


def _none() -> Ints:
    return np.zeros(0, np.int64)
