"""Classes of attempts, each modelled by itself: by size, by group, by k-means.

    size      width classes: 1, 2, 3-4, 5-8, … in powers of two, as far as the log goes
    group     by Unix group if the log has several, else by account, else by user; groups with less
              than a twentieth of both attempts and use are ``others``, and so are all beyond the
              ninth
    clusters  k-means over log2 size and log10 (1 + occupancy), each divided by its standard
              deviation; ``c1`` has used most

[B] clusters by size alone, which repeats the classes by size if there are few sizes. The number of
clusters, 2 to 9, is that of the greatest mean silhouette of a sample of 2,000.

Sources: SPEC §8; [B] §3.2; P. Rousseeuw, Silhouettes (1987).
"""

from importlib import import_module
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.errors import UsageError
from audit.metrics.attempts import population

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

    Raises:
        ValueError: there is no such technique.
        UsageError: ``clusters`` without scikit-learn.
    """
    if by == "size":
        return by_size(attempts)
    if by == "group":
        return by_group(attempts)
    if by == "clusters":
        return by_clusters(attempts, seed, clusters)
    raise ValueError(f"classes by {by!r}: not one of {', '.join(TECHNIQUES)}")


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
    """Return a module of scikit-learn, or of its dependencies.

    Raises:
        UsageError: scikit-learn is not installed.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise UsageError(
            f"classes by k-means need a library that is not installed ({error.name}): "
            "pip install 'fairaudit[studies]'"
        ) from error
