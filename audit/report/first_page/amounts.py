"""Amounts as page one writes them: two digits, one unit, and words for plain shares."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from audit.report import wording

UNKNOWN: Final = "–"
_UNITS: Final = ((60, "s", 1), (90 * 60, "min", 60), (48 * 3_600, "h", 3_600))
_WORDS: Final = (
    (1 / 2, "half"),
    (1 / 3, "a third"),
    (2 / 3, "two thirds"),
    (1 / 4, "a quarter"),
    (3 / 4, "three quarters"),
    (4 / 5, "four fifths"),
)
_NEAR: Final = 0.04
"""A share that is at most this far from one with a word is written as that word."""
_NEARLY_ALL: Final = 0.95
_NUMBERS: Final = ("no", "one", "two", "three")


def digits(value: float, number: int = 2) -> str:
    """Return a number ≥ 0 in ``number`` significant digits, at most one after the point."""
    if value <= 0:
        return "0"
    places = min(number - 1 - math.floor(math.log10(value)), 1)
    rounded = round(value, places)
    return f"{rounded:,.0f}" if rounded == int(rounded) else f"{rounded:,.1f}"


def short_time(seconds: float | None) -> str:
    """Return a time ≥ 0: ``49 s``, ``1.6 min``, ``20 h``, ``4.3 d``."""
    if seconds is None:
        return UNKNOWN
    for below, unit, size in _UNITS:
        if seconds < below:
            return f"{digits(seconds / size)} {unit}"
    return f"{digits(seconds / 86_400)} d"


def short_share(of_one: float | None) -> str:
    """Return a share: ``7.7 %``, ``47 %``, ``under 1 %``, ``over 99 %``."""
    if of_one is None:
        return UNKNOWN
    percent = 100 * of_one
    if 99.5 <= percent < 100:
        return "over 99 %"
    return "under 1 %" if 0 < percent < 0.995 else f"{digits(percent)} %"


def whole(percent: int, *, alone: bool = True) -> str:
    """Return a rounded share; 100 % is less than all, unless it is ``alone``."""
    if percent == 100 and not alone:
        return "over 99 %"
    return f"{percent} %" if percent else "under 1 %"


def between(low: float, high: float) -> str:
    """Return an interval of shares, which does not break: ``47 to 52 %``."""
    first, last = (digits(100 * bound) for bound in (low, high))
    return f"{first}\u00a0to\u00a0{last}\u00a0%"


def plain(of_one: float) -> str | None:
    """Return a share as a word, such as ``two thirds``; None if no word is near."""
    distance, word = min((abs(of_one - at), word) for at, word in _WORDS)
    return word if distance <= _NEAR + 1e-9 else None


def spoken(of_one: float, *, nearly: str = "nearly all") -> str:
    """Return a share as a word if there is one, from 95 % on ``nearly``, else the figure."""
    return nearly if of_one >= _NEARLY_ALL else plain(of_one) or short_share(of_one)


def number(count: int) -> str:
    """Return a number of users or accounts, up to three in words."""
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else wording.count(count)


def counted(count: int, word: str) -> str:
    """Return such a number with its noun: ``one user``, ``13 users``."""
    return f"{number(count)} {word}{'' if count == 1 else 's'}"


def hours(seconds: float) -> str:
    """Return a total in hours, in three digits; one below 90 minutes in a smaller unit."""
    if seconds < _UNITS[1][0]:
        return short_time(seconds)
    value = seconds / 3_600
    shown = digits(value, 3)
    return f"{shown} hour{'' if shown == '1' else 's'}"


def adding_up(values: Mapping[str, float], total: int) -> dict[str, int]:
    """Return whole numbers that add up to ``total``, by the largest remainder."""
    found = {key: math.floor(value) for key, value in values.items()}
    by_rest = sorted(values, key=lambda key: (found[key] - values[key], key))
    for key in by_rest[: max(total - sum(found.values()), 0)]:
        found[key] += 1
    return found


def first_words(text: str, most: int) -> str:
    """Return a text of at most ``most`` words; a longer one ends in ``…``."""
    words = text.split()
    return text if len(words) <= most else f"{' '.join(words[:most]).rstrip(',;')} …"


def listed(words: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last
