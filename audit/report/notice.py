"""A caution about the figures of a report."""

from typing import NamedTuple

from audit.report import wording
from audit.report.contents import Contents
from audit.report.pool import PoolPart


class Notice(NamedTuple):
    """Something to know before reading on."""

    grave: bool
    text: str
    first: bool = False  # whether page one has it, too


def in_pool(pool: PoolPart, contents: Contents) -> str:
    """Return the pool in words if the report has several."""
    return f" in pool {wording.name(pool.name)}" if len(contents.pools) > 1 else ""
