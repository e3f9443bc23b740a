"""Account of waits (SPEC §11).

*Account*: every second of every wait is booked to exactly one cause. At t, with free(t) the part of
capacity(t) that running attempts leave, the queue is walked in its order with left = free(t) at
first: by the site's priorities where they are known (``recorded.site_order``), else (arrival,
submit, sequence). For each attempt, the first condition that holds:

    outside      the log begins after t
    unavailable  it requests more than capacity(t), or t lies in an outage
    held         a begin time, dependency, hold, throttle of its array or licence keeps it waiting
    rule         a limit or window forbids it, given the running attempts and the claims before it
    own, earlier, later
                 it does not fit in free(t): the second is divided by use of the *short resource*
    nodes        it fits in free(t), but on no set of nodes (``nodes``); of this, ``LACKS`` tells
                 without which resource it would fit
    unexplained  it has *lapsed*: for ``waits.walk.LAPSE_S`` in all it could have started
    cycle, unexplained
                 it can start: it fits in left, and the plan has enough for all of its estimate. It
                 claims its request, unless an attempt of its user ahead of it has lapsed. cycle: in
                 the last ``interval_s`` of the wait
    own          it fits in left and the claims of its own user
    claimed      jobs ahead of it have claimed what it needs
    kept, own    it fits in left, but a start would delay a reservation ahead of it; own: the first
                 reservation is its own user's

What cannot start reserves the earliest start at which the plan has enough for its estimate, as far
as the plan goes (``waits.plan``). What has lapsed neither claims nor reserves.

For an attempt, the resources of attempts that give way to it (``Pool.preemption``) are free.

An *outage* lasts at least ``OUTAGE_S``: nothing runs, and for at least as long an attempt waits
that fits and that nothing forbids. Before the log begins the use is unknown.

The short resource is that with the greatest (request − free)/capacity (of several: the counted one,
then the one named first). Its users are attempts of the same user, and others that come before or
after it in the order.

The causes sum to the wait, up to rounding of divided seconds. An unknown request is 0, and 0
always fits.
No attempt is known to belong to an unknown user. A recorded reason that names a hold is evidence of
the instant at which it was written: the last stretch of the wait, if the attempt could have claimed
then. Reservations leave the pool with their resources.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.metrics.attempts.contention import counted_resources
from audit.metrics.attempts.population import compact, numbered
from audit.metrics.attempts.reasons import NO_HOLDS, hold_kind, throttled
from audit.metrics.attempts.recorded import recorded, site_order
from audit.metrics.nodes import Guesses
from audit.metrics.preemption import sides
from audit.metrics.waits import plan as plans
from audit.metrics.waits.held import longest_hold, placed_holds, recorded_rules
from audit.metrics.waits.plan import Chosen, Passes
from audit.metrics.waits.queue import AS_HELD, NEVER, READ, Holds, InForce, Queued, in_force, queued
from audit.metrics.waits.walk import (
    BOOKED,
    FIRST_RULE,
    LAPSED,
    LogFacts,
    Plan,
    PoolLog,
    Starts,
    WaitSweep,
    book,
    scene,
)
from audit.model import INFERRED, Absence, Pool
from audit.registry.causes import CAUSES, FEATURES, LACKS, Cause
from audit.rule_text import rule_text
from audit.rules import Limit, Window
from audit.words import kind_of

OUTAGE_S: Final = 600


class Account(NamedTuple):
    """The account of a pool."""

    attempts: pl.DataFrame
    """The given frame with the columns of ``CAUSES``, ``LACKS``, ``OWN``, ``RULE_FREE``,
    ``PREEMPTIBLE``, ``RELEASED``, ``IDLE``, ``HAS_LAPSED``, rule, held_by."""
    outages: pl.DataFrame
    """from_time, to_time (epoch s), waited_s: s in which an attempt waited that could have run."""
    barred: pl.DataFrame
    """job_id, attempt, begin, end (epoch s): when attempts were held (``held``) or under
    a rule, ascending."""
    traced: pl.DataFrame
    """All stretches of the traced attempt's wait, ascending: begin, end (epoch s), cause (key; of
    divided seconds the greatest part) and ``by``: the rule, the kind of hold, ``outage``, why nodes
    were out of service, or ``LAPSE`` of an unexplained stretch after the attempt lapsed."""
    guessed: Guesses | None
    plan: Plan
    starts: Starts | None  # the evidence for the plan; None: it is configured
    interval_s: int | None
    """The interval of the scheduler's passes, configured or inferred; None: not known."""


