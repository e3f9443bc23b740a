"""What happened to jobs, one event after the other → which events are attempts.

The rules are those of ``audit.ingest.events``.
"""

from typing import NamedTuple

from audit.kernels.arrays import Bools, Ints
from audit.kernels.compiled import inner, kernel

UNKNOWN = -(1 << 62)
NOBODY = -1

RUN, QUEUED, LEFT, PAUSED, RESUMED = range(5)
ORDINARY, REQUEUED, MOVED = range(3)


class Events(NamedTuple):
    """Events by life, and by when they happened.

    Of one instant runs come first, and of a run's records that which knows most.
    """

    life: Ints
    kind: Ints  # RUN, …
    way: Ints  # ORDINARY, REQUEUED (it ended so that its job waits again) or MOVED (elsewhere)
    at: Ints
    start: Ints  # UNKNOWN: never, or not said
    end: Ints  # UNKNOWN: not yet, or not said
    over: Bools  # whether its job has a later life


class Settled(NamedTuple):
    """What follows for each event; to begin with nothing."""

    stands: Bools  # as an attempt
    source: Ints  # event that says what it does not say itself, or NOBODY
    ends: Bools  # whether it is the end of the run that its source began
    arrival: Ints  # its attempt arrived no sooner; UNKNOWN: nothing is known
    suspended: Ints  # s; UNKNOWN: nothing is known


@kernel
def settle(events: Events, out: Settled) -> None:
    """Writes what follows for each event of every life."""
    begin = 0
    while begin < len(events.life):
        end = begin + 1
        while end < len(events.life) and events.life[end] == events.life[begin]:
            end += 1
        settle_life(events, begin, end, out)
        begin = end


@inner
def settle_life(events: Events, begin: int, end: int, out: Settled) -> None:
    """The events of one life, from ``begin`` up to ``end``."""
    runs = runs_of(events, begin, end)
    finished = is_finished(events, begin, end)
    seen = 0
    run = -1  # the record of the latest run
    is_open = False  # whether that is not known to have ended
    again = False  # whether it ended so that its job waits again
    queued = -1
    alone = -1  # who left while no run was open
    free = UNKNOWN  # when the latest of all runs so far ended
    paused = UNKNOWN
    lost = UNKNOWN
    for k in range(begin, end):
        kind = events.kind[k]
        way = events.way[k]
        if kind == RUN and is_again(events, k, begin):
            out.arrival[k] = out.arrival[k - 1]
        elif kind == RUN:
            end_run(events, out, run, is_open, paused, lost)
            out.stands[k] = True
            out.arrival[k] = min(free, events.at[k])
            free = max(free, events.end[k])
            if events.start[k] != UNKNOWN:
                seen += 1
                run = k
                is_open = events.end[k] == UNKNOWN
                again = way == REQUEUED
                paused = UNKNOWN
                lost = UNKNOWN
        elif kind == QUEUED:
            queued = k
        elif kind == PAUSED:
            paused = events.at[k]
        elif kind == RESUMED and paused != UNKNOWN and run >= 0:
            lost = lost_by(events, run, paused, lost, events.at[k])
            paused = UNKNOWN
        elif kind == LEFT and (
            way == REQUEUED or (way == ORDINARY and seen == runs and not finished)
        ):
            if is_open:
                take_over(events, out, k, run, paused, lost)
                is_open = False
                again = way == REQUEUED
            elif way == ORDINARY and alone < 0 and (runs == 0 or again):
                alone = k
                out.stands[k] = True
                out.source[k] = run if run >= 0 else queued
                out.arrival[k] = min(free, events.at[k])
            if way == REQUEUED:
                free = max(free, events.at[k])
    end_run(events, out, run, is_open and events.over[begin], paused, lost)
    waits = (runs == 0 or again) and not finished and alone < 0
    settle_waiting(events, begin, end, out, queued, alone, waits, free)


@inner
def end_run(
    events: Events, out: Settled, run: int, lost_sight: bool, paused: int, lost: int
) -> None:
    """Settles a run behind which nothing more is said of it."""
    if run < 0:
        return
    if lost_sight:
        out.stands[run] = False  # it is over, but nothing says when
    if out.stands[run]:
        out.suspended[run] = lost_by(events, run, paused, lost, events.end[run])


@inner
def runs_of(events: Events, begin: int, end: int) -> int:
    """How many runs a life has."""
    runs = 0
    for k in range(begin, end):
        if events.kind[k] == RUN and events.start[k] != UNKNOWN and not is_again(events, k, begin):
            runs += 1
    return runs


@inner
def is_finished(events: Events, begin: int, end: int) -> bool:
    """Whether one of a life's runs ended and its job did not wait again."""
    for k in range(begin, end):
        if (
            events.kind[k] == RUN
            and not is_again(events, k, begin)
            and events.end[k] != UNKNOWN
            and events.way[k] != REQUEUED
        ):
            return True
    return False


@inner
def is_again(events: Events, k: int, begin: int) -> bool:
    """Whether the record before this one is of the same run, and so knows more."""
    return (
        k > begin
        and events.kind[k - 1] == RUN
        and events.start[k - 1] == events.start[k]
        and events.start[k] != UNKNOWN
    )


@inner
def take_over(events: Events, out: Settled, k: int, run: int, paused: int, lost: int) -> None:
    """Lets who left end the run that was open, in its place."""
    out.stands[run] = False
    out.stands[k] = True
    out.source[k] = run
    out.ends[k] = True
    out.arrival[k] = out.arrival[run]
    out.suspended[k] = lost_by(events, run, paused, lost, events.at[k])


@inner
def lost_by(events: Events, run: int, paused: int, lost: int, until: int) -> int:
    """Seconds for which a run had been suspended by an instant; UNKNOWN: nothing is known."""
    if paused == UNKNOWN:
        return lost
    if until == UNKNOWN:
        return lost
    ended: int = events.end[run]
    if ended != UNKNOWN:
        until = min(until, ended)
    since: int = max(paused, events.start[run])
    return max(lost, 0) + max(until - since, 0)


@inner
def settle_waiting(
    events: Events,
    begin: int,
    end: int,
    out: Settled,
    queued: int,
    alone: int,
    waits: bool,
    free: int,
) -> None:
    """Whether a job waits when all that is known of its life has happened."""
    moved = False
    for k in range(begin, end):
        if events.kind[k] == LEFT and events.way[k] == MOVED:
            moved = True
        if events.kind[k] == QUEUED:
            out.arrival[k] = free
    if moved and alone >= 0:
        out.stands[alone] = False
    if queued >= 0 and waits and not moved and not events.over[begin]:
        out.stands[queued] = True
