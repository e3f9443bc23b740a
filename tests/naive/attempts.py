"""SPEC's definitions in slow, plain, exact Python, as a check of the fast code.

Time is cut at every instant at which anything happens, and each elementary interval is considered
separately; all numbers are integers or fractions. Nothing here is shared with the package. The
scheduling model is in ``simulation.py``.
"""

import decimal
import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

Record = Mapping[str, Any]


class Attempt(NamedTuple):
    """One attempt, as SPEC §1 sees it."""

    key: tuple[str, int]  # job and attempt
    standing: str
    user: str | None
    account: str | None
    arrival: int | None
    clipped: bool
    start: int | None
    end: int | None
    runtime: int | None
    size: int | None

    @property
    def ended(self) -> bool:
        return self.standing == "ended"

    @property
    def wait(self) -> int:
        assert self.start is not None
        assert self.arrival is not None
        return self.start - self.arrival


class Life(NamedTuple):
    """An attempt's time in the pool; without a start, start = end."""

    arrival: int
    start: int
    end: int
    size: int


def described(records: Iterable[Record], resource: str = "cpus") -> list[Attempt]:
    """Each record's attempt, in the same order."""
    return [_described(record, resource) for record in records]


def _described(record: Record, resource: str) -> Attempt:
    start, end = record["start_time"], record["end_time"]
    undated = record["eligible_time"] is None and record["submit_time"] is None
    if start is not None and end is not None:
        standing = "arrival_unknown" if undated else "ended"
    elif start is not None:
        standing = "running"
    elif end is None and record["state"] == "PENDING":
        standing = "pending"
    elif end is None and record["occupancy_s"] is not None:
        standing = "start_unknown"
    else:
        standing = "never_started"
    ready = record["eligible_time"]
    if ready is None:
        ready = record["submit_time"]
    gone = end if standing == "never_started" else None
    known = [instant for instant in (ready, start, gone) if instant is not None]
    both = start is not None and end is not None
    occupancy = end - start if both else record["occupancy_s"]
    return Attempt(
        key=(record["job_id"], record["attempt"]),
        standing=standing,
        user=record["user"],
        account=record["account"],
        arrival=None if undated else min(known),
        clipped=None not in (start, ready) and start < ready,
        start=start,
        end=end,
        runtime=None if occupancy is None else max(occupancy - (record["suspended_s"] or 0), 0),
        size=record[resource],
    )


def bounded_slowdown(attempt: Attempt, tau: int = 10) -> Fraction:
    assert attempt.end is not None
    assert attempt.arrival is not None
    assert attempt.runtime is not None
    return max(Fraction(1), Fraction(attempt.end - attempt.arrival, max(attempt.runtime, tau)))


def width_class(size: int | None) -> str | None:
    if size is None:
        return None
    for low, high in [(0, 0), (1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 32), (33, 64)]:
        if low <= size <= high:
            return str(low) if low == high else f"{low}-{high}"
    return "65-128" if size <= 128 else ">128"


def life(attempt: Attempt, now: int, count_never_started: bool = False) -> Life | None:
    """Return the attempt's part in used and active, if any."""
    arrival, start, end = attempt.arrival, attempt.start, attempt.end
    size = attempt.size or 0
    if arrival is None:
        arrival = start
    if attempt.standing in ("ended", "arrival_unknown"):
        assert arrival is not None
        assert start is not None
        assert end is not None
        return Life(arrival, start, end, size)
    if attempt.standing == "running" and start is not None and start < now:
        assert arrival is not None
        return Life(arrival, start, now, size)
    if attempt.standing in ("pending", "running") and arrival is not None and arrival < now:
        return Life(arrival, now, now, size)
    if not count_never_started or attempt.standing != "never_started":
        return None
    if arrival is not None and end is not None and arrival < end:
        return Life(arrival, end, end, size)
    return None


def active(lives: Iterable[Life], t: int) -> list[Life]:
    return [one for one in lives if one.arrival <= t < one.end]


def running(lives: Iterable[Life], t: int) -> list[Life]:
    return [one for one in lives if one.start <= t < one.end]


def queued(lives: Iterable[Life], t: int) -> list[Life]:
    return [one for one in lives if one.arrival <= t < one.start]


