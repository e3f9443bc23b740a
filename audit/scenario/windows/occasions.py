"""The times at which waiting attempts could have started under the rules in force (SPEC §11)."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np

from audit import periods
from audit.array_types import Bools, Ints
from audit.kernels import closed_hours
from audit.metrics.closed_hours import EPOCH_HOUR, HOUR_S, offsets
from audit.rules import WEEK
from audit.scenario.limits import NO_EDGES, Limits
from audit.scenario.windows.observed import Observed
from audit.scenario.workload import Workload

OUTAGE_S: Final = 600
DAY_S: Final = 86_400
EPOCH: Final = date(1970, 1, 1)
MOST_SPANS: Final = 20_000_000
"""Greatest number of spans that are kept of a log: about 1 GB."""


class Spans(NamedTuple):
    """Times in which the request of a waiting attempt was free and no rule forbade its start."""

    job: Ints  # index of the attempt
    since: Ints  # epoch s
    until: Ints
    stretch: Ints  # number of the period without a gap in which the request was free
    claims: Bools  # whether the request also fitted beside the claims of the attempts before it

    def of(self, chosen: Bools | Ints) -> "Spans":
        """Return the chosen spans."""
        return Spans._make(column[chosen] for column in self)

    @property
    def seconds(self) -> Ints:
        """The length of each, > 0."""
        lasts: Ints = self.until - self.since
        return lasts


class Parts(NamedTuple):
    """Spans cut at the hours of a clock, by (job, begin)."""

    job: Ints
    begin: Ints  # s on the clock
    seconds: Ints  # > 0
    stretch: Ints
    claims: Bools
    hour: Ints  # of the week


@dataclass(frozen=True)
class Seen:
    """The spans of a site, on a clock."""

    observed: Observed
    spans: Spans
    """Of judged attempts, by (job, since)."""
    zone: str
    """The clock of hours, days and windows."""
    _made: dict[Hashable, Any] = field(default_factory=dict, init=False, compare=False)

    def once(self, which: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of ``make``, called once for each ``which``."""
        if which not in self._made:
            self._made[which] = make()
        return self._made[which]

    @cached_property
    def begin(self) -> Ints:
        """The begin of each span, s on the clock."""
        return local(self.spans.since, self.zone)

    @cached_property
    def started(self) -> Ints:
        """The judged attempts."""
        return np.flatnonzero(self.observed.judged)

    @cached_property
    def start_local(self) -> Ints:
        """Their starts, s on the clock."""
        return local(self.observed.work.start[self.started], self.zone)

    @cached_property
    def start_hour(self) -> Ints:
        """The hours of the week of these."""
        return hour_of_week(self.start_local)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The first and the last day of the spans on the clock, since 1970."""
        if len(self.parts.begin) == 0:
            return 0, 0
        return int(self.parts.begin.min()) // DAY_S, int(self.parts.begin.max()) // DAY_S

    @cached_property
    def possible_starts(self) -> closed_hours.PossibleStarts:
        """The parts and the observed starts, for the kernel."""
        return self._possible(self.parts)

    @cached_property
    def claiming_starts(self) -> closed_hours.PossibleStarts:
        """The same, of the parts that claim."""
        claims = self.parts.claims
        if claims.all():
            return self.possible_starts
        return self._possible(Parts._make(column[claims] for column in self.parts))

    def _possible(self, parts: Parts) -> closed_hours.PossibleStarts:
        columns = (parts.job, parts.begin, parts.seconds, parts.stretch, parts.hour)
        starts = (self.started, self.start_local, self.start_hour)
        return closed_hours.PossibleStarts(*columns, *starts, self.observed.reach)

    @cached_property
    def days(self) -> float:
        """The length of the log."""
        return float(self.observed.last_arrival - self.observed.first) / DAY_S

    @cached_property
    def parts(self) -> Parts:
        """All spans by hour."""
        spans = self.spans
        place, since, until = by_hour(self.begin, spans.seconds)
        return Parts(
            *(spans.job[place], since, until - since, spans.stretch[place], spans.claims[place]),
            hour_of_week(since),
        )


class Tried(NamedTuple):
    """A window on trial."""

    inside: Bools  # [n], whether it applies
    reach: Ints  # [n], how far before it closes it forbids starts, s
    closes: Ints  # epoch s
    opens: Ints  # epoch s


class Walker:
    """A workload whose queue can be walked repeatedly."""

    def __init__(self, work: Workload, limits: Limits, outage: Ints) -> None:
        """Prepare the workload; ``outage``: since and until, [2, m]."""
        from audit.kernels import windows

        count, resources = len(work.arrival), len(work.capacity)
        started = np.flatnonzero(work.has_started)
        self.capacity = work.capacity
        self.count = count
        self.log = windows.Log(
            arrival=work.arrival,
            start=work.start,
            end=np.maximum(work.end, work.start),
            request=np.ascontiguousarray(work.request.reshape(count, resources).T),
            waits=work.queued & (work.has_started | work.open),
            by_start=started[np.argsort(work.start[started], kind="stable")],
            by_end=started[np.argsort(work.end[started], kind="stable")],
            step_time=work.step_time,
            step_change=np.ascontiguousarray(work.step_change.reshape(-1, resources).T),
        )
        edges = limits.edges if limits.some else NO_EDGES
        self.rules = windows.Rules(
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

    def spans(self, tried: Tried | None = None) -> Spans:
        """Return the spans of attempts; attempts that the window ``tried`` forbids claim nothing.

        An attempt that it forbids has a span that claims if it would claim without the window.
        """
        from audit.kernels import windows

        none = np.zeros(0, np.int64)
        nobody = np.zeros(self.count, np.int64)
        tried = Tried(nobody > 0, nobody, none, none) if tried is None else tried
        out = windows.Table(5, MOST_SPANS)
        windows.fitting_spans(self.log, self.rules, windows.Trial(*tried), self.capacity, out)
        job, since, until, stretch, claims = np.ascontiguousarray(out.taken().T)
        return Spans(job, since, until, stretch, claims == 1)


def seen(observed: Observed, walker: Walker, zone: str, tried: Tried | None = None) -> Seen:
    """Return the spans of judged attempts; with ``tried``, a rule on trial, only those that claim.

    Args:
        walker: of the same attempts, with the rules in force.
        zone: the clock of days and hours.
    """
    spans = walker.spans(tried)
    kept = observed.judged[spans.job]
    which = np.flatnonzero(kept if tried is None else kept & spans.claims)
    order = which[np.lexsort((spans.since[which], spans.job[which]))]
    return Seen(observed, spans.of(order), zone)


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
    times = np.unique(np.concatenate((begin, end)))
    change = np.zeros(len(times), np.int64)
    np.add.at(change, np.searchsorted(times, begin), 1)
    np.add.at(change, np.searchsorted(times, end), -1)
    return times, np.cumsum(change)


def local(times: Ints, zone: str) -> Ints:
    """Return instants as seconds since 1970-01-01 00:00 on the clock of a zone."""
    if len(times) == 0:
        return times
    clock = [*offsets(periods.zone(zone), int(times.min()), int(times.max()) + 1)]
    begins, _, ahead = np.array(clock).T
    seconds: Ints = times + ahead[np.searchsorted(begins, times, "right") - 1]
    return seconds


def hour_of_week(begin: Ints) -> Ints:
    """Return the hour of the week of instants, s on a clock; 0 begins on Monday at 00:00."""
    hours: Ints = (begin // HOUR_S + EPOCH_HOUR) % WEEK
    return hours


def by_hour(begin: Ints, seconds: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut intervals at the hours of a clock; ``begin``: s on it.

    Returns:
        Of each part: the index of its interval, its begin and its end.
    """
    end = begin + seconds
    hours = np.maximum((end - 1) // HOUR_S - begin // HOUR_S + 1, 0)
    place = np.repeat(np.arange(len(begin)), hours)
    number = np.arange(len(place)) - np.repeat(np.cumsum(hours) - hours, hours)
    hour = ((begin // HOUR_S)[place] + number) * HOUR_S
    return place, np.maximum(begin[place], hour), np.minimum(end[place], hour + HOUR_S)
