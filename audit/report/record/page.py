"""The content of a report as frozen records.

``build`` fills :class:`Contents` from the database; ``judgement`` and ``text`` put it into
sentences, ``charts`` draws it and ``render`` writes the page. Units are those of SPEC §1 (seconds,
resource-seconds, shares of 1). None means unknown or not defined, never zero.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from audit.config import Metrics, Uncertainty, VerdictConfig, places
from audit.report.first_page.facts import PoolVerdict, RuleInForce
from audit.report.first_page.page import FirstPage
from audit.report.record.pool import Figure, PoolPart
from audit.report.record.unplaced import Unplaced

_DAY_S: Final = 86_400
ENOUGH_DAYS: Final = 7
"""Covered days below which a report on a longer period gives no figures."""


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


class Gap(NamedTuple):
    """Consecutive days on which no record ended."""

    first: str  # ISO date
    last: str
    days: int


class Coverage(NamedTuple):
    """The days of the period between the log's first and last record."""

    days: int
    empty: int  # without any record
    partial: int  # with refused lines
    undated: int  # refused lines of unknown day, in the whole log
    gaps: tuple[Gap, ...]  # longest first


class RefusedLine(NamedTuple):
    """A refused line, verbatim."""

    file: str
    line: int
    text: str


class Refusal(NamedTuple):
    """The lines refused for one reason."""

    reason: str
    lines: int
    examples: tuple[RefusedLine, ...]


class MissingLog(NamedTuple):
    """A log that could not be read."""

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
    notes: tuple[str, ...] = ()  # of its header


class Assumed(NamedTuple):
    """The rules of a pool that were inferred from the log (SPEC §11)."""

    rules: tuple[str, ...]  # each a sentence without a full stop


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force when the figures were computed."""

    metrics: Metrics = field(default_factory=Metrics)
    resamples: int = Uncertainty().resamples
    usage: Mapping[str, object] = field(default_factory=dict)  # empty: not known
    assumed: Mapping[str, Assumed] = field(default_factory=dict)  # by pool
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
    def last(self) -> int:
        """An instant of the last day."""
        return self.to_time if self.whole_log else self.to_time - 1


class Restated(NamedTuple):
    """A figure of a whole pool that changed."""

    label: str
    before: Figure
    now: Figure


class Restatement(NamedTuple):
    """The changes since the figures of the period were last computed."""

    because: str
    figures: int  # figures of whole pools that changed
    largest: tuple[Restated, ...]


class Example(NamedTuple):
    """A definition applied to a few attempts."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    result: str


class Definition(NamedTuple):
    """The meaning of a figure."""

    key: str  # part of an anchor of the page
    term: str
    meaning: str
    formula: str
    source: str
    example: Example


class Provenance(NamedTuple):
    """The program, configuration and inputs that a report was made from."""

    version: str
    config_hash: str
    input_hash: str
    run_id: str


# --- usage, targets and penalties ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One entity's fraction of all decayed usage."""

    name: str | None  # None: not named in the log
    share: float | None  # its target
    now: float  # at the end of the period's last day
    mean: float  # over the days of the period
    rank: int | None  # at the end; 1 has the highest priority
    priority: float | None = None  # at the end
    parent: str | None = None  # the account above it in a share tree
    partition: str | None = None  # the only one to which it applies, in a share tree

    @property
    def difference(self) -> float | None:
        """Its mean usage fraction minus its target."""
        return None if self.share is None else self.mean - self.share


@dataclass(frozen=True, slots=True)
class UsageOf:
    """Decayed usage of users, or of accounts."""

    kind: str  # user | account
    named: int  # entities with a name in the log or a target
    targets: int  # entities with a target
    rows: tuple[UsageRow, ...]  # largest usage first; includes ``above`` and ``below``
    left_out: int
    above: UsageRow | None  # furthest above its target, by the mean
    below: UsageRow | None  # furthest below its target
    different: int = 0  # number of different targets
    without: int = 0  # entities with usage but no target, where others have one
    by_without: float = 0.0  # their fraction of all usage, mean
    unused: float = 0.0  # share of all targets that belongs to entities without usage
    tree: bool = False  # whether targets are those of a share tree


