"""The content of a report as frozen records.

``build`` fills :class:`Contents` from the database; ``sections`` put it into sentences and charts,
and ``render`` writes the page. Units are those of SPEC §1 (seconds, resource-seconds, shares of 1).
None means unknown or not defined, never zero.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar, overload

from audit.config import Metrics, Uncertainty, VerdictConfig, places
from audit.metrics.verdict import Decision
from audit.model import Announcement, Period
from audit.registry.passed import PassedWhy
from audit.report.figures import Breakdown, Figure, Figures
from audit.report.first_page.page import FirstPage
from audit.report.sections.definitions.record import Definition
from audit.report.sections.records.record import (
    Coverage,
    Input,
    MissingLog,
    Refusal,
    Restatement,
    Unplaced,
)
from audit.report.sections.rules.record import RuleInForce
from audit.report.sections.usage.record import Charge, DecayedUsage, Occupied, PenaltyChoice
from audit.report.sections.who.record import Entities

_DAY_S: Final = 86_400
ENOUGH_DAYS: Final = 7
"""Covered days below which a report on a longer period gives no figures."""


REPORT: Final = "report.html"
"""The file name of a report, beside the pages of users and accounts."""


class Who(NamedTuple):
    """A user or an account."""

    kind: str  # user | account
    name: str

    @property
    def file(self) -> str:
        """The file name of its page, safe for any name: ``user-3.html``."""
        return f"{places.file_name(f'{self.kind}-{self.name}')}.html"


@dataclass(frozen=True, slots=True)
class Options:
    """A reader's choices about a report."""

    rows: int = 10  # users and accounts at each end of a table
    examples: int = 3  # refused lines quoted for each reason
    gaps: int = 5  # stretches of days without records
    thresholds: VerdictConfig = field(default_factory=VerdictConfig)
    starts: bool = False  # whether pages of users show predicted starts
    pages: tuple[Who, ...] = ()  # those with a page beside the report, which links to it


DEFAULT: Final = Options()


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force when the figures were computed."""

    metrics: Metrics = field(default_factory=Metrics)
    resamples: int = Uncertainty().resamples
    usage: Mapping[str, object] = field(default_factory=dict)  # empty: not known
    assumed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """By pool, its rules that were inferred from the log: sentences without a full stop."""
    known: bool = False  # whether the database has them; else they are the defaults


@dataclass(frozen=True, slots=True)
class Span:
    """The reported period, and the part that the data cover (epoch seconds)."""

    name: str
    from_time: int
    to_time: int
    whole_log: bool
    zone: str
    log_begin: int | None  # None: not known
    last_end: int | None
    newest: int | None = None  # instant of the log; None: not known

    @property
    def until(self) -> int | None:
        """The newest record of the log, although no job may have ended then; None: not known."""
        return self.last_end if self.newest is None else self.newest

    @property
    def last(self) -> int:
        """An instant of the last day."""
        return self.to_time if self.whole_log else self.to_time - 1

    @property
    def period(self) -> Period:
        """The reported period."""
        return Period(self.name, self.from_time, self.to_time)


class Provenance(NamedTuple):
    """The program, configuration and inputs that a report was made from."""

    version: str
    config_hash: str
    input_hash: str
    run_id: str


@dataclass(frozen=True, slots=True)
class PoolVerdict:
    """The verdict on one pool, and the row of ``base_result`` behind it."""

    pool: str
    decision: Decision
    base: Mapping[str, Any]


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


@dataclass(frozen=True, slots=True)
class Contents:
    """The whole report."""

    cluster: str
    span: Span
    pools: tuple[PoolPart, ...]
    usages: tuple[DecayedUsage, ...]  # by method
    coverage: Coverage
    notes: tuple[str, ...]  # what was inferred about the cluster, and from what
    warnings: tuple[str, ...]  # defects of the log, such as a wrong header
    inputs: tuple[Input, ...]
    superseded: int  # earlier versions of a record, and summaries whose bursts are attempts
    refusals: tuple[Refusal, ...]
    definitions: tuple[Definition, ...]
    provenance: Provenance
    options: Options
    occupied: Occupied | None = None  # None: only one resource is known
    choice: PenaltyChoice | None = None  # None: the same
    charges: tuple[Charge, ...] = ()
    settings: Settings = field(default_factory=Settings)
    missing: tuple[MissingLog, ...] = ()
    restatement: Restatement | None = None  # None: nothing changed
    silent_since: int | None = None  # epoch s; start of a gap that lasts until the period begins
    unplaced: tuple[Unplaced, ...] = ()  # attempts that ran at an unknown time, by pool
    part: str = ""  # why the log is a part of the workload, in a clause; empty: it is not
    announced: Announcement | None = None  # None: headers announce about as many records
    gaps: bool = False  # whether most job numbers have no record
    verdicts: tuple[PoolVerdict, ...] = ()  # by pool, most waiting first
    rules: tuple[RuleInForce, ...] = ()  # by pool, most waiting first
    first: tuple[FirstPage, ...] = ()  # page one of each pool with a verdict, in the same order

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period, over all pools."""
        return sum(pool.attempts for pool in self.pools)

    @property
    def empty(self) -> bool:
        """Whether nothing in the period could be measured."""
        return self.attempts + self.undated == 0

    @property
    def brief(self) -> bool:
        """Whether too few days of a longer period are covered for figures."""
        longer = self.span.to_time - self.span.from_time > (ENOUGH_DAYS + 1) * _DAY_S
        return longer and not self.span.whole_log and 0 < self._covered_s < ENOUGH_DAYS * _DAY_S

    @property
    def _covered_s(self) -> float:
        return max((pool.figure("covered_time").value or 0.0 for pool in self.pools), default=0.0)

    @property
    def covered_days(self) -> int:
        """The days of the period that the log covered when its figures were computed."""
        return max(round(self._covered_s / _DAY_S), 1)

    @property
    def undated(self) -> int:
        """Attempts of unknown arrival, over all pools."""
        return sum(pool.undated for pool in self.pools)

    @property
    def records(self) -> int:
        """Records read, including refused ones."""
        return sum(log.records for log in self.inputs)

    @property
    def header_notes(self) -> tuple[tuple[str, str], ...]:
        """The first log with each note of a header, and the note."""
        first: dict[str, str] = {}
        for log in self.inputs:
            for note in log.notes:
                first.setdefault(note, log.file)
        return tuple((file, note) for note, file in first.items())

    @property
    def refused(self) -> int:
        """Refused lines."""
        return sum(log.refused for log in self.inputs)
