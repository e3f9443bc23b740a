"""Spans of room: when an attempt that waits could have run beside all that came before it.

The sweep goes from instant to instant of the observed schedule. At each, those that wait are gone
through in their order; who fits in what is left after those before it that fit has room until the
next instant (SPEC §10, *Anatomy*, ``room``).
"""

from typing import NamedTuple

import numpy as np

from audit.kernels.arrays import Bools, Ints, IntTable
from audit.kernels.compiled import inner, kernel

NEVER = np.iinfo(np.int64).max


class Log(NamedTuple):
    """The attempts of a pool in the order (arrival, submit, sequence), and what it had."""

    arrival: Ints
    start: Ints  # NEVER: it has not started
    end: Ints
    request: IntTable  # resources × attempts
    waits: Bools  # whether it queues
    by_start: Ints  # who has started, by start
    by_end: Ints  # the same, by end
    step_time: Ints  # ascending
    step_change: IntTable  # resources × steps: what is added to what is free


class Spans(NamedTuple):
    """Times in which attempts had room, one element each, by ``since``."""

    job: Ints
    since: Ints
    until: Ints


class Place(NamedTuple):
    """Working space."""

    free: Ints  # [resources]; at first the capacity before any step
    left: Ints  # [resources]
    queue: Ints  # [attempts]


@kernel
def spans_of_room(log: Log, place: Place, out: Spans) -> int:
    """Writes the spans between two instants in which attempts had room; gives how many there are.

    Where ``out`` has room for fewer, those that come first are written.
    """
    free, queue = place.free, place.queue
    count = len(log.arrival)
    coming = 0  # the next of all to arrive
    starting = 0  # the next of by_start
    ending = 0  # the next of by_end
    step = 0
    waiting = 0
    found = 0
    while True:
        now = next_time(log, coming, starting, ending, step)
        if now == NEVER:
            return found
        while step < len(log.step_time) and log.step_time[step] <= now:
            for x in range(len(free)):
                free[x] += log.step_change[x, step]
            step += 1
        while ending < len(log.by_end) and log.end[log.by_end[ending]] <= now:
            occupy(log, free, log.by_end[ending], 1)
            ending += 1
        while coming < count and log.arrival[coming] <= now:
            if log.waits[coming] and log.start[coming] > now:
                queue[waiting] = coming
                waiting += 1
            coming += 1
        first = starting
        while starting < len(log.by_start) and log.start[log.by_start[starting]] <= now:
            occupy(log, free, log.by_start[starting], -1)
            starting += 1
        if starting > first:
            waiting = still_waiting(log, queue, waiting, now)
        until = next_time(log, coming, starting, ending, step)
        if until != NEVER and waiting > 0:
            found = give_room(log, place, waiting, now, until, found, out)


@inner
def next_time(log: Log, coming: int, starting: int, ending: int, step: int) -> int:
    """The next instant at which something happens, or NEVER."""
    instant = NEVER
    if coming < len(log.arrival):
        instant = min(instant, log.arrival[coming])
    if starting < len(log.by_start):
        instant = min(instant, log.start[log.by_start[starting]])
    if ending < len(log.by_end):
        instant = min(instant, log.end[log.by_end[ending]])
    if step < len(log.step_time):
        instant = min(instant, log.step_time[step])
    return instant


@inner
def occupy(log: Log, free: Ints, job: int, sign: int) -> None:
    """Adds ``sign`` times the request of an attempt to what is free."""
    for x in range(len(free)):
        free[x] += sign * log.request[x, job]


@inner
def still_waiting(log: Log, queue: Ints, waiting: int, now: int) -> int:
    """Takes those that have started from the queue; gives how many are left."""
    kept = 0
    for i in range(waiting):
        if log.start[queue[i]] > now:
            queue[kept] = queue[i]
            kept += 1
    return kept


@inner
def give_room(
    log: Log, place: Place, waiting: int, now: int, until: int, found: int, out: Spans
) -> int:
    """Notes who has room from ``now`` to ``until``; gives how many spans there are by then."""
    free, left = place.free, place.left
    for x in range(len(free)):
        left[x] = free[x]
    for i in range(waiting):
        job = place.queue[i]
        has_room = True
        for x in range(len(free)):
            if log.request[x, job] > left[x] and log.request[x, job] > 0:
                has_room = False
        if has_room:
            for x in range(len(free)):
                left[x] -= log.request[x, job]
            if found < len(out.job):
                out.job[found] = job
                out.since[found] = now
                out.until[found] = until
            found += 1
    return found
