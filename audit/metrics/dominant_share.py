"""Dominant-share deficit: how much less of a pool each user held than a fair share (SPEC §12).

At each instant, the demand of user u is the sum of its running requests and of its waiting ones
that are not held. Dominant share: the greatest fraction of the capacity, over all resources.
a*_u: the user's dominant share under dominant-resource fairness, that is, progressive filling in
proportion to the site's shares (else equal ones) under the capacity in force, until the user has
all that it demands, or a resource that it demands is used up. s_u: the dominant share in use.

    D_u = ∫ max(0, a*_u − s_u) dt        s of the whole pool, ≥ 0

Requests may be divided here: a deficit may also arise because requests are indivisible, or because
free capacity is scattered over nodes. Attempts in reservations are left out, and reservations
reduce the capacity. Conventions: n attempts, R resources, times in epoch s.

Source: A. Ghodsi et al., Dominant Resource Fairness: Fair Allocation of Multiple Resource Types,
NSDI 2011, §4 (weights: §4.3).
"""

from collections.abc import Mapping
from typing import Final, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.array_types import Ints
from audit.kernels import dominant
from audit.metrics.attempts.contention import amounts, capacity_steps, counted_resources, time_order
from audit.metrics.waits.queue import coded, queued
from audit.model import Pool

Spans = pl.DataFrame
"""job_id, attempt, begin, end: when attempts were held; those of one attempt are disjoint."""
NOTHING_HELD: Final = pl.DataFrame(
    schema={"job_id": pl.String, "attempt": pl.Int64, "begin": pl.Int64, "end": pl.Int64}
)
COLUMN: Final = "share_deficit"
STEPS_S: Final = tuple(hours * 3_600 for hours in (1, 3, 6, 12, 24, 168))
"""Lengths of the steps of curves, s; the first that gives at most ``MOST_STEPS`` is used."""
MOST_STEPS: Final = 2_500
CURVES: Final = pl.Schema(
    {
        "entity": pl.String,
        "from_time": pl.Int64,  # epoch s
        "to_time": pl.Int64,
        "held": pl.Float64,  # mean dominant share in use, in [0, 1] unless over capacity
        "entitled": pl.Float64,  # mean dominant share of a fair allocation, in [0, 1]
        "deficit": pl.Float64,  # ∫ max(0, entitled − held) dt, s of the whole pool
    }
)


