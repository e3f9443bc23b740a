"""The use of each resource of a pool that has several."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import polars as pl

from audit.report.figures import Breakdown, records
from audit.report.source import ReportSection, SectionSource
from audit.words import kind_of


class ResourceUser(NamedTuple):
    """A user's use of one resource of a pool, by ended attempts."""

    name: str | None  # None: not named in the log
    pool_hours: float  # 1: the whole resource for an hour
    share: float  # of all usage of the resource
    share_of_counted: float | None  # of all usage of the pool's counted resource
    attempts: int


class ResourceUse(NamedTuple):
    """One resource of a pool that has several."""

    resource: str  # cpus | nodes | gpus | mem_bytes
    utilization: float | None
    used: float  # pool-hours, by all users
    users: tuple[ResourceUser, ...]  # those with the largest usage
    left_out: int  # other users with usage


@dataclass(frozen=True, slots=True)
class Resources:
    """The use of a pool that has several resources."""

    uses: tuple[ResourceUse, ...] = ()  # empty: it has only one


_RESOURCES: Final = ("cpus", "nodes", "gpus", "mem_bytes")


def read(source: SectionSource) -> dict[str, Resources]:
    """Return the use of each resource of each pool, in their usual order."""
    parts = {pool: of["resource"] for pool, of in source.parts.items() if "resource" in of}
    used = source.by_pool("resources/users") if parts else {}
    return {pool: Resources(tuple(_uses(of, used[pool]))) for pool, of in parts.items()}


def _uses(busy: Sequence[Breakdown], used: pl.DataFrame) -> Iterator[ResourceUse]:
    used = used.rename({"user": "name", "value": "pool_hours"})
    for part in sorted(busy, key=lambda part: (_RESOURCES.index(kind_of(part.label)), part.label)):
        rows = used.filter(pl.col("resource") == part.label)
        total, left_out = rows.select("total", "left_out").row(0) if rows.height else (0.0, 0)
        utilization = part.figure("utilization").value
        shown = records(ResourceUser, rows)
        yield ResourceUse(part.label, utilization, total, shown, left_out)


SECTION: Final = ReportSection("resources", Resources, read)
