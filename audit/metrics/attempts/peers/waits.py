"""Peers: how long others with attempts alike waited, without a model (SPEC §10).

The peers of an attempt j are attempts of *other* users in the same pool, partition, qos, width
class and walltime class that arrived within a day of j; if these are fewer than 20, or of fewer
than 3 users, those of any partition and qos; then of 7, then of 30 days. With P_j their users,

    peer_wait_j = mean over u in P_j of the mean wait of u's attempts among the peers

so that one user cannot be the peers. Of a user or account, over its attempts that have peers:

    peer_ratio = Σ wait / Σ peer_wait        excess_wait = Σ (wait − peer_wait)

Conventions: a peer started and ended, the latter before the end of j's period, so that a period's
figures stay as they are when later logs come. Blocked attempts and those in reservations neither
have peers nor are any: they did not wait for their turn (``anatomy``). Who nobody knows the user of
is nobody's peer and has none. An unknown width, walltime, partition or qos is a class of its own.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.anatomy import COLUMNS
from audit.metrics.attempts.lifetimes import time_order
from audit.metrics.attempts.population import only, ordered
from audit.model import Period, Standing

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LEAST: Final = (20, 3)
"""How many peers, of how many users, are enough."""
DAY_S: Final = 86_400
LEVELS: Final = ((True, 1), (False, 1), (False, 7), (False, 30))
"""Whether partition and qos are the same, and within how many days they arrive; widening."""
LEAD_S: Final = LEVELS[-1][1] * DAY_S
"""So long before an attempt its peers may have arrived, s."""
WALLTIMES_S: Final = (3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600)
"""Upper ends of the bounded walltime classes."""
WALLTIMES: Final = ("0-1h", "1-4h", "4-12h", "12-24h", ">24h", "unknown")
"""What the classes are called, in the order of ``walltime_class``."""

READ: Final = (
    *("standing", "user", "partition", "qos", "width_class", "walltime_s"),
    *("arrival_time", "end_time", "wait_s"),
)
_NEVER: Final = int(np.iinfo(np.int64).max)


def peer_waits(with_parts: pl.DataFrame, periods: Sequence[Period]) -> pl.DataFrame:
    """Adds what the peers of each attempt waited.

    Args:
        with_parts: what ``anatomy`` gave for one pool.
        periods: the current ones; none overlap. An attempt of none of them has peers at all times.

    Returns:
        ``with_parts`` with peer_wait_s, float64 s, ≥ 0; null without enough peers. Open attempts
        and those that never started have peers too. O(n log n) for each level and period, of which
        a period looks 30 days around its arrivals.

    Source: SPEC §10, *Peers*.
    """
    judged = with_parts[COLUMNS[0]].is_not_null() & with_parts["user"].is_not_null()
    numbered = with_parts.select(READ).with_row_index("row")
    held = only(numbered, judged).pipe(ordered, "arrival_time")
    alike = Alike(held)
    out = np.full(held.height, np.nan)
    for cut, mine in by_period(held, periods):
        out[mine] = alike.means(mine, cut)
    column = np.full(with_parts.height, np.nan)
    column[held["row"].to_numpy()] = out
    return with_parts.with_columns(peer_wait_s=pl.Series(column, nan_to_null=True))


class Alike:
    """The attempts of a pool, and which of them are alike."""

    def __init__(self, held: pl.DataFrame) -> None:
        """Of attempts whose user is known, by arrival; those that ended are peers of others.

        ``held`` has the columns of ``READ``.
        """
        width, walltime = _codes(held["width_class"]), walltime_class(held["walltime_s"])
        alike = width * (len(WALLTIMES_S) + 2) + walltime
        place = _codes(held["partition"]), _codes(held["qos"])
        qos = int(place[1].max(initial=0)) + 1
        same_place = place[0] * qos + place[1]
        self.kinds = {
            True: same_place * (int(alike.max(initial=0)) + 1) + alike,
            False: alike,
        }
        self.arrival = _ints(held["arrival_time"])
        self.user = _codes(held["user"])
        ended = held["standing"] == Standing.ENDED.value
        self.wait = _ints(held["wait_s"].fill_null(0))
        self._orders: dict[bool, tuple[Ints, Ints, Ints]] = {}
        self.ended = np.where(ended.to_numpy(), _ints(held["end_time"].fill_null(0)), _NEVER)

    def means(self, mine: Ints, cut: int) -> Floats:
        """What the peers of some attempts, ascending, waited, of those that ended before ``cut``.

        NaN without enough peers.
        """
        from audit.kernels import peers

        reach = LEVELS[-1][1] * DAY_S
        first, last = self.arrival[mine[0]] - reach, self.arrival[mine[-1]] + reach
        begin, end = np.searchsorted(self.arrival, [first, last + 1])
        is_peer = self.ended[begin:end] < cut
        wanted = np.zeros(len(is_peer), np.bool_)
        wanted[mine - begin] = True
        chosen = np.flatnonzero(is_peer | wanted)
        got = np.where(wanted, np.nan, 0.0)
        for same_place, days in LEVELS:
            kind = self.kinds[same_place][begin:end]
            order = chosen[time_order(kind[chosen])]
            part = got[order]
            peers.mean_peer_waits(
                kind[order],
                self.arrival[begin:end][order],
                self.wait[begin:end][order],
                self.user[begin:end][order],
                is_peer[order],
                days * DAY_S,
                *LEAST,
                part,
            )
            got[order] = part
        means: Floats = got[mine - begin]
        return means

    def waits(self, i: int, cut: int) -> Ints | None:
        """How long the peers of one attempt waited, of those that ended before ``cut``.

        None without enough peers. For some attempts; for all of them see ``means``.
        """
        peers = self.peers(i, cut)
        return None if peers is None else self.wait[peers]

    def peers(self, i: int, cut: int) -> Ints | None:
        """The peers of one attempt, of those that ended before ``cut``; None without enough."""
        for same_place, days in LEVELS:
            order, kind, arrival = self._ordered(same_place)
            own = self.kinds[same_place][i]
            begin, end = np.searchsorted(kind, [own, own + 1])
            around = [self.arrival[i] - days * DAY_S, self.arrival[i] + days * DAY_S + 1]
            first, last = begin + np.searchsorted(arrival[begin:end], around)
            near = order[first:last]
            peers: Ints = near[(self.ended[near] < cut) & (self.user[near] != self.user[i])]
            if len(peers) >= LEAST[0] and len(np.unique(self.user[peers])) >= LEAST[1]:
                return peers
        return None

    def _ordered(self, same_place: bool) -> tuple[Ints, Ints, Ints]:
        """Attempts, their kinds and arrivals, by these."""
        if same_place not in self._orders:
            order = time_order(self.kinds[same_place])
            self._orders[same_place] = (
                order,
                self.kinds[same_place][order],
                self.arrival[order],
            )
        return self._orders[same_place]


def by_period(held: pl.DataFrame, periods: Sequence[Period]) -> list[tuple[int, Ints]]:
    """Before when peers ended, and whose peers these are; each attempt is in one of them."""
    instant = _ints(held.select(pl.coalesce("end_time", "arrival_time")).to_series())
    number = np.full(held.height, len(periods))
    for k, period in enumerate(periods):
        inside = (instant >= period.from_time) & (instant < period.to_time)
        number[inside | period.whole_log] = k
    order = time_order(number)
    ends = np.cumsum(np.bincount(number, minlength=len(periods) + 1))
    cuts = [_NEVER if period.whole_log else period.to_time for period in periods]
    parts = np.split(order, ends[:-1])
    return [(cut, mine) for cut, mine in zip([*cuts, _NEVER], parts, strict=True) if len(mine)]


def walltime_class(walltime: pl.Series) -> Ints:
    """Walltimes in s to classes: 0 … for the bounded ones, then longer, then unknown."""
    classes = np.searchsorted(WALLTIMES_S, _ints(walltime.fill_null(0)), side="left")
    unknown = walltime.is_null().to_numpy()
    return np.where(unknown, len(WALLTIMES_S) + 1, classes).astype(np.int64)


def _codes(names: pl.Series) -> Ints:
    """Values as numbers from 1 on; 0 for null."""
    known = pl.Enum(names.unique().drop_nulls())
    return _ints(names.cast(known).to_physical().cast(pl.Int64).fill_null(-1)) + 1


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.to_numpy(), np.int64)
