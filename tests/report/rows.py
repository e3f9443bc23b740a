"""Rows as a run leaves them; those of usage: four days of October 2026 in Berlin."""

import json
from collections.abc import Mapping

import polars as pl

from audit.metrics.fairshare.history import HISTORY_SCHEMA
from audit.model import Period
from audit.store import database
from audit.store.database import Connection
from tests.stores import insert_history

FROM, DAY = 1790805600, 86_400  # 1 October 2026 in Berlin
PERIOD = Period("2026-10", FROM, FROM + 4 * DAY)
ZONE = "Europe/Berlin"


def add(con: Connection, table: str, *rows: Mapping[str, object], **same: object) -> None:
    """Adds rows, each with what is the same in all; with none, that alone."""
    made = [{**same, **row} for row in rows or ({},)]
    database.insert(con, table, pl.DataFrame(made, infer_schema_length=None))


def add_run(con: Connection, config: object) -> None:
    """Adds the run that computed October, by a configuration."""
    known = {"state": "done", "stage": "compute", "version": "0.1.0", "config": json.dumps(config)}
    hashes = {"config_hash": "c", "input_hash": "d"}
    add(con, "run", run_id="run-1", cluster="demo", period="2026-10", **known, **hashes)


def add_usage(
    con: Connection,
    kind: str,
    fractions: Mapping[str | None, list[float]],
    targets: Mapping[str | None, float] | None = None,
    period: str = "2026-10",
) -> None:
    """Add usage fractions of the last days of a period, which lasts as long as the longest list."""
    targets = targets or {}
    days = max(len(values) for values in fractions.values())
    rows = [
        (
            FROM + (days - len(values) + at + 1) * DAY,
            name,
            targets.get(name),
            value,
            at + 1 if not targets or name in targets else None,
        )
        for name, values in fractions.items()
        for at, value in enumerate(values)
    ]
    columns = ("as_of", "entity", "share", "usage_fraction", "rank")
    frame = pl.DataFrame(rows, columns, orient="row").with_columns(
        method=pl.lit("windows:cpu"),
        entity_kind=pl.lit(kind),
        parent=None,
        usage=pl.col("usage_fraction") * 100,
        priority=None,
        level_fs=None,
    )
    frame = frame.with_columns(
        partition=None, share_of_all=pl.col("share"), usage_of_all=pl.col("usage_fraction")
    )
    frame = frame.select(pl.col(name).cast(dtype) for name, dtype in HISTORY_SCHEMA.items())
    marked = {"cluster": "demo", "period": period, "run_id": "run-1"}
    insert_history(con, frame.with_columns(**{n: pl.lit(v) for n, v in marked.items()}))
