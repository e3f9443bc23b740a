"""What choosing another width, walltime or hour would go with: medians of waits, class by class.

Of attempts that differ in one thing that who submits them can choose, each of a class of it:

    gain of class c over class m = median wait in m − median wait in c        (nearest rank, s)

Users are resampled, each with all its attempts of both classes (SPEC §5, *Uncertainty*): one user
with many jobs in a class does not make its interval narrow. What is compared was observed of
others; nothing is replayed, and whoever chooses a class may differ in other things.

Conventions: classes of fewer than 5 users or 30 attempts are not compared, and there is no gain
over a class that is not.
"""

from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.quantiles import MEDIAN, nearest_rank
from audit.metrics.uncertainty import RESAMPLES, Interval, Resamples, interval

Floats = NDArray[np.float64]

LEAST_USERS: Final = 5
LEAST_ATTEMPTS: Final = 30
HOURS: Final = ("peak", "off_peak", "weekend")
"""When attempts arrive: on workdays from 8 to 17 h of the cluster's zone, otherwise on workdays, at
weekends ([B] §3.2)."""
_PEAK: Final = (8, 17)
_SATURDAY: Final = 6


class Gain(NamedTuple):
    """By how much the median wait of a class is less than that of another, with its interval; s."""

    label: str
    value: float
    within: Interval
    users: int
    attempts: int


def gains(
    waits: pl.DataFrame, mine: str, seed: int, resamples: int = RESAMPLES
) -> tuple[Gain, ...]:
    """The gain of each other class over ``mine``, by label.

    Args:
        waits: ``user``, ``label`` (its class), ``arrival_time`` and ``wait_s``, none of them null;
            names are texts or categories. Quickest by ``wait_s``.
        mine: the label of the class that others are compared with.
        seed: of the bootstrap, ≥ 0.
        resamples: how many.

    Returns:
        Nothing where ``mine`` has too few users or attempts. A resample that drew nobody of one of
        the two classes is left out.
    """
    enough = (
        waits.group_by("label")
        .agg(pl.col("user").n_unique().alias("users"), pl.len().alias("attempts"))
        .filter(pl.col("users") >= LEAST_USERS, pl.col("attempts") >= LEAST_ATTEMPTS)
        .with_columns(pl.col("label").cast(pl.String))
        .sort("label")
    )
    if mine not in enough["label"]:
        return ()
    units = _numbered(waits)
    held = waits.with_columns(unit=pl.Series(units)).select("label", "wait_s", "unit")
    held = held if held["wait_s"].is_sorted() else held.sort("wait_s")
    drawn = Resamples(int(units.max()) + 1, seed, resamples)

    def medians(label: str) -> tuple[float, Floats]:
        of = held.filter(pl.col("label") == label)
        ascending = of["wait_s"].cast(pl.Float64).to_numpy()
        resampled = drawn.drawn_quantiles(of["unit"].to_numpy(), ascending, [MEDIAN])
        return nearest_rank(ascending, MEDIAN) or 0.0, resampled[:, 0]

    own, own_drawn = medians(mine)
    found = []
    for label, users, attempts in enough.iter_rows():
        if label != mine:
            value, other_drawn = medians(label)
            difference = own_drawn - other_drawn
            within = interval(difference[~np.isnan(difference)])
            found.append(Gain(label, own - value, within, users, attempts))
    return tuple(found)


def hour_classes(arrival: pl.Series, zone: ZoneInfo) -> pl.Series:
    """The class of ``HOURS`` in which each attempt arrived.

    Args:
        arrival: epoch s.
        zone: the cluster's.
    """
    local = (
        pl.from_epoch(arrival, time_unit="s")
        .dt.replace_time_zone("UTC")
        .dt.convert_time_zone(zone.key)
    )
    hour, weekend = local.dt.hour(), local.dt.weekday() >= _SATURDAY
    peak = (hour >= _PEAK[0]) & (hour < _PEAK[1])
    number = np.where(weekend.to_numpy(), 2, np.where(peak.to_numpy(), 0, 1))
    return pl.Series("hours", HOURS).gather(number)


def _numbered(waits: pl.DataFrame) -> NDArray[np.int64]:
    """The number of each row's user: by what it did, so that a name changes no interval."""
    users = waits.group_by("user").agg(
        pl.col("arrival_time").min().alias("first"),
        pl.len().alias("attempts"),
        pl.col("wait_s").sum().alias("waited"),
    )
    users = users.sort("first", "attempts", "waited", "user").with_row_index("unit")
    numbered = waits.join(
        users.select("user", "unit"), on="user", how="left", maintain_order="left"
    )
    return numbered["unit"].cast(pl.Int64).to_numpy()
