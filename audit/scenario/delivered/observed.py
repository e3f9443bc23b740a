"""What the log observed of a pool, as the kernels of delivered capacity take it.

Conventions: the n attempts that take part, in the order (arrival, submit, sequence); m instants.
Blocked attempts, and those of unknown size or of reservations, take no part: what they use leaves
the capacity while they run. Open attempts run to ``now``.

Source: SPEC §10, *Input per attempt*.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from audit.array_types import Bools, Ints
from audit.kernels.delivered import starts as kernels
from audit.scenario import engine
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, Workload, distinct

LONG_WAIT_S: Final = 60
"""A start counts in the agreement if the attempt waited longer."""


@dataclass(frozen=True, eq=False)
class ObservedTurns:
    """A pool's attempts that take part, and what its machine delivered."""

    work: Workload  # of those that take part
    part: Ints  # [n], their places in the workload of the scenario
    rows: Ints  # [n], in the frame of the scenario
    user: Ints  # [n], < 0: unknown
    peak: Ints  # [users], the most that each ever had running at once
    start: Ints  # [n]; NEVER: not by now
    end: Ints  # [n]; NEVER: not by now
    instants: Ints  # [m] ascending
    in_kernel: kernels.ObservedPool
    held_until: Ints | None  # [n], until when a rule holds each; None: none

    @property
    def waited(self) -> Bools:
        """Whether each waited longer than ``LONG_WAIT_S`` and started, [n]."""
        started = self.start != NEVER
        waited: Bools = started & (self.start - self.work.arrival > LONG_WAIT_S)
        return waited

    @cached_property
    def waiting(self) -> Ints:
        """How many wait at each instant, after its starts, [m]."""
        joined = np.bincount(self._places(self.work.arrival), minlength=len(self.instants))
        waiting: Ints = np.cumsum(joined - self.starts)
        return waiting

    @cached_property
    def starts(self) -> Ints:
        """How many start at each instant, [m]."""
        at = self._places(self.start[self.start != NEVER])
        return np.bincount(at, minlength=len(self.instants))

    @cached_property
    def held(self) -> Ints:
        """From when on there is evidence that each was held, [n]; NEVER: there is none."""
        held = np.full(len(self.start), NEVER)
        kernels.held_from(self.in_kernel, self.user, len(self.peak), held)
        return held

    @cached_property
    def limits(self) -> kernels.PassLimits:
        """The limits of the pool."""
        return _pass_limits(self, own_peak=False)

    @cached_property
    def limits_and_peaks(self) -> kernels.PassLimits:
        """The limits of the pool, and of each user one of running jobs: the most at once."""
        return _pass_limits(self, own_peak=True)

    def _places(self, times: Ints) -> Ints:
        places: Ints = np.searchsorted(self.instants, times)
        return places


def observed_turns(scenario: Scenario, held_until: Ints | None = None) -> ObservedTurns:
    """Return the attempts of a scenario's pool that take part, and their instants.

    Args:
        held_until: [rows of the scenario], epoch s, until when a rule holds each.
    """
    everyone, rows = scenario.indexed
    part = everyone.present & everyone.sized & ~everyone.blocked
    work, rows = everyone._replace(machines=None).of_those(part), rows[part]
    start, now = work.start, scenario.now
    last = np.maximum(start, now - 1) + 1
    runs = np.where(work.open, last - np.where(work.has_started, start, 0), work.occupancy)
    occupancy = np.maximum(np.where(work.has_started, runs, work.occupancy), 1)
    end = np.where(work.has_started, start + occupancy, NEVER)
    users = scenario.attempts["user"].gather(rows)
    user = users.rank("dense").cast(int).fill_null(0).to_numpy() - 1
    steps = _steps(everyone)
    extra = [work.limits.edges.time] if work.limits.some else []
    if held_until is not None:
        extra.append(held_until[rows])
    of_jobs = np.concatenate((work.arrival, start, end))
    until = of_jobs[of_jobs != NEVER].max(initial=-NEVER)
    times = np.concatenate((of_jobs, steps[0], *extra))
    instants = distinct(times[times <= until])
    request = engine.by_resource(work.request, len(work.capacity))
    started = np.flatnonzero(work.has_started)
    in_kernel = kernels.ObservedPool(
        arrival=engine.contiguous(work.arrival),
        start=engine.contiguous(start),
        end=end,
        occupancy=occupancy,
        estimate=np.maximum(work.estimate, occupancy),
        request=request,
        by_start=started[np.argsort(start[started], kind="stable")],
        by_end=started[np.argsort(end[started], kind="stable")],
        instants=instants,
        capacity=_in_force(everyone.capacity, steps, instants),
        used=_used(request[0], start, end, instants),
    )
    peak = _peaks(user, start, end)
    until_each = None if held_until is None else np.ascontiguousarray(held_until[rows], np.int64)
    return ObservedTurns(
        work, np.flatnonzero(part), rows, user, peak, start, end, instants, in_kernel, until_each
    )