KEY: Final = ("job_id", "attempt")
RULE_FREE: Final = "cause_rule_free_s"
"""The part of the seconds under a rule in which the attempt fits in the free capacity."""
PREEMPTIBLE: Final = "preemptible_s"
"""The seconds in which an attempt fits only because what gives way to it counts as free."""
RELEASED: Final = "released_own_s"
"""The unexplained seconds of attempts that start soon after an end of their own user."""
RELEASED_S: Final = 60
IDLE: Final = "idle_usable"
"""Resource-seconds that were free while the attempt was unexplained, divided by size among all that
were."""
HAS_LAPSED: Final = "lapsed"
OWN: Final = ("own_queued_s", "own_running_s", "own_kept_s")
"""The parts of ``cause_own_s``: behind the claims of its own user, behind its running attempts, and
kept for one of its attempts."""
UNSTORED: Final = (*OWN, IDLE, HAS_LAPSED)
"""Columns of the account that the store does not keep."""
_OWN_BOOKED: Final = ("own_queued", "own_running", "kept_own")
LAPSE: Final = "lapse"
_LACKS_ROOM: Final = ("own_running", "earlier", "later", "nodes")
"""Entries of ``BOOKED`` of an attempt that does not fit."""

_BARRED: Final = (BOOKED.index("held"), BOOKED.index("rule"))

INTERVAL_S: Final = 60
"""Assumed interval of the scheduler's passes."""


class Durations(NamedTuple):
    """Durations that decide causes, s."""

    interval_s: int | None = None
    """Of the scheduler's passes; None: that of the pool's policy, else inferred."""
    outage_s: int = OUTAGE_S  # least length of an outage
    lapse_s: int | None = None  # age at which attempts lapse; None: as SPEC says


USUAL: Final = Durations()


def account(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    *,
    log_begin: int | None = None,
    holds: pl.DataFrame = NO_HOLDS,
    durations: Durations = USUAL,
    traced: int | None = None,
    passes: Passes | None = None,
) -> Account:
    """Book each second of each wait to one cause.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool, in any order.
        pool: its amounts and their changes, and the rules in force; a plan needs no evidence where
            its backfilling is stated.
        now: time until which open attempts wait, epoch s.
        log_begin: where the log begins, epoch s; None: with the first end of a started attempt.
        holds: further times in which attempts may not start, columns of ``NO_HOLDS``.
        traced: row of the attempt of which all stretches are returned.
        passes: those of the scheduler; None: these attempts show them.

    Returns:
        The columns of ``CAUSES`` and ``RULE_FREE`` in s, ≥ 0, float64; null where the arrival, the
        size or the end of the wait is unknown, and for attempts in reservations. ``rule`` forbids
        the attempt longest, ``held_by`` holds it longest; columns of ``LACKS`` sum to
        ``cause_nodes_s``, null without nodes, as ``PREEMPTIBLE`` without others that give way.
    """
    of = posed(described, pool, now, log_begin, holds, passes, durations, traced)
    queue, kinds, placed, place = of.queue, of.kinds, of.placed, of.known.traced
    if passes is None or passes.plan is None:
        found = plans.believed(of.scene, pool.policy if pool.states_backfill else None)
    else:
        found = Chosen(passes.plan, book(of.scene, passes.plan), passes.starts)
    booked, preemptible = _over_preemptible(found, of, pool, durations.outage_s)
    outages, outside, guessed = of.scene.outages, of.scene.outside, of.scene.guessed
    theirs = outages if place is None else outages[:, of.scene.home[place] >> outages[3] & 1 > 0]
    names, chosen = of.rule_names, (guessed, found.plan, found.starts, of.interval_s)
    del of, found  # as large as the log
    columns = _columns(booked, queue, pool, names, guessed)
    made = pl.concat(map(compact, map(pl.Series.to_frame, columns)), how="horizontal").with_columns(
        preemptible.alias(PREEMPTIBLE),
        held_by=longest_hold(placed, queue.rows.height).fill_null(kinds),
    )
    made = made.with_columns(held_by=pl.when(pl.col("cause_held_s") > 0).then("held_by"))
    absent = _absent(queue, pool, place)
    return Account(
        _with(described, queue, made),
        _outages(outages, now),
        _barred(booked.stretches, queue, described),
        _before(queue, outside, place).vstack(
            _traced(booked, place, names, placed, kinds, theirs, absent)
        ),
        *chosen,
    )


