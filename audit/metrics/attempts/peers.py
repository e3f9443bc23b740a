"""Waits of entities and attempts, compared with those of similar jobs (SPEC §10, *Peers*).

The peers of an attempt j are attempts of *other* users in the same pool, partition, qos, width
class and walltime class that arrived within a day of j. If these are fewer than 20, or of fewer
than 3 users, partition and qos may differ; then also 7, then 30 days. With P_j their users,

    peer_wait_j = mean over u in P_j of the mean wait of u's attempts among the peers

so that no single user dominates. Of a user or account, over its attempts that have peers:

    peer_ratio = Σ wait / Σ peer_wait        excess_wait = Σ (wait − peer_wait)

Both exist for the *contested wait*, too: the causes claimed ahead, earlier and later arrivals,
cycle and unexplained (SPEC §11). Peers are subject to the same rules as j, and were neither held
nor under a rule for more than half of their wait. ``passed_over`` names entities; these figures do
not. Their intervals are bootstrapped over days (of arrival, local), none with fewer than 10.

Conventions: a contested wait counts in whole seconds. Peers started, and ended before the end of
j's period, so later logs do not change the figures of a period. Attempts in reservations, or
blocked ones, neither have peers nor are any (``account``). Attempts of unknown users likewise. An
unknown width, walltime, partition or qos is a class of its own.

An attempt is *stuck* if it waits, or never started, and has waited longer than the 95th percentile
of its peers' waits (nearest-rank) by more than the tolerance, as one in twenty does under any
policy. Its probable cause is exceeds_capacity if it requests more than the pool ever has, else the
cause to which most of its wait is booked.
"""

import itertools
import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.contention import (
    counted_resources,
    largest_amounts,
    requested,
    time_order,
)
from audit.metrics.attempts.parts import Row, row
from audit.metrics.attempts.population import (
    day_number,
    ended,
    in_period,
    numbered,
    only,
    ordered,
)
from audit.metrics.attempts.reasons import in_scope
from audit.metrics.quantiles import P95, rank, renumbered
from audit.metrics.uncertainty import NONE, Resamples, interval
from audit.model import Period, Pool, Standing
from audit.registry.causes import CAUSES, COLUMNS, CONTESTED
from audit.rules import Scope

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LEAST: Final = (20, 3)  # least number of peers, and of their users
DAY_S: Final = 86_400
LEVELS: Final = ((True, 1), (False, 1), (False, 7), (False, 30))
"""Whether partition and qos must be the same, and within how many days peers arrive; widening."""
LEAD_S: Final = LEVELS[-1][1] * DAY_S
"""Longest time between the arrivals of an attempt and an earlier peer, s."""
WALLTIMES_S: Final = (3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600)
"""Upper ends of the bounded walltime classes."""
WALLTIMES: Final = ("0-1h", "1-4h", "4-12h", "12-24h", ">24h", "unknown")
"""Labels of the walltime classes, in the order of ``walltime_class``."""
LEAST_DAYS: Final = 10  # fewest days with attempts for which intervals are given

_READ: Final = (
    *("standing", "user", "partition", "qos", "width_class", "walltime_s"),
    *("arrival_time", "end_time", "wait_s"),
)
_BARRED: Final = ("cause_held_s", "cause_rule_s")
_NEVER: Final = int(np.iinfo(np.int64).max)


def contested() -> pl.Expr:
    """Return the contested wait, s; null where the wait has no account."""
    return reduce(operator.add, map(pl.col, CONTESTED))


class Compared(NamedTuple):
    """A wait that is compared with that of peers, and the columns of the results."""

    waited: pl.Expr
    peers: str  # the peers' wait, s
    ratio: str
    excess: str


COMPARED: Final = (
    Compared(pl.col("wait_s"), "peer_wait_s", "peer_ratio", "excess_wait_s"),
    Compared(contested(), "peer_contested_s", "contested_ratio", "contested_excess_s"),
)


