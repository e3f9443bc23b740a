"""Peers: how long others with attempts alike waited, without a model (SPEC §10).

The peers of an attempt j are attempts of *other* users in the same pool, partition, qos, width
class and walltime class that arrived within a day of j; if these are fewer than 20, or of fewer
than 3 users, those of any partition and qos; then of 7, then of 30 days. With P_j their users,

    peer_wait_j = mean over u in P_j of the mean wait of u's attempts among the peers

so that one user cannot be the peers. Of a user or account, over its attempts that have peers:

    peer_ratio = Σ wait / Σ peer_wait        excess_wait = Σ (wait − peer_wait)

The same is said of the *contested wait*, of which an attempt's rank in the queue decides: claimed
ahead, held by earlier and by later arrivals, cycle and unexplained (SPEC §11). Attempts are alike
only if the same rules apply to both, and those that were held or under a rule for more than half of
their wait are nobody's peers. These figures describe; they name nobody (``passed_over``).

Conventions: a contested wait counts in whole seconds. A peer started and ended, the latter before
the end of j's period, so that a period's figures stay as they are when later logs come. Blocked
attempts and those in reservations neither have peers nor are any: they did not wait for their turn
(``anatomy``). An attempt whose user is unknown is nobody's peer and has none. An unknown width,
walltime, partition or qos is a class of its own.

*Stuck* is an attempt that still waits, or that left the queue without having started, and has
waited longer than the 95th percentile of what its peers waited (nearest-rank), by more than the
tolerance; by chance one in twenty does. Its probable cause is exceeds_capacity if it requests more
than the pool ever has, else the one of ``causes.CAUSES`` to which most of its wait is booked.

Blocked attempts are judged too: their peers are those that waited for their turn.
"""

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.contention import counted_resources, largest_amounts, time_order
from audit.metrics.attempts.population import only, ordered
from audit.metrics.attempts.reasons import in_scope
from audit.metrics.quantiles import P95, rank
from audit.model import Period, Pool, Standing
from audit.registry.causes import CAUSES, COLUMNS, CONTESTED
from audit.rules import Scope

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
_BARRED: Final = ("cause_held_s", "cause_rule_s")
"""Parts in which an attempt could not have started."""
_NEVER: Final = int(np.iinfo(np.int64).max)


def peer_waits(
    with_parts: pl.DataFrame, periods: Sequence[Period], rules: Sequence[Scope] = ()
) -> pl.DataFrame:
    """Adds what the peers of each attempt waited.

    Args:
        with_parts: what ``anatomy`` gave for one pool.
        periods: the current ones; none overlap. An attempt of none of them has peers at all times.
        rules: the limits and windows that may be used.

    Returns:
        ``with_parts`` with peer_wait_s, float64 s, ≥ 0; null without enough peers; and, where waits
        are booked to causes, peer_contested_s likewise. Open attempts and those that never started
        have peers too. O(n log n) for each level and period, of which a period looks 30 days around
        its arrivals.

    Source: SPEC §10, *Peers*; §11, *Similar jobs*.
    """
    judged = with_parts[COLUMNS[0]].is_not_null() & with_parts["user"].is_not_null()
    waits = {"peer_wait_s": pl.col("wait_s")}
    if has_causes(with_parts):
        waits["peer_contested_s"] = contested()
    numbered = with_parts.select(
        *READ,
        *(waited.alias(name) for name, waited in waits.items()),
        *_alike_by(with_parts, rules),
    ).with_row_index("row")
    held = only(numbered, judged).pipe(ordered, "arrival_time")
    columns = {}
    for name in waits:
        alike = Alike(held, name)
        out = np.full(held.height, np.nan)
        for cut, mine in by_period(held, periods):
            out[mine] = alike.means(mine, cut)
        column = np.full(with_parts.height, np.nan)
        column[held["row"].to_numpy()] = out
        columns[name] = pl.Series(column, nan_to_null=True)
    return with_parts.with_columns(**columns)


def has_causes(attempts: pl.DataFrame) -> bool:
    """Whether waits are booked to causes."""
    return {*CONTESTED, *_BARRED} <= set(attempts.columns)


def contested() -> pl.Expr:
    """The contested wait, s; null where the wait is booked to no cause."""
    return reduce(operator.add, map(pl.col, CONTESTED))


def _alike_by(attempts: pl.DataFrame, rules: Sequence[Scope]) -> tuple[pl.Series, pl.Expr]:
    """Return the number of the stratum of each attempt, and whether it is nobody's peer."""
    read = attempts.rename({"occupancy_s": "occupancy"})
    stratum = np.zeros(attempts.height, np.int64)
    for rule in rules:
        _, stratum = np.unique(2 * stratum + in_scope(read, rule), return_inverse=True)
    barred = pl.lit(value=False)
    if has_causes(attempts):
        held = reduce(operator.add, map(pl.col, _BARRED))
        barred = (2 * held > pl.col("wait_s")).fill_null(value=False)
    return pl.Series("stratum", stratum), barred.alias("barred")


