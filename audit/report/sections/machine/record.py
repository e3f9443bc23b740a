"""The capacity of a pool over time, read from the database."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.bursts import bursts
from audit.periods import day_edges, day_of, zone
from audit.report.figures import records
from audit.report.source import SectionSource


class Outage(NamedTuple):
    """A time in which nothing ran although a job could have; epoch s."""

    from_time: int
    to_time: int
    waited_s: int


class Burst(NamedTuple):
    """A burst of one user's attempts (SPEC §11)."""

    first: str  # ISO date of the first arrival
    last: str  # of the last arrival
    user: str
    attempts: int
    work_s: float  # of the whole pool


@dataclass(frozen=True, slots=True)
class MachineOverTime:
    """What the use of a pool and its queue over time was affected by."""

    outages: tuple[Outage, ...] = ()  # longest first
    waiting_work: tuple[tuple[str, float], ...] = ()  # ISO day, mean s of the whole pool
    bursts: tuple[Burst, ...] = ()  # most work first


class Machine(NamedTuple):
    """The capacity of the pool, and how busy it was."""

    resource: str
    capacity: int
    nodes: int | None  # None: the nodes are not known
    busy: float | None
    step: str  # month, week, day; empty: too few complete ones
    fullest: float | None  # the busiest of these, at most 1
    gpus_busy: float | None


BURST_DAYS: Final = 0.25
"""Least work of a burst that charts mark, in days of the whole pool."""
_DAY_S: Final = 86_400


def read(source: SectionSource) -> dict[str, MachineOverTime]:
    """Return the outages, the daily waiting work and the bursts of each pool."""
    in_zone = zone(source.zone)
    edges = day_edges(source.period.from_time, source.period.to_time, in_zone)
    days = {first: day_of(first, in_zone).isoformat() for first in edges[:-1]}
    waiting: dict[str, dict[int, float]] = {}
    bursts_: dict[str, tuple[Burst, ...]] = {}
    if days:
        for pool, first, seconds in source.rows("machine/waiting_work", edges=edges).iter_rows():
            waiting.setdefault(pool, {})[first] = seconds
        attempts = source.rows("machine/bursts")
        for (pool,), of_pool in attempts.group_by("pool", maintain_order=True):
            rows = _bursts(of_pool, source.period.from_time)
            bursts_[str(pool)] = tuple(
                Burst(day_of(first, in_zone).isoformat(), day_of(last, in_zone).isoformat(), *burst)
                for first, last, *burst in rows.iter_rows()
            )
    return {
        pool: MachineOverTime(
            records(Outage, outages),
            tuple((day, waiting[pool].get(first, 0.0)) for first, day in days.items())
            if pool in waiting
            else (),
            bursts_.get(pool, ()),
        )
        for pool, outages in source.by_pool("machine/outages").items()
    }


def _bursts(attempts: pl.DataFrame, from_time: int) -> pl.DataFrame:
    """Return first and last arrival, user, attempts and work of a pool's large bursts."""
    arrival = pl.col("arrival_time")
    return (
        attempts.with_columns(burst=bursts(attempts))
        .group_by("burst")
        .agg(
            arrival.min().clip(lower_bound=from_time).alias("first"),
            arrival.max().alias("last"),
            pl.col("user").first(),
            pl.len().alias("attempts"),
            pl.col("work_s").sum(),
        )
        .filter(
            pl.col("last") >= from_time,
            pl.col("attempts") > 1,
            pl.col("work_s") >= BURST_DAYS * _DAY_S,
        )
        .sort("work_s", "first", "user", descending=[True, False, False])
        .drop("burst")
    )
