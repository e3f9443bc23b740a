"""How many examples Hypothesis makes of a test."""

from typing import Final

from hypothesis import settings

USUAL: Final = 40
"""Examples of a test that says no number of its own, of the profile ``repeatable``."""


def examples(number: int) -> int:
    """As many examples as a test needs, or as large a part of them as the profile makes of others.

    Args:
        number: how many of them find what such a test will ever find.
    """
    return max(1, number * settings().max_examples // USUAL)
