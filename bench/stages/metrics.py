"""Each metric against its twin in plain SQL (``sql/``), and against one sort of as many numbers.

Attempts are made up: one in 31 s, two thirds wait, run times are heavy-tailed; so a log of more
attempts is a longer one. Both sides start from the same rows in memory, ours as a frame, the twin's
as a table of DuckDB, and give all rows of the result; at the smallest size they are compared.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import polars as pl
import polars.selectors as cs

from audit.metrics.attempts import figures, performance
from audit.metrics.attempts.account import account
from audit.metrics.attempts.fidelity import fidelity
from audit.metrics.attempts.miss import TOLERANCE_S, misses
from audit.metrics.attempts.parts import coded
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import resource_equality
from audit.metrics.attempts.similar import similar_waits
from audit.metrics.attempts.users import by_entity
from audit.metrics.fairshare.history import history_parts
from audit.metrics.fairshare.penalty import Hardware, relative_penalty
from audit.metrics.fairshare.usage import HalfLife, Method, Windows
from audit.model import ATTEMPTS, Pool, Resource
from audit.registry.causes import COLUMNS
from audit.store.database import fetch
from audit.store.streams import ArrowStream
from bench.measure.figures import Figure
from bench.measure.pairs import measured

SQL = Path(__file__).with_name("sql")
SIZES = (10_000, 100_000, 1_000_000)
APART_S = 31
USERS = 500
BEGIN = 1_700_006_400  # a midnight, UTC
DAY_S = 86_400
POOL = Pool("all", Resource.cpus, 4_000)
HARDWARE = Hardware(available={"cpus": 4_000})
RE_GOAL = 0.1
"""Of the CPU of its twin, what resource equality may take."""
AFFORDABLE_S = 60.0
"""User CPU that a twin may take, guessed from the size before and the square."""


class Metric(NamedTuple):
    """One metric: ours, and what to compare of both results."""

    what: str
    ours: Callable[["Made"], pl.DataFrame]
    sql: str | None = None
    """Its file; None: plain SQL cannot say it."""
    keys: tuple[str, ...] = ("line",)
    compared: tuple[str, ...] = ()
    goal: float | None = None


class Made:
    """Attempts, what follows from them, and the same as tables of DuckDB."""

    def __init__(self, count: int) -> None:
        self.attempts = attempts(count)
        self.described = with_drawn(describe(self.attempts, [POOL]).rechunk())
        self.arrival = self.described["arrival_time"].to_numpy()
        self.now = int(self.described["end_time"].to_numpy().max())
        days = (self.now - BEGIN) // DAY_S
        self.midnights = [BEGIN + DAY_S * day for day in range(1, max(2, days + 1))]
        compared = performance.overtakes(resource_equality(self.described, self.now))
        self.judged = account(compared, POOL, self.now).attempts
        self.con = duckdb.connect()
        self.con.execute("SET enable_progress_bar = false")
        for name in ("attempts", "described", "judged"):
            frame = getattr(self, name)
            filled = [column for column in frame.columns if frame[column].null_count() == 0]
            self.con.register("rows", ArrowStream(frame.select(filled).__arrow_c_stream__(None)))
            self.con.execute(f"CREATE TABLE {name} AS FROM rows")
            self.con.unregister("rows")
        self.con.execute(f"SET VARIABLE capacity = {POOL.capacity}")
        self.con.execute(f"SET VARIABLE midnight = {BEGIN}")
        self.con.execute(f"SET VARIABLE days = {len(self.midnights)}")

    def twin(self, file: str) -> None:
        """The table ``result``, by plain SQL."""
        text = (SQL / file).read_text(encoding="utf-8")
        self.con.execute(f"CREATE OR REPLACE TABLE result AS {text}")

    def sort(self) -> None:
        """One sort: of the arrivals, mixed up."""
        np.sort(self.mixed, kind="stable")

    @property
    def mixed(self) -> np.ndarray:
        if not hasattr(self, "_mixed"):
            self._mixed = np.random.Generator(np.random.PCG64(3)).permutation(self.arrival)
        return self._mixed


def attempts(count: int) -> pl.DataFrame:
    """Columns of ``model.ATTEMPTS``; all have started and ended."""
    random = np.random.Generator(np.random.PCG64(1))
    arrival = BEGIN + np.sort(random.integers(0, APART_S * count, count))
    wait = random.exponential(3_600, count) * (random.random(count) < 2 / 3)
    start = arrival + wait.astype(np.int64)
    occupancy = np.minimum(random.lognormal(7, 1.5, count), 7 * DAY_S).astype(np.int64)
    activity = random.pareto(1.0, USERS) + 0.1
    user = random.choice(USERS, count, p=activity / activity.sum())
    number = np.arange(1, count + 1)

    def named(kind: str, numbers: np.ndarray) -> pl.Series:
        names = pl.Series([f"{kind}{one:03d}" for one in range(int(numbers.max()) + 1)])
        return names.gather(numbers)

    return pl.DataFrame(
        {
            "cluster": pl.repeat("made", count, eager=True),
            "job_id": pl.Series(number).cast(pl.String),
            "job_number": number,
            "user": named("user", user),
            "account": named("account", user % 40),
            "partition": named("part", random.integers(0, 2, count)),
            "qos": pl.repeat("normal", count, eager=True),
            "submit_time": arrival,
            "start_time": start,
            "end_time": start + occupancy,
            "walltime_s": random.choice([1_800, 7_200, 28_800, 86_400, 604_800], count),
            "suspended_s": pl.repeat(0, count, eager=True, dtype=pl.Int64),
            "cpus": 1 << random.integers(0, 9, count),
            "attempt": pl.repeat(1, count, eager=True, dtype=pl.Int64),
            "line": number,
        }
    ).match_to_schema(ATTEMPTS, missing_columns="insert")


def with_drawn(described: pl.DataFrame) -> pl.DataFrame:
    """With fair start times and replayed starts, drawn: what follows from these is measured."""
    random = np.random.Generator(np.random.PCG64(2))
    moved = [pl.Series(random.integers(-4_000, 2_000, described.height)) for _ in range(3)]
    names = ("fst_strict", "fst_relaxed", "replayed_start_time")
    later = {
        name: pl.max_horizontal("arrival_time", pl.col("start_time") + by)
        for name, by in zip(names, moved, strict=True)
    }
    return described.with_columns(**later, fst_status=pl.lit("final"))


def _activity(made: Made) -> pl.DataFrame:
    did = performance.activity(
        made.described, POOL.capacity, [int(made.arrival[0]), made.now], made.now
    )
    return pl.DataFrame(
        {name: getattr(did, name) for name in ("used", "queued", "lost", "over")}
    ).with_columns(line=pl.lit(1))


def _summary(made: Made) -> pl.DataFrame:
    """With intervals of 1,000 draws, which the twin lacks. Causes of waiting left out."""
    read = made.judged.select(cs.by_name(*figures.read(), require_all=False)).drop(COLUMNS)
    attempts = coded(read, ZoneInfo("UTC"))
    rows = figures.of_parts(attempts, figures.DrawnUnits.of(attempts, 1), TOLERANCE_S)
    return rows.select("metric", "dimension", "dimension_value", "value")


def _usage(method: Method, made: Made) -> pl.DataFrame:
    charged = relative_penalty(made.attempts, "cpu", HARDWARE).charged
    return pl.concat(history_parts(charged, "user", method, made.midnights, made.now))


def _owners(made: Made) -> pl.DataFrame:
    return by_entity(made.judged, "user")


USED = ("as_of", "entity")
METRICS = (
    Metric(
        "describing attempts",
        lambda made: describe(made.attempts, [POOL]),
        "described.sql",
        compared=("wait_s", "runtime_s", "bounded_slowdown", "width_class"),
    ),
    Metric(
        "resource equality",
        lambda made: resource_equality(made.described, made.now),
        "resource_equality.sql",
        compared=("re_deserved", "re_consumed", "re_unfairness"),
        goal=RE_GOAL,
    ),
    Metric(
        "overtakes",
        lambda made: performance.overtakes(made.described),
        "overtakes.sql",
        compared=("overtaken_by", "overtook"),
    ),
    Metric(
        "utilization, loss of capacity",
        _activity,
        "activity.sql",
        compared=("used", "queued", "lost", "over"),
    ),
    Metric(
        "waits of similar jobs",
        lambda made: similar_waits(made.judged, []),
        "similar.sql",
        compared=("similar_wait_s",),
    ),
    Metric(
        "misses",
        lambda made: misses(made.described),
        "misses.sql",
        compared=("miss_strict_s", "miss_relaxed_s", "fair_slowdown"),
    ),
    Metric(
        "model fidelity",
        lambda made: fidelity(misses(made.described)),
        "fidelity.sql",
        keys=("metric",),
        compared=("value",),
    ),
    Metric(
        "users: NUWT, unfairness",
        _owners,
        "users.sql",
        keys=("entity",),
        compared=("jobs", "attempts", "tuwt_s", "tusa", "nuwt", "re_unfairness_positive"),
    ),
    Metric(
        "summary by part, with intervals",
        _summary,
        "summary.sql",
        keys=("metric", "dimension", "dimension_value"),
        compared=("value",),
    ),
    Metric(
        "usage by half-life, each midnight",
        partial(_usage, HalfLife(half_life_s=7 * DAY_S)),
        "half_life.sql",
        keys=USED,
        compared=("usage",),
    ),
    Metric(
        "usage by windows, each midnight",
        partial(_usage, Windows(interval_s=DAY_S, depth=7, decay=0.7)),
        "windows.sql",
        keys=USED,
        compared=("usage",),
    ),
)


def same(metric: Metric, made: Made) -> None:
    """Compares both results.

    Raises:
        AssertionError: they are not the same, up to rounding; or there is nothing to compare.
    """
    assert metric.sql is not None
    made.twin(metric.sql)
    theirs = fetch(made.con, "FROM result")
    ours = metric.ours(made).select(*metric.keys, *metric.compared)
    both = theirs.join(ours, on=metric.keys, how="left", suffix=" ours", nulls_equal=True)
    assert both.height == theirs.height > 0, metric.what
    for name in metric.compared:
        mine, other = both[f"{name} ours"], both[name]
        assert (mine.is_null() == other.is_null()).all(), f"{metric.what}: {name} is not known"
        if mine.dtype == pl.String:
            assert (mine == other).all(), f"{metric.what}: {name}"
        else:
            np.testing.assert_allclose(
                mine.cast(pl.Float64).drop_nulls().to_numpy(),
                other.cast(pl.Float64).drop_nulls().to_numpy(),
                rtol=1e-6,
                atol=1e-3,
                err_msg=f"{metric.what}: {name}",
            )


def measure(sizes: Sequence[int]) -> Iterator[Figure]:
    """Every metric at every size; a twin that would take too long is left out."""
    took: dict[str, tuple[int, float]] = {}
    for count in sizes:
        made = Made(count)
        for metric in METRICS:
            if metric.sql and count == min(sizes):
                same(metric, made)
            before, seconds = took.get(metric.what, (count, 0.0))
            dear = seconds * (count / before) ** 1.5 > AFFORDABLE_S
            if metric.sql and dear:
                said = f"  {metric.what}: no twin for {count:,}, {before:,} took {seconds:.0f} s"
                print(said, file=sys.stderr, flush=True)
            sql = None if dear else metric.sql
            figure = measured(
                "Metrics",
                metric.what,
                count,
                partial(metric.ours, made),
                twin=("plain SQL", partial(made.twin, sql)) if sql else None,
                limit=("one sort", made.sort),
                goal=metric.goal if sql else None,
            )
            if figure.twin:
                took[metric.what] = count, figure.twin.seconds
            yield figure
        made.con.close()
