"""Where the windows of windowed usage begin and end (SPEC §7; [B] §2.1, figure 2).

Windows are half-open and adjoin each other; window 0 is the one that ends at the instant T itself.
Each function gives, for every instant, the depth + 1 bounds of its windows, the latest first:
window i = [bounds[k, i + 1], bounds[k, i]).

``trailing``: window i = [T − (i + 1) · interval, T − i · interval). All have the same length.

``calendar``: the bounds are what a clock on the wall shows, as with Maui and Moab. Counted from
Monday, 1970-01-05, 00:00 in the cluster's zone, a window begins whenever the local clock has
advanced by another interval; window 0 reaches from the last of these bounds at or before T to T. So
windows of n days begin at local midnights, those of 7 days on Mondays, and those of n days where
the number of days since that Monday is a multiple of n. A day of a clock change is one day like any
other, of 23 or 25 hours; of shorter windows, one that holds an hour that comes twice holds both,
and one whose hours are skipped is empty. Where T is a bound, window 0 has just begun and is empty.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, Literal
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Alignment = Literal["trailing", "calendar"]

ORIGIN: Final = datetime(1970, 1, 5)  # noqa: DTZ001 (a clock on the wall has no zone)


def trailing(instants: Ints, interval_s: int, depth: int) -> Ints:
    """Bounds of windows that end at each instant.

    Args:
        instants: epoch s.
        interval_s: length of a window, s, ≥ 1.
        depth: number of windows, ≥ 1.
    """
    return instants[:, np.newaxis] - interval_s * np.arange(depth + 1, dtype=np.int64)


def calendar(instants: Ints, interval_s: int, depth: int, zone: ZoneInfo) -> Ints:
    """Bounds of windows that are fixed in a zone.

    Args:
        instants: epoch s, ascending.
        interval_s: advance of the local clock from window to window, s, ≥ 1.
        depth: number of windows, ≥ 1.
        zone: the cluster's zone.
    """
    began: dict[int, int] = {}

    def begin(number: int) -> int:
        if number not in began:
            began[number] = first_reading(ORIGIN + number * timedelta(seconds=interval_s), zone)
        return began[number]

    bounds = np.empty((len(instants), depth + 1), np.int64)
    for k, instant in enumerate(instants.tolist()):
        bounds[k, 0] = instant
        current = _window_of(instant, interval_s, zone, begin)
        bounds[k, 1:] = [begin(current - i) for i in range(depth)]
    return bounds


def first_reading(wall: datetime, zone: ZoneInfo) -> int:
    """The first instant, epoch s, at which a clock in ``zone`` shows ``wall`` or later."""
    instant = int(wall.replace(tzinfo=zone).timestamp())
    if _shown(instant, zone) == wall:
        return instant
    before, after = int(wall.replace(tzinfo=zone, fold=1).timestamp()), instant
    while after - before > 1:  # the clock skips ``wall`` somewhere in between
        middle = (before + after) // 2
        if _shown(middle, zone) >= wall:
            after = middle
        else:
            before = middle
    return after


def _window_of(instant: int, interval_s: int, zone: ZoneInfo, begin: Callable[[int], int]) -> int:
    """The number of the last window that has begun by ``instant``."""
    number = (_shown(instant, zone) - ORIGIN) // timedelta(seconds=interval_s)
    while begin(number + 1) <= instant:  # the clock was set back behind a bound
        number += 1
    return number


def _shown(instant: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(instant, tz=zone).replace(tzinfo=None)
