"""The times at which waiting attempts could have started under the rules in force (SPEC §11)."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from audit import periods
from audit.array_types import Bools, Ints
from audit.kernels import closed_hours
from audit.kernels.growing import Table
from audit.kernels.windows import spans as kernels
from audit.metrics.closed_hours import EPOCH_HOUR, HOUR_S, offsets
from audit.rules import WEEK
from audit.scenario.limits import NO_EDGES, Limits
from audit.scenario.windows.observed import Observed
from audit.scenario.workload import Workload, distinct

OUTAGE_S: Final = 600
DAY_S: Final = 86_400
EPOCH: Final = date(1970, 1, 1)
MOST_SPANS: Final = 20_000_000
"""Greatest number of spans of a kind that are kept of a log: about 0.5 GB."""
SPAN: Final = np.dtype(
    [("job", np.int32), ("stretch", np.int32), ("since", np.int64), ("until", np.int64)]
)
"""A span of an attempt, by index; epoch s. Its *stretch* is the number of the time, without a gap,
in which its request was free. A span that has not ended has the greatest int64 as its end.
"""
SPAN_NUMBERS: Final = SPAN.itemsize // 8


class Spans(NamedTuple):
    """Times in which the request of a waiting attempt was free and no rule forbade its start.

    Each has the fields of ``SPAN``; those of an attempt are ascending.
    """

    claims: NDArray[np.void]
    """Those in which the request also fitted beside the claims of the attempts before it."""
    fitting: NDArray[np.void]
    """The whole times."""


@dataclass(frozen=True)
class Seen:
    """The spans of a site, on a clock."""

    observed: Observed
    spans: Spans
    zone: str
    """The clock of hours, days and windows."""
    _made: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False)

    def once(self, which: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of ``make``, called once for each ``which``."""
        if which not in self._made:
            self._made[which] = make()
        return self._made[which]

    def under(self, walker: "Walker", tried: "Tried") -> "Seen":
        """Return the spans that claim under a window on trial, on the same clock."""
        return replace(self, spans=Spans(walker.claims(tried), walker.spans.fitting[:0]))

    @cached_property
    def start_local(self) -> Ints:
        """The starts of the judged attempts, s on the clock."""
        return local(self.observed.work.start[self.observed.started], self.zone)

    @cached_property
    def possible_starts(self) -> closed_hours.PossibleStarts:
        """The spans and the observed starts, for the kernel."""
        observed = self.observed
        clock = list(offsets(periods.zone(self.zone), observed.first, observed.last + 1))
        since, _, ahead = np.array(clock, np.int64).T
        return closed_hours.PossibleStarts(
            *(*self.spans, observed.started, self.start_local, observed.reach),
            *map(np.ascontiguousarray, (since, ahead)),
        )

    @cached_property
    def days(self) -> float:
        """The length of the log."""
        return float(self.observed.last_arrival - self.observed.first) / DAY_S


class Tried(NamedTuple):
    """A window on trial."""

    inside: Bools  # [n], whether it applies
    reach: Ints  # [n], how far before it closes it forbids starts, s
    closes: Ints  # epoch s
    opens: Ints  # epoch s


class Walker:
    """The spans of a workload, and those under windows on trial."""

    def __init__(self, work: Workload, limits: Limits, outage: Ints) -> None:
        """Find the spans; ``outage``: since and until, [2, m]."""
        count, resources = len(work.arrival), len(work.capacity)
        started = np.flatnonzero(work.has_started)
        self._log = kernels.Log(
            arrival=work.arrival,
            start=work.start,
            end=work.end if (work.end >= work.start).all() else np.maximum(work.end, work.start),
            request=np.ascontiguousarray(work.request.reshape(count, resources).T),
            waits=work.queued & (work.has_started | work.open),
            by_start=started[np.argsort(work.start[started], kind="stable")],
            by_end=started[np.argsort(work.end[started], kind="stable")],
            step_time=work.step_time,
            step_change=np.ascontiguousarray(work.step_change.reshape(-1, resources).T),
            capacity=work.capacity,
        )
        edges = limits.edges if limits.some else NO_EDGES
        self._rules = kernels.Rules(
            first=limits.first if limits.some else np.zeros(count + 1, np.int64),
            counter=limits.counter,
            amount=limits.amount,
            binding=limits.binding,
            most=limits.most,
            edge_time=edges.time,
            edge_counter=edges.counter,
            edge_change=edges.change,
            outage=outage,
        )
        claims, fitting = (Table(SPAN_NUMBERS, MOST_SPANS) for _ in range(2))
        stretches = Table(2, MOST_SPANS)
        kernels.fitting_spans(self._log, self._rules, claims, fitting, stretches)
        self.spans: Final = Spans(_spans(claims), _spans(fitting))
        by_since = np.argsort(self.spans.claims["since"], kind="stable").astype(np.int32)
        self._without = kernels.WithoutTrial(self.spans.claims, by_since, stretches.taken())

    def claims(self, tried: Tried) -> NDArray[np.void]:
        """Return the spans that claim if attempts that a window forbids claim nothing.

        An attempt that it forbids has a span if it would claim without the window.
        """
        out = Table(SPAN_NUMBERS, MOST_SPANS)
        kernels.trial_spans(self._log, self._rules, kernels.Trial(*tried), self._without, out)
        return _spans(out)


def _spans(table: Table) -> NDArray[np.void]:
    spans: NDArray[np.void] = table.taken().view(SPAN)[:, 0]
    return spans


def outages(work: Workload) -> Ints:
    """Return when nothing ran for ``OUTAGE_S`` or more while jobs waited as long, [2, m]."""
    ran = work.has_started & (work.end > work.start)
    times, running = _counted(work.start[ran], work.end[ran])
    waits = work.queued & work.has_started & (work.start > work.arrival)
    waiting_times, waiting = _counted(work.arrival[waits], work.start[waits])
    idle = np.flatnonzero(running[:-1] == 0) if len(times) else np.zeros(0, np.int64)
    since, until = times[idle], times[idle + 1]
    passed = np.concatenate(([0], np.cumsum(np.diff(waiting_times) * (waiting[:-1] > 0))))

    def waited(at: Ints) -> Ints:
        seconds: Ints = np.interp(at, waiting_times, passed).astype(np.int64)
        return seconds

    if len(waiting_times) == 0:
        return np.zeros((2, 0), np.int64)
    kept = (until - since >= OUTAGE_S) & (waited(until) - waited(since) >= OUTAGE_S)
    return np.ascontiguousarray(np.stack((since[kept], until[kept])))


def _counted(begin: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Return the instants at which the number of open intervals changes, and the number since."""
    times = distinct(np.concatenate((begin, end)))
    changes = [np.bincount(np.searchsorted(times, at), minlength=len(times)) for at in (begin, end)]
    return times, np.cumsum(changes[0] - changes[1])


def local(times: Ints, zone: str) -> Ints:
    """Return instants as seconds since 1970-01-01 00:00 on the clock of a zone."""
    if len(times) == 0:
        return times
    clock = list(offsets(periods.zone(zone), int(times.min()), int(times.max()) + 1))
    begins, _, ahead = np.array(clock).T
    seconds: Ints = times + ahead[np.searchsorted(begins, times, "right") - 1]
    return seconds


def hour_of_week(begin: Ints) -> Ints:
    """Return the hour of the week of instants, s on a clock; 0 begins on Monday at 00:00."""
    hours: Ints = (begin // HOUR_S + EPOCH_HOUR) % WEEK
    return hours
