"""Classes of attempts (by size, by group, by k-means), and the parts of the week.

    size      width classes: 1, 2, 3-4, 5-8, … in powers of two, as far as the log goes
    group     by Unix group if the log has several, else by account, else by user; groups with less
              than a twentieth of both attempts and use are ``others``, and so are all beyond the
              ninth
    clusters  k-means over log2 size and log10 (1 + occupancy), each divided by its standard
              deviation; ``c1`` has the largest use

    peak      Monday to Friday, 8:00 to 17:00 on the clock of the cluster's zone
    off_peak  the other hours of Monday to Friday
    weekend   Saturday and Sunday

[B] clusters by size alone, which repeats the classes by size if there are few sizes. The number of
clusters, 2 to 9, is that of the greatest mean silhouette of a sample of 2,000.

Each part of the week has a clock that stops outside it: on that of ``peak``, 8:00 on Monday
immediately follows 17:00 on the Friday before. Gaps between arrivals therefore have one rate: the
arrivals per hour of that part.

Sources: SPEC §8; [B] §3.2; P. Rousseeuw, Silhouettes (1987).
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from importlib import import_module
from typing import Any, Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Floats, Ints
from audit.errors import UsageError
from audit.metrics.attempts import population
from audit.periods import day_start

PARTS: Final = ("peak", "off_peak", "weekend")
PEAK_HOURS: Final = (8, 17)
_SATURDAY: Final = 5


@dataclass(frozen=True)
class WeeklyClock:
    """Whole days, cut into pieces of one part of the week each."""

    edges: Ints  # epoch s, ascending; one more than there are pieces
    part: Ints  # index into ``PARTS`` of each piece
    day: Ints  # number of each piece's day, from 0; every day begins with a new piece

    def seconds(self, part: str) -> int:
        """Return the length of a part of the week in all, s."""
        return int(np.diff(self.edges)[self.part == PARTS.index(part)].sum())

    def part_of(self, instants: Ints) -> Ints:
        """Return the index into ``PARTS`` of each epoch second, which is within the days."""
        return np.take(self.part, self._piece(instants))

    def day_of(self, instants: Ints) -> Ints:
        """Return the number of the day, from 0, of each epoch second."""
        return np.take(self.day, self._piece(instants))

    def reading(self, instants: Ints) -> Ints:
        """Return the reading at each instant of the clock of its part, s since the first day."""
        piece = self._piece(instants)
        return np.take(self._before() - self.edges[:-1], piece) + instants

    def instants(self, part: str, readings: Floats) -> Ints:
        """Return the epoch second of each reading in [0, ``seconds(part)``) of a part's clock."""
        pieces = np.flatnonzero(self.part == PARTS.index(part))
        before = self._before()[pieces]
        place = np.searchsorted(before, readings, side="right") - 1
        since = np.floor(readings).astype(np.int64) - before[place]
        return np.take(self.edges, pieces[place]) + since

    def _piece(self, instants: Ints) -> Ints:
        return np.searchsorted(self.edges, instants, side="right") - 1

    def _before(self) -> Ints:
        """Return the reading at the beginning of each piece of the clock of its part, s."""
        lasts = np.diff(self.edges)
        before = np.zeros(len(lasts), np.int64)
        for part in range(len(PARTS)):
            pieces = self.part == part
            before[pieces] = np.cumsum(lasts[pieces]) - lasts[pieces]
        return before


def weekly_clock(first: date, days: int, zone: ZoneInfo) -> WeeklyClock:
    """Return the clock of ``days`` ≥ 1 days in a zone; days of a clock change have their length."""
    pieces: list[tuple[int, str, int]] = []
    for number in range(days):
        day = first + timedelta(days=number)
        if day.weekday() >= _SATURDAY:
            pieces.append((day_start(day, zone), "weekend", number))
            continue
        begin, end = (
            int(datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC).timestamp())
            for hour in PEAK_HOURS
        )
        edges = (day_start(day, zone), begin, end)
        named = zip(edges, ("off_peak", "peak", "off_peak"), strict=True)
        pieces += [(edge, part, number) for edge, part in named]
    edges, parts, of_days = zip(*pieces, strict=True)
    last = day_start(first + timedelta(days=days), zone)
    columns = ((*edges, last), [PARTS.index(part) for part in parts], of_days)
    return WeeklyClock(*(np.array(column, np.int64) for column in columns))


TECHNIQUES: Final = ("size", "group", "clusters")
OTHERS: Final = "others"
NOTABLE: Final = 0.05
"""Least share of attempts or of use of a group with its own class."""
MOST_GROUPS: Final = 9
CLUSTERS: Final = range(2, 10)
"""Numbers of clusters that are tried."""
SAMPLE: Final = 2_000
"""Number of attempts by which numbers of clusters are compared."""