def sizes(lives: Iterable[Life]) -> int:
    return sum(one.size for one in lives)


def integral(
    of: Callable[[int], Fraction | int], lives: Iterable[Life], begin: int, end: int
) -> Fraction:
    """∫ over [begin, end) of a quantity that changes only when an attempt does."""
    cuts = {begin, end}
    for one in lives:
        cuts |= {t for t in (one.arrival, one.start, one.end) if begin < t < end}
    ordered = sorted(cuts)
    return sum(
        (Fraction(of(a)) * (b - a) for a, b in itertools.pairwise(ordered)),
        Fraction(),
    )


# Resource equality, SPEC §3


class Equality(NamedTuple):
    deserved: Fraction
    consumed: Fraction

    @property
    def unfairness(self) -> Fraction:
        return self.deserved - self.consumed


def equality(one: Life, lives: Sequence[Life], weights: str = "size") -> Equality:
    """Return what an attempt deserved and consumed."""

    def share(t: int) -> Fraction:
        used = sizes(running(lives, t))
        if weights == "jobs":
            return min(Fraction(used, len(active(lives, t))), Fraction(one.size))
        total = sizes(active(lives, t))
        return min(Fraction(one.size * used, total), Fraction(one.size)) if total else Fraction()

    return Equality(
        integral(share, lives, one.arrival, one.end), Fraction((one.end - one.start) * one.size)
    )


# Performance, SPEC §2


def overtakes(attempts: Sequence[Attempt], one: Attempt) -> tuple[int, int]:
    """Return the numbers of later arrivals with earlier starts, and the reverse."""
    started = [
        (other.arrival, other.start)
        for other in attempts
        if other.start is not None and other.arrival is not None
    ]
    assert one.arrival is not None
    assert one.start is not None
    return (
        sum(arrival > one.arrival and start < one.start for arrival, start in started),
        sum(arrival < one.arrival and start > one.start for arrival, start in started),
    )


def utilization(lives: Sequence[Life], capacity: int, begin: int, end: int) -> Fraction:
    return integral(lambda t: sizes(running(lives, t)), lives, begin, end) / (
        capacity * (end - begin)
    )


def queued_mean(lives: Sequence[Life], begin: int, end: int) -> Fraction:
    return integral(lambda t: sizes(queued(lives, t)), lives, begin, end) / (end - begin)


def loss_of_capacity(lives: Sequence[Life], capacity: int, begin: int, end: int) -> Fraction:
    def lost(t: int) -> Fraction:
        idle = max(capacity - sizes(running(lives, t)), 0)
        return Fraction(min(idle, sizes(queued(lives, t))), capacity)

    return integral(lost, lives, begin, end) / (end - begin)


def over_capacity_time(lives: Sequence[Life], capacity: int, begin: int, end: int) -> Fraction:
    return integral(lambda t: int(sizes(running(lives, t)) > capacity), lives, begin, end) / (
        end - begin
    )


def peak(lives: Sequence[Life], begin: int, end: int) -> int:
    """Return the greatest use at any whole second of [begin, end)."""
    instants = [t for one in lives for t in (one.arrival, one.start, one.end) if begin <= t < end]
    return max((sizes(running(lives, t)) for t in [begin, *instants]), default=0)


# Users, SPEC §6


class Entity(NamedTuple):
    jobs: int
    attempts: int
    never_started: int
    gave_up_wait: int | None
    tuwt: int
    tusa: int

    @property
    def nuwt(self) -> Fraction | None:
        return Fraction(self.tuwt, self.tusa) if self.tusa else None


