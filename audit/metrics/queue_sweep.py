"""The sweep through a pool's queue that books each second of each wait (``kernels.waits.account``).

``metrics.attempts.account`` reads the account and the anatomy of waits from it. Conventions: n
attempts in the order (arrival, submit, sequence); times in epoch s.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit import periods
from audit.metrics.attempts.contention import (
    CapacitySteps,
    amounts,
    capacity_steps,
    counted_resources,
    requests,
    reserved_rows,
    time_order,
)
from audit.metrics.attempts.population import only, ordered
from audit.metrics.attempts.reasons import any_of, in_scope
from audit.metrics.closed_hours import closed_spans
from audit.metrics.nodes import Placed, placed, sums_of
from audit.model import SEQUENCE, Pool, Standing
from audit.rules import Limit, Window

if TYPE_CHECKING:
    from audit.kernels.waits.account import Log

Ints = NDArray[np.int64]

BOOKED: Final = (
    *("held", "unavailable", "rule", "rule_free", "own_queued", "own_running"),
    *("claimed", "earlier", "later", "cycle", "unexplained", "kept", "nodes"),
)
"""The kernel's causes, in its order. ``rule_free`` is part of ``rule``, and ``kept`` of ``cycle``
and ``unexplained``."""

TRACED: Final = 2  # flag of the attempt of which the kernel keeps every stretch
NEVER: Final = int(np.iinfo(np.int64).max)


class Holds(NamedTuple):
    """Times in which single attempts may not start; those of one attempt ascend, disjoint."""

    row: Ints  # place in the order of attempts, ascending
    begin: Ints
    end: Ints


_NONE: Final[Ints] = np.zeros(0, np.int64)
NO_HOLDS: Final = Holds(_NONE, _NONE, _NONE)
NO_STEPS: Final = CapacitySteps(_NONE, np.zeros((0, 0), np.int64), np.zeros(0, np.bool_))


@dataclass(frozen=True)
class Queued:
    """The attempts of a pool in their order."""

    rows: pl.DataFrame
    """With ``waits``, whether the wait is booked; ``leave``, when it leaves the queue; and ``end``,
    assumed for running attempts."""
    reserved: pl.DataFrame  # the same for attempts in reservations

    def column(self, name: str) -> Ints:
        """Return an integer column, with 0 for null."""
        return _ints(self.rows[name].fill_null(0))


def queued(numbered: pl.DataFrame, now: int, waits: pl.Expr | bool) -> Queued:
    """Return the attempts that wait or run in a pool.

    Args:
        numbered: columns of ``model.DESCRIBED`` and ``row``, of one pool, in any order.
        now: time until which open attempts wait.
        waits: condition for waiting, of attempts with a known arrival and end of the wait.
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
    """Return limits and windows as the kernel takes them."""
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
            closed_spans(window.hours, clock, begin, end) if begin < end else (_NONE, _NONE)
        )
    validity = [_validity(limit, clock) for limit in limits]
    return InForce(
        *(counter, amount, binding, np.array([limit.most for limit in limits], np.int64)),
        np.array([begin for begin, _ in validity], np.int64),
        np.array([end for _, end in validity], np.int64),
        reach,
        np.cumsum([0, *(len(begins) for begins, _ in spans)]),
        np.concatenate([_NONE, *(begins for begins, _ in spans)]),
        np.concatenate([_NONE, *(ends for _, ends in spans)]),
        counters,
    )


def _validity(rule: Limit | Window, clock: ZoneInfo) -> tuple[int, int]:
    begin = periods.day_start(rule.valid_from, clock) if rule.valid_from else -NEVER
    return begin, periods.day_start(rule.valid_to, clock) if rule.valid_to else NEVER


