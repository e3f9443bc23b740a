"""Decayed usage of users and accounts at any instant T (SPEC §7).

An attempt j uses its penalty P_j (``penalty``) in every second from its start to min(end, T). Two
methods weigh recent use against old:

    windows    usage_o = Σ_i decay^i · t_i,  i = 0 … depth − 1, with t_i the penalty-seconds of o in
               window i; decay ≥ 0, also above 1, and 0^0 = 1
    half_life  usage_o = Σ_j P_j · ∫ 2^(−(T − t)/H) dt over the occupancy of o's attempts up to T

and usage fraction_o = usage_o / Σ over all owners of usage, 0 to 1; 0 where nothing was used.
For ``windows`` that is [B] eq. 1, Σ decay^i t_i / Σ decay^i T_i.

Usage is in penalty-seconds, ≥ 0: with penalties from 0 to 1, seconds of the whole pool. Fractions
have no unit. An attempt that spans several windows or instants is split exactly.

Conventions: all attempts that started count, whatever period they belong to, open ones up to
``now``. Attempts without a name are those of a null entity; their usage is part of everyone's.

Sources: [B] H. Bui et al., Fairshare Scheduling – A Case Study, §2.1, eq. 1 (whose N is depth − 1);
[M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness, §2, formula (1).

*Windows* are half-open and adjoin each other; window 0 ends at the instant T itself. ``trailing``:
window i = [T − (i + 1) · interval, T − i · interval). ``calendar``: bounds follow the local clock,
as with Maui and Moab. Counted from Monday, 1970-01-05, 00:00 in the cluster's zone, a window begins
whenever the local clock has advanced by another interval; window 0 reaches from the last of these
bounds at or before T to T. So windows of n days begin at local midnights, those of 7 days on
Mondays. A day of a clock change has 23 or 25 hours; a shorter window holds both hours where one is
repeated, and is empty where its hours are skipped. [B] §2.1, figure 2.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Final, Literal, NamedTuple, Protocol
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.kernels import usage as kernels

Kind = Literal["user", "account"]
Alignment = Literal["trailing", "calendar"]

LONGEST_REACH_S = 1_000 * 366 * 86_400
GREATEST_WEIGHT = 1e100


class Grouped(NamedTuple):
    """Attempts owner by owner; those of owner o are the elements offsets[o] … offsets[o + 1]."""

    offsets: Ints
    start: Ints
    end: Ints
    penalty: Floats


@dataclass(frozen=True, kw_only=True)
class Windows:
    """Usage by windows, as in Maui and Moab. [B] §2.1

    Args:
        interval_s: length of a window, s, ≥ 1 (FS_INTERVAL).
        depth: number of windows, ≥ 1 (FS_DEPTH).
        decay: weight of each window relative to the next younger one, ≥ 0 (FS_DECAY).
        zone: the cluster's zone, for ``"calendar"``.

    Raises:
        ValueError: one of them is out of range; the windows reach back further than 1,000 years; or
            the weight of the oldest, decay^(depth − 1), exceeds 1e100.
    """

    name: ClassVar[str] = "windows"

    interval_s: int
    depth: int
    decay: float
    alignment: Alignment = "trailing"
    zone: ZoneInfo | None = None

    def __post_init__(self) -> None:
        if self.interval_s < 1:
            raise ValueError(f"interval_s = {self.interval_s}: a window lasts at least 1 s")
        if self.depth < 1:
            raise ValueError(f"depth = {self.depth}: at least 1 window")
        if self.interval_s * self.depth > LONGEST_REACH_S:
            raise ValueError(f"{self.depth} windows of {self.interval_s} s: beyond 1,000 years")
        if not (self.decay >= 0 and math.isfinite(self.decay)):
            raise ValueError(f"decay = {self.decay}: must not be below 0")
        if (self.depth - 1) * math.log10(max(self.decay, 1.0)) > math.log10(GREATEST_WEIGHT):
            raise ValueError(
                f"decay = {self.decay}, depth = {self.depth}: the oldest window would weigh more "
                f"than {GREATEST_WEIGHT:g} times the latest; lower one of them"
            )
        if self.alignment not in ("trailing", "calendar"):
            raise ValueError(f"alignment = {self.alignment!r}: either 'trailing' or 'calendar'")
        if self.alignment == "calendar" and self.zone is None:
            raise ValueError("alignment 'calendar': the cluster's zone is not given")

    def bounds(self, instants: Ints) -> Ints:
        """Return the bounds of each instant's windows, the latest first."""
        if self.alignment == "calendar":
            assert self.zone is not None  # seen to above
            return calendar(instants, self.interval_s, self.depth, self.zone)
        return instants[:, np.newaxis] - self.interval_s * np.arange(self.depth + 1)

    def sweep(self, grouped: Grouped, instants: Ints) -> tuple[Floats, Floats]:
        """Return usage as ``Method.sweep``."""
        edges, bounds = np.unique(self.bounds(instants), return_inverse=True)
        weights = np.array([self.decay**i for i in range(self.depth)], np.float64)
        bounds = bounds.reshape(len(instants), self.depth + 1)
        used, total = _table(grouped, instants)
        kernels.window_usage(kernels.Attempts(*grouped), edges, bounds, weights, used, total)
        return used, total


