"""The use of each resource of a pool, read from the database."""

from collections.abc import Iterator, Sequence
from typing import Final

import polars as pl

from audit.report.figures import Breakdown
from audit.report.rows import records
from audit.report.sections.resources.record import Resources, ResourceUse, ResourceUser
from audit.report.source import SectionSource
from audit.words import kind_of

_RESOURCES: Final = ("cpus", "nodes", "gpus", "mem_bytes")


def read(source: SectionSource) -> dict[str, Resources]:
    """Return the use of each resource of each pool, in their usual order."""
    used = source.by_pool("resources/users")
    return {
        pool: Resources(tuple(_uses(parts.get("resource", ()), used[pool])))
        for pool, parts in source.parts.items()
    }


def _uses(busy: Sequence[Breakdown], used: pl.DataFrame) -> Iterator[ResourceUse]:
    used = used.rename({"user": "name", "value": "pool_hours"})
    for part in sorted(busy, key=lambda part: (_RESOURCES.index(kind_of(part.label)), part.label)):
        rows = used.filter(pl.col("resource") == part.label)
        total, left_out = rows.select("total", "left_out").row(0) if rows.height else (0.0, 0)
        utilization = part.figure("utilization").value
        shown = records(ResourceUser, rows)
        yield ResourceUse(part.label, utilization, total, shown, left_out)
