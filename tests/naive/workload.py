"""Definitions of the workload model in slow, plain Python."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo


def part(instant: int, zone: ZoneInfo) -> str:
    """SPEC §8: peak (8–17 h), off-peak, weekend."""
    at = datetime.fromtimestamp(instant, UTC).astimezone(zone)
    if at.weekday() >= 5:
        return "weekend"
    return "peak" if 8 <= at.hour < 17 else "off_peak"


def reading(instant: int, begin: int, zone: ZoneInfo) -> int:
    """How many seconds since ``begin`` were of the part that ``instant`` is in.

    By quarters of an hour, none of which is of two parts.
    """
    own = part(instant, zone)
    whole = range(begin, instant - (instant - begin) % 900, 900)
    return sum(900 for quarter in whole if part(quarter, zone) == own) + (instant - begin) % 900


def gaps(arrivals: Sequence[int], begin: int, end: int, zone: ZoneInfo) -> list[int]:
    """Of one label, by arrival; the log is a circle for each part of the week."""
    lasted = {
        name: sum(900 for quarter in range(begin, end, 900) if part(quarter, zone) == name)
        for name in ("peak", "off_peak", "weekend")
    }
    found = []
    for place, arrival in enumerate(arrivals):
        own = part(arrival, zone)
        alike = [k for k, other in enumerate(arrivals) if part(other, zone) == own]
        later = [k for k in alike if k > place]
        here = reading(arrival, begin, zone)
        if later:
            found.append(reading(arrivals[later[0]], begin, zone) - here)
        else:
            found.append(reading(arrivals[alike[0]], begin, zone) + lasted[own] - here)
    return found


def cdf(x: float, share: float, short: float, long: float) -> float:
    return share * (1 - math.exp(-x / short)) + (1 - share) * (1 - math.exp(-x / long))


def log_likelihood(seconds: Sequence[int], share: float, short: float, long: float) -> float:
    """Return the log-likelihood of values that are rounded to seconds."""
    total = 0.0
    for value in seconds:
        low = cdf(max(value - 0.5, 0.0), share, short, long)
        total += math.log(max(cdf(value + 0.5, share, short, long) - low, 1e-300))
    return total


def distance(seconds: Sequence[int], share: float, short: float, long: float) -> float:
    """Kolmogorov–Smirnov, between whole seconds."""
    return max(
        abs(sum(v <= at for v in seconds) / len(seconds) - cdf(at + 0.5, share, short, long))
        for at in range(max(seconds) + 1)
    )
