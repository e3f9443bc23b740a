"""The findings and notices of a report: what a reader should know about a pool and its figures.

A kind of findings has its subjects, measure, phrase and action. Each section lists its kinds in
``KINDS``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final, NamedTuple

from audit.report import wording
from audit.report.contents import Contents, PoolPart
from audit.report.figures import SMALL_SAMPLE, Breakdown, Figure
from audit.store.database import quote_text

DELAY: Final = "miss_delivered_share"
UNEXPLAINED: Final = "cause_unexplained_share"
SHORTFALL: Final = "re_unfairness_share"
_CONFIDENCE: Final = 0.95
MANY: Final = 0.1
"""Share of days, attempts or usage above which a defect of the data is reported."""


def corrected(figure: Figure, among: int) -> tuple[float, float] | None:
    """Return the interval of a figure that is the most extreme of ``among``; None without one.

    Its confidence is 1 − 0.05 / among (Bonferroni). Both sides of the 95 % interval are stretched
    as those of a normal distribution.
    """
    value, lower, upper = figure.value, figure.lower, figure.upper
    if value is None or lower is None or upper is None:
        return None
    # two-sided quantiles, in standard deviations
    wide, plain = (
        NormalDist().inv_cdf((1 + confidence) / 2)
        for confidence in (1 - (1 - _CONFIDENCE) / among, _CONFIDENCE)
    )
    return value - wide / plain * (value - lower), value + wide / plain * (upper - value)


@dataclass(frozen=True, slots=True)
class Place:
    """A pool in its report."""

    cluster: str
    period: str
    pool: PoolPart
    number: int  # from 1
    several: bool  # whether the report has other pools

    def anchor(self, section: str) -> str:
        """Return the anchor of a section about the pool."""
        return f"pool-{self.number}-{section}"

    def text(self, words: str) -> str:
        """Return a sentence, after the pool's name if there are several."""
        return f"{wording.name(self.pool.name, 30)}: {words}" if self.several else words

    def sql(self, metric: str, dimension: str = "all") -> str:
        """Return the query for a figure by the values of a dimension."""
        return (
            "SELECT dimension_value, value, lower, upper, attempts FROM summary "  # noqa: S608
            f"WHERE cluster = {quote_text(self.cluster)} AND pool = {quote_text(self.pool.name)} "
            f"AND period = {quote_text(self.period)} AND schedule = 'observed' "
            f"AND metric = '{metric}' AND dimension = '{dimension}' ORDER BY value DESC"
        )


def subject_of(kind: str, name: str | None, *, start: bool = True) -> str:
    """Return an entity in words; ``start``: at the start of a sentence."""
    word = "QOS" if kind == "qos" else wording.first_upper(kind) if start else kind
    return f"{word} {wording.name(name, 30)}"


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
    holds: Callable[[PoolPart], bool] = lambda pool: True
    """Whether the figures of a pool can say it."""


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
    """Yield the width class with the greatest figure, if it is significantly worse than the pool.

    Its corrected interval must be above the pool's figure, and above 0.
    """
    pool = place.pool
    classes = [
        part
        for part in pool.widths
        if part.label[:1] in "123456789>"
        and (figure := part.figure(measure)).value is not None
        and (figure.attempts or 0) >= SMALL_SAMPLE
    ]
    whole = pool.figure(measure).value
    if len(classes) < 2 or whole is None:
        return
    worst = max(classes, key=lambda part: part.figure(measure).value or 0.0)
    within = corrected(worst.figure(measure), len(classes))
    if within is None or within[0] <= max(whole, 0.0):
        return
    jobs = f"Jobs of {wording.width_units(worst.label, pool.resource)}"
    all_work, work = (of.figure("consumed").value for of in (pool, worst))
    part = work / all_work if all_work and work else 0.0
    yield _by_share(worst, "width", worst.label, jobs, within[0], part, measure)


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


class Notice(NamedTuple):
    """Something to know before reading on."""

    text: str
    grave: bool = False
    first: bool = False  # whether page one has it, too


def in_pool(pool: PoolPart, contents: Contents) -> str:
    """Return the pool in words if the report has several."""
    return f" in pool {wording.name(pool.name)}" if len(contents.pools) > 1 else ""
