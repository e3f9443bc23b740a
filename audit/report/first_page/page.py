"""Page one as a frozen record of texts, before any HTML."""

from dataclasses import dataclass
from typing import NamedTuple

from audit.metrics.verdict import Word
from audit.report.first_page.facts import RuleMark, StepPoint
from audit.report.first_page.sentences import Sentence


class Cell(NamedTuple):
    """One of the four figures."""

    big: Sentence
    what: Sentence
    than: Sentence


class Segment(NamedTuple):
    """A part of a bar."""

    key: str  # of the cause
    share: float
    label: str


class KeyRow(NamedTuple):
    """A cause in the key of the bar."""

    cause: str
    label: str
    share: Sentence  # empty: it is the only one of its group
    most: bool
    part: bool = False  # of the row above


class KeyGroup(NamedTuple):
    """A group of causes."""

    title: str
    total: Sentence
    rows: tuple[KeyRow, ...]


class SizeRow(NamedTuple):
    """A class of sizes."""

    label: str
    bar: tuple[Segment, ...]
    jobs: Sentence
    waiting: Sentence
    median: Sentence
    p90: Sentence


class WhoRow(NamedTuple):
    """A user or account."""

    kind: str
    name: str
    label: str
    jobs: Sentence
    waiting: Sentence
    median: Sentence
    similar: Sentence
    reason: Sentence


class WhoGroup(NamedTuple):
    """A list of users or accounts."""

    title: Sentence
    rows: tuple[WhoRow, ...]


class TrustStep(NamedTuple):
    """One step of the evidence."""

    mark: str  # full | half | empty
    title: str
    text: Sentence


class LongWaitRow(NamedTuple):
    """One of the long waits of a quiet pool."""

    user: str
    label: str
    size: Sentence
    wait: Sentence
    submitted: str


@dataclass(frozen=True, slots=True)
class FirstPage:
    """Page one of one pool."""

    word: Word
    title: str  # the word as it is written
    sentence: Sentence
    pool: str
    cluster: str
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
    cautions: tuple[str, ...] = ()
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
    def shown(self) -> tuple[Sentence, ...]:
        """All texts of the page that have figures, in order."""
        found = [self.sentence, self.kicker, self.cannot]
        for cell in self.strip:
            found += cell
        if not self.quiet:
            found.append(self.why_sub)
            for group in self.groups:
                found += [group.total, *(row.share for row in group.rows)]
            found += self.notes
            for size in self.sizes:
                found += [size.jobs, size.waiting, size.median, size.p90]
            found += [self.size_note, self.who_sub]
            for listed in self.who:
                found.append(listed.title)
                for row in listed.rows:
                    found += [row.jobs, row.waiting, row.median, row.similar, row.reason]
            found += [self.who_foot]
        found += [self.changed, *self.to_try, *(step.text for step in self.trust)]
        return (*found, *self.trust_lines, self.limits)
