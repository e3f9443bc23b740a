"""Gains of one class over another, straight from the definition."""

import math
import random
from collections.abc import Mapping, Sequence

Attempt = tuple[str, str, int]
"""User, class, wait in s."""


def median(waits: Sequence[int]) -> int:
    """By nearest rank."""
    return sorted(waits)[math.ceil(len(waits) / 2) - 1]


def gains(attempts: Sequence[Attempt], mine: str) -> dict[str, int]:
    """Of each other class with 5 users and 30 attempts; nothing where ``mine`` has fewer."""
    of_class: dict[str, list[tuple[str, int]]] = {}
    for user, label, wait in attempts:
        of_class.setdefault(label, []).append((user, wait))
    medians = {
        label: median([wait for _, wait in held])
        for label, held in of_class.items()
        if len({user for user, _ in held}) >= 5 and len(held) >= 30
    }
    if mine not in medians:
        return {}
    return {label: medians[mine] - of for label, of in medians.items() if label != mine}


def interval(attempts: Sequence[Attempt], mine: str, label: str, resamples: int) -> tuple[int, int]:
    """The middle 95 % of the gain where users are drawn again, by other chances."""
    of_user: Mapping[str, list[Attempt]] = {
        user: [each for each in attempts if each[0] == user] for user, _, _ in attempts
    }
    chance, found = random.Random(0), []
    for _ in range(resamples):
        drawn = [of_user[user] for user in chance.choices(sorted(of_user), k=len(of_user))]
        waits = {
            of: [wait for held in drawn for _, at, wait in held if at == of] for of in (mine, label)
        }
        if all(waits.values()):
            found.append(median(waits[mine]) - median(waits[label]))
    found.sort()
    return found[math.ceil(len(found) * 0.025) - 1], found[math.ceil(len(found) * 0.975) - 1]
