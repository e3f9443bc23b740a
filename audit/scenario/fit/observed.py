"""Free capacity for waiting attempts in a log, and instants at which they could have started.

``Spans`` are the seconds of SPEC §10's ``room``. ``Trials`` are moments at which an attempt could
start: when a model first would have started it, where it is *served* if it starts within
``SERVED_S``; and when it did start, where it always is. Trials that are not served show the rules
of a site: at some hours of the week, at some level of a user's usage, on some days.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.reasons import in_scope
from audit.model import Pool, Scope, Standing
from audit.scenario.fit import occasions
from audit.scenario.limits import UNLIMITED, WEEK_S
from audit.scenario.workload import NEVER, Bools, Ints, Workload, workload_of_rows

Floats = NDArray[np.float64]

SERVED_S: Final = 900
"""Maximum delay of a start that counts as served, s: schedulers need a moment."""


class Spans(NamedTuple):
    """Times in which attempts had room; one element each, by ``since``."""

    job: Ints  # index of the attempt
    since: Ints  # epoch s
    until: Ints

    @property
    def seconds(self) -> Ints:
        """How long each lasts, > 0."""
        lasts: Ints = self.until - self.since
        return lasts


class Trials(NamedTuple):
    """Moments at which attempts could start: all that failed, then all that were served."""

    job: Ints  # [m], index of the attempt
    at: Ints  # [m], epoch s
    served: Bools  # [m]
    idle: Ints  # [m], s from a trial that failed to the start; 0 for those served

    def of(self, chosen: Bools | Ints) -> Trials:
        """Those ``chosen``: [m] whether each is, or which, in this order."""
        return Trials(self.job[chosen], self.at[chosen], self.served[chosen], self.idle[chosen])


@dataclass(frozen=True)
class Observed:
    """The attempts of a pool, in the order of their workload, and what they show."""

    described: pl.DataFrame
    """Columns of ``model.DESCRIBED`` that workloads are made of, of the pool alone."""
    rows: Ints
    """[n]: the row of each attempt in ``described``."""
    pool: Pool
    now: int
    work: Workload
    frame: pl.DataFrame
    """``COLUMNS`` and ``occupancy``, a row per attempt."""
    judged: Bools
    """[n]: it has ended, was queued, and waited for nothing but its turn."""
    spans: Spans
    """Of those that are judged."""
    since: int | None = None
    """Those that arrived before it, epoch s, are there but not judged; None: all are looked at."""
    _made: dict[str, dict[Hashable, Any]] = field(default_factory=dict, init=False, compare=False)

    def once(self, what: str, which: Hashable, make: Callable[[], Any], most: int = 1_000) -> Any:
        """Return the result of ``make``, computed once for each ``which``; ``most`` are kept."""
        made = self._made.setdefault(what, {})
        if which not in made:
            if len(made) >= most:
                made.clear()
            made[which] = make()
        return made[which]

    def within(self, scope: Scope) -> Bools:
        """Which attempts are in a scope, [n]."""
        inside = np.ones(len(self.rows), np.bool_)
        for name, value in scope.conditions.items():
            if value is not None:
                one = Scope(**{name: value})
                inside &= self.once("scope", one, partial(in_scope, self.frame, one))
        return inside

    @cached_property
    def size(self) -> Ints:
        """[n], of the counted resource."""
        requests: Ints = self.work.request.reshape(len(self.rows), -1)[:, 0]
        return requests

    @cached_property
    def instants(self) -> Ints:
        """All instants of the observed schedule, ascending."""
        work, started = self.work, self.work.has_started
        times = (work.arrival, work.start[started], work.end[started], work.step_time)
        return np.unique(np.concatenate(times))

    @cached_property
    def wait(self) -> Ints:
        """[n], s; 0 for those that are not judged."""
        waits: Ints = np.where(self.judged, self.work.start - self.work.arrival, 0)
        return waits

    @cached_property
    def first(self) -> int:
        """From when on attempts are looked at: ``since``, else the first arrival, epoch s."""
        first = int(self.work.arrival.min(initial=NEVER))
        return first if self.since is None else self.since

    @cached_property
    def last_arrival(self) -> int:
        """When the last attempt arrived, epoch s."""
        return int(self.work.arrival.max(initial=self.first))

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """The resources that limits may count: those that the pool has, the counted one first."""
        counted = self.pool.resource.value
        others = [name for name, _ in self.pool.amounts if name not in (counted, "mem_bytes")]
        return (counted, *others)

    def amount(self, resource: str) -> Ints:
        """Return what each attempt has of a resource, 0 where that is unknown, [n]."""

        def make() -> Ints:
            column = self.described[resource].fill_null(0).to_numpy()
            amounts: Ints = column.astype(np.int64)[self.rows]
            return amounts

        amounts: Ints = self.once("amount", resource, make)
        return amounts

    @cached_property
    def reach(self) -> Ints:
        """The walltime of each attempt, else its occupancy, [n]; from 1 s to a week."""
        asked = self.frame["walltime_s"].fill_null(self.frame["occupancy"]).fill_null(1)
        reach: Ints = np.clip(asked.to_numpy().astype(np.int64), 1, WEEK_S)
        return reach

    @cached_property
    def last(self) -> int:
        """The last end of those judged, epoch s."""
        return int(self.work.end[self.judged].max(initial=self.first))


COLUMNS: Final = ("user", "account", "qos", "partition", "walltime_s", "size")


def observe(described: pl.DataFrame, pool: Pool, now: int, since: int | None = None) -> Observed:
    """Return the observations of the attempts of ``pool``.

    Args:
        pool: what it had, by what is known of it; its policy does not matter.
        since: who arrived before is there while it runs and waits, but is not judged, epoch s;
            None: all are looked at. The first of all is there, too: passes at an interval are at
            multiples since its arrival.
    """
    described = described.filter(pl.col("pool") == pool.name)
    if since is not None:
        over = pl.col("start_time") + pl.col("occupancy_s") <= since
        work, rows = workload_of_rows(described, pool, now)
        row = pl.int_range(pl.len())
        first = row == (int(rows[0]) if len(rows) else -1)
        described = described.filter(~over.fill_null(value=False) | first)
    work, rows = workload_of_rows(described, pool, now)
    frame = described.select(COLUMNS)[rows].with_columns(occupancy=pl.Series(work.occupancy))
    ended = (described["standing"] == Standing.ENDED).to_numpy()[rows]
    judged = ended & work.queued & work.has_started
    if since is not None:
        judged &= work.arrival >= since
    spans = spans_of_room(work, judged)
    return Observed(described, rows, pool, now, work, frame, judged, spans, since)


def spans_of_room(work: Workload, judged: Bools) -> Spans:
    """Return the spans, between two instants each, in which the ``judged`` fitted beside others.

    Others that are queued take theirs before those behind them. Blocked attempts never queue.
    """
    nothing = np.zeros((2, 0), np.int64)
    found = occasions.Walker(work, UNLIMITED, nothing).spans(split=True)
    kept = np.flatnonzero(found.claims & judged[found.job])
    kept = kept[np.argsort(found.since[kept], kind="stable")]
    return Spans(found.job[kept], found.since[kept], found.until[kept])


def trials_of(work: Workload, chosen: Bools, ready: Ints) -> Trials:
    """The trials of those ``chosen``, of a model that would have started them when ``ready``.

    Args:
        chosen: [n], of those that started.
        ready: [n], NEVER: it would not have by its start.
    """
    started = np.flatnonzero(chosen)
    idle = np.where(ready == NEVER, 0, work.start - ready)
    failed = started[idle[started] > SERVED_S]
    # what starts late is served only then; what starts at once, when it could
    at = np.where((ready == NEVER) | (idle > SERVED_S), work.start, ready)
    return Trials(
        np.concatenate((failed, started)),
        np.concatenate((ready[failed], at[started])),
        np.arange(len(failed) + len(started)) >= len(failed),
        np.concatenate((idle[failed], np.zeros(len(started), np.int64))),
    )
