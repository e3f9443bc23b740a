"""Limits: levels above which the attempts of an entity do not start, though they would fit.

The *level* of an attempt is its entity's use if the attempt started, given the running attempts:
claims of the same walk do not count, or levels above the true one would pass. Neighbours are
attempts of the same entities that fit under the limit, while a second one like them would not.

Source: SPEC §11, *Rules that may be used*.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import polars as pl

from audit.metrics.attempts.contention import largest_amounts
from audit.model import Limit, Per, Pool, Scope
from audit.scenario.fit.evidence import LEAST, RAW, Booked, Events
from audit.scenario.fit.observed import Observed
from audit.scenario.fit.occasions import Seen, Spans, Tried
from audit.scenario.workload import Bools, Ints

if TYPE_CHECKING:
    from audit.kernels.fitting import Use

NO_ENTITY: Final = -1
WHOLE: Final = 0.98
"""Greatest limit, as a share of what its jobs can use: a higher one is the hardware itself."""
LEVELS: Final = 512
"""Number of levels of a kind that are tried: those at which most attempts started."""
BLOCKS: Final = 8
"""Parts of the log in whose runs a limit may hold."""
SHARE: Final = 0.02
"""Least share of all attempts in a partition or QOS for which limits are tried."""


class Kind(NamedTuple):
    """A kind of limit: everything but the level."""

    limit: Limit
    entity: Ints  # [n], of each attempt; NO_ENTITY: the limit does not apply to it
    amount: Ints  # [n], counted towards the limit, > 0 inside it

    @property
    def inside(self) -> Bools:
        """The attempts to which the limit applies, [n]."""
        known: Bools = self.entity != NO_ENTITY
        return known


def numbered(observed: Observed, name: str) -> Ints:
    """Return the number of each attempt's user, account, …; NO_ENTITY where it is unknown."""

    def make() -> Ints:
        codes = observed.frame[name].rank("dense").cast(int) - 1
        return codes.fill_null(NO_ENTITY).to_numpy().astype(np.int64)

    numbers: Ints = observed.once("number", name, make)
    return numbers


def kind_of(observed: Observed, limit: Limit) -> Kind:
    """Return the kind of a limit."""
    amount = np.ones(len(observed.rows), np.int64)
    if limit.resource is not None:
        amount = observed.amount(limit.resource)
    of = np.zeros(len(amount), np.int64) if limit.per is None else numbered(observed, limit.per)
    inside = observed.within(limit) & (amount > 0)
    return Kind(limit, np.where(inside, of, NO_ENTITY), amount)


def kinds(observed: Observed) -> Iterator[Kind]:
    """Yield the kinds of limits that a site may have: of the pool, its partitions and its QOS.

    A limit on the pool's use of a resource is its capacity, and no limit.
    """
    found: list[Ints] = []
    for scope in _scopes(observed):
        whole = scope == Scope()
        every: tuple[Per | None, ...] = (None, "user", "account")
        for per, resource in product(
            (*every, "partition", "qos") if whole else every, (None, *observed.resources)
        ):
            if whole and per is None and resource is not None:
                continue
            kind = kind_of(observed, Limit(most=0, resource=resource, per=per, **scope.conditions))
            mark = np.where(kind.inside, kind.amount * (kind.entity + 1), 0)
            several = per is None or len(np.unique(kind.entity[kind.inside])) > 1
            if several and not any(np.array_equal(mark, other) for other in found):
                found.append(mark)
                yield kind


def _scopes(observed: Observed) -> Iterator[Scope]:
    """Yield the pool, and each partition and QOS that has some, not nearly all, of its attempts."""
    yield Scope()
    for name in ("partition", "qos"):
        counts = observed.frame[name].drop_nulls().value_counts().sort("count", name)
        for value, count in counts.iter_rows():
            if SHARE * observed.frame.height <= count < (1 - SHARE) * observed.frame.height:
                yield Scope().but(**{name: (value,)})


class Levels(NamedTuple):
    """The levels of a kind of limit."""

    use: Use
    started: Ints
    """The judged attempts to which the limit applies."""
    at_start: Ints
    """The level of each at its start."""


def levels(observed: Observed, kind: Kind) -> Levels:
    """Return the use of the entities, and the levels of starts."""
    made: Levels = observed.once("levels", repr(kind.limit), lambda: _levels(observed, kind))
    return made


