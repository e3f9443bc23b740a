"""Page one as a frozen record of texts, before any HTML."""

from dataclasses import dataclass

from audit.metrics.verdict import Word
from audit.report.first_page.sentences import Sentence
from audit.report.sections.causes.record import KeyGroup, Segment
from audit.report.sections.changes.record import RuleMark, StepPoint
from audit.report.sections.trust.record import TrustStep
from audit.report.sections.waits.record import Cell, LongWaitRow, SizeRow
from audit.report.sections.who.record import WhoGroup


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