def entities(attempts: Iterable[Attempt], kind: str) -> dict[str | None, Entity]:
    owned: dict[str | None, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.standing in ("ended", "never_started"):
            owned.setdefault(getattr(attempt, kind), []).append(attempt)
    return {owner: _entity(theirs) for owner, theirs in owned.items()}


def _entity(attempts: list[Attempt]) -> Entity:
    ended = [attempt for attempt in attempts if attempt.ended]
    gave_up = [attempt for attempt in attempts if not attempt.ended]
    waited = [
        None if one.arrival is None or one.end is None else max(one.end - one.arrival, 0)
        for one in gave_up
    ]
    known = [wait for wait in waited if wait is not None]
    return Entity(
        jobs=len({attempt.key[0] for attempt in ended}),
        attempts=len(ended),
        never_started=len(gave_up),
        gave_up_wait=sum(known) if known or not gave_up else None,
        tuwt=sum(attempt.wait for attempt in ended),
        tusa=sum((attempt.runtime or 0) * (attempt.size or 0) for attempt in ended),
    )


def counted_nuwt(owners: Mapping[str | None, Entity], keep_single: bool = False) -> list[Fraction]:
    """Return NUWT of the users that count in UWT and related figures, ascending."""
    return sorted(
        one.nuwt
        for owner, one in owners.items()
        if owner is not None and one.jobs >= (1 if keep_single else 2) and one.nuwt is not None
    )


def f(nuwt: Sequence[Fraction]) -> Fraction:
    uwt = sum(nuwt, Fraction()) / len(nuwt)
    return sum(((uwt - one) ** 2 for one in nuwt), Fraction())


def nearest_rank(values: Sequence[Any], q: Fraction) -> Any:
    """Return the least value with at least a share q of all values at or below it."""
    return next(
        value for value in sorted(values) if sum(v <= value for v in values) >= q * len(values)
    )


def close(fast: float | None, exact: Fraction | int | None, scale: float = 1.0) -> bool:
    """Return whether they agree to 12 digits of the greater of the value and ``scale``."""
    if fast is None or exact is None:
        return fast is exact
    return math.isclose(fast, float(exact), rel_tol=1e-12, abs_tol=1e-12 * max(scale, 1e-30))


# Decayed usage, SPEC §7


class Use(NamedTuple):
    """The use of an attempt: from start to end at a penalty (per second)."""

    owner: str | None
    start: int
    end: int
    penalty: Fraction

    def within(self, begin: int, end: int) -> Fraction:
        return self.penalty * max(min(self.end, end) - max(self.start, begin), 0)


def uses(records: Iterable[Record], kind: str, now: int) -> list[Use]:
    """Return the use of records with a ``penalty`` that started, open ones up to now."""
    return [
        Use(
            record[kind],
            record["start_time"],
            now if record["end_time"] is None else record["end_time"],
            Fraction(record["penalty"]),
        )
        for record in records
        if record["start_time"] is not None
    ]


def trailing_usage(
    mine: Sequence[Use], instant: int, interval: int, depth: int, decay: Fraction
) -> Fraction:
    """Σ decay^i t_i over windows [T − (i+1)·interval, T − i·interval)."""
    total = Fraction()
    for i in range(depth):
        begin = instant - (i + 1) * interval
        total += decay**i * sum(one.within(begin, begin + interval) for one in mine)
    return total


def calendar_usage(
    mine: Sequence[Use],
    instant: int,
    interval: int,
    depth: int,
    decay: Fraction,
    clock: Callable[[int], int],
    step: int,
) -> Fraction:
    """Return the same for windows that end when a clock reaches a multiple of the interval.

    ``clock`` returns the local time, s. It is read every ``step`` seconds; all times are multiples
    of that. A clock that is set back does not reopen a window.
    """
    furthest = instant - (depth + 1) * interval - 3 * 86_400
    window = None
    held: dict[int, Fraction] = {}
    for t in range(furthest - furthest % step, instant + step, step):
        reached = clock(t) // interval
        window = reached if window is None else max(window, reached)
        amount = sum((one.within(t, min(t + step, instant)) for one in mine), Fraction())
        held[window] = held.get(window, Fraction()) + amount
    assert window is not None
    return sum((decay**i * held.get(window - i, Fraction()) for i in range(depth)), Fraction())


def half_life_usage(mine: Sequence[Use], instant: int, half_life: Fraction) -> Fraction:
    """Return Σ P · ∫ 2^(−(T − t)/H) dt, with antiderivative H/ln 2 · 2^(−(T − t)/H)."""
    with decimal.localcontext(prec=60):
        two = Decimal(2)
        h = Decimal(half_life.numerator) / half_life.denominator
        total = Fraction()
        for one in mine:
            end = min(one.end, instant)
            if one.start < end:
                late, early = (two ** (-Decimal(instant - t) / h) for t in (end, one.start))
                total += one.penalty * Fraction(h / two.ln() * (late - early))
    return total


def fractions(usage: Mapping[str | None, Fraction]) -> dict[str | None, Fraction]:
    total = sum(usage.values(), Fraction())
    return {owner: used / total if total else Fraction() for owner, used in usage.items()}


# Fair start times, SPEC §5: what follows once they are known


class Fair(NamedTuple):
    """An attempt, one of its fair start times, and its status."""

    attempt: Attempt
    fst: int | None
    status: str | None
    cautious: int | None = None  # its miss by the cautious reading

    @property
    def counts(self) -> bool:
        worth = self.status in ("final", "provisional", "preempted_context", "assumed_estimate")
        return worth and self.fst is not None

    @property
    def miss(self) -> int:
        assert self.fst is not None
        assert self.attempt.start is not None
        return max(self.attempt.start - self.fst, 0)

    @property
    def preference(self) -> int:
        assert self.fst is not None
        assert self.attempt.start is not None
        return max(self.fst - self.attempt.start, 0)

    def slowdown(self, tau: int = 10) -> Fraction:
        """Return its bounded slowdown if it had started at its fair start time."""
        assert self.fst is not None
        assert self.attempt.start is not None
        assert self.attempt.end is not None
        occupancy = self.attempt.end - self.attempt.start
        return bounded_slowdown(
            self.attempt._replace(start=self.fst, end=self.fst + occupancy), tau
        )


def unfairness(fairs: Iterable[Fair], fst: str, tolerance: int) -> dict[str, Fraction | None]:
    """Return overall unfairness by fair start times, and related figures."""
    counted = [one for one in fairs if one.counts]
    missed = [one.miss for one in counted if one.miss > tolerance]
    preferred = [one for one in counted if one.preference > tolerance]
    number = len(counted)
    return {
        f"miss_{fst}_mean": mean([one.miss for one in counted]),
        f"missed_{fst}_share": Fraction(len(missed), number) if number else None,
        f"missed_{fst}_mean": mean(missed),
        f"preferred_{fst}_share": Fraction(len(preferred), number) if number else None,
        f"preference_{fst}_mean": mean([one.preference for one in counted]),
    }


def delayed(fairs: Sequence[Fair]) -> dict[str, Fraction | None]:
    """Return the delays by later arrivals as shares of waiting, by both readings."""
    counted = [one for one in fairs if one.counts]
    waits = [(one.attempt.start or 0) - (one.attempt.arrival or 0) for one in counted]
    totals = {
        "miss_delivered_share": sum(one.miss for one in counted),
        "miss_cautious_share": sum(one.cautious or 0 for one in counted),
    }
    return {name: Fraction(n, sum(waits)) if sum(waits) else None for name, n in totals.items()}


def mean(values: Sequence[int | Fraction]) -> Fraction | None:
    return Fraction(sum(values)) / len(values) if values else None


def share_beyond(misses: Sequence[int], limit: int) -> Fraction | None:
    """Return the part of the sum that remains without misses below a limit."""
    total = sum(misses)
    return Fraction(sum(one for one in misses if one >= limit), total) if total else None


def signed_square_of_spearman(one: Sequence[int], other: Sequence[int]) -> Fraction | None:
    """Return the correlation times its absolute value, which is rational."""

    def centred(values: Sequence[int]) -> list[Fraction]:
        ranks = [
            Fraction(sum(v < value for v in values) + sum(v <= value for v in values) + 1, 2)
            for value in values
        ]
        middle = Fraction(len(values) + 1, 2)
        return [rank - middle for rank in ranks]

    x, y = centred(one), centred(other)
    spread = sum(a * a for a in x) * sum(b * b for b in y)
    if not spread:
        return None
    product = sum((a * b for a, b in zip(x, y, strict=True)), Fraction())
    return product * abs(product) / spread


def draws(bits: list[int], units: int) -> list[int]:
    """Return units drawn by 32 random bits each: the high half of bits · units.

    The 2^32 mod units values of bits with the lowest low halves are skipped, so that every unit has
    equally many.
    """
    products = [one * units for one in bits]
    return [product // 2**32 for product in products if product % 2**32 >= 2**32 % units]
