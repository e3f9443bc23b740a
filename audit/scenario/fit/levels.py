"""Limits: levels above which the attempts of an entity do not start, though they would fit.

The *level* of an attempt is what its entity would have in use with the attempt started, given what
runs: claims of the same walk do not count, or levels above the true one would pass. Neighbours are
attempts of the same entities that fit under the limit, while a second one like them would not.

Source: SPEC §11, *Rules that may be used*.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from audit.model import Limit, Per, Scope
from audit.scenario.fit.evidence import LEAST, RAW, Booked, Events
from audit.scenario.fit.observed import Observed
from audit.scenario.fit.occasions import Seen, Spans, Tried
from audit.scenario.workload import Bools, Ints

if TYPE_CHECKING:
    from audit.kernels.fitting import Use

NO_ENTITY: Final = -1
WHOLE: Final = 0.98
"""Of the capacity: a limit of more would be the capacity itself."""
LEVELS: Final = 512
"""Levels of a kind of limit that are tried: those at which most attempts started."""
BLOCKS: Final = 8
"""Parts of the log in whose runs a limit may hold."""
SHARE: Final = 0.02
"""Least share of all attempts for separate limits of a partition or QOS."""


class Kind(NamedTuple):
    """A kind of limit: everything but the level."""

    limit: Limit
    entity: Ints  # [n], of each attempt; NO_ENTITY: the limit is not about it
    amount: Ints  # [n], what it counts for, > 0

    @property
    def inside(self) -> Bools:
        """Which attempts the limit is about, [n]."""
        known: Bools = self.entity != NO_ENTITY
        return known


class Candidate(NamedTuple):
    """A limit that passes the sweep."""

    limit: Limit
    kind: Kind
    seconds: float
    """At most this much waiting would be booked to it."""


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
    """Yield the kinds of limits that a site may have.

    Their scopes are the pool, and each of its partitions and QOS; a limit on what all of the pool
    has in use is its capacity, and no limit.
    """
    resources = (None, *observed.resources)
    found: list[Ints] = []
    for scope in _scopes(observed):
        every: tuple[Per | None, ...] = (None, "user", "account")
        if scope == Scope():
            every = (None, "user", "account", "partition", "qos")
        for per in every:
            for resource in resources:
                if scope == Scope() and per is None and resource is not None:
                    continue
                kind = kind_of(
                    observed, Limit(most=0, resource=resource, per=per, **scope.conditions)
                )
                mark = np.where(kind.inside, kind.amount * (kind.entity + 1), 0)
                several = per is None or len(np.unique(kind.entity[kind.inside])) > 1
                if several and not any(np.array_equal(mark, other) for other in found):
                    found.append(mark)
                    yield kind


def _scopes(observed: Observed) -> Iterator[Scope]:
    """Yield the pool as a whole, and each partition and QOS that holds some of its attempts."""
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
    """The judged attempts that the limit is about."""
    at_start: Ints
    """The level of each as it started."""


def levels(observed: Observed, kind: Kind) -> Levels:
    """Return what the entities had in use, and the levels of starts."""
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
    if len(entity) == 0:
        last = np.zeros(0, np.int64)
    count = int(kind.entity.max(initial=NO_ENTITY)) + 1
    first = np.searchsorted(entity[last], np.arange(count + 1))
    use = Use(first=first, time=time[last], used=used[last])
    started = np.flatnonzero(kind.inside & observed.judged)
    at, _ = levels_in(use, kind, started, work.start[started], work.start[started] + 1)
    return Levels(use, started, at - _later(observed, kind, started))


def _later(observed: Observed, kind: Kind, started: Ints) -> Ints:
    """Return what is in use, as each attempt starts, of itself and of those behind it.

    Attempts that start at one instant start in their order.
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
    free = _about(kind, seen.spans)
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
    if kind.limit.resource == observed.pool.resource:
        kept = kept[kept < WHOLE * int(observed.work.largest[0])]
    return kept


def _about(kind: Kind, spans: Spans) -> Spans:
    return spans.of(np.flatnonzero(kind.inside[spans.job]))


def _above(level: Ints, tried: Ints, block: Ints, weight: Ints | None = None) -> Ints:
    """Return how many levels, or of what weight, are above each of those tried, [BLOCKS, tried]."""
    size = len(tried) + 1
    place = block * size + np.searchsorted(tried, level)  # above those before it
    counts = np.bincount(place, weight, BLOCKS * size).reshape(BLOCKS, size)
    above: Ints = counts[:, ::-1].cumsum(1)[:, ::-1][:, 1:]
    return above


def _block(observed: Observed, at: Ints) -> Ints:
    """Return the part of the log that each instant is in."""
    span = max(observed.last_arrival + 1 - observed.first, 1)
    blocks: Ints = np.clip((at - observed.first) * BLOCKS // span, 0, BLOCKS - 1)
    return blocks


def low_in_some_run(withheld: Ints, broken: Ints, idle: Ints, served: Ints) -> Bools:
    """Return for which columns the broken share is low in some run of blocks.

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


def tried(one: Candidate) -> Tried:
    """Return a limit for a sweep that judges it."""
    return Tried(one.kind.entity, one.kind.amount, one.limit.most)


class _Times(NamedTuple):
    """When a limit forbids the attempts of each span."""

    spans: Spans
    begin: Ints  # s on the clock
    above: Ints  # s on the clock, when it first does; before ``begin``: never
    last: Ints  # when it allows the attempt, but not a second one like it
    seconds: Ints


def _times(seen: Seen, one: Candidate) -> _Times:
    from audit.kernels import fitting

    kind = one.kind
    which = np.flatnonzero(kind.inside[seen.spans.job])
    spans, begin = seen.spans.of(which), seen.begin[which]
    above, last, seconds = np.zeros((3, len(which)), np.int64)
    entity, amount = kind.entity[spans.job], kind.amount[spans.job]
    use = levels(seen.observed, kind).use
    fitting.times_above(
        use, entity, amount, spans.since, spans.until, one.limit.most, above, last, seconds
    )
    shift = begin - spans.since
    return _Times(spans, begin, above + shift, last + shift, seconds)


def booked(seen: Seen, one: Candidate) -> Booked:
    """Return the waiting time with free capacity that a limit would book."""
    found = _times(seen, one)
    return Booked(found.begin, found.seconds)


def events(seen: Seen, one: Candidate) -> tuple[Events, Events]:
    """Return the events of a limit and of its neighbours."""
    observed, kind = seen.observed, one.kind
    of, found = levels(observed, kind), _times(seen, one)
    user = numbered(observed, "user")
    start = seen.start_local[np.searchsorted(seen.started, of.started)]
    broken = of.at_start > one.limit.most
    beside = ~broken & (of.at_start + kind.amount[of.started] > one.limit.most)

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