class Stretch(NamedTuple):
    """Consecutive days."""

    first: str  # ISO date
    last: str
    days: int


@dataclass(frozen=True, slots=True)
class OffTarget:
    """The days on which an entity was above or below its target."""

    name: str
    parent: str | None
    partition: str | None
    share: float
    days: int  # with any usage
    above: int  # of them
    below: int
    longest_above: Stretch | None
    longest_below: Stretch | None


class OffTargets(NamedTuple):
    """Users, or accounts, that were off target on some day; most days first."""

    kind: str  # user | account
    rows: tuple[OffTarget, ...]
    off: int  # number of such entities
    entities: int  # with a target


class UsageLine(NamedTuple):
    """The usage fraction over time of one entity, or of all others together."""

    name: str | None  # None: not named in the log
    others: int  # number of entities together; 0: one entity
    share: float | None  # its target
    values: tuple[float, ...]


class UsageSeries(NamedTuple):
    """Usage fractions over time of the entities with the largest usage."""

    kind: str  # user | account
    days: tuple[str, ...]  # ISO dates; of weeks the first
    weekly: bool  # whether values are means of seven days
    lines: tuple[UsageLine, ...]  # largest usage first, others last


@dataclass(frozen=True, slots=True)
class DecayedUsage:
    """Usage fractions by one method."""

    method: str  # such as windows:cpu
    settings: Mapping[str, object]  # of the method, as configured; empty: not known
    as_of: int  # end of the last day
    days: int  # of the period, from the first with any usage
    accounts: UsageOf
    users: UsageOf
    series: UsageSeries | None
    off: tuple[OffTargets, ...] = ()
    nothing: bool = False  # whether there was no usage at all
    from_first: bool = False  # whether ``days`` begin later than the period

    @property
    def operator(self) -> str | None:
        """The operator that computes priorities; None if unknown or there are no targets."""
        operator = self.settings.get("operator")
        return str(operator) if self.targets and operator is not None else None

    @property
    def targets(self) -> int:
        """The number of users and accounts with a target."""
        return self.accounts.targets + self.users.targets


class OccupiedLine(NamedTuple):
    """The fraction of each resource that one entity, or all others together, occupied."""

    name: str | None  # None: not named in the log
    others: int  # number of entities together; 0: one entity
    share: float | None  # its target
    parts: tuple[float, ...]  # by resource


class Occupied(NamedTuple):
    """The fractions of each resource that entities occupied in the period."""

    kind: str  # user | account
    resources: tuple[str, ...]
    lines: tuple[OccupiedLine, ...]  # largest fraction of any resource first, others last


class PenaltyRow(NamedTuple):
    """One entity's fraction of all usage in the period, by penalty."""

    name: str | None  # None: not named in the log
    parts: tuple[float, ...]
    furthest: int  # index of the penalty that differs most from the first

    @property
    def shift(self) -> float:
        """The difference between the two."""
        return self.parts[self.furthest] - self.parts[0]


class PenaltyOf(NamedTuple):
    """Users, or accounts, by penalty; largest shift first."""

    kind: str  # user | account
    rows: tuple[PenaltyRow, ...]
    left_out: int
    moved: tuple[float, ...]  # by penalty: fraction of usage charged to others than by the first


class PenaltyChoice(NamedTuple):
    """The effect of the penalty on usage in the period, without decay."""

    penalties: tuple[str, ...]  # the configured one first
    accounts: PenaltyOf
    users: PenaltyOf

    @property
    def moving(self) -> PenaltyOf:
        """Accounts or users, whichever a penalty affects more."""
        return max((self.accounts, self.users), key=lambda of: max(of.moved, default=0.0))


@dataclass(frozen=True, slots=True)
class Charge:
    """One resource of a pool as usage counts it."""

    pool: str
    resource: str
    available: float
    inferred: bool  # from the most that was in use
    charged: bool  # whether the configured penalty includes it
    attempts: int  # started, and inside the period
    unknown: int  # of them without an amount in the log
    clipped: int  # of them with more than is available
    first_start: int | None  # of the first known attempt


# --- the report ----------------------------------------------------------------------------------


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
    announced: tuple[int, int] | None = None  # records, and those that headers announce
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
