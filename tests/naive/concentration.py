"""How unequally an amount is spread, straight from the definitions; nothing shared."""

from collections.abc import Sequence
from fractions import Fraction


def gini(amounts: Sequence[int]) -> Fraction:
    """Mean absolute difference of all pairs, over twice the mean."""
    number = len(amounts)
    apart = sum(abs(one - other) for one in amounts for other in amounts)
    return Fraction(apart, 2 * number * sum(amounts))


def lorenz(amounts: Sequence[int]) -> list[tuple[Fraction, Fraction]]:
    """Part of all that the k with least have, for k from 0 on."""
    ordered = sorted(amounts)
    return [
        (Fraction(k, len(ordered)), Fraction(sum(ordered[:k]), sum(ordered)))
        for k in range(len(ordered) + 1)
    ]


def held_by_top(amounts: Sequence[int], part: int, of: int) -> Fraction:
    """Return the part of the total that the top ``part`` of ``of`` users have.

    Each user is cut into ``of`` users alike, so that no part of a user is left over.
    """
    ordered = sorted((amount for amount in amounts for _ in range(of)), reverse=True)
    return Fraction(sum(ordered[: part * len(amounts)]), sum(ordered))