def _levels(observed: Observed, kind: Kind) -> Levels:
    from audit.kernels.fitting import Use

    work = observed.work
    ran = np.flatnonzero(kind.inside & work.has_started & (work.end > work.start))
    entity = np.concatenate((kind.entity[ran], kind.entity[ran]))
    time = np.concatenate((work.start[ran], work.end[ran]))
    change = np.concatenate((kind.amount[ran], -kind.amount[ran]))
    order = np.lexsort((time, entity))
    entity, time = entity[order], time[order]
    used = np.cumsum(change[order])  # entities return to 0
    last = np.flatnonzero(np.append((np.diff(time) != 0) | (np.diff(entity) != 0), True))
    last = last[: len(entity)]  # without any: none
    count = int(kind.entity.max(initial=NO_ENTITY)) + 1
    first = np.searchsorted(entity[last], np.arange(count + 1))
    use = Use(first=first, time=time[last], used=used[last])
    started = np.flatnonzero(kind.inside & observed.judged)
    at, _ = levels_in(use, kind, started, work.start[started], work.start[started] + 1)
    return Levels(use, started, at - _later(observed, kind, started))


def _later(observed: Observed, kind: Kind, started: Ints) -> Ints:
    """Return the use, at each start, of the attempt and of later ones that start with it.

    Attempts that start at the same instant start in their order.
    """
    work = observed.work
    ran = np.flatnonzero(kind.inside & work.has_started)
    ran = ran[np.lexsort((-ran, work.start[ran], kind.entity[ran]))]
    sums = np.cumsum(np.where(work.end[ran] > work.start[ran], kind.amount[ran], 0))
    new = (np.diff(work.start[ran], prepend=-1) != 0) | (np.diff(kind.entity[ran], prepend=-2) != 0)
    before = np.maximum.accumulate(np.where(new, np.concatenate(([0], sums[:-1])), 0))
    of = np.zeros(len(work.start), np.int64)
    of[ran] = sums - before
    return of[started]


def levels_in(use: Use, kind: Kind, job: Ints, since: Ints, until: Ints) -> tuple[Ints, Ints]:
    """Return the level of attempts at ``since``, and the highest one until ``until``."""
    from audit.kernels import fitting

    at, highest = np.zeros((2, len(job)), np.int64)
    fitting.levels_in(use, kind.entity[job], kind.amount[job], since, until, at, highest)
    return at, highest


def candidates(seen: Seen) -> list[Candidate]:
    """Return the limits whose broken share, over some part of the log, is low enough to judge."""
    known = seen.observed.once("kinds", None, lambda: [*kinds(seen.observed)])
    return [one for kind in known for one in _of_kind(seen, kind)]


def _of_kind(seen: Seen, kind: Kind) -> Iterator[Candidate]:
    observed = seen.observed
    free = seen.spans.of(np.flatnonzero(kind.inside[seen.spans.job]))
    spans = free.of(free.claims)
    if len(spans.job) < LEAST:
        return
    of = levels(observed, kind)
    most = observed.once("tried", repr(kind.limit), lambda: _tried(observed, kind, of))
    at, highest = levels_in(of.use, kind, spans.job, spans.since, spans.until)
    start = _block(observed, observed.work.start[of.started])
    block, amount = _block(observed, spans.since), kind.amount[spans.job]
    passes = low_in_some_run(
        _above(highest, most, block),
        _above(of.at_start, most, start),
        _above(at + amount, most, block) - _above(at, most, block),
        _above(of.at_start + kind.amount[of.started], most, start)
        - _above(of.at_start, most, start),
    )
    if not passes.any():
        return
    _, highest = levels_in(of.use, kind, free.job, free.since, free.until)
    seconds = _above(highest, most, np.zeros_like(highest), free.seconds).sum(0)
    for place in np.flatnonzero(passes):
        yield Candidate(kind.limit.but(most=int(most[place])), kind, float(seconds[place]))


def _tried(observed: Observed, kind: Kind, of: Levels) -> Ints:
    """Return the levels to try, ascending."""
    values, counts = np.unique(of.at_start, return_counts=True)
    kept = np.sort(values[np.argsort(-counts, kind="stable")[:LEVELS]])
    most = usable(observed.pool, observed.frame["partition"], kind.limit)
    return kept if most is None else kept[kept < WHOLE * most]


def usable(pool: Pool, partitions: pl.Series, limit: Limit) -> int | None:
    """Return the most that the jobs of a limit can use at one time; None: that is not known.

    That is the capacity of their pool, or what the nodes of their partition have.

    Args:
        partitions: those of the attempts.
    """
    if limit.resource is None:
        return None
    found = largest_amounts(pool).get(limit.resource)
    of = limit.partition
    if limit.per == "partition" and of is None:
        of = tuple(partitions.drop_nulls().unique())
    if of is None or not pool.nodes:
        return found
    on_nodes = max(
        sum(
            dict(node.amounts).get(limit.resource, int(limit.resource == "nodes"))
            for node in pool.nodes
            if not node.partitions or {*name.split(",")} & {*node.partitions}
        )
        for name in of
    )
    return on_nodes if found is None else min(found, on_nodes)


