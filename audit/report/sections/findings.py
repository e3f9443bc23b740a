"""The findings about a pool, most important first."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from audit.registry.measures import SUMMARY
from audit.report import wording
from audit.report.contents import Contents
from audit.report.figures import Figure
from audit.report.finding import Finding, Kind, Subject
from audit.report.place import Place
from audit.report.sections import registry


def findings(contents: Contents, place: Place) -> tuple[Finding, ...]:
    """Return the findings about a pool, most important first."""
    return ranked(
        _finding(kind, subject, place)
        for section in registry.SECTIONS
        for kind in section.findings
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