class Posed(NamedTuple):
    """The log of a pool as the walk takes it."""

    queue: Queued
    kinds: pl.Series  # of recorded holds
    placed: pl.DataFrame  # all other holds, by place in the queue
    known: LogFacts
    rules: InForce
    rule_names: Sequence[str]  # recorded ones last
    scene: PoolLog
    interval_s: int | None


def posed(
    described: pl.DataFrame,
    pool: Pool,
    now: int,
    log_begin: int | None,
    holds: pl.DataFrame,
    passes: Passes | None = None,
    durations: Durations = USUAL,
    traced: int | None = None,
) -> Posed:
    """Return the log of a pool as the walk takes it; see ``account``."""
    rows = described.select(READ).with_row_index("row")
    queue = queued(rows, now, pl.col("size") > 0, priority=site_order(rows))
    interval = durations.interval_s
    if interval is None:
        interval = _interval(queue, pool, passes)
    kinds = hold_kind(queue.rows)
    spans = pl.concat([holds, throttled(described), recorded(described)])
    rules = in_force(
        queue, pool.limits, pool.windows, pool.zone, recorded=len(recorded_rules(spans))
    )
    placed = placed_holds(spans, queue)
    says = pl.col("recorded_as")
    placed = placed.with_columns(says + pl.when(says >= 0).then(rules.bounded).otherwise(0))
    known = LogFacts(
        first_end(described) if log_begin is None else log_begin,
        INTERVAL_S if interval is None else interval,
        Holds(*(placed[name].to_numpy() for name in Holds._fields)),
        kinds.is_not_null().to_numpy(),
        None if traced is None else queue.rows["row"].index_of(traced),
        durations.lapse_s,
    )
    posed = scene(queue, pool, rules, known, outage_s=durations.outage_s)
    names = [*rule_names(pool), *recorded_rules(spans)]
    return Posed(queue, kinds, placed, known, rules, names, posed, interval)


def _columns(
    booked: WaitSweep, queue: Queued, pool: Pool, names: Sequence[str], guessed: Guesses | None
) -> Iterator[pl.Series]:
    """Yield the columns that the bookings tell, of each attempt in the queue's order."""
    for one in CAUSES:
        yield pl.Series(one.column, _seconds(booked, one))
    yield from _lacks(booked, pool, guessed)
    yield from map(pl.Series, OWN, map(booked.of, _OWN_BOOKED))
    yield pl.Series(RULE_FREE, booked.of("rule_free"))
    yield pl.Series(RELEASED, np.where(_released(queue), booked.of("unexplained"), 0.0))
    yield pl.Series(IDLE, booked.idle)
    yield pl.Series(HAS_LAPSED, booked.lapsed)
    yield _longest_rule(booked, names).alias("rule")


def first_end(attempts: pl.DataFrame) -> int:
    """Return the first end of a started attempt, else the first start, else submission."""
    started = attempts.select("start_time", "end_time").drop_nulls("start_time")
    times = (started["end_time"].min(), started["start_time"].min(), attempts["submit_time"].min())
    return next((time for time in times if isinstance(time, int)), 0)


def _interval(queue: Queued, pool: Pool, passes: Passes | None) -> int | None:
    if pool.policy.interval_s is not None:
        return pool.policy.interval_s
    if passes is not None:
        return passes.interval_s
    started = queue.rows.select("waits", "arrival_time", "start_time")
    started = started.filter(pl.col("waits") & pl.col("start_time").is_not_null())
    times = (started[name].to_numpy() for name in ("arrival_time", "start_time"))
    return plans.inferred_interval(*times)


