"""The observed schedule of a pool, as the kernels of delivered capacity take it.

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
from audit.kernels.delivered import sweep
from audit.kernels.delivered.model import ObservedPool, PassLimits
from audit.scenario import engine
from audit.scenario.scenario import Scenario
from audit.scenario.workload import NEVER, Workload, distinct_of_ordered

LONG_WAIT_S: Final = 60
"""A start counts in the agreement if the attempt waited longer."""


@dataclass(frozen=True, eq=False)
class ObservedTurns:
    """A pool's attempts that take part, and what its machine delivered."""

    work: Workload  # of those that take part, without owners
    part: Bools  # those of the scenario's workload that take part
    rows: Ints  # [n], in the frame of the scenario
    user: Ints  # [n], < 0: unknown
    peak: Ints  # [users], the most that each ever had running at once
    start: Ints  # [n]; NEVER: not by now
    end: Ints  # [n]; NEVER: not by now
    instants: Ints  # [m] ascending
    arrived: Ints  # [n], the index of the instant at which each arrived,
    began: Ints  # [n], and of that at which it started; m: not by now
    waited: Bools  # [n], whether it started after it waited longer than ``LONG_WAIT_S``
    in_kernel: ObservedPool
    held_until: Ints | None  # [n], until when a rule holds each; None: none

    @cached_property
    def waiting(self) -> Ints:
        """How many wait at each instant, after its starts, [m]."""
        joined = np.bincount(self.arrived, minlength=len(self.instants))
        return np.cumsum(joined - self.starts)

    @cached_property
    def most_present(self) -> int:
        """The most that ever wait or run at once, those that end at the instant included."""
        present = np.bincount(self.arrived, minlength=len(self.instants) + 1)
        gone = np.searchsorted(self.instants, self.end, "right")
        present -= np.bincount(gone, minlength=len(present))
        return int(present.cumsum().max(initial=0))

    @cached_property
    def starts(self) -> Ints:
        """How many start at each instant, [m]."""
        return np.bincount(self.began, minlength=len(self.instants) + 1)[:-1]

    @cached_property
    def held(self) -> Ints:
        """From when on there is evidence that each was held, [n]; NEVER: there is none."""
        held = np.full(len(self.start), NEVER)
        sweep.held_from(self.in_kernel, self.user, len(self.peak), held)
        return held

    @cached_property
    def limits(self) -> PassLimits:
        """The limits of the pool."""
        return _pass_limits(self, own_peak=False)

    @cached_property
    def limits_and_peaks(self) -> PassLimits:
        """The limits of the pool, and of each user one of running jobs: the most at once."""
        return _pass_limits(self, own_peak=True)


def observed_turns(scenario: Scenario, held_until: Ints | None = None) -> ObservedTurns:
    """Return the attempts of a scenario's pool that take part, and their instants.

    Args:
        held_until: [rows of the scenario], epoch s, until when a rule holds each.
    """
    everyone, rows = scenario.indexed
    part = everyone.present & everyone.sized & ~everyone.blocked
    work = everyone._replace(machines=None).of_those(part, owned=False)
    rows = rows[part]
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
    until = max(int(at.max(initial=-NEVER, where=at != NEVER)) for at in (work.arrival, start, end))
    times = np.concatenate((work.arrival, start, end, steps[0], *extra))
    times.sort()  # in place: there are many
    instants = distinct_of_ordered(times[: np.searchsorted(times, until, side="right")])
    del times
    request = engine.by_resource(work.request, len(work.capacity))
    started = np.flatnonzero(work.has_started)
    in_kernel = ObservedPool(
        arrival=np.ascontiguousarray(work.arrival),
        start=np.ascontiguousarray(start),
        end=end,
        occupancy=occupancy,
        estimate=np.ascontiguousarray(work.estimate),
        request=request,
        by_start=started[np.argsort(start[started], kind="stable")],
        by_end=started[np.argsort(end[started], kind="stable")],
        instants=instants,
        capacity=_in_force(everyone.capacity, steps, instants),
        used=_used(request[0], start, end, instants),
    )
    peak = _peaks(user, start, end)
    until_each = None if held_until is None else np.ascontiguousarray(held_until[rows], np.int64)
    arrived, began = np.searchsorted(instants, (work.arrival, start))
    waited = work.has_started & (start - work.arrival > LONG_WAIT_S)
    return ObservedTurns(
        *(work, part, rows, user, peak, start, end, instants),
        *(arrived, began, waited, in_kernel, until_each),
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


def _pass_limits(turns: ObservedTurns, *, own_peak: bool) -> PassLimits:
    limits, count = turns.work.limits, len(turns.start)
    first = limits.first if limits.some else np.zeros(count + 1, np.int64)
    counter, amount, binding, most = limits.counter, limits.amount, limits.binding, limits.most
    if own_peak:  # the last of each attempt's
        known = turns.user >= 0
        before = np.append(0, np.cumsum(known))
        last = first[1:][known] + before[:-1][known]
        first = first + before
        others = np.ones(int(first[-1]), np.bool_)
        others[last] = False

        def joined(of_limits: Ints | Bools, of_peak: Ints | int) -> Ints:
            both = np.empty(len(others), np.int64)
            both[others], both[last] = of_limits, of_peak
            return both

        counter = joined(counter, turns.user[known] + len(most))
        amount, binding = joined(amount, 1), joined(binding, 1).astype(np.bool_)
        most = np.concatenate((most, turns.peak))
    edges = limits.edges
    return PassLimits(
        first=first if len(most) else np.zeros(0, np.int64),
        counter=counter,
        amount=amount,
        binding=binding,
        most=np.ascontiguousarray(most),
        edge=edges.time,
        window=edges.counter,
        change=edges.change,
    )
