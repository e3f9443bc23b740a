"""Publishable sets of attempts, by trying what each reader could take out."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

Pair = tuple[str | None, str | None]
FEWEST = 5


def left(pairs: Iterable[Pair], kind: int, name: str) -> tuple[set[str], bool]:
    """Users, and whether anything, that is left without one user (0) or account (1)."""
    rest = [pair for pair in pairs if pair[kind] != name]
    return {user for user, _ in rest if user is not None}, bool(rest)


def may_be_published(pairs: set[Pair]) -> bool:
    """Whether every user, present or not, and every account leaves enough others."""
    users = {user for user, _ in pairs if user is not None}
    accounts = {account for _, account in pairs if account is not None}
    if len(users) < FEWEST or any(len(left(pairs, 0, user)[0]) < FEWEST for user in users):
        return False
    for account in accounts:
        others, anything = left(pairs, 1, account)
        if anything and len(others) < FEWEST:
            return False
    return True


def median(waits: list[tuple[int, int]]) -> int:
    """The least wait of (user, wait) pairs up to which half of the weight lies.

    Each user has the weight 1.
    """
    jobs = Counter(user for user, _ in waits)
    passed = Fraction(0)
    for wait, user in sorted((wait, user) for user, wait in waits):
        passed += Fraction(1, jobs[user])
        if 2 * passed >= len(jobs):
            return wait
    raise AssertionError("there are no waits")
