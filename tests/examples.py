"""How many examples Hypothesis makes of a test."""

from typing import Final

from hypothesis import settings

USUAL: Final = 40
"""Default number of examples in the profile ``repeatable``."""


def examples(number: int) -> int:
    """Return the number of examples of a test, scaled by the profile from ``USUAL``."""
    return max(3, number * settings().max_examples // USUAL)
