"""The content of a report about one pool."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar, overload

from audit.registry.passed import PassedWhy
from audit.report.figures import Breakdown, Figure, Figures
from audit.report.sections.who.record import Entities

Record = TypeVar("Record")
OVERFILLED: Final = 0.01
"""Share of time over capacity above which the capacity is doubtful."""


@dataclass(frozen=True, slots=True)
class PoolPart(Figures):
    """One pool in the report: its figures, whole and by dimension, and a record per section."""

    name: str
    resource: str  # cpus | nodes | gpus
    capacity: int
    figures: tuple[Figure, ...]
    widths: tuple[Breakdown, ...]
    hours: tuple[Breakdown, ...]  # label "0" … "167": hour of the week, Monday 00 = 0
    days: tuple[Breakdown, ...]  # label an ISO date
    users: Entities
    accounts: Entities
    sections: Mapping[str, object] = field(default_factory=dict)  # records by section
    zone: str = "UTC"  # of the cluster
    part: str = ""  # why the log is a part of the workload; empty: it is not (SPEC §14)

    @overload
    def __getitem__(self, record: type[Record]) -> Record: ...
    @overload
    def __getitem__(self, record: str) -> object: ...
    def __getitem__(self, record: type[Record] | str) -> object:
        """Return the record of a section by its class or, in templates, by the section's name."""
        if isinstance(record, str):
            return self.sections[record]
        return next((of for of in self.sections.values() if isinstance(of, record)), record())

    @property
    def passed_why(self) -> Mapping[PassedWhy, int]:
        """The users and accounts that are not passed over, or cannot be tested, by the reason."""
        rows = (*self.users.named, *self.accounts.named)
        return Counter(PassedWhy(row.passed_why) for row in rows if row.passed_why)

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period."""
        return int(self.figure("attempts").value or 0)

    @property
    def undated(self) -> int:
        """Attempts of unknown arrival."""
        return int(self.figure("arrival_unknown").value or 0)

    @property
    def unplaced(self) -> int:
        """Attempts that ran at an unknown time."""
        return int(self.figure("start_unknown").value or 0)

    @property
    def concentration(self) -> float | None:
        """The share of all waiting time of the five users with the most of it."""
        waits = sorted((row.tuwt_s for row in self.users.named), reverse=True)
        total = sum(row.tuwt_s for row in self.users.rows)
        return sum(waits[:5]) / total if len(waits) > 5 and total else None

    @property
    def overfilled(self) -> bool:
        """Whether more than the capacity was in use so long that the capacity is doubtful."""
        return (self.figure("over_capacity_time").value or 0.0) > OVERFILLED

    @property
    def has_fair_starts(self) -> bool:
        """Whether any attempt has a fair start time."""
        return self.figure("miss_delivered_mean").value is not None
