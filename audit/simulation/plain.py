"""EASY backfilling word for word from SPEC §4: slow, plain, for one resource.

It schedules the demo log, and is what compiled schedulers can be tested against. Every line has a
sentence of SPEC §4 behind it and nothing is there for speed: 20,000 attempts take seconds.

Queue order ``fcfs``, backfilling ``easy``. Sources: SPEC §4; D. Lifka, "The ANL/IBM SP scheduling
system", JSSPP 1995 (the idea); [S] §3.1 (only the head of the queue is promised a start).
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from heapq import heapify, heappop, heappush

from audit.errors import SimulationError


class Event(IntEnum):
    """What happens at one instant, in this order; the passes come after both (SPEC §4)."""

    END = 1
    ARRIVAL = 2


def estimate_of(occupancy: int, walltime: int | None) -> int:
    """What a planner believes an attempt will take: max(walltime, occupancy), at least 1 s.

    Both in seconds; ``walltime`` is None where it is unknown or unlimited. An attempt that outran
    its walltime is expected to end when it did: planners never see an expected end in the past.
    Range: ≥ max(1, ``occupancy``). Source: SPEC §4.
    """
    return max(walltime or 0, occupancy, 1)


def easy(
    arrival: Sequence[int],
    size: Sequence[int],
    occupancy: Sequence[int],
    estimate: Sequence[int],
    capacity: int,
) -> list[int | None]:
    """When each attempt starts under first come first served with EASY backfilling.

    Args:
        arrival: epoch seconds. Where arrivals are equal the position decides, so the attempts
            must be given in the order (submit, sequence) there.
        size: amount of the counted resource, ≥ 0.
        occupancy: actual seconds from start to end, ≥ 0; the scheduler does not know them.
        estimate: seconds that the scheduler expects instead, see ``estimate_of``.
        capacity: amount of the counted resource in the pool, constant, ≥ 0.

    Returns:
        Epoch seconds of each start, ≥ the arrival; None where an attempt asks for more than the
        capacity and is therefore never queued.

    Raises:
        SimulationError: the sequences differ in length, something is negative, or an estimate is
            less than the occupancy or than 1 s.

    Source: SPEC §4, "At one instant t", "Queue order", "Backfilling".
    """
    _validate(arrival, size, occupancy, estimate, capacity)
    start: list[int | None] = [None] * len(arrival)
    events = [(arrival[k], Event.ARRIVAL, k) for k in range(len(arrival)) if size[k] <= capacity]
    heapify(events)
    queue: list[int] = []  # in order of arrival, then position
    expected_end: dict[int, int] = {}  # of what runs
    free = capacity  # never negative: the pool is empty at first, and only what fits starts
    while events:
        t = events[0][0]
        while events and events[0][0] == t:
            _, event, k = heappop(events)
            if event is Event.END:
                free += size[k]
                del expected_end[k]
            else:
                queue.append(k)
        for k in list(_starts(t, queue, size, estimate, expected_end, free)):
            start[k] = t
            free -= size[k]
            expected_end[k] = t + estimate[k]
            # Of no occupancy it ends at t as well: then this instant goes round once more.
            heappush(events, (t + occupancy[k], Event.END, k))
        queue = [k for k in queue if start[k] is None]
    return start


def _starts(
    t: int,
    queue: Sequence[int],
    size: Sequence[int],
    estimate: Sequence[int],
    expected_end: dict[int, int],
    free: int,
) -> Iterator[int]:
    """The attempts that one EASY pass over the ordered ``queue`` starts at ``t``.

    ``free`` and ``expected_end`` describe the pool before the pass, and are left as they are.
    """
    ending = [(end, size[k]) for k, end in expected_end.items()]
    waiting = iter(queue)
    for head in waiting:
        if size[head] > free:
            break
        free -= size[head]
        ending.append((t + estimate[head], size[head]))
        yield head
    else:
        return  # the whole queue has started
    shadow, extra = _shadow_and_extra(size[head], free, ending)
    for k in waiting:
        if size[k] > free:
            continue
        if t + estimate[k] > shadow:
            if size[k] > extra:
                continue
            extra -= size[k]
        free -= size[k]
        yield k


def _shadow_and_extra(head: int, free: int, ending: list[tuple[int, int]]) -> tuple[int, int]:
    """The first expected end at which the head's request fits, and what is then left beside it.

    ``ending`` holds (expected end, size) of all that runs. Everything expected to end at the
    shadow has ended there, so equal ends count together. It always exists: the head asks for no
    more than the capacity, which is free when all that runs has ended.
    """
    ending.sort()
    shadow = None
    for end, freed in ending:
        if shadow is not None and end > shadow:
            break
        free += freed
        if shadow is None and head <= free:
            shadow = end
    assert shadow is not None
    return shadow, free - head


def _validate(
    arrival: Sequence[int],
    size: Sequence[int],
    occupancy: Sequence[int],
    estimate: Sequence[int],
    capacity: int,
) -> None:
    if not len(arrival) == len(size) == len(occupancy) == len(estimate):
        raise SimulationError(
            "easy: arrival, size, occupancy and estimate must have one value per attempt, not "
            f"{len(arrival)}, {len(size)}, {len(occupancy)} and {len(estimate)}"
        )
    if capacity < 0:
        raise SimulationError(f"easy: the capacity is {capacity}; it must be 0 or more")
    for k in range(len(arrival)):
        if size[k] < 0 or occupancy[k] < 0:
            raise SimulationError(
                f"easy: attempt at position {k} has size {size[k]} and occupancy {occupancy[k]} s; "
                "both must be 0 or more"
            )
        if estimate[k] < max(occupancy[k], 1):
            raise SimulationError(
                f"easy: attempt at position {k} has an estimate of {estimate[k]} s and an "
                f"occupancy of {occupancy[k]} s; use estimate_of(occupancy, walltime)"
            )