def _released(queue: Queued) -> np.ndarray:
    """Return which attempts start within ``RELEASED_S`` after another of their user ended."""
    rows = queue.rows.select("start_time", "end", user=numbered(queue.rows["user"]))
    ran = rows.select("user", "start_time", at="end").drop_nulls()
    ends = ran.sort("at").select("user", "at", last="at", before=pl.col("at").shift().over("user"))
    starts = rows.select("user", "end", at="start_time", place=pl.int_range(pl.len()))
    found = (
        starts.drop_nulls(["user", "at"])
        .sort("at")
        .join_asof(ends, on="at", by="user", tolerance=RELEASED_S, check_sortedness=False)
    )
    # the last end of an attempt without occupancy is its own, or one of the same second
    another = pl.when(pl.col("end") == pl.col("at")).then("before").otherwise("last")
    made = np.zeros(queue.rows.height, np.bool_)
    made[found.filter(another >= pl.col("at") - RELEASED_S)["place"].to_numpy()] = True
    return made


def rule_names(pool: Pool) -> list[str]:
    """Return the names of a pool's limits, then windows, as in the column ``rule``."""
    rules: list[Limit | Window] = [*pool.limits, *pool.windows]
    return [rule_text(rule, pool.resource, pool.zone) for rule in rules]


def _seconds(booked: WaitSweep, cause: Cause) -> Floats:
    seconds: Floats = np.sum([booked.of(key) for key in cause.booked], axis=0, initial=0.0)
    return seconds


def _over_preemptible(
    found: Chosen, of: Posed, pool: Pool, outage_s: int
) -> tuple[WaitSweep, pl.Series]:
    """Book the waits of attempts to which others give way again, as if these others held nothing.

    Returns:
        The bookings; and the seconds in which an attempt fits for this reason alone.
    """
    booked, queue = found.booked, of.queue
    spared = np.full(queue.rows.height, np.nan)
    held = queue.rows.with_columns(occupancy=pl.col("occupancy_s"))
    gives_way, takes = sides(held, pool.preemption)
    for bits in np.unique(takes[takes > 0]).tolist() if gives_way.any() else ():
        theirs = takes == bits
        others = (gives_way & bits > 0) & (takes & bits == 0)
        amounts = pl.col(*counted_resources(pool))
        nothing = pl.when(~pl.lit(pl.Series(others))).then(amounts).otherwise(0)
        absent = replace(queue, rows=queue.rows.with_columns(nothing.name.keep()))
        other = book(scene(absent, pool, of.rules, of.known, outage_s=outage_s), found.plan)
        lacked, still = (
            np.sum([one.of(key) for key in _LACKS_ROOM], axis=0) for one in (booked, other)
        )
        spared[theirs] = np.maximum(lacked - still, 0.0)[theirs]
        booked = booked.with_those(other, theirs)
    return booked, pl.Series(spared).fill_nan(None)


def _outages(found: Ints, now: int) -> pl.DataFrame:
    """Return the outages that ``book`` found, up to ``now``; see ``Account.outages``."""
    found = found[:3, np.lexsort(found[1::-1])]
    named = pl.DataFrame(found.T, ("from_time", "to_time", "waited_s"), orient="row")
    return named.with_columns(pl.col("to_time").clip(upper_bound=now))


def _lacks(booked: WaitSweep, pool: Pool, guessed: Guesses | None) -> Iterator[pl.Series]:
    """Yield the parts of the seconds booked to ``nodes``, by the resource that was lacking."""
    *each, features, several = booked.lacking.astype(np.float64)
    of = dict.fromkeys((lack.resource for lack in LACKS), np.zeros_like(several))
    for resource, seconds in zip(counted_resources(pool), each, strict=True):
        of[kind_of(resource)] = of[kind_of(resource)] + seconds
    of |= {FEATURES: features, "": several}
    for lack in LACKS:
        column = pl.Series(lack.column, of[lack.resource])
        yield column if guessed is not None else column.clear(len(column))


