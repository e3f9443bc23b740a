"""The form of a section, and what sections read: a database, for one cluster, period and schedule.

A section is one question of a report. Its queries and template are in folders of its name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from audit.model import OBSERVED, Period
from audit.on_disk import result
from audit.report.charts.style import Chart
from audit.report.contents import DEFAULT, Contents, Options, PoolPart, Settings
from audit.report.figures import Parts, breakdowns, by_value
from audit.report.finding import Kind, Notice
from audit.store import queries
from audit.store.database import Connection


@dataclass(frozen=True)
class SectionSource:
    """A database, and what is reported from it."""

    con: Connection
    cluster: str
    period: Period
    schedule: str = OBSERVED
    zone: str = "UTC"  # of the cluster
    options: Options = DEFAULT
    settings: Settings = field(default_factory=Settings)  # in force when the figures were computed

    @property
    def observed(self) -> bool:
        """Whether the schedule is the observed one; others have no advice and no evidence."""
        return self.schedule == OBSERVED

    @cached_property
    def pools(self) -> pl.DataFrame:
        """The pools of the cluster: ``pool``, ``resource`` and ``capacity``."""
        return self.rows("report/pools")

    @cached_property
    def parts(self) -> dict[str, Parts]:
        """The figures of each pool by dimension, then by value."""
        found = self.by_pool("report/summary")
        return {pool: breakdowns(rows) for pool, rows in found.items()}

    @cached_property
    def fidelity(self) -> dict[str, pl.DataFrame]:
        """How well the replays of each pool agree with its log."""
        return self.by_pool("fair_starts/fidelity")

    def rows(self, query: str, **arguments: object) -> pl.DataFrame:
        """Return the result of a query; what a source knows need not be an argument."""
        return queries.run(self.con, query, **self._arguments(query, arguments))

    def tuples(self, query: str, **arguments: object) -> list[tuple[Any, ...]]:
        """Return the rows of a short result; takes two thirds of the time of a frame."""
        return queries.rows(self.con, query, **self._arguments(query, arguments))

    def long(self, query: str, order: Sequence[str]) -> pl.DataFrame:
        """Return a result with a row for each attempt, as ``on_disk.result``."""
        return result(self.con, query, None, order, **self._arguments(query, {}))

    def _arguments(self, query: str, arguments: Mapping[str, object]) -> dict[str, object]:
        known = {
            "cluster": self.cluster,
            "period": self.period.name,
            "from_time": self.period.from_time,
            "to_time": self.period.to_time,
            "whole": self.period.whole_log,
            "schedule": self.schedule,
            "zone": self.zone,
            "rows": self.options.rows,
            **arguments,
        }
        taken = queries.load(query).parameters
        return {name: known[name] for name in taken if name in known}

    def by_pool(self, query: str, **arguments: object) -> dict[str, pl.DataFrame]:
        """Return the rows of each pool, without that column."""
        return by_value(self.rows(query, **arguments), "pool", self.pools["pool"])


@dataclass(frozen=True)
class ReportSection:
    """One question of a report."""

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
