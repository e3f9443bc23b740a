"""Capacity of a pool, and the attempts that compete for it (SPEC §4, §5).

A type of GPUs is a resource beside ``gpus``, which counts those of all types. An attempt that
requested GPUs of any type uses those that it was allocated, but waits for ``gpus`` only.

Conventions: R resources, S capacity steps; amounts in the resources' own units, times in epoch s.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.kernels import sweeps
from audit.model import Pool, Standing
from audit.words import OF_TYPE, is_amount


class CapacitySteps(NamedTuple):
    """Changes of a pool's amounts, ascending in time."""

    time: Ints  # [S]
    change: Ints  # [S, R]: what is added
    planned: NDArray[np.bool_]  # [S], whether planners know of it in advance


def reserved_rows(held: pl.DataFrame) -> pl.Series:
    """Return whether each attempt ran in an advance reservation."""
    return (held["reservation"].str.len_bytes() > 0).fill_null(False)


def gpu_types(attempts: pl.DataFrame) -> list[str]:
    """Return the types of GPUs of attempts as resources, such as ``gpus:a100``."""
    items = attempts["gpu_types"].drop_nulls().unique().str.split(",").explode()
    return sorted({OF_TYPE + item.rpartition(":")[0] for item in items})


def with_gpu_types(attempts: pl.DataFrame, resources: Iterable[str]) -> pl.DataFrame:
    """Add a column for each type of GPUs among ``resources``; 0 where an attempt lacks it."""
    return attempts.with_columns(
        _number_of(name.removeprefix(OF_TYPE)).alias(name)
        for name in sorted(set(resources))
        if name.startswith(OF_TYPE)
    )


def _number_of(gpu_type: str) -> pl.Expr:
    number = pl.col("gpu_types").str.extract(rf"(?:^|,){re.escape(gpu_type)}:([0-9]+)")
    return number.cast(pl.Int64, strict=False).fill_null(0)


def named_resources(pool: Pool) -> set[str]:
    """Return the resources that a pool's amounts, steps and limits name."""
    stepped = {name for step in pool.steps for name, _ in step.amounts}
    limited = {limit.resource for limit in pool.limits if limit.resource is not None}
    return {name for name, _ in pool.amounts} | stepped | limited


def requested(resource: str) -> pl.Expr:
    """Return the amount that an attempt waits for, which may be null."""
    amount = pl.col(resource)
    if resource.startswith(OF_TYPE):
        any_type = pl.col("any_gpu_type").fill_null(value=False)
        amount = pl.when(~any_type).then(amount).otherwise(0)
    return amount.alias(resource)


def counted_resources(pool: Pool) -> list[str]:
    """Return the resources that limit starts; the pool's counted resource first."""
    further = [
        name
        for name, _ in pool.amounts
        if is_amount(name) and (name != "nodes" or pool.exclusive_nodes)
    ]
    return [pool.resource.value, *(name for name in further if name != pool.resource)]


def requests(rows: pl.DataFrame, pool: Pool) -> Ints:
    """Return what n attempts wait for of each of ``counted_resources``, [R, n]; 0 for null."""
    columns = rows.select(requested(name) for name in counted_resources(pool))
    return np.stack([ints(one) for one in columns])


def amounts(pool: Pool) -> Ints:
    """Return the pool's amount of each of ``counted_resources`` before any step, [R]."""
    return np.array([_amount(pool, name) for name in counted_resources(pool)], np.int64)


def largest_amounts(pool: Pool) -> dict[str, int]:
    """Return the greatest declared amount of each of ``counted_resources``."""
    had = {name: [_amount(pool, name)] for name in counted_resources(pool)}
    for step in pool.steps:
        for name, amount in step.amounts:
            if name in had:
                had[name].append(amount)
    return {name: max(of_name) for name, of_name in had.items()}