def peer_waits(
    with_parts: pl.DataFrame, periods: Sequence[Period], rules: Sequence[Scope] = ()
) -> pl.DataFrame:
    """Add the waits of each attempt's peers.

    Args:
        with_parts: all attempts of one pool, with the columns of ``account``.
        periods: the current ones, disjoint. Attempts outside have peers of all times.
        rules: limits and windows in force.

    Returns:
        ``with_parts`` with peer_wait_s, float64 s, ≥ 0, null without enough peers; likewise
        peer_contested_s where contested waits are known. Open attempts and those that never
        started have peers, too. O(n log n) for each level and period.

    Source: SPEC §10, *Peers*; §11, *Similar jobs*.
    """
    judged = with_parts[COLUMNS[0]].is_not_null() & with_parts["user"].is_not_null()
    waits = {COMPARED[0].peers: COMPARED[0].waited}
    if _has_causes(with_parts):
        waits = {one.peers: one.waited for one in COMPARED}
    rows = with_parts.select(
        *_READ,
        *(waited.alias(name) for name, waited in waits.items()),
        *_strata(with_parts, rules),
    ).with_row_index("row")
    held = only(rows, judged).pipe(ordered, "arrival_time")
    columns = {}
    for name in waits:
        similar = _similar(held, name)
        out = np.full(held.height, np.nan)
        for cut, mine in _by_period(held, periods):
            out[mine] = _means(similar, mine, cut)
        column = np.full(with_parts.height, np.nan)
        column[held["row"].to_numpy()] = out
        columns[name] = pl.Series(column, nan_to_null=True)
    return with_parts.with_columns(**columns)


def _has_causes(attempts: pl.DataFrame) -> bool:
    return {*CONTESTED, *_BARRED} <= set(attempts.columns)


def _strata(attempts: pl.DataFrame, rules: Sequence[Scope]) -> tuple[pl.Series, pl.Expr]:
    """Return a number for each set of rules that apply, and whether an attempt cannot be a peer."""
    read = attempts.rename({"occupancy_s": "occupancy"})
    stratum = np.zeros(attempts.height, np.int64)
    for rule in rules:
        _, stratum = np.unique(2 * stratum + in_scope(read, rule), return_inverse=True)
    barred = pl.lit(value=False)
    if _has_causes(attempts):
        held = reduce(operator.add, map(pl.col, _BARRED))
        barred = (2 * held > pl.col("wait_s")).fill_null(value=False)
    return pl.Series("stratum", stratum), barred.alias("barred")


class _Similar(NamedTuple):
    """Attempts of known users, by arrival, as the kernel takes them."""

    kinds: dict[bool, Ints]
    """Equal for similar attempts, by whether partition and qos must be the same."""
    arrival: Ints
    user: Ints
    wait: Ints  # the wait that is compared
    ended: Ints  # the end of those that may be peers of others, else ``_NEVER``


def _similar(held: pl.DataFrame, waited: str = "wait_s") -> _Similar:
    """Return attempts by arrival, whose column ``waited`` is compared."""
    classes = [_codes(held["width_class"]), walltime_class(held["walltime_s"])]
    kind = _combined(held["stratum"].to_numpy(), *classes)
    ended = (held["standing"] == Standing.ENDED.value) & ~held["barred"]
    ended &= held[waited].is_not_null()
    return _Similar(
        {True: _combined(_codes(held["partition"]), _codes(held["qos"]), kind), False: kind},
        _ints(held["arrival_time"]),
        _codes(held["user"]),
        _ints(held[waited].fill_null(0).round()),
        np.where(ended.to_numpy(), _ints(held["end_time"].fill_null(0)), _NEVER),
    )


def _combined(*codes: Ints) -> Ints:
    return reduce(lambda one, other: one * (int(other.max(initial=0)) + 1) + other, codes)


def _means(of: _Similar, mine: Ints, cut: int) -> Floats:
    """Return the mean wait of the peers that ended before ``cut``; NaN without enough.

    ``mine`` are places of attempts, ascending.
    """
    from audit.kernels import peers

    first, last = of.arrival[mine[0]] - LEAD_S, of.arrival[mine[-1]] + LEAD_S
    begin, end = np.searchsorted(of.arrival, [first, last + 1])
    is_peer = of.ended[begin:end] < cut
    wanted = np.zeros(len(is_peer), np.bool_)
    wanted[mine - begin] = True
    chosen = np.flatnonzero(is_peer | wanted)
    got = np.where(wanted, np.nan, 0.0)
    for same_place, days in LEVELS:
        kind = of.kinds[same_place][begin:end]
        order = chosen[time_order(kind[chosen])]
        part = got[order]
        arrival, wait, user = (each[begin:end][order] for each in (of.arrival, of.wait, of.user))
        peers.mean_peer_waits(
            kind[order], arrival, wait, user, is_peer[order], days * DAY_S, *LEAST, part
        )
        got[order] = part
    means: Floats = got[mine - begin]
    return means