@dataclass(frozen=True, kw_only=True)
class HalfLife:
    """Usage that loses half of its weight in every ``half_life_s`` > 0.

    Raises:
        ValueError: ``half_life_s`` ≤ 0, or not a number. 0 is not "no decay", as it is for Slurm.
    """

    name: ClassVar[str] = "half_life"

    half_life_s: float

    def __post_init__(self) -> None:
        if not (self.half_life_s > 0 and math.isfinite(self.half_life_s)):
            raise ValueError(
                f"half_life_s = {self.half_life_s}: must be above 0 (0 does not switch decay off; "
                "for usage without decay take one window as long as the log)"
            )

    def sweep(self, grouped: Grouped, instants: Ints) -> tuple[Floats, Floats]:
        """Return usage as ``Method.sweep``."""
        used, total = _table(grouped, instants)
        kernels.half_life_usage(kernels.Attempts(*grouped), instants, self.half_life_s, used, total)
        return used, total


class Method(Protocol):
    """A decay of usage: ``Windows``, ``HalfLife`` or ``slurm.usage.SlurmUsage``."""

    @property
    def name(self) -> str:
        """SPEC's name."""

    def sweep(self, grouped: Grouped, instants: Ints) -> tuple[Floats, Floats]:
        """Return each owner's usage, a row per instant, a column per owner; and that of all."""


class Usage(NamedTuple):
    """Usage of every entity at every instant."""

    entities: pl.Series  # names of users or accounts, ascending, null first
    first_start: Ints  # of each entity, epoch s
    usage: Floats  # a row per instant, a column per entity; penalty-seconds, ≥ 0
    total: Floats  # of all entities, by instant

    @property
    def fraction(self) -> Floats:
        """Part of the total, 0 to 1; 0 where the total is 0."""
        total = self.total[:, np.newaxis]
        return np.divide(self.usage, total, out=np.zeros_like(self.usage), where=total > 0)


def usage(
    charged: pl.DataFrame, kind: Kind, method: Method, instants: Sequence[int], now: int
) -> Usage:
    """Return each entity's decayed usage at each instant, in one sweep over the attempts.

    Args:
        charged: start_time, end_time, the column ``kind`` and ``penalty`` (of ``penalty``); *all*
            attempts of the pools that count, in any order (fastest in that of arrival).
        instants: epoch s, strictly ascending.
        now: time of the log, up to which open attempts count, epoch s.

    Raises:
        ValueError: the instants do not ascend.

    Cost: attempts + entities · instants (for windows: · distinct bounds of windows).
    """
    at = np.array(instants, np.int64)
    if (np.diff(at) <= 0).any():
        raise ValueError("instants: must be strictly ascending")
    started = charged.select("start_time", "end_time", "penalty", entity=pl.col(kind))
    if started["start_time"].has_nulls():
        started = started.filter(pl.col("start_time").is_not_null())
    entities, grouped = _group(started, now)
    used, total = method.sweep(grouped, at) if len(at) else _table(grouped, at)
    first_start = np.empty(0, np.int64)
    if len(entities):
        first_start = np.minimum.reduceat(grouped.start, grouped.offsets[:-1])
    return Usage(entities, first_start, used, total)


