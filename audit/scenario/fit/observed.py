"""The observed attempts of a pool: when they would have fitted, and when they could have started.

A trial is an instant at which an attempt could start: the first at which a model would have started
it, which is *served* if the attempt starts within ``SERVED_S``; and its observed start, which is
always served. Trials that are not served show a site's rules.
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
from audit.scenario.fit.occasions import Spans, Walker
from audit.scenario.limits import UNLIMITED, WEEK_S
from audit.scenario.workload import NEVER, Bools, Ints, Workload, workload_of_rows

Floats = NDArray[np.float64]

COLUMNS: Final = ("user", "account", "qos", "partition", "walltime_s", "size")
SERVED_S: Final = 900
"""Longest delay of a start that still serves a trial: schedulers need a moment."""


class Trials(NamedTuple):
    """Trials: all that failed, then all that were served."""

    job: Ints  # [m], index of the attempt
    at: Ints  # [m], epoch s
    served: Bools  # [m]
    idle: Ints  # [m], s from a trial that failed to the start; 0 for those served

    def of(self, chosen: Bools | Ints) -> Trials:
        """Return the chosen trials."""
        return Trials._make(column[chosen] for column in self)


@dataclass(frozen=True)
class Observed:
    """The attempts of a pool, in the order of their workload."""

    described: pl.DataFrame
    """The columns of ``model.DESCRIBED`` that workloads need, of this pool alone."""
    rows: Ints
    """[n]: the row of each attempt in ``described``."""
    pool: Pool
    now: int
    work: Workload
    frame: pl.DataFrame
    """``COLUMNS`` and ``occupancy``, a row per attempt."""
    judged: Bools
    """[n]: the attempt has ended, was queued, and nothing but the queue held it."""
    spans: Spans
    """When judged attempts would have fitted, by ``since``."""
    since: int | None = None
    """Attempts that arrived before it, epoch s, are not judged; None: all may be."""
    _made: dict[str, dict[Hashable, Any]] = field(default_factory=dict, init=False, compare=False)

    def once(self, what: str, which: Hashable, make: Callable[[], Any], most: int = 1_000) -> Any:
        """Return the result of ``make``, called once for each ``which``; keep at most ``most``."""
        made = self._made.setdefault(what, {})
        if which not in made:
            if len(made) >= most:
                made.clear()
            made[which] = make()
        return made[which]

    def within(self, scope: Scope) -> Bools:
        """Return which attempts are in a scope, [n]."""
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
        """[n], s; 0 for attempts that are not judged."""
        waits: Ints = np.where(self.judged, self.work.start - self.work.arrival, 0)
        return waits

    @cached_property
    def first(self) -> int:
        """``since``, else the first arrival, epoch s."""
        first = int(self.work.arrival.min(initial=NEVER))
        return first if self.since is None else self.since

    @cached_property
    def last_arrival(self) -> int:
        """The last arrival, epoch s."""
        return int(self.work.arrival.max(initial=self.first))

    @cached_property
    def last(self) -> int:
        """The last end of judged attempts, epoch s."""
        return int(self.work.end[self.judged].max(initial=self.first))

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """The resources of the pool that limits may count, the counted one first."""
        counted = self.pool.resource.value
        others = [name for name, _ in self.pool.amounts if name not in (counted, "mem_bytes")]
        return (counted, *others)

    def amount(self, resource: str) -> Ints:
        """Return the amount of a resource that each attempt has, 0 where it is unknown, [n]."""

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


def observe(described: pl.DataFrame, pool: Pool, now: int, since: int | None = None) -> Observed:
    """Return the observed attempts of ``pool``, whose policy does not matter.

    Args:
        since: attempts that arrived before it, epoch s, occupy and queue, but are not judged; None:
            all may be. The first of all is kept too: passes run at multiples of an interval since
            its arrival.
    """
    described = described.filter(pl.col("pool") == pool.name)
    work, rows = workload_of_rows(described, pool, now)
    if since is not None:
        over = pl.col("start_time") + pl.col("occupancy_s") <= since
        first = pl.int_range(pl.len()) == (int(rows[0]) if len(rows) else -1)
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
    """Return the spans of SPEC §10's ``room`` of ``judged`` attempts, each between two instants."""
    found = Walker(work, UNLIMITED, np.zeros((2, 0), np.int64)).spans(split=True)
    kept = np.flatnonzero(found.claims & judged[found.job])
    return found.of(kept[np.argsort(found.since[kept], kind="stable")])


def trials_of(work: Workload, chosen: Bools, ready: Ints) -> Trials:
    """Return the trials of attempts.

    Args:
        chosen: [n], of attempts that started.
        ready: [n], when the model would have started each; NEVER: not by its start.
    """
    started = np.flatnonzero(chosen)
    idle = np.where(ready == NEVER, 0, work.start - ready)
    failed = started[idle[started] > SERVED_S]
    at = np.where((ready == NEVER) | (idle > SERVED_S), work.start, ready)
    return Trials(
        np.concatenate((failed, started)),
        np.concatenate((ready[failed], at[started])),
        np.arange(len(failed) + len(started)) >= len(failed),
        np.concatenate((idle[failed], np.zeros(len(started), np.int64))),
    )