def beside(
    entities: pl.DataFrame,
    kind: Literal["user", "account"],
    around: pl.DataFrame,
    pool: Pool,
    span: tuple[int, int],
    now: int,
    shares: Mapping[str, float] | None = None,
    held: Spans = NOTHING_HELD,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fill the dominant-share deficit of users or accounts.

    Args:
        entities: columns of ``users.ENTITY_SCHEMA``.
        around: columns of ``model.DESCRIBED``; the attempts that overlap ``span`` at least.
        span: over which the deficit is integrated, epoch s.
        now: time until which open attempts wait or run, epoch s.
        shares: the site's, by name; without any, all are equal.

    Returns:
        The entities; and what each account held and was entitled to over time: columns of
        ``CURVES``, by entity and time, only of steps with demand.
    """
    known = span[0], min(span[1], max(now, span[0]))
    edges = _edges(*known) if kind == "account" else np.zeros(0, np.int64)
    of = (kind, around, pool, known, now, shares or {}, held)
    names, deficits, found = _deficits(*of, edges)
    return _filled(entities, names, deficits), _curves(names, edges, found)


def _filled(
    entities: pl.DataFrame, names: list[str], deficits: NDArray[np.float64]
) -> pl.DataFrame:
    found = pl.DataFrame(
        {"entity": names, COLUMN: deficits}, schema_overrides={"entity": pl.String}
    )
    return (
        entities.drop(COLUMN)
        .join(found, on="entity", how="left", maintain_order="left")
        .with_columns(pl.when(pl.col("entity").is_not_null()).then(COLUMN))
        .select(entities.columns)
    )


def _edges(begin: int, end: int) -> Ints:
    """Return the edges of the steps of a span; the last step may be shorter."""
    step = next((s for s in STEPS_S if end - begin <= s * MOST_STEPS), STEPS_S[-1])
    return np.append(np.arange(begin, end, step), end) if begin < end else np.zeros(0, np.int64)


def _curves(names: list[str], edges: Ints, found: NDArray[np.float64]) -> pl.DataFrame:
    """Return integrals, [3, steps, entities], as rows."""
    step, entity = np.nonzero((found > 0).any(0))
    length = np.diff(edges)[step] if len(edges) else np.zeros(0)
    named = pl.Series(names, dtype=pl.String).gather(entity)
    columns = (
        *(named, edges[step], edges[step + 1] if len(step) else step),
        *(found[0, step, entity] / length, found[1, step, entity] / length, found[2, step, entity]),
    )
    made = pl.DataFrame(dict(zip(CURVES, columns, strict=True)), CURVES)
    return made.sort("entity", "from_time")


def _deficits(
    kind: str,
    around: pl.DataFrame,
    pool: Pool,
    span: tuple[int, int],
    now: int,
    shares: Mapping[str, float],
    held: Spans,
    edges: Ints,
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    """Return names, deficits [entities], and curves [3, steps, entities]."""
    queue = queued(around.with_row_index("row"), now, waits=True)
    rows = queue.rows
    entity, names = coded(rows[kind]), rows[kind].drop_nulls().unique().sort().to_list()
    steps = capacity_steps(pool, queue.reserved)
    request = np.stack([queue.column(name) for name in counted_resources(pool)])
    weight = np.ones(len(names) + 1)  # the first is that of attempts without a name
    if shares:
        weight[1:] = [shares.get(name, 0.0) for name in names]
        weight[0] = 0.0
    out = np.zeros(len(weight))
    curves = np.zeros((3, max(len(edges) - 1, 0), len(weight)))
    time, attempt, demands, uses = _events(rows, held)
    dominant.deficits(
        time=time, attempt=attempt, demands=demands, uses=uses, entity=entity, request=request,
        step_time=steps.time, step=steps.change, had=amounts(pool), weight=weight,
        begin=span[0], end=span[1], out=out, edges=edges, curves=curves,
    )  # fmt: skip
    return names, out[1:], curves[:, :, 1:]


def _events(rows: pl.DataFrame, held: Spans) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the times, attempts, and changes of demand and use, ascending in time."""
    places = rows.select(
        *("job_id", "attempt", "arrival_time", "leave", "start_time", "end"),
        place=pl.int_range(pl.len(), dtype=pl.Int64),
    )
    gone = pl.coalesce(pl.when(pl.col("start_time").is_not_null()).then("end"), "leave")
    spans = held.join(places, on=["job_id", "attempt"]).select(
        "place",
        begin=pl.max_horizontal("begin", "arrival_time"),
        end=pl.min_horizontal("end", "leave"),
    )
    spans = spans.filter(pl.col("begin") < pl.col("end"))
    started = places.filter(pl.col("start_time").is_not_null())
    parts = [
        (places.select("place", "arrival_time"), 1, 0),
        (places.select("place", gone), -1, 0),
        (started.select("place", "start_time"), 0, 1),
        (started.select("place", "end"), 0, -1),
        (spans.select("place", "begin"), -1, 0),
        (spans.select("place", "end"), 1, 0),
    ]
    place, time = (
        np.concatenate([part[:, k].cast(pl.Int64).to_numpy() for part, _, _ in parts])
        for k in range(2)
    )
    demands, uses = (
        np.concatenate([np.full(part[0].height, part[k], np.int64) for part in parts])
        for k in (1, 2)
    )
    order = time_order(np.ascontiguousarray(time))
    return time[order], place[order], demands[order], uses[order]