def _table(grouped: Grouped, instants: Ints) -> tuple[Floats, Floats]:
    return np.empty((len(instants), len(grouped.offsets) - 1)), np.empty(len(instants))


def _group(started: pl.DataFrame, now: int) -> tuple[pl.Series, Grouped]:
    """Return the distinct names, sorted, and the attempts of each."""
    distinct, codes, counts = numbered(started.select("entity"))
    names = distinct["entity"]
    by_name = names.arg_sort().to_numpy()  # null first
    offsets = np.zeros(len(names) + 1, np.int64)
    np.cumsum(counts[by_name], out=offsets[1:])
    places = np.empty(len(names), np.int64)
    places[by_name] = offsets[:-1]
    return names.gather(by_name), _arranged(codes, offsets, places, started, now)


def by_number(owners: Ints, count: int, charged: pl.DataFrame, now: int) -> Grouped:
    """Return the attempts that started, grouped by the number of their owner.

    ``owners`` are from 0 to below ``count``, or −1: left out. Open attempts end at ``now``.
    """
    if charged["start_time"].has_nulls():
        owners = np.where(charged["start_time"].is_null(), -1, owners)
        charged = charged.with_columns(pl.col("start_time").fill_null(0))
    codes = np.where(owners < 0, count, owners).astype(np.uint32)
    counts = np.bincount(codes, minlength=count + 1)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places = offsets[:-1].copy()
    offsets, start, end, penalty = _arranged(codes, offsets[:-1], places, charged, now)
    kept = offsets[-1]  # what is left out comes last
    return Grouped(offsets, start[:kept], end[:kept], penalty[:kept])


def _arranged(
    codes: NDArray[np.uint32], offsets: Ints, places: Ints, started: pl.DataFrame, now: int
) -> Grouped:
    """Return attempts owner by owner; ``places``, overwritten, is where those of each code go."""
    start = np.ascontiguousarray(started["start_time"].to_numpy(), np.int64)
    end = np.ascontiguousarray(started["end_time"].fill_null(now).to_numpy(), np.int64)
    penalty = np.ascontiguousarray(started["penalty"].to_numpy(), np.float64)
    grouped = Grouped(offsets, np.empty_like(start), np.empty_like(end), np.empty_like(penalty))
    kernels.group_by_owner(codes, start, end, penalty, places, *grouped[1:])
    return grouped


def numbered(values: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.uint32], Ints]:
    """Return the distinct rows, the number of each row among them, and how often each occurs.

    It compares hashes, which takes half as long as polars' categories; if two rows share one,
    another seed is tried.
    """
    codes = np.empty(values.height, np.uint32)
    firsts, counts = np.empty(values.height, np.int64), np.empty(values.height, np.int64)
    for seed in itertools.count():
        hashes = values.to_series(0).hash(seed).to_numpy().view(np.int64)
        for column in values.get_columns()[1:]:
            hashes = hashes * _ODD + column.hash(seed).to_numpy().view(np.int64)
        count = kernels.number(hashes, codes, firsts, counts)
        distinct = values[firsts[:count]]
        if not any(
            distinct[name].gather(codes).ne_missing(values[name]).any() for name in values.columns
        ):
            return distinct, codes, counts[:count]
    raise AssertionError("unreachable")


_ODD: Final = np.int64(-7_046_029_254_386_353_131)
"""A factor that spreads the hashes of several columns (2⁶⁴ over the golden ratio)."""


ORIGIN: Final = datetime(1970, 1, 5)  # noqa: DTZ001 (a clock on the wall has no zone)


def calendar(instants: Ints, interval_s: int, depth: int, zone: ZoneInfo) -> Ints:
    """Return the bounds of windows that are fixed in a zone, for ascending instants."""
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
    """Return the first instant, epoch s, at which a clock in ``zone`` shows ``wall`` or later."""
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
    """Return the number of the last window that has begun by ``instant``."""
    number = (_shown(instant, zone) - ORIGIN) // timedelta(seconds=interval_s)
    while begin(number + 1) <= instant:  # the clock was set back behind a bound
        number += 1
    return number


def _shown(instant: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(instant, tz=zone).replace(tzinfo=None)
