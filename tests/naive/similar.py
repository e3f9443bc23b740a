"""SPEC §10, *Similar jobs*, in slow, plain Python; nothing is shared with the package."""

from collections.abc import Iterable
from typing import Literal

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


def waits_of_similar(
    j: Record, others: Iterable[Record], before: int | None, kind: Literal["user", "account"]
) -> list[int] | None:
    """Return the waits, ascending, of the jobs similar to j, or None if there are too few.

    Args:
        j: user, account, partition, qos, size, walltime_s, arrival, wait and end (or None).
        others: of the same pool; may include j.
        before: end of j's period, or None.
        kind: whose jobs are compared: those of other users, or of other accounts.
    """
    if j[kind] is None:
        return None
    known = [
        k
        for k in others
        if k[kind] is not None
        and k[kind] != j[kind]
        and k["wait"] is not None
        and k["end"] is not None
        and (before is None or k["end"] < before)
        and (k["partition"], k["qos"]) == (j["partition"], j["qos"])
        and width_class(k["size"]) == width_class(j["size"])
        and walltime_class(k["walltime_s"]) == walltime_class(j["walltime_s"])
    ]
    for days in (1, 7, 30):
        found = [k for k in known if abs(k["arrival"] - j["arrival"]) <= days * DAY]
        if len(found) >= 20 and len({k[kind] for k in found}) >= 3:
            return sorted(k["wait"] for k in found)
    return None


def last_gone(lives: list[tuple[int, int]], none: int) -> list[int]:
    """Return, of lives (owner, end) in order, the latest earlier end of the same owner."""
    return [
        max([none, *(gone for other, gone in lives[:k] if other == owner)])
        for k, (owner, _) in enumerate(lives)
    ]
