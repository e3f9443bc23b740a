"""Each second of each wait, booked by a walk through the queue at each instant (SPEC §11).

``metrics.attempts.account`` names what is booked here. Conventions: n attempts in the queue's
order, which is (arrival, submit, sequence) or that of known priorities; times in epoch s.
"""

from functools import partial
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Bools, Ints, ShortInts
from audit.kernels.growing import GrowingTable
from audit.kernels.waits import walk as kernels
from audit.kernels.waits.walk import LogCourse, Ruled, WaitLog, WalkNodes
from audit.metrics.attempts import contention
from audit.metrics.nodes import Guesses, Placed, placed, sums_of
from audit.metrics.waits.queue import (
    NEVER,
    NO_HOLDS,
    NO_STEPS,
    TRACED,
    Holds,
    InForce,
    Queued,
    coded,
    cuts,
    ranges,
)
from audit.model import Pool

BOOKED: Final = (
    *("held", "unavailable", "rule", "rule_free", "own_queued", "own_running", "kept_own"),
    *("claimed", "kept", "earlier", "later", "cycle", "unexplained", "nodes", "outside"),
)
"""The kernel's causes, in its order, then ``outside``. ``rule_free`` is part of ``rule``."""

LAPSED: Final = len(BOOKED) - 1
"""Cause of a stretch of a traced attempt: unexplained, after it lapsed."""
FIRST_RULE: Final = LAPSED + 1
"""The same plus k: rule k forbids it."""

LAPSE_S: Final = 900
"""Least age at which an attempt lapses."""
STRETCHES: Final = 20_000_000
"""Greatest number of stretches of single attempts that are kept apart."""


class Plan(NamedTuple):
    """Reasons that keep a job from starting although enough is free."""

    reservations: int  # the most of them in a walk
    strict: bool = False  # nobody starts behind a job that cannot


class Starts(NamedTuple):
    """How the starts since the log began agree with the plan."""

    starts: int
    waited: int  # of these after a wait
    behind: int  # a job with a reservation was ahead
    waited_behind: int
    broken: int  # the plan had no room
    stretches: int  # of instants at which a job was kept
    lapses: int


class LogFacts(NamedTuple):
    """Facts about the log and single attempts, [n]."""

    begin: int  # where the log begins
    interval_s: int
    holds: Holds = NO_HOLDS
    noted: NDArray[np.bool_] | None = None
    """Whether a hold was recorded when the attempt left the queue."""
    traced: int | None = None  # the attempt of which every stretch of the wait is kept
    lapse_s: int | None = None  # None: as SPEC says

    @property
    def lapses_at(self) -> int:
        """The age at which an attempt lapses, s."""
        return max(LAPSE_S, 2 * self.interval_s) if self.lapse_s is None else self.lapse_s


class WaitSweep(NamedTuple):
    """Result of a sweep, for n attempts and R rules (limits, then windows)."""

    seconds: NDArray[np.float64]  # [len(BOOKED), n], ≥ 0
    forbidden: Ints  # [R, n]: s in which each rule forbids an attempt
    stretches: pl.DataFrame
    """place (of the attempt), cause (place in ``BOOKED``), begin, end: stretches held or under a
    rule, ascending by attempt and time. A traced attempt has all its stretches, with the causes
    ``LAPSED`` and ``FIRST_RULE`` + k for rule k."""
    lacking: Ints
    """[R + 2, n]: s in which an attempt would fit on nodes but for each resource; the last two: but
    for required features; for several resources. Zeros where no nodes are known."""
    lapsed: NDArray[np.bool_]  # [n]
    idle: NDArray[np.float64]
    """[n], resource-seconds: its part of what was free while it was unexplained."""
    starts: Starts

    def of(self, cause: str) -> NDArray[np.float64]:
        """Return the seconds of one of ``BOOKED``, [n]."""
        seconds: NDArray[np.float64] = self.seconds[BOOKED.index(cause)]
        return seconds

    def with_those(self, other: "WaitSweep", chosen: NDArray[np.bool_]) -> "WaitSweep":
        """Return the bookings with those of another sweep for the ``chosen`` attempts."""
        theirs = pl.col("place").is_in(pl.Series(np.flatnonzero(chosen)).implode())
        stretches = pl.concat([self.stretches.filter(~theirs), other.stretches.filter(theirs)])
        return self._replace(
            seconds=np.where(chosen, other.seconds, self.seconds),
            forbidden=np.where(chosen, other.forbidden, self.forbidden),
            lacking=np.where(chosen, other.lacking, self.lacking),
            lapsed=np.where(chosen, other.lapsed, self.lapsed),
            idle=np.where(chosen, other.idle, self.idle),
            stretches=stretches.sort("place", "begin", maintain_order=True),
        )


