"""When limits of users or accounts forbid waiting attempts (SPEC §11, *Passed over*, 2).

Limits forbid an attempt at t if the level of one of them, of what runs at t, leaves less than the
attempt adds, after the earlier waiting attempts of its user have taken theirs, in the order of the
queue: those that all limits allow. A limit of an account counts what all its users run, but only
the user's own waiting attempts. At one instant: ends, arrivals, starts.

Conventions: a limit of remaining time counts Σ amount × max(0, start + walltime − t), and is looked
at whenever a job of the pool starts; an unknown walltime is the occupancy, 1 s without a start.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Self

import numpy as np
import polars as pl

from audit import periods
from audit.array_types import Ints
from audit.kernels.limited import (
    LimitedAttempts,
    LimitedClasses,
    LimitEvents,
    LimitsInForce,
    LimitState,
    forbidden_spans,
)
from audit.metrics.attempts.population import only
from audit.metrics.attempts.reasons import in_scope
from audit.metrics.waits.queue import NEVER, Queued, coded, in_force, queued, validity
from audit.model import Pool
from audit.rules import Limit

_END, _EXPIRE, _ARRIVE, _LEAVE, _RUN, _LOOK = range(6)
"""Kinds of events, as in the kernel."""
LEAST_UNDER: Final = 0.5
FORBIDDEN: Final = pl.Schema({"row": pl.UInt32, "begin": pl.Int64, "end": pl.Int64})
"""Spans of attempts; closed, disjoint and ascending within each attempt."""


def of_entities(limits: Iterable[Limit]) -> list[Limit]:
    """Return the limits of users or accounts, also within a partition or QOS."""
    return [
        limit
        for limit in limits
        if limit.per in ("user", "account") or (limit.per is None and (limit.user or limit.account))
    ]


def forbidden(
    described: pl.DataFrame, pool: Pool, now: int, limits: Sequence[Limit]
) -> pl.DataFrame:
    """Return the spans in which limits of users or accounts forbid attempts.

    Args:
        described: columns of ``model.DESCRIBED``; attempts of other pools are ignored.
        limits: accepted ones; others than those of users or accounts are ignored.

    Returns:
        Columns of ``FORBIDDEN``; rows are those of ``described``.
    """
    own = only(described.with_row_index("row"), pl.col("pool") == pool.name)
    queue = queued(own, now, pl.lit(value=True))
    limits = of_entities(limits)
    counted = _Counted.of(queue, limits, pool.zone)
    place = counted.place
    if not len(place):
        return FORBIDDEN.to_frame()
    resources = [*dict.fromkeys(limit.resource for limit in limits)]
    occupancy = queue.rows["end"] - queue.rows["start_time"]
    length = queue.rows["walltime_s"].fill_null(occupancy).fill_null(1).to_numpy()[place]
    length = np.maximum(length, 1)
    until = queue.column("start_time")[place] + length
    amounts = [
        np.ones(len(place), np.int64) if one is None else queue.column(one)[place]
        for one in resources
    ]
    spans = forbidden_spans(
        LimitedAttempts(np.array(amounts, np.int64), length, until, counted.group),
        _events(queue, counted, until, _looks(queue, limits, pool.zone)),
        *_classes(counted, limits, dict(zip(resources, amounts, strict=True)), length, pool.zone),
    )
    row = queue.rows["row"].to_numpy()[place[spans[:, 0]]]
    return pl.DataFrame((row, *spans.T[1:]), FORBIDDEN).sort("row", "begin")


def users_under(described: pl.DataFrame, limits: Iterable[Limit], zone: str) -> frozenset[str]:
    """Return the users at least half of whose jobs arrived under a limit of users or accounts.

    Args:
        zone: the pool's, for the days in which limits are in force.
    """
    rows = described.with_columns(occupancy=pl.col("occupancy_s"))
    arrival = rows["arrival_time"].fill_null(-NEVER).to_numpy()
    under = np.zeros(rows.height, np.bool_)
    for limit in of_entities(limits):
        begin, end = validity(limit, periods.zone(zone))
        under |= in_scope(rows, limit) & (begin <= arrival) & (arrival < end)
    shares = rows.select("user", under=pl.Series(under)).drop_nulls("user").group_by("user").mean()
    return frozenset(shares.filter(pl.col("under") >= LEAST_UNDER)["user"])


def joined(spans: pl.DataFrame) -> pl.DataFrame:
    """Return spans, columns of ``FORBIDDEN``, without overlaps, ascending by row and time."""
    behind = pl.col("end").cum_max().shift().over("row")
    apart = (pl.col("begin") > behind + 1).fill_null(value=True)
    return (
        spans.sort("row", "begin", "end")
        .with_columns(part=apart.cum_sum())
        .group_by("row", "part", maintain_order=True)
        .agg(pl.col("begin").min(), pl.col("end").max())
        .drop("part")
    )


class _Entry(NamedTuple):
    """A limit that counts a class of attempts."""

    limit: int
    counter: int
    binding: bool


class _Counted(NamedTuple):
    """The attempts that limits count, in the order of the queue, by class: user and entries."""

    place: Ints  # in the queue
    group: Ints  # the class of each
    users: Ints  # of each class, ascending; 0: unknown
    entries: list[tuple[_Entry, ...]]  # of each class

    @classmethod
    def of(cls, queue: Queued, limits: Sequence[Limit], zone: str) -> Self:
        """Of a queue; classes are made by one limit after the other."""
        group = coded(queue.rows["user"])
        made = [(user, ()) for user in range(int(group.max(initial=0)) + 1)]
        for k, limit in enumerate(limits):
            rules = in_force(queue, [limit], (), zone)
            [counters], [binding] = rules.counter, rules.binding
            place = np.flatnonzero(counters >= 0)
            code = 2 * counters[place] + binding[place]
            codes = int(code.max(initial=0)) + 1
            pairs, inverse = np.unique(group[place] * codes + code, return_inverse=True)
            group[place] = len(made) + inverse
            for pair in pairs.tolist():
                (user, entries), which = made[pair // codes], pair % codes
                made.append((user, (*entries, _Entry(k, which // 2, bool(which % 2)))))
        some = np.array([bool(entries) for _, entries in made])
        place = np.flatnonzero(some[group])
        found, group = np.unique(group[place], return_inverse=True)
        users = np.array([made[one][0] for one in found], np.int64)
        order = np.argsort(users, kind="stable")
        rank = np.argsort(order)
        entries = [made[found[one]][1] for one in order]
        return cls(place, rank[group], users[order], entries)


def _looks(queue: Queued, limits: Sequence[Limit], zone: str) -> Ints:
    """Return instants at which a level may change without an event of its counter."""
    edges = [edge for limit in limits for edge in validity(limit, periods.zone(zone))]
    looks = np.array([edge for edge in edges if abs(edge) != NEVER], np.int64)
    if any(limit.remaining for limit in limits):
        looks = np.concatenate([looks, queue.rows["start_time"].drop_nulls().to_numpy()])
    return np.unique(looks)


def _classes(
    counted: _Counted,
    limits: Sequence[Limit],
    amounts: Mapping[str | None, Ints],
    length: Ints,
    zone: str,
) -> tuple[LimitedClasses, LimitsInForce, LimitState]:
    """Return classes, limits and an empty state as the kernel takes them; by user and queue."""
    known, user = np.unique(counted.users, return_inverse=True)
    flat = [(g, entry) for g, entries in enumerate(counted.entries) for entry in entries]
    counters = sorted({(entry.limit, entry.counter) for _, entry in flat})
    number_of = {counter: k for k, counter in enumerate(counters)}
    of_entry = [(int(user[g]), number_of[entry.limit, entry.counter]) for g, entry in flat]
    queues = sorted(set(of_entry))
    place_of = {queue: k for k, queue in enumerate(queues)}
    spans = [validity(limit, periods.zone(zone)) for limit in limits]
    looks = np.zeros(len(known), np.bool_)
    for g, entry in flat:
        bounded = spans[entry.limit] != (-NEVER, NEVER)
        looks[user[g]] |= limits[entry.limit].remaining or bounded
    classes = LimitedClasses(
        user=user,
        first_entry=np.cumsum([0, *map(len, counted.entries)]),
        queue=np.array([place_of[queue] for queue in of_entry], np.int64),
        binding=np.array([entry.binding for _, entry in flat], np.bool_),
        least=_least(counted, [(g, limits[entry.limit]) for g, entry in flat], amounts, length),
        first_class=np.searchsorted(user, np.arange(len(known) + 1)),
        first_queue=np.searchsorted([of for of, _ in queues], np.arange(len(known) + 1)),
        counter=np.array([counter for _, counter in queues], np.int64),
        looks=looks,
    )
    of_counter = sorted((counter, of) for of, counter in queues)
    resources = [*amounts]
    in_force_ = LimitsInForce(
        limit=np.array([limit for limit, _ in counters], np.int64),
        first_user=np.searchsorted([one for one, _ in of_counter], np.arange(len(counters) + 1)),
        users=np.array([of for _, of in of_counter], np.int64),
        most=np.array([limit.most for limit in limits], np.int64),
        resource=np.array([resources.index(limit.resource) for limit in limits], np.int64),
        remaining=np.array([limit.remaining for limit in limits], np.bool_),
        from_time=np.array([begin for begin, _ in spans], np.int64),
        to_time=np.array([end for _, end in spans], np.int64),
    )
    number = (len(counted.group), len(counted.entries), len(known), len(queues), len(counters))
    return classes, in_force_, _nothing(*number)


def _least(
    counted: _Counted,
    entries: Sequence[tuple[int, Limit]],
    amounts: Mapping[str | None, Ints],
    length: Ints,
) -> Ints:
    """Return what the smallest attempt of a class adds to a limit, of each entry."""
    least = {}
    for resource, remaining in {(limit.resource, limit.remaining) for _, limit in entries}:
        adds = amounts[resource] * length if remaining else amounts[resource]
        least[resource, remaining] = np.full(len(counted.entries), NEVER)
        np.minimum.at(least[resource, remaining], counted.group, adds)
    return np.array([least[of.resource, of.remaining][g] for g, of in entries], np.int64)


def _nothing(n: int, classes: int, users: int, queues: int, counters: int) -> LimitState:
    """Return the state in which nothing runs or waits."""
    return LimitState(
        level=np.zeros((3, counters), np.int64),
        waiting=np.zeros((2, queues), np.int64),
        ends=np.full((2, classes), -1),
        count=np.zeros((2, classes), np.int64),
        walk=np.zeros((2, classes), np.int64),
        beside=np.full((2, n), -1),
        since=np.full(n, -1),
        active=np.zeros((2, users), np.int64),
        waits=np.zeros(users, np.int64),
        dirty=np.zeros(users, np.int64),
        is_dirty=np.zeros(users, np.bool_),
    )


def _events(queue: Queued, counted: _Counted, until: Ints, looks: Ints) -> LimitEvents:
    """Return the events of the attempts, and further instants to look at."""
    place = counted.place
    start, end = queue.column("start_time")[place], queue.column("end")[place]
    arrival, leave = queue.column("arrival_time")[place], queue.column("leave")[place]
    ran = queue.rows["start_time"].is_not_null().to_numpy()[place] & (end > start)
    known = counted.users[counted.group] > 0
    waits = queue.rows["waits"].to_numpy()[place] & (leave > arrival) & known
    parts = [
        (_END, np.flatnonzero(ran), end),
        (_EXPIRE, np.flatnonzero(ran), np.minimum(end, until)),
        (_ARRIVE, np.flatnonzero(waits), arrival),
        (_LEAVE, np.flatnonzero(waits), leave),
        (_RUN, np.flatnonzero(ran), start),
        (_LOOK, np.arange(len(looks)), looks),
    ]
    attempt = np.concatenate([chosen for _, chosen, _ in parts])
    time = np.concatenate([times[chosen] for _, chosen, times in parts])
    kind = np.repeat([one for one, *_ in parts], [len(chosen) for _, chosen, _ in parts])
    order = np.lexsort((attempt, kind, time))
    return LimitEvents(time[order], kind[order], attempt[order])