def _by_period(held: pl.DataFrame, periods: Sequence[Period]) -> list[tuple[int, Ints]]:
    """Return groups of attempts, with the time before which their peers must have ended."""
    instant = _ints(held.select(pl.coalesce("end_time", "arrival_time")).to_series())
    number = np.full(held.height, len(periods))
    for k, period in enumerate(periods):
        inside = (instant >= period.from_time) & (instant < period.to_time)
        number[inside | period.whole_log] = k
    ends = np.cumsum(np.bincount(number, minlength=len(periods) + 1))
    cuts = [_NEVER if period.whole_log else period.to_time for period in periods]
    parts = np.split(time_order(number), ends[:-1])
    return [(cut, mine) for cut, mine in zip([*cuts, _NEVER], parts, strict=True) if len(mine)]


def walltime_class(walltime: pl.Series) -> Ints:
    """Return the place of each walltime (s) in ``WALLTIMES``."""
    classes = np.searchsorted(WALLTIMES_S, _ints(walltime.fill_null(0)), side="left")
    unknown = walltime.is_null().to_numpy()
    return np.where(unknown, len(WALLTIMES_S) + 1, classes).astype(np.int64)


def _codes(names: pl.Series) -> Ints:
    """Return values as numbers from 1 on; 0 for null."""
    known = pl.Enum(names.unique().drop_nulls())
    return _ints(names.cast(known).to_physical().cast(pl.Int64).fill_null(-1)) + 1


def _ints(column: pl.Series) -> Ints:
    return np.ascontiguousarray(column.to_numpy(), np.int64)


def of_peers(
    with_peers: pl.DataFrame, period: Period, zone: ZoneInfo, seed: int, resamples: int
) -> Iterator[Row]:
    """Yield rows of the summary about each user and account whose attempts have peers.

    Args:
        with_peers: *all* attempts of one pool, or those ``population.around`` the period, with the
            columns of ``peer_waits``.
    """
    mine = in_period(with_peers, period)
    first = mine.select(pl.col("arrival_time").min()).select(day_number(zone)).item()
    kinds = ("user", "account")
    for one in COMPARED:
        if one.peers not in with_peers.columns:
            continue
        subjects = only(ended(mine), pl.col(one.peers).is_not_null())
        held = subjects.select(
            *(numbered(subjects[kind]) for kind in kinds),
            waited=one.waited,
            peers_waited=one.peers,
            day=day_number(zone) - first,
        )
        owned = held.filter(pl.any_horizontal(pl.col(kinds).is_not_null()))
        drawn = Resamples(1 + int(owned["day"].max() or 0), seed, resamples)  # type: ignore[arg-type]
        for kind in kinds:
            yield from _of_kind(only(held, pl.col(kind).is_not_null()), kind, one, drawn)


def _of_kind(held: pl.DataFrame, kind: str, of: Compared, drawn: Resamples) -> Iterator[Row]:
    """Yield the ratio and excess of each entity, in the order of names, with intervals over days.

    Totals are sums in the order of attempts, equal to those of ``users``.
    """
    names = held[kind].dtype.categories  # type: ignore[attr-defined]
    entities, number = renumbered(held[kind].to_physical().cast(pl.Int64).to_numpy(), len(names))
    day = held["day"].to_numpy()
    days = int(day.max(initial=0)) + 1
    cells, cell = renumbered(number * days + day, len(entities) * days)
    waits = [held[name].cast(pl.Float64).to_numpy() for name in ("waited", "peers_waited")]
    by_day = [np.bincount(cell, each).astype(np.float64) for each in waits]
    in_all = zip(*(np.bincount(number, each).tolist() for each in (*waits, None)), strict=True)
    bounds = itertools.pairwise(np.searchsorted(cells, np.arange(len(entities) + 1) * days))
    for entity, (waited, peers_waited, count), (begin, end) in zip(
        names.gather(entities), in_all, bounds, strict=True
    ):
        ratios, excesses = NONE, NONE
        if end - begin >= LEAST_DAYS:
            sums = drawn.sums(cells[begin:end] % days, *(each[begin:end] for each in by_day))
            some = sums[1] > 0
            ratios, excesses = interval(sums[0][some] / sums[1][some]), interval(sums[0] - sums[1])
        ratio = waited / peers_waited if peers_waited > 0 else None
        yield row(of.ratio, kind, entity, ratio, count, ratios)
        metric = of.excess.removesuffix("_s")
        yield row(metric, kind, entity, waited - peers_waited, count, excesses)


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
"""Columns of ``stuck_result`` that are computed here."""


