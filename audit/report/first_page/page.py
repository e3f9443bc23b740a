"""Page one as frozen records: its numbers, and its texts before any HTML.

Times are in s, instants epoch s, shares of 1, and *waiting* is a sum of waits. None means unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from audit.metrics.verdict import Decision, Word
from audit.report.first_page.sentences import Sentence
from audit.report.sections.advice.record import Advice
from audit.report.sections.causes.record import KeyGroup, RuleTime, Segment, Shares, Where
from audit.report.sections.changes.record import Compared, RuleMark, StepPoint
from audit.report.sections.machine.record import Machine
from audit.report.sections.trust.record import Known, TrustStep
from audit.report.sections.waits.record import (
    Cell,
    LongestWait,
    LongWaitRow,
    QueueWait,
    SizeClass,
    SizeRow,
    Strip,
)
from audit.report.sections.who.record import People, WhoGroup


@dataclass(frozen=True, slots=True)
class PageFacts:
    """All of page one, of one pool."""

    pool: str
    several: bool  # whether there are other pools
    days: str
    jobs: int
    base_days: int | None  # of the verdict; None: the period
    base_no_reason: float | None  # share of W of the base
    base_p90: int | None
    not_judged: tuple[float | None, float | None]  # interval of its share
    tested_waiting: float | None  # W of the users tested, of W
    base_users: int
    base_ended: int
    decision: Decision
    machine: Machine
    strip: Strip | None  # None: no start is known
    waiting_s: float
    cancelled_s: float
    causes: Shares
    rules: tuple[RuleTime, ...]
    ended: frozenset[str]  # names of rules that are no longer in force
    lacked: tuple[str, float] | None  # what single nodes lacked most, and its part of that waiting
    where: Where | None
    sizes: tuple[SizeClass, ...]
    queues: tuple[QueueWait, ...]
    people: People | None
    compared: Compared | None
    log_days: float
    steps: tuple[StepPoint, ...]
    step: str
    marks: tuple[RuleMark, ...]
    known: Known
    agreement: float | None
    changes: tuple[Advice, ...]  # tested changes that saved much of the waiting
    tried: int
    untested: str = ""
    """Outcome that explains why no change could be judged (``Advised.untested``)."""
    part: bool = False
    """Whether the log is a part of the workload, which hides free capacity."""
    missing_days: int = 0
    thresholds: Mapping[str, float] = field(default_factory=dict)
    long_waits: tuple[LongestWait, ...] = ()
    starts: int = 0
    """Of the jobs; more than these where jobs were requeued."""


@dataclass(frozen=True, slots=True)
class FirstPage:
    """Page one of one pool."""

    word: Word
    title: str  # the word as it is written
    sentence: Sentence
    pool: str
    days: str
    kicker: Sentence  # after cluster and days
    cannot: Sentence  # empty unless the verdict is *cannot tell*
    strip: tuple[Cell, ...]
    why_sub: Sentence
    bar: tuple[Segment, ...]
    groups: tuple[KeyGroup, ...]
    notes: tuple[Sentence, ...]
    size_title: str
    sizes: tuple[SizeRow, ...]
    size_note: Sentence
    who_sub: Sentence
    who_label: str
    who: tuple[WhoGroup, ...]
    who_foot: Sentence
    changed: Sentence
    steps: tuple[StepPoint, ...]
    step: str
    marks: tuple[RuleMark, ...]
    to_try: tuple[Sentence, ...]
    trust: tuple[TrustStep, ...]
    trust_lines: tuple[Sentence, ...]
    limits: Sentence
    long_waits: tuple[LongWaitRow, ...] = ()
    long_sub: str = ""
    lines: tuple[tuple[str, str], ...] = ()
    """On standard output: title and text."""
    mail: tuple[tuple[str, str], ...] = ()
    """In a mail: the first words, and the rest of the paragraph."""
    mainly: str = ""
    """Ending of a subject: the main rule or cause; only for mixed and unfair."""
    because: str = ""
    """In the index: the largest cause, or the finding."""
    over_hour: float | None = None  # share of the jobs
    not_known: float | None = None  # share of all waiting

    @property
    def quiet(self) -> bool:
        """Whether there was nothing to judge."""
        return self.word is Word.QUIET

    @property
    def verdict(self) -> str:
        """Word and sentence."""
        return f"{self.title}: {self.sentence.plain}"

    @property
    def prose(self) -> tuple[Sentence, ...]:
        """Its sentences: not the strip, tables, footnotes, key, charts, and lines of evidence."""
        said = (self.sentence, self.cannot, self.why_sub, *self.notes, self.size_note, self.who_sub)
        return tuple(one for one in (*said, self.changed, *self.to_try, *self.trust_lines) if one)
