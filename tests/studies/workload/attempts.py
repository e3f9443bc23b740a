"""Attempts as the workload model takes them, made by hand."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl

from audit.metrics.attempts import population
from audit.model import ATTEMPTS, Pool, Resource

ZONE = ZoneInfo("Europe/Berlin")
POOL = Pool("all", Resource.cpus, 64, (), (("cpus", 64),))


def at(day: int, hour: int, minute: int = 0, second: int = 0) -> int:
    """An instant of March 2026, which began on a Sunday."""
    local = datetime(2026, 3, day, hour, minute, second, tzinfo=ZONE)
    return int(local.astimezone(UTC).timestamp())


def described(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Attempts that started at once; what a row leaves out is ordinary."""
    full = []
    for number, row in enumerate(rows, start=1):
        values: dict[str, Any] = {
            "cluster": "test",
            "job_id": str(number),
            "job_number": number,
            "attempt": 1,
            "user": "ann",
            "state": "COMPLETED",
            "cpus": 1,
            "walltime_s": 3600,
            "lasts": 60,
            "line": number,
            **row,
        }
        lasts = values.pop("lasts")
        submit = values["submit_time"]
        values.setdefault("start_time", submit)
        values.setdefault("end_time", None if lasts is None else submit + lasts)
        full.append(values)
    return population.describe(pl.DataFrame(full, schema=ATTEMPTS), [POOL])
