"""The level of an attempt under a limit: the use of its entity if the attempt started.

Only running attempts count, and no claims of waiting ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from audit.model import Limit
from audit.scenario.fit.observed import Observed
from audit.scenario.workload import Bools, Ints

if TYPE_CHECKING:
    from audit.kernels.fitting import Use

NO_ENTITY: Final = -1


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


def use_of(observed: Observed, kind: Kind) -> Use:
    """Return the use of the entities of a kind over time."""
    made: Use = observed.once("use", repr(kind.limit), lambda: _use(observed, kind))
    return made


def _use(observed: Observed, kind: Kind) -> Use:
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
    return Use(first=first, time=time[last], used=used[last])


def levels_in(use: Use, kind: Kind, job: Ints, since: Ints, until: Ints) -> tuple[Ints, Ints]:
    """Return the level of attempts at ``since``, and the highest one until ``until``."""
    from audit.kernels import fitting

    at, highest = np.zeros((2, len(job)), np.int64)
    fitting.levels_in(use, kind.entity[job], kind.amount[job], since, until, at, highest)
    return at, highest