def _with(described: pl.DataFrame, queue: Queued, made: pl.DataFrame) -> pl.DataFrame:
    """Add the columns made for the queue; null for attempts that do not wait."""
    waits, row = queue.rows["waits"], queue.rows["row"]
    if not waits.all():
        made = made.select(pl.when(waits).then(pl.all()).name.keep())
    every = pl.int_range(described.height, dtype=pl.UInt32, eager=True).alias("row")
    if not row.equals(every):
        placed = made.with_columns(row)
        made = (
            every.to_frame().join(placed, on="row", how="left", maintain_order="left").drop("row")
        )
    return pl.concat([described, made], how="horizontal")


def _before(queue: Queued, outside: NDArray[np.float64], place: int | None) -> pl.DataFrame:
    """Return the stretch of the traced wait before the log begins; see ``Account.traced``."""
    rows = []
    if place is not None and outside[place]:
        arrival = int(queue.rows["arrival_time"][place])
        rows.append((arrival, arrival + int(outside[place]), "outside", None))
    return pl.DataFrame(rows, _TRACED, orient="row")


def _traced(
    booked: WaitSweep,
    place: int | None,
    names: Sequence[str],
    placed: pl.DataFrame,
    kinds: pl.Series,
    outages: Ints,
    absent: Sequence[Absence],
) -> pl.DataFrame:
    """Return the stretches of the attempt at ``place``, named; see ``Account.traced``."""
    if place is None:
        return pl.DataFrame(schema=_TRACED)
    keys = {BOOKED.index(key): cause.key for cause in CAUSES for key in cause.booked}
    mine = placed.filter(pl.col("row") == place, pl.col("recorded_as") == AS_HELD)
    holds = mine.select("begin", "end", "kind").rows()
    rows = []
    mine = booked.stretches.filter(pl.col("place") == place)
    for number, begin, end in mine.select("cause", "begin", "end").iter_rows():
        cause, by = keys.get(number, "rule"), None
        if number == LAPSED:
            cause, by = "unexplained", LAPSE
        elif number >= FIRST_RULE:
            cause, by = "rule", names[number - FIRST_RULE]
        elif cause == "held":
            by = next((kind for since, to, kind in holds if since <= begin < to), kinds[place])
        elif cause == "unavailable" and ((outages[0] <= begin) & (end <= outages[1])).any():
            by = "outage"
        elif cause == "unavailable":
            whys = {one.why for one in absent if one.begin <= begin < (one.end or NEVER)}
            by = " and ".join(sorted(whys)) or None
        rows.append((begin, end, cause, by))
    return pl.DataFrame(rows, _TRACED, orient="row")


_TRACED: Final = pl.Schema(
    {"begin": pl.Int64, "end": pl.Int64, "cause": pl.String, "by": pl.String}
)


def _absent(queue: Queued, pool: Pool, place: int | None) -> list[Absence]:
    """Return the declared absences of the nodes in the partitions of the attempt at ``place``."""
    if place is None:
        return []
    named = set((queue.rows["partition"][place] or "").split(","))
    mine = {
        node.name
        for node in pool.nodes
        if node.source != INFERRED and (not node.partitions or named & set(node.partitions))
    }
    return [one for one in pool.absences if one.node in mine]


def _barred(stretches: pl.DataFrame, queue: Queued, described: pl.DataFrame) -> pl.DataFrame:
    places = queue.rows.select("row", place=pl.int_range(pl.len()))
    held = stretches.filter(pl.col("cause").is_in(_BARRED) | (pl.col("cause") >= FIRST_RULE))
    return (
        held.join(places, on="place", maintain_order="left")
        .join(described.select(*KEY).with_row_index("row"), on="row", maintain_order="left")
        .select(*KEY, "begin", "end", held=pl.col("cause") == _BARRED[0])
    )


def _longest_rule(booked: WaitSweep, names: Sequence[str]) -> pl.Series:
    if not names:
        return pl.repeat(None, booked.seconds.shape[1], dtype=pl.String, eager=True)
    longest = pl.Series(names).gather(booked.forbidden.argmax(axis=0))
    return longest.set(pl.Series(booked.forbidden.max(axis=0) == 0), None)
