"""Everything that one report says, as a frozen record, before any HTML.

``build`` fills a :class:`Contents` from the database; ``judgement`` and ``text`` put it into
sentences, ``charts`` draw it and ``render`` writes the page. Numbers stay numbers here, in the
units of SPEC §1 (seconds, resource-seconds, shares of 1). None always means unknown or not defined,
never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from audit.config import Metrics, Uncertainty, places
from audit.report.record.pool import Figure, PoolPart
from audit.report.record.usage import Charge, DecayedUsage, Occupied, PenaltyChoice

_DAY_S: Final = 86_400
ENOUGH_DAYS: Final = 7
"""Covered days below which a report on a longer period gives no figures."""
OWNER_PAGES: Final = ("user-*.html", "account-*.html")
"""Names of the pages of users and accounts."""


class Who(NamedTuple):
    """A user or an account."""

    kind: str  # user | account
    name: str

    @property
    def file(self) -> str:
        """The name of their page's file, whatever their name is: ``user-3.html``."""
        return f"{places.file_name(f'{self.kind}-{self.name}')}.html"


@dataclass(frozen=True, slots=True)
class Bound:
    """From which share of 1 on a report warns, and from which it fails."""

    warn: float
    fail: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """A bound for each of the three questions of a report's first page."""

    overtaken: Bound = Bound(0.1, 0.25)  # part of all waiting that later arrivals cost
    room: Bound = Bound(0.25, 0.5)  # part of all waiting during which there was room
    longer: Bound = Bound(0.01, 0.1)  # part of comparable users that wait longer than their peers


@dataclass(frozen=True, slots=True)
class Options:
    """What a reader may choose about a report."""

    rows: int = 10  # users and accounts shown at each end of "treated worst and best"
    examples: int = 3  # refused lines quoted for each reason
    gaps: int = 5  # stretches of days without records that are listed
    bounds: Bounds = Bounds()
    pages: tuple[Who, ...] = ()  # who has a page beside the report, which leads to it


DEFAULT: Final = Options()


class Gap(NamedTuple):
    """Days in a row on which no record ended."""

    first: str  # ISO date
    last: str
    days: int


@dataclass(frozen=True, slots=True)
class Coverage:
    """The days of the period from the log's first record to its last."""

    days: int
    empty: int  # without any record
    partial: int  # with refused lines
    undated: int  # refused lines whose day is not known, of the whole log
    gaps: tuple[Gap, ...]  # the longest of the empty days, longest first


class RefusedLine(NamedTuple):
    """A line that could not be taken, as it stands in the log."""

    file: str
    line: int
    text: str


class Refusal(NamedTuple):
    """One reason for which lines were refused."""

    reason: str
    lines: int
    examples: tuple[RefusedLine, ...]


class MissingLog(NamedTuple):
    """A log of which nothing could be taken in."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Input:
    """One log that was read."""

    file: str
    dialect: str
    sha256: str
    size: int  # bytes, decompressed
    records: int
    refused: int
    duplicates: int


@dataclass(frozen=True, slots=True)
class Assumed:
    """What was fitted from the log of how a pool is scheduled (SPEC §10)."""

    rules: tuple[str, ...]  # each a sentence without a full stop
    before: float | None  # part of the waiting that stays unexplained without them, held out
    after: float | None  # the same with them


@dataclass(frozen=True, slots=True)
class Settings:
    """What of config.toml was in force when the figures were computed."""

    metrics: Metrics = field(default_factory=Metrics)
    resamples: int = Uncertainty().resamples
    usage: Mapping[str, object] = field(default_factory=dict)  # empty: not known
    assumed: Mapping[str, Assumed] = field(default_factory=dict)  # by pool, where it was fitted
    known: bool = False  # whether the database says so, or these are the defaults


@dataclass(frozen=True, slots=True)
class Span:
    """The period that is reported, and what of it the data cover (epoch seconds)."""

    name: str
    from_time: int
    to_time: int
    whole_log: bool
    zone: str
    first_arrival: int | None
    last_end: int | None


@dataclass(frozen=True, slots=True)
class Restated:
    """A figure of a whole pool that was another when it was computed before."""

    label: str
    before: Figure
    now: Figure


@dataclass(frozen=True, slots=True)
class Restatement:
    """What changed since the last time that the period's figures were computed."""

    because: str
    figures: int  # how many of whole pools changed
    largest: tuple[Restated, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A definition at work on a few attempts; every cell was computed when the report was built."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    result: str


@dataclass(frozen=True, slots=True)
class Definition:
    """What a figure means."""

    key: str  # part of an address inside the page
    term: str
    meaning: str
    formula: str
    source: str
    example: Example | None = None


@dataclass(frozen=True, slots=True)
class Provenance:
    """From what, and by what, the report was made."""

    version: str
    config_hash: str
    input_hash: str
    run_id: str


@dataclass(frozen=True, slots=True)
class Contents:
    """The whole report."""

    cluster: str
    span: Span
    pools: tuple[PoolPart, ...]
    usages: tuple[DecayedUsage, ...]  # by method; empty where none was computed
    coverage: Coverage
    notes: tuple[str, ...]  # what was inferred about the cluster, and from what
    warnings: tuple[str, ...]  # what was found wrong with the log, such as a header that lies
    inputs: tuple[Input, ...]
    superseded: int  # earlier versions of a record, and summaries whose bursts are attempts
    refusals: tuple[Refusal, ...]
    definitions: tuple[Definition, ...]
    provenance: Provenance
    options: Options
    occupied: Occupied | None = None  # None: one resource alone is known
    choice: PenaltyChoice | None = None  # None: the same
    charges: tuple[Charge, ...] = ()
    settings: Settings = field(default_factory=Settings)
    missing: tuple[MissingLog, ...] = ()
    restatement: Restatement | None = None  # None: nothing changed, or there was nothing before
    silent_since: int | None = None
    """Since when (epoch s) there are no records up to the period's start; None: there are some."""

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period, over all pools."""
        return sum(pool.attempts for pool in self.pools)

    @property
    def empty(self) -> bool:
        """Whether the period holds nothing that could be measured."""
        return self.attempts + self.undated == 0

    @property
    def brief(self) -> bool:
        """Whether so few days of a longer period are covered that no figure may speak of it."""
        longer = self.span.to_time - self.span.from_time > (ENOUGH_DAYS + 1) * _DAY_S
        return longer and not self.span.whole_log and 0 < self.covered_s < ENOUGH_DAYS * _DAY_S

    @property
    def covered_s(self) -> float:
        """How much of the period the log covered when its figures were computed; 0: not known."""
        return max((pool.figure("covered_time").value or 0.0 for pool in self.pools), default=0.0)

    @property
    def covered_days(self) -> int:
        """The same in days."""
        return max(round(self.covered_s / _DAY_S), 1)

    @property
    def undated(self) -> int:
        """Attempts of which the log does not say when they arrived, over all pools."""
        return sum(int(pool.figure("arrival_unknown").value or 0) for pool in self.pools)

    @property
    def records(self) -> int:
        """Records read, refused ones included."""
        return sum(log.records for log in self.inputs)

    @property
    def refused(self) -> int:
        """Lines refused."""
        return sum(log.refused for log in self.inputs)