class Booked(NamedTuple):
    """Result of a sweep, for n attempts and R rules (limits, then windows)."""

    seconds: NDArray[np.float64]  # [len(BOOKED), n], ≥ 0
    forbidden: Ints  # [R, n]: s in which each rule forbids an attempt
    stretches: pl.DataFrame
    """place (of the attempt), cause (place in ``BOOKED``), begin, end: stretches held or under a
    rule, ascending by attempt and time. A traced attempt has all its stretches, with the cause
    len(BOOKED) + k for rule k."""

    lacking: Ints
    """[R + 2, n]: s in which an attempt would fit on nodes but for each resource; the last two: but
    for required features; for several resources. Zeros where no nodes are known."""
    guessed: float | None
    """As ``nodes.Placed.guessed``."""

    def of(self, cause: str) -> NDArray[np.float64]:
        """Return the seconds of one of ``BOOKED``, [n]."""
        seconds: NDArray[np.float64] = self.seconds[BOOKED.index(cause)]
        return seconds

    def with_those(self, other: Booked, chosen: NDArray[np.bool_]) -> Booked:
        """Return the bookings with those of another sweep for the ``chosen`` attempts."""
        theirs = pl.Series(np.flatnonzero(chosen))
        stretches = pl.concat(
            [
                self.stretches.filter(~pl.col("place").is_in(theirs.implode())),
                other.stretches.filter(pl.col("place").is_in(theirs.implode())),
            ]
        )
        return self._replace(
            seconds=np.where(chosen, other.seconds, self.seconds),
            forbidden=np.where(chosen, other.forbidden, self.forbidden),
            lacking=np.where(chosen, other.lacking, self.lacking),
            stretches=stretches.sort("place", "begin", maintain_order=True),
        )


class Known(NamedTuple):
    """Facts about single attempts, [n]."""

    holds: Holds = NO_HOLDS
    noted: NDArray[np.bool_] | None = None
    """Whether a hold was recorded when the attempt left the queue."""
    cycle_s: int = 0  # longest wait for the next pass before a start, s
    ready: Ints | None = None  # when a policy would have started each attempt, or ``NEVER``
    traced: int | None = None  # the attempt of which every stretch of the wait is kept


def book(
    queue: Queued,
    pool: Pool,
    rules: InForce,
    known: Known,
    *,
    outage_s: int | None = None,
    by_nodes: bool = False,
) -> tuple[Booked, Ints]:
    """Book each second of the waits of a pool's attempts.

    Args:
        queue: the attempts, [n].
        pool: its amounts and their changes.
        outage_s: least length of an outage, s; None: outages are not considered.
        by_nodes: whether the pool's nodes decide what fits, where they are known.

    Returns:
        The bookings; and the outages, [3, k]: begin, end, s in which a job waited that fits.
    """
    from audit.kernels.waits import account as kernels
    from audit.kernels.waits.account import Nodes, Rules, Times

    found = sums_of(queue.rows)
    if by_nodes and pool.nodes:
        found = placed(queue.rows, queue.reserved, pool)
    blocks = _blocks(queue, pool, rules, known, found)
    log = _log(queue, pool, known, blocks, found)
    edges = cuts(rules, known.holds, queue, blocks.place)
    steps, capacity = capacity_steps(pool, queue.reserved), amounts(pool)
    if found.nodes.capacity.size:
        steps, capacity = NO_STEPS, found.by_set()
    nodes = Nodes(**found.nodes._asdict())
    taken = Rules(**rules._asdict())
    outages = np.zeros((3, 0), np.int64)

    def times() -> Times:
        return Times(
            step=steps.time,
            change=steps.change,
            cut=edges,
            hold_from=known.holds.begin,
            hold_to=known.holds.end,
            outage_from=outages[0],
            outage_to=outages[1],
        )

    if outage_s is not None:
        idle = kernels.find_idle(log, nodes, times(), taken, capacity, blocks.most)
        long = (idle[1] - idle[0] >= outage_s) & (idle[2] >= outage_s)
        outages = np.ascontiguousarray(idle[:, long])
    n, count = queue.rows.height, len(rules.most) + len(rules.first_span) - 1
    seconds, forbidden = np.zeros((len(BOOKED), n)), np.zeros((count, n), np.int64)
    spans = kernels.Table(5)
    lacking = np.zeros((len(counted_resources(pool)) + 2, n), np.int64)
    made = kernels.Bookings(seconds, forbidden, lacking, spans)
    kernels.book_waits(log, nodes, times(), taken, capacity, blocks.most, made)
    stretches = _stretches(spans.taken(), blocks)
    return Booked(seconds, forbidden, stretches, lacking, found.guessed), outages


STRETCHES: Final = 20_000_000  # greatest number of stretches of single attempts that are kept apart


