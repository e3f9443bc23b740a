"""Whether the limits of the site forbid jobs just before an instant, by what runs then.

Limits of remaining times are left out. A job that a limit forbids is no evidence of a chain: where
one job fills the limit, its user's next job starts when that one ends.

Source: SPEC §11, *Chains, releases, begin times*.
"""

import numpy as np

from audit.array_types import Bools, Ints
from audit.metrics.waits.queue import Queued, in_force
from audit.model import Pool


class UnderLimits:
    """The levels of a pool's limits over time, for the n attempts of a queue."""

    def __init__(self, queue: Queued, pool: Pool) -> None:
        """Add up what runs under each limit."""
        limits = [one for one in pool.limits if not one.remaining]
        if not limits:
            self._rules = None
            return
        rules = in_force(queue, limits, (), pool.zone)
        small = {name: getattr(rules, name).astype(np.int32) for name in ("counter", "binding")}
        self._rules = rules._replace(length=rules.length[:0], **small)
        start, end = queue.column("start_time"), queue.column("end")
        ran = queue.rows["start_time"].is_not_null().to_numpy() & (end > start)
        self._first = int(start[ran].min(initial=0))
        self._span = max(int(end[ran].max(initial=0)) - self._first, 0) + 2
        self._keys, self._levels = list[Ints](), list[Ints]()
        for counter, amount in zip(rules.counter, rules.amount, strict=True):
            runs = np.flatnonzero(ran & (counter >= 0))
            keys = np.concatenate([self._key(counter[runs], at) for at in (start[runs], end[runs])])
            changes = np.concatenate((amount[runs], -amount[runs]))
            order = np.argsort(keys, kind="stable")
            self._keys.append(keys[order])
            # those of one counter add up to 0
            self._levels.append(np.concatenate(([0], np.cumsum(changes[order]))))

    def forbid(self, jobs: Ints, at: Ints) -> Bools:
        """Return whether a limit forbids each of ``jobs`` just before an instant."""
        found: Bools = np.zeros(len(jobs), np.bool_)
        if (rules := self._rules) is None:
            return found
        for k, (keys, levels) in enumerate(zip(self._keys, self._levels, strict=True)):
            counter = rules.counter[k][jobs]
            level = levels[np.searchsorted(keys, self._key(counter, at))]
            valid = (rules.valid_from[k] < at) & (at <= rules.valid_to[k])
            applies = (counter >= 0) & (rules.binding[k][jobs] != 0) & valid
            found |= applies & (level + rules.amount[k][jobs] > rules.most[k])
        return found

    def _key(self, counter: Ints, at: Ints) -> Ints:
        """Return keys that ascend by counter and instant."""
        within: Ints = np.clip(at - self._first, 0, self._span - 1)
        return counter.astype(np.int64) * self._span + within