class PoolLog(NamedTuple):
    """A pool's log as the kernel takes it."""

    log: WaitLog
    course: LogCourse
    rules: Ruled
    nodes: WalkNodes
    capacity: Ints
    most: int  # the most attempts that wait, or start, at one time
    outside: NDArray[np.float64]  # [n], s of the wait before the log begins
    lapse_s: int
    outages: Ints  # [4, k]: begin, end, s in which a job waited that fits; part of the machine
    home: Ints  # [n]: the sum of 2 ** part over those that each attempt may use
    log_resources: int
    rule_count: int
    waiting: pl.DataFrame  # place, leave
    guessed: Guesses | None


def scene(queue: Queued, pool: Pool, rules: InForce, known: LogFacts, *, outage_s: int) -> PoolLog:
    """Return a pool's log as the kernel takes it, with its outages of at least ``outage_s`` s."""
    arrival = np.maximum(queue.column("arrival_time"), known.begin)
    leave = queue.column("leave")
    waits = queue.rows["waits"].to_numpy()
    waiting = np.flatnonzero(waits & (leave > arrival))
    found = placed(queue.rows, queue.reserved, pool) if pool.nodes else sums_of(queue.rows)
    log = _log(queue, pool, rules, known, found, arrival, waiting)
    steps, capacity = contention.capacity_steps(pool, queue.reserved), contention.amounts(pool)
    if pool.nodes:
        steps, capacity = NO_STEPS, found.by_set()
    on_nodes = {k: v for k, v in found.nodes._asdict().items() if k != "shape"}
    nodes = kernels.WalkNodes(set_of=found.set_of, **on_nodes)
    home = found.nodes.home
    parts = int(home.max(initial=1)).bit_length()
    holds = known.holds
    lasts = np.flatnonzero((holds.begin < holds.end) & np.isin(holds.row, waiting))
    course = partial(
        kernels.LogCourse,
        begin=known.begin,
        step=steps.time,
        change=steps.change,
        cut=cuts(rules, holds, queue, waiting, [known.begin]),
        held=holds.row,
        hold_from=holds.begin,
        hold_to=holds.end,
        hold_as=holds.recorded_as,
        by_hold=lasts[contention.time_order(holds.begin[lasts])],
        by_release=lasts[contention.time_order(holds.end[lasts])],
    )
    ruled = kernels.Ruled(**rules._asdict())
    most = _most(arrival[waiting], leave[waiting], queue.column("start_time")[log_starters(queue)])
    none, every_part = np.zeros(0, np.int64), np.arange(parts + 1)
    no_outages = course(first_outage=0 * every_part, outage_from=none, outage_to=none)
    idle = kernels.find_idle(log, no_outages, ruled, nodes, capacity, most, parts)
    part, begin, end, waited = idle.T
    long = np.flatnonzero((end - begin >= outage_s) & (waited >= outage_s))
    long = long[np.lexsort((begin[long], part[long]))]
    outages = np.stack([begin[long], end[long], waited[long], part[long]])
    before = np.minimum(leave, known.begin) - queue.column("arrival_time")
    return PoolLog(
        log=log,
        course=course(
            first_outage=np.searchsorted(outages[3], every_part),
            outage_from=outages[0],
            outage_to=outages[1],
        ),
        rules=ruled,
        nodes=nodes,
        capacity=capacity,
        most=most,
        outside=np.where(waits, np.maximum(before, 0), 0).astype(np.float64),
        lapse_s=known.lapses_at,
        outages=outages,
        home=home[found.set_of] if pool.nodes else np.ones(len(arrival), np.int64),
        log_resources=len(contention.counted_resources(pool)),
        rule_count=rules.bounded + rules.recorded,
        waiting=pl.DataFrame({"place": waiting, "leave": leave[waiting]}),
        guessed=found.guessed,
    )