def _stretches(spans: Ints, blocks: _Blocks) -> pl.DataFrame:
    """Return the stretches of each attempt; if there are too many, one for each block and cause."""
    members = pl.DataFrame({"first": blocks.first, "place": blocks.place, "leave": blocks.leave})
    held = pl.DataFrame(spans, ("first", "cause", "begin", "end", "since"), orient="row")
    sizes = held.group_by("first").agg(number=pl.len())
    sizes = sizes.join(members.group_by("first").agg(members=pl.len()), on="first")
    if int((sizes["number"] * sizes["members"]).sum()) > STRETCHES:
        held = held.group_by("first", "cause").agg(
            pl.col("begin", "since").min(), pl.col("end").max()
        )
    return (
        held.join(members, on="first")
        .with_columns(end=pl.min_horizontal("end", "leave"))
        .filter(pl.col("begin") < pl.col("end"), pl.col("place") >= pl.col("since"))
        .sort("place", "begin", "cause")
        .select("place", "cause", "begin", "end")
    )


class _Blocks(NamedTuple):
    """Equal attempts of one user that follow each other in the queue; w of them wait."""

    number: Ints  # [n], that of the block
    place: Ints  # [w], of those that wait, ascending
    first: Ints  # [w], the first of its block that waits
    leave: Ints  # [w]
    most: int  # the most blocks that wait at one time


def _blocks(queue: Queued, pool: Pool, rules: InForce, known: Known, found: Placed) -> _Blocks:
    """Return the blocks in which attempts wait; a traced or held attempt forms its own."""
    held, n = queue.rows, queue.rows.height
    arrival, leave = queue.column("arrival_time"), queue.column("leave")
    user = numbered(held["user"])
    waiting = np.flatnonzero(held["waits"].to_numpy() & (leave > arrival))
    changed = np.zeros(n, np.bool_)
    equal = [arrival, user, _flags(n, known), *requests(queue.rows, pool), found.set_of]
    equal += [found.nodes.parts, found.nodes.wide] if found.nodes.capacity.size else []
    for column in (*equal, *rules.counter, *rules.amount, *rules.reach):
        changed[1:] |= column[1:] != column[:-1]
    # numbers of single attempts are their places: those of blocks come after them
    number = (np.cumsum(changed) + n).astype(np.int64)
    single = user == 0
    single[known.holds.row] = True
    if known.traced is not None:
        single[known.traced] = True
    number[single] = np.flatnonzero(single)
    begins = np.flatnonzero(np.diff(number[waiting], prepend=-1))
    firsts = waiting[begins]
    most = 0
    if len(firsts):
        gone = np.sort(np.maximum.reduceat(leave[waiting], begins))
        left = np.searchsorted(gone, arrival[firsts], side="right")
        most = int((np.arange(1, len(firsts) + 1) - left).max())
    first = np.repeat(firsts, np.diff(begins, append=len(waiting)))
    return _Blocks(number, waiting, first, leave[waiting], most)


def _log(queue: Queued, pool: Pool, known: Known, blocks: _Blocks, found: Placed) -> Log:
    """Return the log as the kernel takes it."""
    from audit.kernels.waits.account import Log

    held, n = queue.rows, queue.rows.height
    leave = queue.column("leave")
    start, end = queue.column("start_time"), queue.column("end")
    started = held["start_time"].is_not_null().to_numpy()
    ran = np.flatnonzero(started & (end > start))

    def by(times: Ints, chosen: Ints) -> Ints:
        return chosen[time_order(times[chosen])]

    return Log(
        arrival=queue.column("arrival_time"),
        leave=leave,
        start=start,
        end=end,
        user=numbered(held["user"]),
        request=requests(queue.rows, pool),
        use=np.stack([queue.column(name) for name in counted_resources(pool)]),
        set=found.set_of,
        block=blocks.number,
        ready=np.full(n, NEVER) if known.ready is None else known.ready,
        cycle=np.where(started, start - known.cycle_s, NEVER),
        flags=_flags(n, known),
        first_hold=np.searchsorted(known.holds.row, np.arange(n)),
        last_hold=np.searchsorted(known.holds.row, np.arange(n), side="right"),
        by_arrival=blocks.place,
        by_leave=by(leave, blocks.place),
        by_start=by(start, ran),
        by_end=by(end, ran),
    )


def _flags(n: int, known: Known) -> Ints:
    flags = np.zeros(n, np.int64) if known.noted is None else known.noted.astype(np.int64)
    if known.traced is not None:
        flags[known.traced] |= TRACED
    return flags


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


def numbered(names: pl.Series) -> Ints:
    """Return names as numbers from 1 on; 0 for null."""
    known = names.unique().drop_nulls().sort()
    return _ints(names.cast(pl.Enum(known)).to_physical().cast(pl.Int64).fill_null(-1)) + 1


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.to_numpy(), np.int64)
