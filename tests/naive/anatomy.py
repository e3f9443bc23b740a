"""SPEC §10, *Anatomy*, in slow, plain, exact Python: second by second, each looked at on its own.

Nothing here is shared with the package.
"""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from tests.naive import attempts as naive
from tests.naive.simulation import Amounts, Had, Log, fits, is_blocked, log_of, minus

Parts = dict[str, Fraction]
NAMES = ("room", "shared", "own", "earlier", "later", "down")


class Held(NamedTuple):
    """An attempt: in the queue over [arrival, leave), at work over [start, end)."""

    key: tuple[str, int]
    place: tuple[Any, ...]  # (arrival, submit, sequence)
    user: str | None
    request: Amounts
    arrival: int
    leave: int
    start: int | None
    end: int | None
    judged: bool


def kept(
    records: Iterable[naive.Record],
    amounts: Mapping[str, int],
    steps: Iterable[Had],
    now: int,
    ready: Mapping[tuple[str, int], int],
) -> dict[tuple[str, int], int]:
    """How many seconds of room each has before it would have been started."""
    held, pool = _held_in(records, amounts, steps, now)
    return {
        one.key: sum(
            name == "room"
            for t in range(one.arrival, one.leave)
            if t < ready.get(one.key, one.leave)
            for name, _ in _second(one, t, held, pool)
        )
        for one in held
        if one.judged
    }


def anatomy(
    records: Iterable[naive.Record], amounts: Mapping[str, int], steps: Iterable[Had], now: int
) -> dict[tuple[str, int], Parts]:
    """The parts of each wait that is taken apart, by job and attempt; see ``log_of``."""
    held, pool = _held_in(records, amounts, steps, now)
    return {one.key: _parts(one, held, pool) for one in held if one.judged}


def _held_in(
    records: Iterable[naive.Record], amounts: Mapping[str, int], steps: Iterable[Had], now: int
) -> tuple[list[Held], Log]:
    """The attempts of the pool in their order, and the pool."""
    records = list(records)
    pool, _ = log_of(records, amounts, steps, now)
    held = [
        one
        for record, attempt in zip(
            records, naive.described(records, next(iter(amounts))), strict=True
        )
        if not record["reservation"] and (one := _held(record, attempt, amounts, now)) is not None
    ]
    held.sort(key=lambda one: one.place)
    return held, pool


def _held(
    record: naive.Record, attempt: naive.Attempt, amounts: Mapping[str, int], now: int
) -> Held | None:
    match attempt.standing:
        case "pending":
            leave: int | None = now
        case "never_started":
            leave = attempt.end
        case "start_unknown":
            leave = None
        case _:
            leave = attempt.start
    judged = leave is not None and attempt.arrival is not None and not is_blocked(record)
    if attempt.start is None and not judged:
        return None
    arrival = attempt.start if attempt.arrival is None else attempt.arrival
    assert arrival is not None
    submit = -1 if record["submit_time"] is None else record["submit_time"]
    ends = attempt.end if attempt.standing != "running" else now + 10**6
    return Held(
        attempt.key,
        (arrival, submit, record["job_number"], record["attempt"]),
        attempt.user,
        tuple(record[x] or 0 for x in amounts),
        arrival,
        leave if judged and leave is not None else arrival,
        attempt.start,
        ends,
        judged,
    )


def _parts(j: Held, held: list[Held], pool: Log) -> Parts:
    parts = dict.fromkeys(NAMES, Fraction())
    for t in range(j.arrival, j.leave):
        for name, share in _second(j, t, held, pool):
            parts[name] += share
    return parts


def _second(j: Held, t: int, held: list[Held], pool: Log) -> list[tuple[str, Fraction]]:
    """Return the parts that the second from ``t`` on belongs to."""
    capacity = pool.capacity_at(t)
    running = [
        k for k in held if k.start is not None and k.end is not None and k.start <= t < k.end
    ]
    free = capacity
    for k in running:
        free = minus(free, k.request)
    if fits(j.request, free):
        left = free
        for k in held:  # in their order
            if k is j:
                return [("room" if fits(j.request, left) else "shared", Fraction(1))]
            if k.arrival <= t < k.leave and fits(k.request, left):
                left = minus(left, k.request)
    if any(asked > had for asked, had in zip(j.request, capacity, strict=True) if asked):
        return [("down", Fraction(1))]
    lacks = [
        Fraction(asked - has, had) if asked and asked > has else Fraction(-1)
        for asked, has, had in zip(j.request, free, capacity, strict=True)
    ]
    short = lacks.index(max(lacks))
    own = sum(k.request[short] for k in running if k.user == j.user and k.user is not None)
    others = [k for k in running if k.user != j.user or k.user is None]
    earlier = sum(k.request[short] for k in others if k.place < j.place)
    later = sum(k.request[short] for k in others if k.place > j.place)
    used = own + earlier + later
    if not used:
        return [("down", Fraction(1))]
    return [
        ("own", Fraction(own, used)),
        ("earlier", Fraction(earlier, used)),
        ("later", Fraction(later, used)),
    ]
