"""The sections of a report, in the order of the page, with their notices, findings and answers."""

from collections.abc import Callable, Container, Iterable
from typing import Final, NamedTuple

from audit.registry.causes import CAUSES
from audit.registry.measures import SUMMARY
from audit.report import wording
from audit.report.contents import Contents, PoolPart
from audit.report.figures import Figure
from audit.report.finding import UNEXPLAINED, Finding, Kind, Notice, Place, Subject
from audit.report.part import time_passed
from audit.report.sections import passed_over, predicted, preemption, resources, sharing
from audit.report.sections.advice import section as advice
from audit.report.sections.causes import section as causes
from audit.report.sections.changes import charts as changes
from audit.report.sections.changes.record import Trend
from audit.report.sections.changes.section import MOST, changed, wait_changed
from audit.report.sections.definitions import section as definitions
from audit.report.sections.fair_starts import shown as fair_starts
from audit.report.sections.machine import section as machine
from audit.report.sections.records import section as records
from audit.report.sections.rules import section as rules
from audit.report.sections.rules.section import rule_sentence
from audit.report.sections.usage import shown as usage
from audit.report.sections.waits import section as waits
from audit.report.sections.waits.record import Waits
from audit.report.sections.waits.section import queue_columns
from audit.report.sections.who import section as who

SECTIONS: Final = (
    *(records.SECTION, rules.SECTION, causes.SECTION, changes.SECTION, passed_over.SECTION),
    *(fair_starts.SECTION, preemption.SECTION, sharing.SECTION, who.SECTION, waits.SECTION),
    *(advice.SECTION, predicted.SECTION, machine.SECTION, resources.SECTION, usage.SECTION),
    definitions.SECTION,
)


def notices(contents: Contents) -> tuple[Notice, ...]:
    """Return what a reader must know before relying on the figures, grave notices first."""
    found = [notice for section in SECTIONS for notice in section.notices(contents)]
    return tuple(sorted(found, key=lambda notice: (not notice.first, not notice.grave)))


def findings(contents: Contents, place: Place) -> tuple[Finding, ...]:
    """Return the findings about a pool, most important first."""
    return ranked(
        _finding(kind, subject, place)
        for section in SECTIONS
        for kind in section.findings
        if kind.holds(place.pool)
        for subject in kind.subjects(contents, place, kind.measure)
        if subject.sure > kind.threshold
    )


def ranked(candidates: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the most important finding of each subject and topic, most important first."""
    found: dict[tuple[str, str | None, str], Finding] = {}
    for one in sorted(candidates, key=lambda one: (-one.weight, one.text, one.topic)):
        found.setdefault((one.about, one.name, one.topic), one)
    return tuple(found.values())


class _Words(dict[str, object]):
    """Words of a subject; any other key is a figure."""

    figures: Callable[[str], Figure]

    def __missing__(self, key: str) -> object:
        return _Shown(self.figures(key))


class _Shown(NamedTuple):
    """A figure in a phrase."""

    figure: Figure

    def __format__(self, spec: str) -> str:
        if spec == "within":
            return wording.rough_interval(self.figure)
        if spec == "one in":
            return wording.first_upper(wording.one_in(self.figure.value or 0.0))
        return wording.rough(self.figure)


def _finding(kind: Kind, subject: Subject, place: Place) -> Finding:
    words = _Words(subject.words)
    words.figures = subject.figures
    text = kind.phrase.format_map(words)
    sql = subject.sql
    if not sql:
        by_width = "width_class" in SUMMARY[kind.measure].dimensions
        sql = place.sql(kind.measure, "width_class" if by_width else "all")
    return Finding(
        about=subject.about,
        name=subject.name,
        topic=kind.topic,
        effect=subject.effect,
        sure=subject.sure,
        part=subject.part,
        text=place.text(text) if kind.of_pool else text,
        action=kind.action.format_map(words),
        anchor=subject.anchor or place.anchor(kind.section),
        sql=sql,
    )


def of_waiting(place: Place, assumed: Container[str]) -> tuple[str, ...]:
    """Return sentences on what jobs waited for, which partition most, and what changed."""
    made = (_waited_for(place, assumed), waits_most(place.pool), wait_changed(place.pool))
    return tuple(filter(None, made))


def _waited_for(place: Place, assumed: Container[str]) -> str:
    pool = place.pool
    found = [(figure, cause) for cause in CAUSES if (figure := pool.figure(cause.share)).value]
    if not found:
        return ""
    share, cause = max(found, key=lambda pair: pair[0].value or 0.0)
    rule = rule_sentence(place, assumed)
    if cause.key == "rule" and rule:
        text = rule
    else:
        passed = time_passed(cause, part=bool(pool.part))
        text = (
            f"{wording.first_upper(wording.rough(share))} of all waiting time passed "
            f"{passed}{wording.rough_within(share)}."
        )
        if rule:
            text += f" {rule}"
        elif cause.key != "unexplained" and (rest := pool.figure(UNEXPLAINED)).value:
            unexplained = wording.first_upper(wording.rough(rest))
            text += f" {unexplained} is unexplained{wording.rough_within(rest)}."
    change = changed(pool[Trend], UNEXPLAINED, "share")
    return f"{text} Unexplained share: {change.text}." if change else text


def waits_most(of: PoolPart) -> str:
    """Return the partition, QOS and GPU type with most of the waiting, and its cause."""
    if not of[Waits].queues or of[Waits].queues[0].share < MOST:
        return ""
    queue = of[Waits].queues[0]
    shares = {cause: queue.figure(cause.share).value or 0.0 for cause in CAUSES}
    cause = max(shares, key=lambda cause: shares[cause])
    if not shares[cause]:
        return ""
    named = queue_columns([queue])
    whose = ", ".join(f"{title} {wording.name(getattr(queue, key))}" for key, title in named)
    return (
        f"{wording.rough_percent(queue.share)} of all waiting time is that of jobs in {whose}, "
        f"which waited {wording.rough(queue.figure('wait_mean'))} on average: "
        f"{wording.rough_percent(shares[cause])} of it passed "
        f"{time_passed(cause, part=bool(of.part))}."
    )