def log_starters(queue: Queued) -> NDArray[np.bool_]:
    """Return which attempts started with a known size."""
    size = queue.rows["size"].fill_null(0).to_numpy() > 0
    started: NDArray[np.bool_] = queue.rows["start_time"].is_not_null().to_numpy() & size
    return started


def _most(arrival: Ints, leave: Ints, start: Ints) -> int:
    """Return the most attempts that wait at one time, or that start at once."""
    left = np.searchsorted(np.sort(leave), arrival, side="right")
    waiting = int((np.arange(1, len(arrival) + 1) - left).max(initial=0))
    return max(waiting, int(np.unique(start, return_counts=True)[1].max(initial=0)))


def _log(
    queue: Queued,
    pool: Pool,
    rules: InForce,
    known: LogFacts,
    found: Placed,
    arrival: Ints,
    waiting: Ints,
) -> WaitLog:
    held, n = queue.rows, queue.rows.height
    leave, start, end = (queue.column(name) for name in ("leave", "start_time", "end"))
    started = held["start_time"].is_not_null().to_numpy()
    ran = np.flatnonzero(started & (end > start))
    estimate = np.maximum(queue.column("walltime_s"), np.where(started, end - start, 1).clip(1))
    cycle = np.where(started, start - known.interval_s, NEVER)
    request, flags = contention.requests(held, pool), _flags(n, known)
    user = coded(held["user"]).astype(np.int32)
    shape = [found.set_of, *((found.nodes.shape, found.nodes.wide) if pool.nodes else ())]
    alike = _alike(n, waiting, [*request, *shape])
    expected, places = _expected_ends(n, ran, start + estimate)
    came = queue.column("came").astype(np.int32)
    single = (user == 0) | (flags > 0)
    single[known.holds.row] = True
    ruled = (*rules.counter, *rules.amount, *rules.reach)
    equal = (came - np.arange(n, dtype=np.int32), arrival, user, estimate, *request, *ruled, *shape)
    planned, late = start + rules.length, ran[:0]
    if rules.remaining.any():
        late, equal = ran[planned[ran] < end[ran]], (*equal, rules.length)
    noticed = waiting[(arrival[waiting] < cycle[waiting]) & (cycle[waiting] <= leave[waiting])]

    def by(times: Ints, chosen: Ints) -> ShortInts:
        return chosen[contention.time_order(times[chosen])].astype(np.int32)

    return WaitLog(
        came=came,
        arrival=arrival,
        leave=leave,
        start=start,
        end=end,
        estimate=estimate,
        user=user,
        request=request,
        use=np.stack([queue.column(name) for name in contention.counted_resources(pool)]),
        alike=alike,
        block=_blocks(equal, single),
        cycle=cycle,
        flags=flags,
        first_hold=(behind := _behind(known.holds.row, n))[:-1],
        last_hold=behind[1:],
        by_arrival=by(arrival, waiting),
        by_leave=by(leave, waiting),
        by_cycle=by(cycle, noticed),
        by_start=by(start, ran),
        by_end=by(end, ran),
        by_planned=by(planned, late),
        starters=by(start, np.flatnonzero(log_starters(queue) & (start >= known.begin))),
        due=places,
        expected=expected,
    )


def _behind(row: Ints, n: int) -> ShortInts:
    """Return how many of these rows, ascending, are below each number up to n, [n + 1]."""
    return np.append(0, np.cumsum(np.bincount(row, minlength=n))).astype(np.int32)


