"""What the sections of a report read: a database, for one cluster, period and schedule."""

from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from audit.model import OBSERVED, Period
from audit.report.contents import DEFAULT, Options, Settings
from audit.report.figures import Parts, breakdowns, by_value
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

    def rows(self, query: str, **arguments: object) -> pl.DataFrame:
        """Return the result of a query; what a source knows need not be an argument."""
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
        return queries.run(
            self.con, query, **{name: known[name] for name in taken if name in known}
        )

    def by_pool(self, query: str, **arguments: object) -> dict[str, pl.DataFrame]:
        """Return the rows of each pool, without that column."""
        return by_value(self.rows(query, **arguments), "pool", self.pools["pool"])
