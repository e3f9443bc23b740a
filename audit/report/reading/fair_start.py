"""What a report says of fair start times (FST) beside their figures, read from the database.

The figures themselves stand in the summary, with all others. Here is what they rest on: how many
attempts have an FST of which status, which policy was modelled, and how well it fits the log.
"""

from collections.abc import Mapping
from typing import Final

import polars as pl

from audit.model import COUNTED, OBSERVED, FstStatus, Period
from audit.registry.causes import COLUMNS
from audit.report.contents import (
    Breakdown,
    FairStart,
    Fidelity,
    Figure,
    Overtaken,
    Settings,
    StatusCount,
)
from audit.store import queries
from audit.store.database import Connection

OVERTAKEN: Final = 10
"""So many of the most overtaken attempts are told of."""


_ORDER: Final = {status.value: place for place, status in enumerate(FstStatus)}


def fair_starts(
    con: Connection,
    cluster: str,
    period: Period,
    schedule: str,
    pools: Mapping[str, Mapping[str, tuple[Breakdown, ...]]],
    settings: Settings,
) -> dict[str, FairStart]:
    """What is known of the fair start times of each pool.

    Args:
        con: a store or a published snapshot.
        cluster: its name in the database.
        period: one whose figures were computed.
        schedule: whose; fidelity is of the observed one only.
        pools: the figures of each pool by dimension.
        settings: in force when the figures were computed.
    """
    replays = queries.run(con, "report_fidelity", cluster=cluster, period=period.name)
    if schedule != OBSERVED:
        replays = replays.clear()
    overtaken = queries.run(
        con,
        "report_overtaken",
        cluster=cluster,
        schedule=schedule,
        whole=period.whole_log,
        from_time=period.from_time,
        to_time=period.to_time,
        counted=list(COUNTED),
        most=OVERTAKEN,
    )
    return {
        pool: FairStart(
            _statuses(parts.get("fst_status", ())),
            _partitions(parts.get("partition", ())),
            _fidelity(replays.filter(pl.col("pool") == pool)),
            settings.metrics.tolerance_s if settings.known else None,
            _overtaken(overtaken.filter(pl.col("pool") == pool).drop("pool")),
        )
        for pool, parts in pools.items()
    }


def _overtaken(rows: pl.DataFrame) -> tuple[Overtaken, ...]:
    return tuple(
        Overtaken(
            *(row["job_id"], row["attempt"], row["user"], row["size"], row["wait_s"]),
            parts=tuple(row[column] for column in COLUMNS),
            overtaken_s=row["overtaken_s"],
            own_s=row["overtaken_own_s"],
            unmodelled_s=row["unmodelled_s"],
        )
        for row in rows.iter_rows(named=True)
    )


def _statuses(parts: tuple[Breakdown, ...]) -> tuple[StatusCount, ...]:
    counts = [
        StatusCount(part.label, int(number))
        for part in parts
        if (number := part.figure("fst_attempts").value)
    ]
    return tuple(sorted(counts, key=lambda row: (_ORDER.get(row.status, len(_ORDER)), row.status)))


def _partitions(parts: tuple[Breakdown, ...]) -> tuple[Breakdown, ...]:
    """Those with a figure, by what their attempts missed in sum; nothing where it is only one."""
    judged = [part for part in parts if part.figure("miss_strict_mean").value is not None]
    return tuple(sorted(judged, key=lambda part: -_missed(part))) if len(judged) > 1 else ()


def _missed(part: Breakdown) -> float:
    mean = part.figure("miss_strict_mean")
    return (mean.value or 0.0) * (mean.attempts or 0)


def _fidelity(replays: pl.DataFrame) -> Fidelity | None:
    if replays.is_empty():
        return None
    order, backfill, fair_order = replays.select("order", "backfill", "fair_order").row(0)
    figures = replays.filter(pl.col("order") == order, pl.col("backfill") == backfill).select(
        "metric", "value", lower=None, upper=None, unit="unit"
    )
    return Fidelity(order, backfill, tuple(Figure(*row) for row in figures.iter_rows()), fair_order)