class Alike:
    """The attempts of a pool, and which of them are alike."""

    def __init__(self, held: pl.DataFrame, waited: str = "wait_s") -> None:
        """Of attempts whose user is known, by arrival; those that ended are peers of others.

        Args:
            held: the columns of ``READ``, stratum and barred.
            waited: the column that is compared.
        """
        width, walltime = _codes(held["width_class"]), walltime_class(held["walltime_s"])
        alike = width * (len(WALLTIMES_S) + 2) + walltime
        alike = held["stratum"].to_numpy() * (int(alike.max(initial=0)) + 1) + alike
        place = _codes(held["partition"]), _codes(held["qos"])
        qos = int(place[1].max(initial=0)) + 1
        same_place = place[0] * qos + place[1]
        self.kinds = {
            True: same_place * (int(alike.max(initial=0)) + 1) + alike,
            False: alike,
        }
        self.arrival = _ints(held["arrival_time"])
        self.user = _codes(held["user"])
        ended = (held["standing"] == Standing.ENDED.value) & ~held["barred"]
        ended &= held[waited].is_not_null()
        self.wait = _ints(held[waited].fill_null(0).round())
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


STUCK_SCHEMA: Final = pl.Schema(
    {
        "job_id": pl.String,
        "attempt": pl.Int64,
        "waited_s": pl.Int64,
        "peer_p95_s": pl.Int64,
        "peers": pl.Int64,
        "cause": pl.String,
    }
)
"""Columns of ``stuck_result`` that are the metrics' own."""


def stuck(
    with_parts: pl.DataFrame, pool: Pool, now: int, periods: Sequence[Period], tolerance_s: int
) -> pl.DataFrame:
    """The attempts of a pool that are stuck.

    Args:
        with_parts: what ``anatomy`` gave for all attempts of the pool.
        now: when the log was taken, epoch s; until then open attempts have waited.
        periods: the current ones. Who gave up is compared with peers that ended before its period
            did, who still waits with all.
        tolerance_s: by how much a wait has to be longer, s.

    Returns:
        Columns of ``STUCK_SCHEMA``, the longest beyond its peers first; waits in s.
    """
    held = _held(with_parts, pool, now)
    cut = np.full(held.height, np.iinfo(np.int64).max)
    for before, mine in by_period(held, periods):
        cut[mine] = before
    cut[(held["standing"] == Standing.PENDING.value).to_numpy()] = np.iinfo(np.int64).max
    alike = Alike(held)
    candidates = held.with_row_index("i").filter(pl.col("waited_s") > tolerance_s)
    found = []
    for i, waited_s in candidates.select("i", "waited_s").iter_rows():
        peers = alike.waits(i, int(cut[i]))
        if peers is not None:
            p95 = np.sort(peers)[rank(len(peers), P95) - 1]
            if waited_s > p95 + tolerance_s:
                found.append((i, p95, len(peers)))
    beyond = pl.DataFrame(
        found, {"i": pl.UInt32, "peer_p95_s": pl.Int64, "peers": pl.Int64}, orient="row"
    )
    return (
        candidates.join(beyond, on="i", how="inner", maintain_order="left")
        .with_columns(cause=_cause(pool))
        .sort(pl.col("peer_p95_s") - pl.col("waited_s"), "job_id", "attempt", maintain_order=True)
        .select(pl.col(name).cast(kind) for name, kind in STUCK_SCHEMA.items())
    )


def _held(with_parts: pl.DataFrame, pool: Pool, now: int) -> pl.DataFrame:
    """Those that may be stuck, with what they waited, and those that may be their peers."""
    waits = pl.col("standing") == Standing.PENDING
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    left = pl.when(waits).then(pl.lit(now)).when(gave_up).then("end_time")
    known = pl.col("user").is_not_null() & pl.col("arrival_time").is_not_null()
    read = (*READ, *COLUMNS, "job_id", "attempt", "reason", *counted_resources(pool))
    return (
        with_parts.filter(known & (pl.col(COLUMNS[0]).is_not_null() | waits | gave_up))
        .pipe(
            lambda rows: rows.select(
                *dict.fromkeys(read),
                *_alike_by(rows, (*pool.limits, *pool.windows)),
                waited_s=left - pl.col("arrival_time"),
            )
        )
        .pipe(ordered, "arrival_time")
    )


def _cause(pool: Pool) -> pl.Expr:
    """Return the cause that most of a wait is booked to; ``exceeds_capacity`` before all others."""
    exceeds = pl.any_horizontal(
        pl.col(name).fill_null(0) > most for name, most in largest_amounts(pool).items()
    )
    most = pl.max_horizontal(COLUMNS)
    booked = (pl.when(pl.col(one.column) >= most).then(pl.lit(one.key)) for one in CAUSES)
    return pl.coalesce(pl.when(exceeds).then(pl.lit("exceeds_capacity")), *booked)