def capacity_steps(pool: Pool, reserved: pl.DataFrame) -> CapacitySteps:
    """Return the changes of ``counted_resources``: as declared, and by reservations.

    From its first start to its last end, a reservation takes its peak use from the capacity.

    Args:
        reserved: attempts that ran in reservations: reservation, start_time, ``end`` (assumed for
            open ones) and the resources.
    """
    resources = counted_resources(pool)
    had = {name: _amount(pool, name) for name in resources}
    steps: list[tuple[int, list[int], bool]] = []
    for step in pool.changes:
        changed = {name: amount for name, amount in step.amounts if name in had}
        steps.append(
            (step.since, [changed.get(x, had[x]) - had[x] for x in resources], step.planned)
        )
        had |= changed
    for _, rows in sorted(reserved.group_by("reservation"), key=lambda group: str(group[0])):
        started = rows.drop_nulls("start_time")
        if started.is_empty():
            continue
        begin, end = int(started["start_time"].min()), int(started["end"].max())  # type: ignore[arg-type]
        peaks = [peak_in_use(started, name) for name in resources]
        steps += [(begin, [-peak for peak in peaks], False), (end, peaks, False)]
    steps.sort(key=lambda step: step[0])
    return CapacitySteps(
        np.array([since for since, _, _ in steps], np.int64),
        np.array([change for _, change, _ in steps], np.int64).reshape(-1, len(resources)),
        np.array([known for _, _, known in steps], np.bool_),
    )


def peak_in_use(started: pl.DataFrame, resource: str) -> int:
    """Return the most of a resource in use at one time, of attempts with start_time and ``end``."""
    amount = ints(started[resource])
    at = np.concatenate([started["start_time"].to_numpy(), started["end"].to_numpy()])
    order = time_order(at)
    at = at[order]
    used = np.concatenate([amount, -amount])[order].cumsum()
    lasting = np.append(at[1:] != at[:-1], True)[: len(at)]
    return int(used[lasting].max(initial=0))


def _amount(pool: Pool, resource: str) -> int:
    return pool.capacity if resource == pool.resource else dict(pool.amounts)[resource]


class Lifetimes(NamedTuple):
    """Lifetimes of attempts in a pool, arrival ≤ start ≤ end; one element per row of a frame.

    A lifetime of length 0 has no effect. An attempt that leaves the pool without a start has
    start = end.
    """

    arrival: Ints
    start: Ints
    end: Ints
    size: Ints
    by_arrival: Ints
    by_start: Ints
    by_end: Ints


def lifetimes(described: pl.DataFrame, now: int, count_never_started: bool = False) -> Lifetimes:
    """Return the lifetimes of the attempts of one pool.

    Open attempts live up to ``now``, those of unknown arrival from their start. Attempts with an
    unknown start, and, unless ``count_never_started``, those that never started have an empty life;
    otherwise they are queued until they left. An unknown size is 0.
    """
    counted = [Standing.ENDED.value, Standing.ARRIVAL_UNKNOWN.value]
    if count_never_started:
        counted.append(Standing.NEVER_STARTED.value)
    if (described["standing"] == Standing.ENDED.value).all() and not described["size"].has_nulls():
        lives = described  # saves six copies of large logs
    else:
        standing = pl.col("standing")
        leaves = (
            pl.when(standing.is_in([Standing.RUNNING.value, Standing.PENDING.value]))
            .then(pl.lit(now))
            .when(standing.is_in(counted))
            .then("end_time")
        )
        end = pl.coalesce(leaves, "arrival_time", pl.lit(now))
        lives = described.select(
            arrival_time=pl.min_horizontal(pl.coalesce("arrival_time", "start_time", end), end),
            start_time=pl.min_horizontal(pl.coalesce("start_time", end), end),
            end_time=end,
            size=pl.col("size").fill_null(0),
        )
    arrival, start, end_, size = (
        ints(lives[name]) for name in ("arrival_time", "start_time", "end_time", "size")
    )
    return Lifetimes(
        arrival, start, end_, size, time_order(arrival), time_order(start), time_order(end_)
    )


def time_order(times: Ints) -> Ints:
    """Return the indices that sort ``times``, stably."""
    order, spare = np.empty_like(times), np.empty_like(times)
    sweeps.time_order(times, order, spare)
    return order


def ints(column: pl.Series) -> Ints:
    """Return a column as whole numbers; 0 for null."""
    known = column.fill_null(0) if column.null_count() else column
    return np.ascontiguousarray(known.to_numpy(), np.int64)
