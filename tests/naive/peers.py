"""SPEC §10, *Peers*, in slow, plain, exact Python; nothing is shared with the package."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from tests.naive.attempts import Record, width_class

DAY = 86_400
HOUR = 3_600


def walltime_class(walltime: int | None) -> str:
    if walltime is None:
        return "unknown"
    for end in (HOUR, 4 * HOUR, 12 * HOUR, 24 * HOUR):
        if walltime <= end:
            return f"up to {end}"
    return "longer"


def peers_of(j: Record, others: Iterable[Record], before: int | None) -> list[Record] | None:
    """Return the attempts whose waits are compared with that of j, or None if there are too few.

    Args:
        j: user, partition, qos, size, walltime_s, arrival, wait and end (or None).
        others: of the same pool; may include j.
        before: end of j's period, or None.
    """
    known = [
        k
        for k in others
        if k["user"] is not None
        and k["user"] != j["user"]
        and k["wait"] is not None
        and k["end"] is not None
        and (before is None or k["end"] < before)
        and width_class(k["size"]) == width_class(j["size"])
        and walltime_class(k["walltime_s"]) == walltime_class(j["walltime_s"])
    ]
    for same_place, days in ((True, 1), (False, 1), (False, 7), (False, 30)):
        found = [
            k
            for k in known
            if abs(k["arrival"] - j["arrival"]) <= days * DAY
            and (not same_place or (k["partition"], k["qos"]) == (j["partition"], j["qos"]))
        ]
        if len(found) >= 20 and len({k["user"] for k in found}) >= 3:
            return found
    return None


def mean_wait(peers: Sequence[Record]) -> Fraction:
    """Return the mean of the users' mean waits."""
    waits: dict[Any, list[int]] = {}
    for one in peers:
        waits.setdefault(one["user"], []).append(one["wait"])
    means = [Fraction(sum(of_user), len(of_user)) for of_user in waits.values()]
    return sum(means, Fraction()) / len(means)


def last_gone(lives: list[tuple[int, int]], none: int) -> list[int]:
    """Return, of lives (owner, end) in order, the latest earlier end of the same owner."""
    return [
        max([none, *(gone for other, gone in lives[:k] if other == owner)])
        for k, (owner, _) in enumerate(lives)
    ]