def _steps(work: Workload) -> tuple[Ints, Ints]:
    """Return when the capacity steps, blocked attempts included, and by what, [resources, S]."""
    taken = work.blocked & work.has_started
    request = work.request.reshape(len(work.arrival), len(work.capacity))[taken].T
    change = work.step_change.reshape(len(work.step_time), len(work.capacity)).T
    time = np.concatenate((work.step_time, work.start[taken], work.end[taken]))
    return time, np.concatenate((change, -request, request), axis=1)


def _in_force(capacity: Ints, steps: tuple[Ints, Ints], instants: Ints) -> Ints:
    """Return the capacity in force at each instant, [resources, m]."""
    time, change = steps
    changes = np.zeros((len(capacity), len(instants) + 1), np.int64)
    for total, each in zip(changes, change, strict=True):
        np.add.at(total, np.searchsorted(instants, time), each)
    return np.ascontiguousarray(capacity[:, None] + changes[:, :-1].cumsum(1))


def _used(size: Ints, start: Ints, end: Ints, instants: Ints) -> Ints:
    """Return what runs at each instant, after its ends and starts, [m]."""
    change = np.zeros(len(instants) + 1, np.int64)
    ran = start != NEVER
    np.add.at(change, np.searchsorted(instants, start[ran]), size[ran])
    np.add.at(change, np.searchsorted(instants, end[ran]), -size[ran])
    return change[:-1].cumsum()


def _peaks(user: Ints, start: Ints, end: Ints) -> Ints:
    """Return the most attempts that each user ever had running; ends come before starts."""
    ran = (start != NEVER) & (user >= 0)
    owner = np.tile(user[ran], 2)
    time = np.concatenate((start[ran], end[ran]))
    change = np.repeat(np.array([1, -1]), ran.sum())
    order = np.lexsort((change, time, owner))
    peaks = np.zeros(int(user.max(initial=-1)) + 1, np.int64)
    np.maximum.at(peaks, owner[order], change[order].cumsum())  # those of each user sum to 0
    return peaks


def _pass_limits(turns: ObservedTurns, *, own_peak: bool) -> kernels.PassLimits:
    limits, count = turns.work.limits, len(turns.start)
    attempt, parts = np.zeros(0, np.int64), [np.zeros((3, 0), np.int64)]
    if limits.some:
        attempt = np.repeat(np.arange(count), np.diff(limits.first))
        parts = [np.stack((limits.counter, limits.amount, limits.binding.astype(np.int64)))]
    most, counters = limits.most, len(limits.most)
    if own_peak:
        known = np.flatnonzero(turns.user >= 0)
        ones = np.ones(len(known), np.int64)
        attempt = np.concatenate((attempt, known))
        parts.append(np.stack((turns.user[known] + counters, ones, ones)))
        most = np.concatenate((most, turns.peak))
    order = np.argsort(attempt, kind="stable")
    counter, amount, binding = np.concatenate(parts, axis=1)[:, order]
    edges = limits.edges
    return kernels.PassLimits(
        first=np.searchsorted(attempt[order], np.arange(count + 1)) if len(most) else attempt,
        counter=engine.contiguous(counter),
        amount=engine.contiguous(amount),
        binding=binding.astype(np.bool_),
        most=engine.contiguous(most),
        edge=edges.time,
        window=edges.counter,
        change=edges.change,
    )