def labels(attempts: pl.DataFrame, by: str, seed: int, clusters: int | None = None) -> pl.Series:
    """Return the class of each attempt.

    Args:
        attempts: ``size``, ``occupancy_s``, ``group``, ``account`` and ``user`` of ended attempts.
        by: one of ``TECHNIQUES``.
        seed: of k-means.
        clusters: number of clusters, ≥ 1; None chooses.

    Raises UsageError if scikit-learn is missing for ``clusters``.
    """
    if by == "clusters":
        return by_clusters(attempts, seed, clusters)
    return {"size": by_size, "group": by_group}[by](attempts)


def by_size(attempts: pl.DataFrame) -> pl.Series:
    """Return the width class of each attempt."""
    top = 1 << (int(attempts["size"].to_numpy().max(initial=1)) - 1).bit_length()
    return attempts.select(population.width_class(pl.col("size"), top)).to_series().alias("class")


def by_group(attempts: pl.DataFrame) -> pl.Series:
    """Return the group of each attempt."""
    column = grouping(attempts)
    use = pl.col("occupancy_s") * pl.col("size")
    used = pl.col("used") / max(attempts.select(use.sum()).item(), 1)
    groups = (
        attempts.filter(pl.col(column).is_not_null())
        .group_by(column)
        .agg(jobs=pl.len() / attempts.height, used=use.sum())
        .with_columns(notable=pl.max_horizontal("jobs", used))
        .sort("notable", column, descending=[True, False])
        .filter(pl.col("notable") >= NOTABLE)
        .head(MOST_GROUPS)
    )
    kept = pl.col(column).is_in(groups[column].implode())
    label = pl.when(kept).then(column).otherwise(pl.lit(OTHERS))
    return attempts.select(label.alias("class")).to_series()


def grouping(attempts: pl.DataFrame) -> str:
    """Return the column of the groups: ``group``, ``account`` or ``user``."""
    for column in ("group", "account"):
        if attempts[column].drop_nulls().n_unique() > 1:
            return column
    return "user"


def by_clusters(attempts: pl.DataFrame, seed: int, clusters: int | None = None) -> pl.Series:
    """Return the cluster of each attempt."""
    threadpool_limits = _scikit_learn("threadpoolctl").threadpool_limits
    points = features(attempts)
    different = len(np.unique(points, axis=0))
    with threadpool_limits(1):  # sums of several threads may differ in the last bit
        if clusters is None:
            clusters = _best_number(points, different, seed)
        cluster = _k_means(points, min(clusters, different), seed)
    use = (attempts["occupancy_s"] * attempts["size"]).to_numpy().astype(np.float64)
    place = np.argsort(np.argsort(-np.bincount(cluster, use), kind="stable"))
    return pl.Series("class", [f"c{number + 1}" for number in place[cluster]])


def features(attempts: pl.DataFrame) -> NDArray[np.float64]:
    """Return the points for k-means, (attempts, 2); a feature without variation is 0."""
    size, occupancy = (attempts[name].to_numpy() for name in ("size", "occupancy_s"))
    raw = np.column_stack((np.log2(size.astype(np.float64)), np.log10(1.0 + occupancy)))
    spread = raw.std(axis=0)
    points: NDArray[np.float64] = (raw - raw.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return points


def _best_number(points: NDArray[np.float64], different: int, seed: int) -> int:
    metrics = _scikit_learn("sklearn.metrics")
    rng = np.random.Generator(np.random.PCG64(seed))
    if len(points) > SAMPLE:
        points = points[np.sort(rng.choice(len(points), SAMPLE, replace=False))]
        different = len(np.unique(points, axis=0))
    scores = {
        number: float(metrics.silhouette_score(points, _k_means(points, number, seed)))
        for number in CLUSTERS
        if number <= different and number < len(points)
    }
    return max(scores, key=lambda number: (scores[number], -number), default=1)


def _k_means(points: NDArray[np.float64], clusters: int, seed: int) -> NDArray[np.int64]:
    state = seed % (1 << 32)  # scikit-learn takes no greater seeds
    model = _scikit_learn("sklearn.cluster").KMeans(clusters, n_init=5, random_state=state)
    return np.asarray(model.fit_predict(points), np.int64)


def _scikit_learn(module: str) -> Any:
    """Return a module of scikit-learn or of its dependencies; raise UsageError if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"classes by k-means need a library that is not installed ({error.name}): "
            "pip install 'fairaudit[studies]'"
        ) from error
