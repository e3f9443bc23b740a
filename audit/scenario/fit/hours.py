"""Windows: hours of the week at which a class is not started, though it could be.

Rules of sites are simple: a stretch of hours of all days, of working days or of weekends, or one
stretch of the week. Of each kind the stretch is taken that gains most by telling its trials from
all others (``splits``), and of the kinds the one that gains most. A site with two stretches shows
the second when the first is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.model import Scope, Window
from audit.rules import DAY, WEEK
from audit.scenario.fit.observed import Floats, Trials
from audit.scenario.fit.splits import LEAST_GAIN, Split, gain
from audit.scenario.workload import Bools, Ints

HOUR_S: Final = 3600
DAYS: Final = ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2, 3, 4), (5, 6))
"""Days on which a stretch of hours may be closed, Monday first."""
CLOSED: Final = 0.5
"""Of the share served at other hours: closed hours serve less."""


class Found(NamedTuple):
    """A window that the trials speak for."""

    window: Window
    split: Split
    explained: int
    """Seconds between those trials in it that failed and the starts."""


def clocks(zone: str, first: int, last: int) -> list[str]:
    """Clocks that a site's rules may go by: its zone, and the same without summer time.

    The times of some logs were written by a clock that knows no summer time.
    """
    known = ZoneInfo(zone)
    months = range(first, last + 1, 30 * DAY * HOUR_S)
    offsets = {datetime.fromtimestamp(at, known).utcoffset() for at in months}
    seconds = {int(offset.total_seconds()) for offset in offsets if offset is not None}
    standard = min(seconds, default=0)
    if len(seconds) < 2 or standard % HOUR_S:
        return [zone]
    hours = standard // HOUR_S
    # in these names, as POSIX has it, the sign is that of the way back to UTC
    return [zone, f"Etc/GMT{-hours:+d}" if hours else "UTC"]


def hour_of_week(times: Ints, zone: str) -> Ints:
    """Hours since Monday, 00:00, by the clock of ``zone``; 0 to 167."""
    local = pl.from_epoch(pl.Series("at", times, pl.Int64)).dt.replace_time_zone("UTC")
    local = local.dt.convert_time_zone(zone)
    days = local.dt.weekday().cast(pl.Int64) - 1
    hours: Ints = (days * DAY + local.dt.hour().cast(pl.Int64)).to_numpy()
    return hours


def windows(trials: Trials, scopes: Sequence[tuple[Scope, Bools]], zone: str) -> list[Found]:
    """A window of each scope, where trials speak for one; most explained first."""
    hour = hour_of_week(trials.at, zone)
    found = []
    for scope, held in scopes:
        concerned = held[trials.job]
        closed = closed_hours(hour[concerned], trials.served[concerned])
        if closed is None:
            continue
        hours, best = closed
        inside = concerned & np.isin(hour, hours)
        explained = int(trials.idle[inside].sum())
        found.append(Found(Window(hours=hours, **scope.conditions), best, explained))
    return sorted(found, key=lambda one: (-one.explained, repr(one.window)))


def closed_hours(hour: Ints, served: Bools) -> tuple[tuple[int, ...], Split] | None:
    """The hours of the week at which nearly nobody is served.

    Args:
        hour: [m], of the week, of each trial.

    Returns:
        Them, ascending, and what the trials say; None where nothing is gained.
    """
    tried = np.bincount(hour, minlength=WEEK).astype(np.float64)
    kept = np.bincount(hour, served, WEEK).astype(np.float64)
    total = float(kept.sum()), float(tried.sum())
    best: tuple[tuple[int, ...], Split] | None = None
    for circle in _circles():
        found = _stretch(kept[circle].sum(0), tried[circle].sum(0), total)
        if found is not None and (best is None or found[1].gain > best[1].gain):
            chosen, split = found
            best = tuple(sorted(circle[:, chosen].ravel().tolist())), split
    return best


def _circles() -> list[Ints]:
    """The hours of the week that are alike, a row for each day: of kinds of days, and the week."""
    days = [np.array(days)[:, None] * DAY + np.arange(DAY) for days in DAYS]
    return [*days, np.arange(WEEK)[None, :]]


def _stretch(
    served: Floats, tried: Floats, total: tuple[float, float]
) -> tuple[Ints, Split] | None:
    """The hours, of a circle, that gain most where nothing between them is left out.

    Of stretches that gain the same, the one that begins last, and then ends last: what nobody tried
    is open before anything fails, and closed until somebody is served.
    """
    size = len(served)
    first, length = np.meshgrid(np.arange(size), np.arange(1, size), indexing="ij")

    def inside(amount: Floats) -> Floats:
        sums = np.concatenate(([0.0], np.cumsum(np.tile(amount, 2))))
        within: Floats = sums[first + length] - sums[first]
        return within

    kept, all_tried = inside(served), inside(tried)
    gains = gain(kept.ravel(), all_tried.ravel(), total).reshape(kept.shape)
    others = np.maximum(total[1] - all_tried, 1.0)
    closed = kept / np.maximum(all_tried, 1.0) < CLOSED * (total[0] - kept) / others
    gains = np.where(closed, gains, 0.0)
    top = gains.max(initial=0.0)
    if top < LEAST_GAIN:
        return None
    alike = np.argwhere(gains >= top - 1e-9)
    begin, extent = max(alike.tolist(), key=lambda at: (_tried_at(tried, at[0]), at[1]))
    hours = (begin + np.arange(extent + 1)) % size
    of_hours = float(kept[begin, extent]), float(all_tried[begin, extent])
    split = Split(extent + 1, float(top), int(of_hours[0]), int(of_hours[1] - of_hours[0]))
    return np.asarray(hours), split


def _tried_at(tried: Floats, hour: int) -> bool:
    """Whether anything was tried at an hour: a stretch begins where something fails."""
    return bool(tried[hour] > 0)
