"""How long users and accounts wait beside their peers (SPEC §10, *Peers*; §11, *Similar jobs*).

Of a user or account, over its attempts that ended in the period and have peers,

    peer_ratio = Σ wait / Σ peer_wait        excess_wait = Σ (wait − peer_wait), s

and the same of the contested wait. Intervals are bootstrapped over days (of arrival, on the
cluster's clock), none with fewer than 10: all of a kind are computed on the same resamples of days,
of which each takes those on which it has attempts. ``passed_over`` names entities; these ratios do
not.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.parts import Row, row
from audit.metrics.attempts.peers import contested
from audit.metrics.attempts.population import day_number, ended, in_period, numbered, only
from audit.metrics.uncertainty import NONE, Interval, Resamples, interval
from audit.model import Period

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

KINDS: Final = ("user", "account")
LEAST_DAYS: Final = 10
_ROOMY: Final = 8
"""Keys are counted, not sorted, up to this ratio of possible keys to attempts."""


class _Compared(NamedTuple):
    """A wait that is compared, and the measures that come of it."""

    waited: pl.Expr
    peers: str
    """The column that holds what peers waited."""
    ratio: str
    excess: str


_COMPARED: Final = (
    _Compared(pl.col("wait_s"), "peer_wait_s", "peer_ratio", "excess_wait"),
    _Compared(contested(), "peer_contested_s", "contested_ratio", "contested_excess"),
)


class Days(NamedTuple):
    """Waits of one owner's attempts by day; one element per day with any."""

    day: Ints  # number of the day
    wait: Floats
    peer_wait: Floats
    waited: float
    """In all: summed up in the order of attempts, as ``users.by_entity`` does."""
    peers_waited: float
    attempts: int

    @property
    def ratio(self) -> float | None:
        """Σ wait / Σ peer_wait; null where peers did not wait."""
        return self.waited / self.peers_waited if self.peers_waited > 0 else None

    @property
    def excess(self) -> float:
        """Σ (wait − peer_wait)."""
        return self.waited - self.peers_waited


def of_peers(
    with_peers: pl.DataFrame, period: Period, zone: ZoneInfo, seed: int, resamples: int
) -> list[Row]:
    """Rows of the summary about each user and account whose attempts have peers.

    Args:
        with_peers: *all* attempts of one pool, or those ``population.around`` the period, with
            what ``peer_waits`` adds.
    """
    rows = []
    for one in _COMPARED:
        if one.peers in with_peers.columns:
            rows += _of_wait(_subjects(with_peers, period, zone, one), one, seed, resamples)
    return rows


def _of_wait(compared: pl.DataFrame, of: _Compared, seed: int, resamples: int) -> list[Row]:
    """Rows about one wait."""
    owned = compared.filter(pl.any_horizontal(pl.col(KINDS).is_not_null()))
    days = 1 + int(owned["day"].max() or 0)  # type: ignore[arg-type]
    drawn = Resamples(days, seed, resamples)
    rows = []
    for kind in KINDS:
        for owner, mine in _by_owner(only(compared, pl.col(kind).is_not_null()), kind):
            ratio, excess = _intervals(mine, drawn)
            rows += [
                row(of.ratio, kind, owner, mine.ratio, mine.attempts, ratio),
                row(of.excess, kind, owner, mine.excess, mine.attempts, excess),
            ]
    return rows


def _subjects(
    with_peers: pl.DataFrame, period: Period, zone: ZoneInfo, of: _Compared
) -> pl.DataFrame:
    """Those that ended in the period and have peers: owners, waits and day."""
    mine = in_period(with_peers, period)
    origin = mine.select(pl.col("arrival_time").min()).select(day_number(zone)).item()
    held = only(ended(mine), pl.col(of.peers).is_not_null())
    return held.select(
        *(numbered(held[kind]) for kind in KINDS),
        wait_s=of.waited,
        peer_wait_s=of.peers,
        day=day_number(zone) - origin,
    )


def _by_owner(subjects: pl.DataFrame, kind: str) -> Iterator[tuple[str, Days]]:
    """Yield the waits of each owner's attempts by day, in the order of names."""
    number = subjects[kind].to_physical().cast(pl.Int64).to_numpy()
    found = np.flatnonzero(np.bincount(number))
    owners = subjects[kind].dtype.categories.gather(found)  # type: ignore[attr-defined]
    place = np.zeros(int(found.max(initial=-1)) + 1, np.int64)
    place[found] = np.arange(len(found))
    number = place[number]
    day = subjects["day"].to_numpy()
    days = int(day.max(initial=0)) + 1
    cells, place = _cells(number * days + day, len(owners) * days)
    waits = [subjects[name].to_numpy().astype(np.float64) for name in ("wait_s", "peer_wait_s")]
    by_day = [np.bincount(place, each).astype(np.float64) for each in waits]
    in_all = [np.bincount(number, each) for each in (*waits, None)]
    begin = 0
    for k, end in enumerate(np.searchsorted(cells, np.arange(1, len(owners) + 1) * days)):
        wait, peer_wait = (each[begin:end] for each in by_day)
        waited, peers_waited, attempts = (each[k] for each in in_all)
        yield (
            owners[k],
            Days(
                cells[begin:end] % days,
                wait,
                peer_wait,
                float(waited),
                float(peers_waited),
                int(attempts),
            ),
        )
        begin = end


def _cells(keys: Ints, room: int) -> tuple[Ints, Ints]:
    """The keys that there are, all below ``room``, ascending; and which of these each one is."""
    if room > _ROOMY * len(keys):
        return np.unique(keys, return_inverse=True)
    found = np.flatnonzero(np.bincount(keys, minlength=room))
    place = np.zeros(room, np.int64)
    place[found] = np.arange(len(found))
    return found, place[keys]


def _intervals(of_owner: Days, drawn: Resamples) -> tuple[Interval, Interval]:
    """Of the ratio and the excess."""
    if len(of_owner.day) < LEAST_DAYS:
        return NONE, NONE
    waits, peer_waits = drawn.sums(of_owner.day, of_owner.wait, of_owner.peer_wait)
    waited = peer_waits > 0
    return interval(waits[waited] / peer_waits[waited]), interval(waits - peer_waits)
