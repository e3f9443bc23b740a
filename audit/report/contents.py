"""Everything that one report says, as a frozen record, before any HTML.

``build`` fills a :class:`Contents` from the database; ``findings`` puts it into sentences,
``charts`` draws it and ``render`` writes the page. Numbers stay numbers here, in the units of
SPEC §1 (seconds, resource-seconds, shares of 1): only ``wording`` turns them into text. None
always means unknown or not defined, never zero.
"""

from dataclasses import dataclass
from typing import Final

SMALL_SAMPLE: Final = 30
"""Rows resting on fewer attempts than this are marked: their means say little."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a reader may choose about a report."""

    rows: int = 10
    """Users and accounts shown at each end of "treated worst and best"."""
    examples: int = 3
    """Refused lines quoted for each reason."""


DEFAULT: Final = Options()


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
class Figure:
    """One number, with its 95 % interval where it has one and what it rests on."""

    metric: str
    value: float | None = None
    lower: float | None = None
    upper: float | None = None
    unit: str = ""
    attempts: int | None = None


@dataclass(frozen=True, slots=True)
class Breakdown:
    """The figures of one value of a dimension, such as the width class ``5-8``."""

    label: str
    figures: tuple[Figure, ...]

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return _find(self.figures, metric)


@dataclass(frozen=True, slots=True)
class Entity:
    """What a user or an account got from the pool."""

    name: str | None  # None: the log names none
    jobs: int
    attempts: int
    never_started: int
    gave_up_wait_s: int
    tuwt_s: int
    tusa: float
    nuwt: float | None
    re_unfairness_positive: float | None
    re_unfairness_net: float | None

    @property
    def wait_mean(self) -> float | None:
        """Mean wait of its attempts."""
        return self.tuwt_s / self.attempts if self.attempts else None


@dataclass(frozen=True, slots=True)
class Step:
    """A step of a cumulative distribution: ``share`` of entities have at most ``nuwt``."""

    nuwt: float
    share: float


@dataclass(frozen=True, slots=True)
class Entities:
    """All users, or all accounts, of a pool, and how their NUWT is spread."""

    kind: str  # user | account
    rows: tuple[Entity, ...]  # the one that went short most comes first
    spread: tuple[Figure, ...]  # uwt, nuwt_median, nuwt_q1, …
    cdf: tuple[Step, ...]  # cut at 10

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return _find(self.spread, metric)

    @property
    def named(self) -> tuple[Entity, ...]:
        """Those that the log names."""
        return tuple(row for row in self.rows if row.name is not None)


@dataclass(frozen=True, slots=True)
class PoolPart:
    """What the report says of one pool."""

    name: str
    resource: str  # cpus | nodes | gpus
    capacity: int
    figures: tuple[Figure, ...]
    widths: tuple[Breakdown, ...]
    hours: tuple[Breakdown, ...]  # label "0" … "167": hour of the week, Monday 00 = 0
    days: tuple[Breakdown, ...]  # label an ISO date
    users: Entities
    accounts: Entities

    def figure(self, metric: str) -> Figure:
        """The figure of ``metric``; one without a value where it was not computed."""
        return _find(self.figures, metric)

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period: what every metric speaks of."""
        return int(self.figure("attempts").value or 0)


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """A line that could not be taken, as it stands in the log."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason for which lines were refused."""

    reason: str
    lines: int
    examples: tuple[RefusedLine, ...]


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
class Example:
    """A definition at work on a few attempts; every cell was computed when the report was built."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    result: str


@dataclass(frozen=True, slots=True)
class Definition:
    """What a figure means."""

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
    notes: tuple[str, ...]  # what was inferred about the cluster, and from what
    warnings: tuple[str, ...]  # what was found wrong with the log, such as a header that lies
    inputs: tuple[Input, ...]
    superseded: int  # summary records whose bursts are attempts of their own
    refusals: tuple[Refusal, ...]
    definitions: tuple[Definition, ...]
    provenance: Provenance
    options: Options

    @property
    def attempts(self) -> int:
        """Attempts that ended in the period, over all pools."""
        return sum(pool.attempts for pool in self.pools)

    @property
    def empty(self) -> bool:
        """Whether the period holds nothing that could be measured."""
        return self.attempts == 0

    @property
    def records(self) -> int:
        """Records read, refused ones included."""
        return sum(log.records for log in self.inputs)

    @property
    def refused(self) -> int:
        """Lines refused."""
        return sum(log.refused for log in self.inputs)


def _find(figures: tuple[Figure, ...], metric: str) -> Figure:
    for figure in figures:
        if figure.metric == metric:
            return figure
    return Figure(metric)