def _above(level: Ints, tried: Ints, block: Ints, weight: Ints | None = None) -> Ints:
    """Return the number, or the weight, of levels above each level tried, [BLOCKS, tried]."""
    size = len(tried) + 1
    place = block * size + np.searchsorted(tried, level)  # above those before it
    counts = np.bincount(place, weight, BLOCKS * size).reshape(BLOCKS, size)
    above: Ints = counts[:, ::-1].cumsum(1)[:, ::-1][:, 1:]
    return above


def _block(observed: Observed, at: Ints) -> Ints:
    """Return the part of the log of each instant."""
    span = max(observed.last_arrival + 1 - observed.first, 1)
    blocks: Ints = np.clip((at - observed.first) * BLOCKS // span, 0, BLOCKS - 1)
    return blocks


def low_in_some_run(withheld: Ints, broken: Ints, idle: Ints, served: Ints) -> Bools:
    """Return the columns whose broken share is low in some run of blocks.

    Args:
        withheld, broken: occasions and starts under the rule, [blocks, columns].
        idle, served: occasions and starts of neighbours, [blocks, columns].
    """
    found = np.zeros(withheld.shape[1], np.bool_)
    sums = [
        np.concatenate((np.zeros_like(one[:1]), one.cumsum(0)))
        for one in (withheld, broken, idle, served)
    ]
    for begin in range(len(withheld)):
        for end in range(begin + 1, len(withheld) + 1):
            w, b, i, s = (one[end] - one[begin] for one in sums)
            enough = (w + b >= LEAST) & (i + s >= LEAST)
            found |= enough & (b * (i + s) <= RAW * s * (w + b))
    return found


class _Times(NamedTuple):
    """The times at which a limit forbids the attempts of each span."""

    spans: Spans
    begin: Ints  # s on the clock
    above: Ints  # s on the clock, when it first does; before ``begin``: never
    last: Ints  # when it first allows the attempt, but not a second one like it
    seconds: Ints


class Candidate(NamedTuple):
    """A limit to judge."""

    rule: Limit
    kind: Kind
    seconds: float
    """Upper bound of the waiting booked to it."""

    @property
    def inside(self) -> Bools:
        """The attempts to which the limit applies, [n]."""
        return self.kind.inside

    def tried(self, seen: Seen) -> Tried:
        """Return the limit as a rule on trial."""
        return Tried(self.kind.entity, self.kind.amount, self.rule.most)

    def booked(self, seen: Seen) -> Booked:
        """Return the waiting time with free capacity that the limit would book."""
        found = self._times(seen)
        return Booked(found.begin, found.seconds)

    def events(self, seen: Seen) -> tuple[Events, Events]:
        """Return the events of the limit and of its neighbours."""
        observed, kind = seen.observed, self.kind
        of, found = levels(observed, kind), self._times(seen)
        user = numbered(observed, "user")
        start = seen.start_local[np.searchsorted(seen.started, of.started)]
        broken = of.at_start > self.rule.most
        beside = ~broken & (of.at_start + kind.amount[of.started] > self.rule.most)

        def side(times: Ints, starts: Bools) -> Events:
            claims = np.flatnonzero(found.spans.claims & (times >= found.begin))
            _, once = np.unique(found.spans.stretch[claims], return_index=True)
            claims = claims[once]
            job = np.concatenate((found.spans.job[claims], of.started[starts]))
            return Events(
                user[job],
                user[job] if kind.limit.per is None else kind.entity[job],
                np.concatenate((times[claims], start[starts])),
                np.arange(len(job)) >= len(claims),
            )

        return side(found.above, broken), side(found.last, beside)

    def _times(self, seen: Seen) -> _Times:
        from audit.kernels import fitting

        kind = self.kind
        which = np.flatnonzero(kind.inside[seen.spans.job])
        spans, begin = seen.spans.of(which), seen.begin[which]
        above, last, seconds = np.zeros((3, len(which)), np.int64)
        fitting.times_above(
            levels(seen.observed, kind).use, kind.entity[spans.job], kind.amount[spans.job],
            spans.since, spans.until, self.rule.most, above, last, seconds,
        )  # fmt: skip
        shift = begin - spans.since
        return _Times(spans, begin, above + shift, last + shift, seconds)
