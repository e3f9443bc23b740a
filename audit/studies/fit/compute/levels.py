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
from audit.simulation.workload import NEVER, Bools, Ints, Workload
from audit.studies.fit.compute.observed import Observed, Trials
from audit.studies.fit.compute.splits import Split, best_split

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


def limits(
    observed: Observed, trials: Trials, scopes: Sequence[tuple[Scope, Bools]]
) -> list[Found]:
    """A limit of each kind on each scope, where trials speak for one; most explained first.

    Kinds are attempts, or amount of the counted resource, at one time: of the scope as a whole, or
    of each user, account or qos.
    """
    stride = max(int(trials.served.sum()) // SERVED_TRIALS, 1)
    kept = ~trials.served | (np.arange(len(trials.job)) % stride == 0)
    groups = list(_groups(observed))
    found = [
        one
        for scope, held in scopes
        for group in groups
        if group.per is None or getattr(scope, group.per) is None
        for one in _of_scope(observed, trials.of(kept), stride, scope, held, group)
    ]
    return sorted(found, key=lambda one: (-one.explained, str(one.limit)))


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
    work = observed.work
    of = np.zeros(len(observed.rows), np.int64) if per is None else numbered(observed, per)
    ran = np.flatnonzero(work.has_started & (work.end > work.start) & (of != NO_GROUP))
    by_start = ran[np.lexsort((work.start[ran], of[ran]))]
    by_end = ran[np.lexsort((work.end[ran], of[ran]))]
    return Group(per, of, by_start, by_end)


def numbered(observed: Observed, name: str) -> Ints:
    """The number of each attempt's user, account, …; NO_GROUP where it is unknown."""
    codes = observed.frame[name].rank("dense").cast(int) - 1
    return codes.fill_null(NO_GROUP).to_numpy().astype(np.int64)


def _of_scope(
    observed: Observed, trials: Trials, stride: int, scope: Scope, held: Bools, group: Group
) -> Iterator[Found]:
    """A limit on attempts, and one on the counted resource, where trials speak for them.

    ``stride``: for how many alike each trial that was served stands.
    """
    concerned = trials.of(held[trials.job] & (group.of[trials.job] != NO_GROUP))
    if concerned.served.all():
        return
    weight = np.where(concerned.served, stride, 1)
    size = observed.work.request.reshape(len(held), -1)[:, 0]
    most = WHOLE * int(observed.work.largest[0])
    for resource, amount in ((None, np.ones_like(size)), (observed.pool.resource.value, size)):
        levels = level(observed.work, group, held, amount, concerned)
        split = best_split(levels, concerned.served, weight)
        if split is None or (resource is not None and split.bound >= most):
            continue
        explained = int(concerned.idle[levels > split.bound].sum())
        yield Found(Limit(split.bound, resource, group.per, scope), split, explained)


def level(work: Workload, group: Group, held: Bools, amount: Ints, trials: Trials) -> Ints:
    """What the group of each trial's attempt would hold with it started, [m].

    Args:
        work: the attempts.
        group: whose holdings are summed.
        held: [n], whose amounts count.
        amount: [n], what each holds.
        trials: of attempts that have a group.
    """
    begins = _running_sum(
        group.of, work.start, group.by_start[held[group.by_start]], amount, trials
    )
    ends = _running_sum(group.of, work.end, group.by_end[held[group.by_end]], amount, trials)
    runs = (work.start[trials.job] <= trials.at) & (work.end[trials.job] > trials.at)
    levels: Ints = begins - ends + np.where(runs, 0, amount[trials.job])
    return levels


def _running_sum(group: Ints, times: Ints, order: Ints, amount: Ints, trials: Trials) -> Ints:
    """Σ of amounts of each trial's group whose time is not after the trial, [m].

    ``order``: whose amounts count, by group, then by time.
    """
    sums = np.concatenate((np.zeros(1, np.int64), np.cumsum(amount[order])))
    since = int(min(times[order].min(initial=NEVER), trials.at.min(initial=NEVER)))
    span = int(max(times[order].max(initial=since), trials.at.max(initial=since))) - since + 2
    # group and time as one number, so that one search answers all
    keys = group[order] * span + (times[order] - since)
    of_trial = group[trials.job] * span
    upto = np.searchsorted(keys, of_trial + (trials.at - since), side="right")
    before = np.searchsorted(keys, of_trial, side="left")
    total: Ints = sums[upto] - sums[before]
    return total
