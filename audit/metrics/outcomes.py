"""Who gains and who loses where less is better: what a difference and its interval say."""

from enum import StrEnum


class Outcome(StrEnum):
    """What a change does to a part."""

    gains = "gains"
    """The whole interval is below 0."""
    loses = "loses"
    """The whole interval is above 0."""
    unclear = "unclear"
    same = "same"
    """Nothing differs."""


def outcome(value: float, lower: float | None, upper: float | None) -> Outcome:
    """What a difference says where less is better."""
    if value == 0 and (lower, upper) in ((None, None), (0, 0)):
        return Outcome.same
    if lower is None or upper is None:
        return Outcome.unclear
    if upper < 0:
        return Outcome.gains
    return Outcome.loses if lower > 0 else Outcome.unclear