def stuck(
    with_parts: pl.DataFrame, pool: Pool, now: int, periods: Sequence[Period], tolerance_s: int
) -> pl.DataFrame:
    """Return the attempts of a pool that are stuck, of tasks with one record the first.

    Args:
        with_parts: all attempts of the pool, with the columns of ``account``.
        now: time of the log, until which open attempts wait, epoch s.
        periods: the current ones. Attempts that never started are compared with peers that ended
            before the end of their period, waiting ones with all.
        tolerance_s: the excess of a wait beyond the percentile, s.

    Returns:
        Columns of ``STUCK_SCHEMA``, greatest excess first.
    """
    waits = pl.col("standing") == Standing.PENDING
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    left = pl.when(waits).then(pl.lit(now)).when(gave_up).then("end_time")
    known = pl.col("user").is_not_null() & pl.col("arrival_time").is_not_null()
    rows = with_parts.filter(known & (pl.col(COLUMNS[0]).is_not_null() | waits | gave_up))
    read = dict.fromkeys((*_READ, *COLUMNS, "job_id", "attempt", "tasks", "any_gpu_type"))
    read |= dict.fromkeys(counted_resources(pool))
    held = rows.select(
        *read,
        *_strata(rows, (*pool.limits, *pool.windows)),
        waited_s=left - pl.col("arrival_time"),
    ).pipe(ordered, "arrival_time")
    cut = np.full(held.height, _NEVER)
    for before, mine in _by_period(held, periods):
        cut[mine] = before
    cut[(held["standing"] == Standing.PENDING.value).to_numpy()] = _NEVER
    similar = _similar(held)
    orders = {same: time_order(kind) for same, kind in similar.kinds.items()}
    candidates = held.with_row_index("i").filter(
        pl.col("waited_s") > tolerance_s, pl.col("tasks") > 0
    )
    found = []
    for i, waited_s in candidates.select("i", "waited_s").iter_rows():
        peers = _waits_of_peers(similar, orders, i, int(cut[i]))
        if len(peers) and waited_s > (p95 := peers[rank(len(peers), P95) - 1]) + tolerance_s:
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


def _waits_of_peers(of: _Similar, orders: dict[bool, Ints], i: int, cut: int) -> Ints:
    """Return the waits of attempt i's peers that ended before ``cut``, ascending; or none.

    ``orders`` sort the attempts by kind.
    """
    for same_place, days in LEVELS:
        order, kinds = orders[same_place], of.kinds[same_place]
        begin, end = np.searchsorted(kinds, [kinds[i], kinds[i] + 1], sorter=order)
        alike = order[begin:end]
        reach = [of.arrival[i] - days * DAY_S, of.arrival[i] + days * DAY_S + 1]
        first, last = np.searchsorted(of.arrival[alike], reach)
        near = alike[first:last]
        peers = near[(of.ended[near] < cut) & (of.user[near] != of.user[i])]
        if len(peers) >= LEAST[0] and len(np.unique(of.user[peers])) >= LEAST[1]:
            return np.sort(of.wait[peers])
    return np.zeros(0, np.int64)


def _cause(pool: Pool) -> pl.Expr:
    """Return the cause that most of a wait is booked to; ``exceeds_capacity`` before all others."""
    exceeds = pl.any_horizontal(
        requested(name).fill_null(0) > most for name, most in largest_amounts(pool).items()
    )
    most = pl.max_horizontal(COLUMNS)
    return pl.coalesce(
        pl.when(exceeds).then(pl.lit("exceeds_capacity")),
        *(pl.when(pl.col(one.column) >= most).then(pl.lit(one.key)) for one in CAUSES),
    )
