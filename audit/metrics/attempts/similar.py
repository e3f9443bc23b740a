"""Waits of similar jobs, a reference for pages and ``stuck`` (SPEC §10, *Similar jobs*).

The similar jobs of an attempt j are attempts of *other* users in the same pool, partition, qos,
width class and walltime class that arrived within a day of j. If these are fewer than 20, or of
fewer than 3 users, within 7 days, then within 30. Of their waits,

    similar_wait_j = the median        similar_p95_j = the 95th percentile (nearest-rank both)

Of a user, over its attempts that have similar jobs:

    similar_wait_median = the median of similar_wait
    excess_wait = Σ max(0, wait − similar_wait)

For an account, similar jobs are those of other accounts. These figures never name an entity:
``passed_over`` does. Intervals of the excess are bootstrapped over days (of arrival, local), none
with fewer than 10 days.

Conventions: similar jobs started, and ended before the end of j's period, so later logs do not
change the figures of a period. Attempts without an account of their wait, and those of unknown
entities, neither have similar jobs nor are any. An unknown width, walltime, partition or qos is a
class of its own.

An attempt is *stuck* if it waits, or never started, and has waited longer than similar_p95 by more
than the tolerance, as one in twenty does under any policy. Its probable cause is exceeds_capacity
if it requests more than the pool ever has, else the cause to which most of its wait is booked.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.kernels.ranges import Ranges
from audit.metrics.attempts.contention import (
    counted_resources,
    ints,
    largest_amounts,
    requested,
    time_order,
)
from audit.metrics.attempts.parts import SummaryRow, row
from audit.metrics.attempts.population import day_number, ended, in_period, numbered, only, ordered
from audit.metrics.quantiles import MEDIAN, P95, add_ints, renumbered
from audit.metrics.uncertainty import NONE, Resamples, interval
from audit.metrics.waits.queue import coded
from audit.model import Period, Pool, Standing
from audit.registry.causes import CAUSES, COLUMNS

LEAST_SIMILAR: Final = 20
LEAST_ENTITIES: Final = 3
DAY_S: Final = 86_400
REACHES_S: Final = (DAY_S, 7 * DAY_S, 30 * DAY_S)
"""Within what time of an attempt its similar jobs arrive; widening."""
LEAD_S: Final = REACHES_S[-1]
"""Longest time between the arrivals of an attempt and an earlier similar job, s."""
WALLTIMES_S: Final = (3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600)
"""Upper ends of the bounded walltime classes."""
WALLTIMES: Final = ("0-1h", "1-4h", "4-12h", "12-24h", ">24h", "unknown")
"""Labels of the walltime classes, in the order of ``walltime_class``."""
LEAST_DAYS: Final = 10  # fewest days with attempts for which intervals are given
REFERENCE: Final[dict[Literal["user", "account"], str]] = {
    "user": "similar_wait_s",
    "account": "similar_wait_of_accounts_s",
}
"""The column with the median wait of similar jobs, by the kind of entity whose jobs are no peers
of each other."""
COUNT: Final = "similar_jobs"
_PIECE: Final = 1 << 17  # number of attempts that are compared at a time, to save memory
HELPERS: Final = (REFERENCE["account"], COUNT)
"""Columns that no table of attempts has."""

_NEVER: Final = int(np.iinfo(np.int64).max)


def similar_waits(with_causes: pl.DataFrame, periods: Sequence[Period]) -> pl.DataFrame:
    """Add the waits of each attempt's similar jobs.

    Args:
        with_causes: all attempts of one pool, with the columns of ``account``.
        periods: the current ones, disjoint. Attempts outside, and those that wait, have similar
            jobs of all times.

    Returns:
        ``with_causes`` with similar_wait_s, similar_p95_s, similar_wait_of_accounts_s, int64 s ≥ 0,
        and similar_jobs, their number; null without enough. O(n log n) for each period.

    Source: SPEC §10, *Similar jobs*.
    """
    made: dict[str, Ints] = {}
    for kind, name in REFERENCE.items():
        made[name], p95, number = _reference(with_causes, kind, periods)
        if kind == "user":
            made |= {"similar_p95_s": p95, COUNT: number}
    columns = {name: pl.Series(values) for name, values in made.items()}
    return with_causes.with_columns(
        **{name: column.set(column < 0, None) for name, column in columns.items()}
    )


def _reference(
    with_causes: pl.DataFrame, kind: Literal["user", "account"], periods: Sequence[Period]
) -> Ints:
    """Return median and 95th percentile of the waits of similar jobs, and their number, [3, n].

    −1 without enough.
    """
    read = dict.fromkeys(
        ("standing", "partition", "qos", "width_class", "walltime_s", "arrival_time", "end_time")
    )
    rows = with_causes.select(*read, "wait_s", entity=kind).with_row_index("row")
    judged = with_causes.select(pl.col(COLUMNS[0], kind).is_not_null())
    held = only(rows, judged.select(pl.all_horizontal(pl.all())).to_series())
    held = ordered(held, "arrival_time")
    del rows, judged  # before more is made
    classes = (coded(held[name]) for name in ("partition", "qos", "width_class"))
    strata = _combined(*classes, walltime_class(held["walltime_s"]))
    waits = ints(held["wait_s"])
    jobs = _Jobs(strata, ints(held["arrival_time"]), coded(held["entity"]), waits)
    made = np.full((3, with_causes.height), -1, np.int64)
    row, over = held["row"].to_numpy(), _ends(held)
    for cut, of_period in _by_period(held, periods):
        mine = of_period[time_order(strata[of_period])]  # similar ones read the same memory
        made[:, row[mine]] = jobs.of_others(mine, over < cut)
    return made


def _ends(held: pl.DataFrame) -> Ints:
    """Return when each attempt ended, or ``_NEVER`` if it cannot be similar to others."""
    is_similar = (held["standing"] == Standing.ENDED.value) & held["wait_s"].is_not_null()
    return np.where(is_similar.to_numpy(), ints(held["end_time"]), _NEVER)


class _Jobs(NamedTuple):
    """Attempts of known entities, by arrival."""

    stratum: Ints  # equal for similar attempts
    arrival: Ints
    entity: Ints
    wait: Ints

    def of_others(self, mine: Ints, candidates: NDArray[np.bool_]) -> Ints:
        """Return ``_reference`` of the attempts at the places ``mine``, among the candidates."""
        later = self.arrival - self.arrival[0]
        span = int(later[-1]) + 1
        group = _combined(self.stratum, self.entity)
        waits, ranks = np.unique(self.wait, return_inverse=True)
        bits = max(len(waits).bit_length(), len(later).bit_length())
        sorted_, theirs = (
            _SortedAttempts.of(keys, later, span, np.flatnonzero(candidates))
            for keys in (self.stratum, group)
        )
        all_waits, own_waits = (Ranges(ranks[each.places], bits) for each in (sorted_, theirs))
        before = Ranges(_previous(group[sorted_.places]), bits)
        made = np.full((3, len(mine)), -1, np.int64)
        median, p95, number = made
        for first in range(0, len(mine), _PIECE):
            left = np.arange(first, min(first + _PIECE, len(mine)))
            for reach in REACHES_S:
                at = mine[left]
                begin, end = sorted_.within(self.stratum[at], later[at], reach)
                own = theirs.within(group[at], later[at], reach)
                count = (end - begin) - (own[1] - own[0])
                entities = before.below(begin, end, begin + 1) - (own[1] > own[0])
                enough = (count >= LEAST_SIMILAR) & (entities >= LEAST_ENTITIES)
                begin, end, count = begin[enough], end[enough], count[enough]
                own = (own[0][enough], own[1][enough])
                number[left[enough]] = count
                for out, thousandths in ((median, MEDIAN), (p95, P95)):
                    nth = np.maximum(-(-count * thousandths // 1000), 1) - 1  # ``quantiles.rank``
                    of = all_waits.nth_without(begin, end, own_waits, *own, nth)
                    out[left[enough]] = waits[of]
                left = left[~enough]
        return made


class _SortedAttempts(NamedTuple):
    """Attempts sorted by a key ≥ 0, then by arrival."""

    places: Ints
    span: int  # more than any arrival, s after the first
    at: Ints  # key × span + arrival

    @classmethod
    def of(cls, keys: Ints, later: Ints, span: int, places: Ints) -> "_SortedAttempts":
        """Return the attempts at ``places``, which are in the order of arrival, ``later``."""
        order = places[time_order(keys[places])]
        return cls(order, span, keys[order] * span + later[order])

    def within(self, keys: Ints, later: Ints, reach: int) -> tuple[Ints, Ints]:
        """Return the begin and end of those of the keys that arrived within ``reach`` s."""
        low, high = (np.clip(later + by, 0, self.span - 1) for by in (-reach, reach))
        return (
            np.searchsorted(self.at, keys * self.span + low),
            np.searchsorted(self.at, keys * self.span + high, side="right"),
        )


def _previous(codes: Ints) -> Ints:
    """Return 1 + the place of the last earlier element with the same code, 0 without any."""
    order = np.argsort(codes, kind="stable")
    same = codes[order[1:]] == codes[order[:-1]]
    previous = np.zeros(len(codes), np.int64)
    previous[order[1:][same]] = order[:-1][same] + 1
    return previous


def _combined(*codes: Ints) -> Ints:
    """Return codes of the combinations, dense, from 0 on."""

    def pair(one: Ints, other: Ints) -> Ints:
        keys = one * (int(other.max(initial=0)) + 1) + other
        codes: Ints = np.unique(keys, return_inverse=True)[1].astype(np.int64)
        return codes

    return reduce(pair, codes)


def _by_period(held: pl.DataFrame, periods: Sequence[Period]) -> list[tuple[int, Ints]]:
    """Return groups of attempts, with the time before which their similar jobs must have ended."""
    instant = ints(held.select(pl.coalesce("end_time", "arrival_time")).to_series())
    waits = (held["standing"] == Standing.PENDING.value).to_numpy()
    number = np.full(held.height, len(periods))
    for k, period in enumerate(periods):
        inside = (instant >= period.from_time) & (instant < period.to_time)
        number[(inside | period.whole_log) & ~waits] = k
    ends = np.cumsum(np.bincount(number, minlength=len(periods) + 1))
    cuts = [_NEVER if period.whole_log else period.to_time for period in periods]
    parts = np.split(time_order(number), ends[:-1])
    return [(cut, mine) for cut, mine in zip([*cuts, _NEVER], parts, strict=True) if len(mine)]


def walltime_class(walltime: pl.Series) -> Ints:
    """Return the place of each walltime (s) in ``WALLTIMES``."""
    classes = np.searchsorted(WALLTIMES_S, ints(walltime), side="left")
    unknown = walltime.is_null().to_numpy()
    return np.where(unknown, len(WALLTIMES_S) + 1, classes).astype(np.int64)


def excess(reference: str) -> pl.Expr:
    """Return by how much a wait is longer than that of similar jobs, s ≥ 0."""
    return (pl.col("wait_s") - pl.col(reference)).clip(lower_bound=0)


def of_similar(
    with_similar: pl.DataFrame, period: Period, zone: ZoneInfo, seed: int, resamples: int
) -> Iterator[SummaryRow]:
    """Yield rows of the summary about each user and account whose attempts have similar jobs.

    Args:
        with_similar: *all* attempts of one pool, or those ``population.around`` the period, with
            the columns of ``similar_waits``.
    """
    mine = in_period(with_similar, period)
    first = mine.select(pl.col("arrival_time").min()).select(day_number(zone)).item()
    for kind, reference in REFERENCE.items():
        if reference not in with_similar.columns:
            continue
        used = mine.select("standing", "arrival_time", "wait_s", kind, reference)
        subjects = ended(used).drop_nulls([reference, kind])
        held = subjects.select(
            entity=numbered(subjects[kind]), more=excess(reference), day=day_number(zone) - first
        )
        drawn = Resamples(1 + int(held["day"].max() or 0), seed, resamples)  # type: ignore[arg-type]
        yield from _of_kind(held, kind, drawn)


def _of_kind(held: pl.DataFrame, kind: str, drawn: Resamples) -> Iterator[SummaryRow]:
    """Yield the excess of each entity, in the order of names, with intervals over days."""
    names = held["entity"].dtype.categories  # type: ignore[attr-defined]
    codes = held["entity"].to_physical().cast(pl.Int64).to_numpy()
    entities, number = renumbered(codes, len(names))
    day = held["day"].to_numpy()
    days = int(day.max(initial=0)) + 1
    cells, cell = renumbered(number * days + day, len(entities) * days)
    more = held["more"].to_numpy()
    by_day = add_ints(cell, more, len(cells)).astype(np.float64)
    totals = add_ints(number, more, len(entities)).tolist()
    counts = np.bincount(number, minlength=len(entities)).tolist()
    bounds = np.searchsorted(cells, np.arange(len(entities) + 1) * days).tolist()
    for k, entity in enumerate(names.gather(entities)):
        begin, end = bounds[k], bounds[k + 1]
        within = NONE
        if end - begin >= LEAST_DAYS:
            within = interval(drawn.sums(cells[begin:end] % days, by_day[begin:end])[0])
        yield row("excess_wait", kind, entity, float(totals[k]), counts[k], within)


STUCK_SCHEMA: Final = pl.Schema(
    {
        "job_id": pl.String,
        "attempt": pl.Int64,
        "waited_s": pl.Int64,
        "similar_p95_s": pl.Int64,
        COUNT: pl.Int64,
        "cause": pl.String,
    }
)
"""Columns of ``stuck_result`` that are computed here."""


def stuck(with_similar: pl.DataFrame, pool: Pool, now: int, tolerance_s: int) -> pl.DataFrame:
    """Return the attempts of a pool that are stuck, of tasks with one record the first.

    Args:
        with_similar: attempts of the pool, with the columns of ``account`` and ``similar_waits``.
        now: time of the log, until which open attempts wait, epoch s.
        tolerance_s: the excess of a wait beyond the percentile, s.

    Returns:
        Columns of ``STUCK_SCHEMA``, greatest excess first.
    """
    waits = pl.col("standing") == Standing.PENDING
    gave_up = pl.col("standing") == Standing.NEVER_STARTED
    left = pl.when(waits).then(pl.lit(now)).when(gave_up).then("end_time")
    beyond = pl.col("waited_s") - pl.col("similar_p95_s")
    read = dict.fromkeys(
        ("job_id", "attempt", "tasks", "any_gpu_type", "similar_p95_s", COUNT, *COLUMNS)
    )
    read |= dict.fromkeys(counted_resources(pool))
    return (
        with_similar.select(*read, waited_s=left - pl.col("arrival_time"))
        .filter(beyond > tolerance_s, pl.col("tasks") > 0)
        .with_columns(cause=_cause(pool))
        .sort(-beyond, "job_id", "attempt", maintain_order=True)
        .select(pl.col(name).cast(kind) for name, kind in STUCK_SCHEMA.items())
    )


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
