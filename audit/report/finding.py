"""The findings and notices of a report: what a reader should know about a pool and its figures.

A kind of findings has its subjects, measure, phrase and action. Each section lists its kinds in
``KINDS``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from audit.report import wording
from audit.report.contents import Contents
from audit.report.figures import Breakdown, Figure
from audit.report.place import Place, trusted
from audit.report.pool import PoolPart

WORDS: Final = 25
"""Most words of a finding."""


class Subject(NamedTuple):
    """The subject of a finding, and its figures."""

    about: str  # pool | width | user | account
    name: str | None  # value of that dimension; None: the whole pool
    words: Mapping[str, object]  # for fields of the phrase that are not figures
    figures: Callable[[str], Figure]
    effect: float  # affected share of the measure's total
    sure: float  # lower end of its interval, corrected if it was picked from many
    part: float  # share of the pool's work
    anchor: str = ""  # of the evidence; empty: that of the kind's section
    sql: str = ""  # query for the evidence; empty: that of the measure


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding."""

    subjects: Callable[[Contents, Place, str], Iterable[Subject]]
    """Called with the report, the pool and the measure."""
    measure: str  # in the registry of measures; empty: subjects have all words
    topic: str  # the subject area: of a subject and topic, one finding is stated
    section: str  # of the page, with the evidence
    phrase: str
    """At most ``WORDS`` words. Its fields are words of the subject, or figures: in two digits;
    with ``:within``, their intervals; with ``:one in``, shares as "3 in 10"."""
    action: str  # what a site can do
    threshold: float = 0.0  # ``Subject.sure`` must be above it
    of_pool: bool = True  # else it is about the whole cluster, and its text names no pool


class Finding(NamedTuple):
    """One thing that a reader should know; see ``Subject`` and ``Kind``."""

    about: str
    name: str | None
    topic: str
    effect: float
    sure: float
    part: float
    text: str
    action: str
    anchor: str
    sql: str

    @property
    def confidence(self) -> float:
        """The certain part of the effect, from 0 to 1."""
        return min(max(self.sure / self.effect, 0.0), 1.0) if self.effect else 0.0

    @property
    def weight(self) -> float:
        """The importance: effect × part of the work × confidence."""
        return self.effect * self.part * self.confidence


def whole(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the pool as a whole, if it has the figure."""
    figure = place.pool.figure(measure)
    if figure.value is not None:
        yield _by_share(place.pool, "pool", None, "All jobs", figure.lower or 0.0, 1.0, measure)


def worst_width(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the width class that is significantly worse than the pool."""
    if hit := place.worst_width(measure):
        jobs = wording.first_upper(place.jobs_of(hit.width))
        part = place.part(hit.width)
        yield _by_share(hit.width, "width", hit.width.label, jobs, hit.sure, part, measure)


def _by_share(
    of: Breakdown | PoolPart,
    about: str,
    name: str | None,
    subject: str,
    sure: float,
    part: float,
    measure: str,
) -> Subject:
    effect = min(of.figure(measure).value or 0.0, 1.0)
    return Subject(about, name, {"subject": subject}, of.figure, effect, min(sure, 1.0), part)


def if_trusted(
    contents: Contents, place: Place, measure: str, *, subjects: Callable[..., Iterable[Subject]]
) -> Iterator[Subject]:
    """Yield these subjects if the model can judge the order."""
    if trusted(place.pool):
        yield from subjects(contents, place, measure)


def if_whole(
    contents: Contents, place: Place, measure: str, *, subjects: Callable[..., Iterable[Subject]]
) -> Iterator[Subject]:
    """Yield these subjects unless the log is a part of the workload."""
    if not place.pool.part:
        yield from subjects(contents, place, measure)


class Notice(NamedTuple):
    """Something to know before reading on."""

    grave: bool
    text: str
    first: bool = False  # whether page one has it, too


def in_pool(pool: PoolPart, contents: Contents) -> str:
    """Return the pool in words if the report has several."""
    return f" in pool {wording.name(pool.name)}" if len(contents.pools) > 1 else ""
