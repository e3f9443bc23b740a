"""The use of each resource of a pool, read from the database."""

from typing import Final

import polars as pl

from audit.report.figures import Breakdown
from audit.report.rows import records
from audit.report.sections.resources.record import ResourceUse, ResourceUser
from audit.words import kind_of

_RESOURCES: Final = ("cpus", "nodes", "gpus", "mem_bytes")


def resources(busy: tuple[Breakdown, ...], used: pl.DataFrame) -> tuple[ResourceUse, ...]:
    """Return the use of each resource, in their usual order."""
    used = used.rename({"user": "name", "value": "pool_hours"})
    resources = []
    for part in sorted(busy, key=lambda part: (_RESOURCES.index(kind_of(part.label)), part.label)):
        rows = used.filter(pl.col("resource") == part.label)
        total, left_out = rows.select("total", "left_out").row(0) if rows.height else (0.0, 0)
        utilization = part.figure("utilization").value
        shown = records(ResourceUser, rows)
        resources.append(ResourceUse(part.label, utilization, total, shown, left_out))
    return tuple(resources)
