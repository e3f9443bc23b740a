"""What one question of a report consists of."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from audit.report.charts.style import Chart
from audit.report.contents import Contents
from audit.report.finding import Kind
from audit.report.notice import Notice
from audit.report.pool import PoolPart
from audit.report.source import SectionSource


@dataclass(frozen=True, kw_only=True)
class ReportSection:
    """One question; its code, queries and template are in folders of its name."""

    name: str
    record: type[Any] | None = None
    """Class of what it knows about a pool; without arguments, the record of one with nothing."""
    read: Callable[[SectionSource], Mapping[str, Any]] | None = None
    """Returns the record of each pool; those without one are left out."""
    in_part: Callable[[Any], Any] = lambda record: record
    """Returns a record without what depends on free capacity, for a part of the workload."""
    notices: Callable[[Contents], Iterable[Notice]] = lambda contents: ()
    findings: tuple[Kind, ...] = ()
    charts: tuple[Callable[[PoolPart], Chart | None], ...] = ()
    filters: tuple[Callable[..., object], ...] = ()
    """Functions that its template uses, by their names."""
