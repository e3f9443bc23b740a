"""Limits: levels that what an entity holds does not pass, though it has more queued and room.

Of each trial, the *level* is what the entity would hold with the attempt started: what of its own
runs then, what starts at that instant included, and the attempt. Where trials above a level fail
and those up to it are served, the level is a limit (SPEC §10, *Limits*).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from audit.model import Limit, Per, Scope
from audit.scenario.fit.observed import Observed, Trials
from audit.scenario.fit.splits import Split, best_split
from audit.scenario.workload import NEVER, Bools, Ints, Workload

NO_GROUP: Final = -1
OWNERS: Final[tuple[Per, ...]] = ("user", "account", "qos")
SERVED_TRIALS: Final = 5_000
"""Of those that were served, about so many are looked at, each for several alike."""
WHOLE: Final = 0.98
"""Of the capacity: a limit of more would be the capacity itself."""


class Found(NamedTuple):
    """A limit that the trials speak for."""

    limit: Limit
    split: Split
    explained: int
    """Seconds between those trials above it that failed and the starts."""


class Group(NamedTuple):
    """Of whom each may hold so much, and when those of each start and end."""

    per: Per | None
    of: Ints  # [n], the number of each attempt's; NO_GROUP: unknown
    by_start: Ints  # attempts that ran, by group, then by start
    by_end: Ints  # the same, by end
    starts: Ints  # the group and the start of each of ``by_start`` as one number, see ``place``
    ends: Ints
    first: int  # of all starts and ends
    last: int

    def place(self, job: Ints, at: Ints) -> Ints:
        """The groups of attempts, and instants, as one number, so that one search answers all."""
        since = np.clip(at, self.first - 1, self.last) - self.first
        places: Ints = self.of[job] * (self.last - self.first + 2) + since
        return places


def limits(
    observed: Observed, trials: Trials, scopes: Sequence[tuple[Scope, Bools]]
) -> list[Found]:
    """A limit of each kind on each scope, where trials speak for one; most explained first.

    Kinds are attempts, or amount of the counted resource, at one time: of the scope as a whole, or
    of each user, account or qos.
    """
    stride = max(int(trials.served.sum()) // SERVED_TRIALS, 1)
    kept = trials.of(~trials.served | (np.arange(len(trials.job)) % stride == 0))
    found = [
        one
        for group in observed.once("groups", None, lambda: [*_groups(observed)])
        for concerned in [kept.of(_in_order(group, kept))]
        for scope, held in scopes
        if group.per is None or getattr(scope, group.per) is None
        for one in _of_scope(observed, concerned, stride, scope, held, group)
    ]
    return sorted(found, key=lambda one: (-one.explained, repr(one.limit)))


def _groups(observed: Observed) -> Iterator[Group]:
    """The pool as a whole, and each column that names owners, if it tells any apart."""
    yield group_of(observed, None)
    seen: list[Ints] = []
    for name in OWNERS:
        of = numbered(observed, name)
        if len(np.unique(of[of != NO_GROUP])) > 1 and not any(np.array_equal(of, a) for a in seen):
            seen.append(of)
            yield group_of(observed, name)


def group_of(observed: Observed, per: Per | None) -> Group:
    """The attempts by whom a limit counts for: as a whole, or each user, account, …."""
    found: Group = observed.once("group", per, lambda: _group(observed, per))
    return found


def _group(observed: Observed, per: Per | None) -> Group:
    work = observed.work
    of = np.zeros(len(observed.rows), np.int64) if per is None else numbered(observed, per)
    ran = np.flatnonzero(work.has_started & (work.end > work.start) & (of != NO_GROUP))
    by_start = ran[np.lexsort((work.start[ran], of[ran]))]
    by_end = ran[np.lexsort((work.end[ran], of[ran]))]
    nothing = np.zeros(0, np.int64)
    first = int(work.start[ran].min(initial=NEVER)) if len(ran) else 0
    last = int(work.end[ran].max(initial=0))
    group = Group(per, of, by_start, by_end, nothing, nothing, first, max(last, first))
    return group._replace(
        starts=group.place(by_start, work.start[by_start]),
        ends=group.place(by_end, work.end[by_end]),
    )


def _in_order(group: Group, trials: Trials) -> Ints:
    """By group and time those trials that have a group: so searches go through memory in order."""
    which = np.flatnonzero(group.of[trials.job] != NO_GROUP)
    return which[np.argsort(group.place(trials.job[which], trials.at[which]), kind="stable")]


def numbered(observed: Observed, name: str) -> Ints:
    """The number of each attempt's user, account, …; NO_GROUP where it is unknown."""

    def make() -> Ints:
        codes = observed.frame[name].rank("dense").cast(int) - 1
        return codes.fill_null(NO_GROUP).to_numpy().astype(np.int64)

    numbers: Ints = observed.once("number", name, make)
    return numbers


def _of_scope(
    observed: Observed, trials: Trials, stride: int, scope: Scope, held: Bools, group: Group
) -> Iterator[Found]:
    """A limit on attempts, and one on the counted resource, where trials speak for them.

    ``stride``: for how many alike each trial that was served stands.
    """
    concerned = trials.of(held[trials.job])
    if concerned.served.all():
        return
    weight = np.where(concerned.served, stride, 1)
    size = observed.size
    most = WHOLE * int(observed.work.largest[0])
    amounts = {None: np.ones_like(size), observed.pool.resource.value: size}
    found = levels_of(observed.work, group, held, tuple(amounts.values()), concerned)
    for resource, levels in zip(amounts, found, strict=True):
        split = best_split(levels, concerned.served, weight)
        if split is None or (resource is not None and split.bound >= most):
            continue
        explained = int(concerned.idle[levels > split.bound].sum())
        yield Found(
            Limit(most=split.bound, resource=resource, per=group.per, **scope.conditions),
            split,
            explained,
        )


def level(work: Workload, group: Group, held: Bools, amount: Ints, trials: Trials) -> Ints:
    """As ``levels_of``, of one amount."""
    return next(levels_of(work, group, held, (amount,), trials))


def levels_of(
    work: Workload, group: Group, held: Bools, amounts: Sequence[Ints], trials: Trials
) -> Iterator[Ints]:
    """What the group of each trial's attempt would hold with it started, [m], for each amount.

    Args:
        held: [n], whose amounts count.
        amounts: [n] each, what each holds.
    """
    where = group.place(trials.job, trials.at)
    counted = held[group.by_start], held[group.by_end]
    orders = group.by_start[counted[0]], group.by_end[counted[1]]
    # how many have begun, and ended, in all groups before each trial's and in its own up to it
    begun = np.searchsorted(group.starts[counted[0]], where, side="right")
    ended = np.searchsorted(group.ends[counted[1]], where, side="right")
    runs = (work.start[trials.job] <= trials.at) & (work.end[trials.job] > trials.at)
    for amount in amounts:
        begin, end = (np.concatenate(([0], np.cumsum(amount[order]))) for order in orders)
        # what groups before have begun they have ended, so that it cancels
        level: Ints = begin[begun] - end[ended] + np.where(runs, 0, amount[trials.job])
        yield level