def _expected_ends(n: int, ran: Ints, ends: Ints) -> tuple[Ints, ShortInts]:
    """Return the distinct expected ends of what ran, and each row's place among them, else −1."""
    expected, due = np.unique(ends[ran], return_inverse=True)
    places = np.full(n, -1, np.int32)
    places[ran] = due
    return expected, places


def _alike(n: int, waiting: Ints, columns: list[Ints]) -> ShortInts:
    """Return numbers that those who wait share if all of these are equal; −1 for others."""
    alike = np.full(n, -1, np.int32)
    if len(waiting):
        rows = pl.DataFrame(np.stack([column[waiting] for column in columns], axis=1))
        alike[waiting] = rows.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy() - 1
    return alike


def _blocks(equal: tuple[Ints | ShortInts, ...], single: Bools) -> ShortInts:
    """Return numbers that neighbours share if all of these are equal, unless ``single``."""
    changed = single.copy()
    for column in equal:
        changed[1:] |= column[1:] != column[:-1]
    changed[1:] |= single[:-1]
    return changed.cumsum(dtype=np.int32)


def _flags(n: int, known: LogFacts) -> NDArray[np.uint8]:
    flags = np.zeros(n, np.uint8) if known.noted is None else known.noted.astype(np.uint8)
    if known.traced is not None:
        flags[known.traced] |= TRACED
    return flags


def book(of: PoolLog, plan: Plan) -> WaitSweep:
    """Book each second of the waits under a plan."""
    n = len(of.outside)
    seconds, idle, lapsed = np.zeros((len(BOOKED), n)), np.zeros(n), np.zeros(n, np.uint8)
    forbidden = np.zeros((of.rule_count, n), np.int64)
    lacking = np.zeros((of.log_resources + 2, n), np.int64)
    counts, spans = np.zeros(len(Starts._fields), np.int64), GrowingTable(5)
    made = kernels.Bookings(seconds[:-1], forbidden, lacking, lapsed, idle, spans, None, counts)
    sweep(of, plan, made)
    seconds[BOOKED.index("outside")] = of.outside
    stretches = _stretches(spans.taken(), of.waiting)
    starts = Starts(*counts.tolist())
    return WaitSweep(seconds, forbidden, stretches, lacking, lapsed > 0, idle, starts)


def sweep(of: PoolLog, plan: Plan, made: kernels.Bookings) -> None:
    """Walk through the queue at each instant under a plan."""
    kernels.book_account(
        *(of.log, of.course, of.rules, of.nodes, of.capacity, of.most, of.lapse_s),
        *(min(plan.reservations, len(of.outside)), plan.strict, made),
    )


def _stretches(spans: Ints, waiting: pl.DataFrame) -> pl.DataFrame:
    """Return the stretches of each attempt; if there are too many, one for each block and cause.

    Args:
        spans: first and last attempt, cause, begin, end.
        waiting: place and leave of all that wait, ascending.
    """
    held = pl.DataFrame(spans, ("first", "last", "cause", "begin", "end"), orient="row")
    places = waiting["place"].to_numpy()
    low = np.searchsorted(places, held["first"].to_numpy())
    high = np.searchsorted(places, held["last"].to_numpy(), side="right")
    if int((high - low).sum()) > STRETCHES:
        held = held.group_by("first", "last", "cause", maintain_order=True).agg(
            pl.col("begin").min(), pl.col("end").max()
        )
        low = np.searchsorted(places, held["first"].to_numpy())
        high = np.searchsorted(places, held["last"].to_numpy(), side="right")
    of, at = ranges(low, high - low)
    each = held[of].hstack(waiting[at])
    return (
        each.with_columns(end=pl.min_horizontal("end", "leave"))
        .filter(pl.col("begin") < pl.col("end"))
        .sort("place", "begin", "cause")
        .select("place", "cause", "begin", "end")
    )
