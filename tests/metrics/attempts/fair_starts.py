"""Described attempts with fair start times, as if a simulation had found them."""

from collections.abc import Sequence
from typing import Any

import polars as pl
from hypothesis import strategies as st

from audit.metrics.attempts.miss import fair_slowdown, misses
from audit.metrics.attempts.performance import overtakes
from audit.metrics.attempts.population import describe
from audit.metrics.attempts.resource_equality import resource_equality
from audit.model import FstStatus, Pool, Resource, Standing
from tests.naive import attempts as naive
from tests.strategies import NOW, frame, workloads

POOL = Pool("main", Resource.cpus, 4)
Starts = Sequence[int | None]
WITHOUT = ("exceeds_capacity", "blocked", "reserved", "not_sampled")

_beside = st.sampled_from([-90, -61, -60, -7, -1, 0, 0, 1, 12, 60, 61, 300])  # of the start
_weights = st.sampled_from([None, 1, 1, 1, 2, 5])
_statuses = st.sampled_from(["final"] * 4 + [status.value for status in FstStatus])


def complete(attempts: pl.DataFrame) -> pl.DataFrame:
    """As the service describes them, but for the fair start times."""
    return overtakes(resource_equality(describe(attempts, [POOL]), NOW))


def with_starts(
    described: pl.DataFrame,
    strict: Starts,
    relaxed: Starts,
    status: Sequence[str | None],
    weight: Sequence[int | None] | None = None,
) -> pl.DataFrame:
    """Described attempts with these fair start times, by row, and their misses."""
    weights = [] if weight is None else [pl.Series("fst_weight", weight, pl.Int64)]
    return misses(
        described.with_columns(
            *weights,
            fst_strict=pl.Series(strict, dtype=pl.Int64),
            fst_relaxed=pl.Series(relaxed, dtype=pl.Int64),
            fst_status=pl.Series(status, dtype=pl.String),
        )
    )


def final(
    records: list[dict[str, Any]], strict: Starts, relaxed: Starts | None = None
) -> pl.DataFrame:
    """Attempts in the order of their arrival, all final where a fair start time is given.

    The fair start on what the machine delivered is the strict one.
    """
    status = [None if start is None else "final" for start in strict]
    held = with_starts(complete(frame(records)), strict, relaxed or strict, status)
    return with_delivered(held, strict)


def with_delivered(held: pl.DataFrame, starts: Starts, part: float = 1.0) -> pl.DataFrame:
    """Attempts with these fair starts on what the machine delivered, by row.

    ``part`` of each miss is that by the cautious reading.
    """
    miss = (pl.col("start_time") - pl.col("fst_delivered")).clip(0)
    return held.with_columns(fst_delivered=pl.Series(starts, dtype=pl.Int64)).with_columns(
        miss_delivered_s=miss,
        miss_cautious_s=(miss * part).floor().cast(pl.Int64),
        fair_slowdown=fair_slowdown("delivered"),
    )


@st.composite
def fair_workloads(draw: st.DrawFn, most: int = 14) -> pl.DataFrame:
    """Attempts with any fair start times from their arrival on, of any status and weight."""
    described = complete(draw(workloads(most)))
    strict: list[int | None] = []
    relaxed: list[int | None] = []
    status: list[str | None] = []
    for row in described.to_dicts():
        ended = row["standing"] == Standing.ENDED
        status.append(draw(_statuses) if ended else None)
        for of in (strict, relaxed):
            none = not ended or status[-1] in WITHOUT or draw(st.integers(0, 9)) == 0
            start = None if none else max(row["start_time"] + draw(_beside), row["arrival_time"])
            of.append(start)
    weight = [draw(_weights) for _ in status]
    held = with_starts(described, strict, relaxed, status, weight)
    delivered = [
        max(row["start_time"] + draw(_beside), row["arrival_time"])
        if row["standing"] == Standing.ENDED and draw(st.integers(0, 9))
        else None
        for row in described.to_dicts()
    ]
    return with_delivered(held, delivered, draw(st.sampled_from([0.0, 0.3, 1.0])))


def fairs(held: pl.DataFrame, fst: str) -> list[naive.Fair]:
    """The ended attempts, as the slow twin sees them."""
    population = naive.described(held.to_dicts())
    given = held.select(f"fst_{fst}", "fst_status").rows()
    if fst == "delivered":
        given = held.select("fst_delivered", pl.lit("final"), "miss_cautious_s").rows()
    return [naive.Fair(one, *row) for one, row in zip(population, given, strict=True) if one.ended]


def stood_for(held: pl.DataFrame, fst: str) -> list[naive.Fair]:
    """Return the same, each as often as the number of attempts that it represents."""
    subjects = held.filter(pl.col("standing") == Standing.ENDED.value)
    weighted = "fst_weight" in held.columns and fst != "delivered"
    weights = subjects["fst_weight"].to_list() if weighted else []
    each = fairs(held, fst)
    times = weights or [1] * len(each)
    return [one for one, number in zip(each, times, strict=True) for _ in range(number or 1)]
