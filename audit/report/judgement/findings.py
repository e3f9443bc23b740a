"""The findings of a report: what a reader should know of a pool, the weightiest first.

``KINDS`` is the registry. A kind says of what subjects it may be found, by which measure, with
which words, and what a site can do about it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple

from audit.registry.measures import SUMMARY
from audit.report.judgement import owners
from audit.report.judgement.place import OVERTAKEN, SHORTFALL, UNEXPLAINED, Place, quoted
from audit.report.judgement.questions import TELLING, rule_sentence, trusted
from audit.report.record.page import Contents
from audit.report.record.pool import Breakdown, Figure, PoolPart
from audit.report.text import wording

WORDS: Final = 25
"""The most words that a finding has."""


class Topic(StrEnum):
    """What is behind a finding, as far as the figures tell."""

    LATER_ARRIVALS = "later arrivals"
    RULES = "limits and closed hours"
    UNEXPLAINED = "unexplained waits"
    PASSED_OVER = "passed over by later jobs"
    UNEQUAL_SHARES = "unequal shares of the machine"
    IDLE = "idle while others queue"
    STUCK = "held, or cannot start"
    TARGETS = "usage against targets"


class Subject(NamedTuple):
    """Whom or what a finding is about, with its figure."""

    about: str
    """``pool``, ``width``, ``user`` or ``account``."""
    name: str | None
    """The value of that dimension; None of the whole pool."""
    words: Mapping[str, object]
    """What a phrase may name besides figures; ``subject`` always."""
    figures: Callable[[str], Figure]
    effect: float
    """How much of what it is measured by is affected, as a share of 1."""
    sure: float
    """The least that chance leaves of the effect; as corrected where picked from many."""
    part: float
    """Its part of the work: of all that was consumed."""
    anchor: str = ""
    """Where the page shows the evidence; empty: in the section of the kind."""
    sql: str = ""
    """The query that gives the evidence; empty: that of the measure."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding."""

    subjects: Callable[[Contents, Place, str], Iterable[Subject]]
    """Those of a report, or of a pool in it, of which it is found, by the measure."""
    measure: str
    """Key of its figure in the registry of measures; empty: subjects bring what is told of them."""
    topic: Topic
    section: str
    """Of the page, with the evidence."""
    phrase: str
    """The finding, in ``WORDS`` words at most. It names words of its subject, and figures: in two
    digits; with ``:within`` their intervals, with ``:one in`` their shares as "3 in 10"."""
    action: str
    """What a site can do about it."""
    threshold: float = 0.0
    """What chance must leave of the effect, and more."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a reader should know."""

    about: str
    name: str | None
    topic: Topic
    effect: float
    sure: float
    part: float
    """See ``Subject``."""
    text: str
    action: str
    anchor: str
    sql: str

    @property
    def confidence(self) -> float:
        """The part of the effect that chance cannot take away, from 0 to 1."""
        return min(max(self.sure / self.effect, 0.0), 1.0) if self.effect else 0.0

    @property
    def weight(self) -> float:
        """What findings are ranked by: effect × part of the work × confidence."""
        return self.effect * self.part * self.confidence


def findings(contents: Contents, place: Place) -> tuple[Finding, ...]:
    """Return what is found of a pool, the weightiest first."""
    return ranked(
        _finding(kind, subject, place)
        for kind in KINDS
        for subject in kind.subjects(contents, place, kind.measure)
        if subject.sure > kind.threshold
    )


def ranked(candidates: Iterable[Finding]) -> tuple[Finding, ...]:
    """The weightiest first; one of each subject and topic."""
    found: dict[tuple[str, str | None, Topic], Finding] = {}
    for one in sorted(candidates, key=lambda one: (-one.weight, one.text, one.topic)):
        found.setdefault((one.about, one.name, one.topic), one)
    return tuple(found.values())


class _Words(dict[str, object]):
    """Words of a subject, else its figures."""

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
    return Finding(
        about=subject.about,
        name=subject.name,
        topic=kind.topic,
        effect=subject.effect,
        sure=subject.sure,
        part=subject.part,
        text=text if kind.topic is Topic.TARGETS else place.text(text),
        action=kind.action.format_map(words),
        anchor=subject.anchor or place.anchor(kind.section),
        sql=subject.sql or _query(kind.measure, place),
    )


def _query(measure: str, place: Place) -> str:
    by_width = "width_class" in SUMMARY[measure].dimensions
    return place.sql(measure, "width_class" if by_width else "all")


# --- subjects ------------------------------------------------------------------------------------


def whole(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """The pool as a whole, where it has the figure."""
    figure = place.pool.figure(measure)
    if figure.value is not None:
        yield _by_share(place.pool, "pool", None, "All jobs", figure.lower or 0.0, 1.0, measure)


def worst_width(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """The width class whose figure stands out."""
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


def passed_over(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Those that later jobs passed over, except where fairshare intends it."""
    waited = (place.pool.figure("wait_mean").value or 0.0) * place.pool.attempts
    for one in owners.unfair(place.pool):
        excess, passed_s = one.figure("passed_excess"), one.figure("passed_s").value or 0.0
        yield Subject(
            one.kind,
            one.name,
            {"subject": owners.subject_of(one.kind, one.name), "kind": one.kind},
            one.figure,
            effect=excess.value or 0.0,
            sure=excess.lower or 0.0,
            part=min(passed_s / waited, 1.0) if waited else 0.0,
            sql=place.sql(measure, one.kind),
        )


def rules(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """The limits and windows that alone kept jobs waiting."""
    if rule_sentence(place, contents.settings.assumed):
        figure = place.pool.figure(measure)
        words = {"rule": place.pool.rules[0].name}
        effect, sure = figure.value or 0.0, figure.lower or figure.value or 0.0
        yield Subject("pool", None, words, place.pool.figure, effect, sure, 1.0)


def trusted_whole(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """``whole``, where the model may judge the order."""
    if trusted(place.pool):
        yield from whole(contents, place, measure)


def trusted_width(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """``worst_width``, where the model may judge the order."""
    if trusted(place.pool):
        yield from worst_width(contents, place, measure)


def stuck(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Attempts that are stuck, all together: a count, which no chance made."""
    if (of := place.pool.stuck) is None:
        return
    number = of.waiting + of.gave_up
    told = (
        f"{wording.plural(of.waiting, 'job')} still waiting" if of.waiting else "",
        f"{wording.count(of.gave_up)} that gave up" if of.gave_up else "",
    )
    words = {"subject": " and ".join(filter(None, told))}
    part = number / (place.pool.attempts + number)
    yield Subject("pool", None, words, place.pool.figure, 1.0, 1.0, part, sql="SELECT * FROM stuck")


def off_target(contents: Contents, place: Place, measure: str, *, side: str) -> Iterator[Subject]:
    """Who was furthest below or above its target, by each way of reckoning usage."""
    for number, of in enumerate(contents.usages, start=1):
        kind = of.accounts if of.accounts.targets else of.users
        row = kind.below if side == "below" else kind.above
        if row is None or not row.share:
            continue
        gap = abs(row.mean - row.share)  # of what was used, which no chance made
        yield Subject(
            kind.kind,
            row.name,
            {
                "subject": owners.subject_of(kind.kind, row.name),
                "mean": wording.rough_percent(row.mean),
                "share": wording.rough_percent(row.share),
            },
            Figure,
            effect=gap,
            sure=gap,
            part=row.share if side == "below" else row.mean,
            anchor=f"usage-{number}",
            sql=(
                "SELECT as_of, entity, usage_fraction, share FROM fairshare_history "  # noqa: S608
                f"WHERE cluster = {quoted(contents.cluster)} "
                f"AND entity_kind = '{kind.kind}' AND method = '{of.method}' ORDER BY as_of, entity"
            ),
        )


# --- the registry --------------------------------------------------------------------------------

KINDS: tuple[Kind, ...] = (
    Kind(
        rules,
        "cause_rule_free_share",
        Topic.RULES,
        "why",
        "For {cause_rule_free_share} of all waiting time the job would have fitted, and only "
        "limits or closed hours kept it from starting.",
        "Decide whether this rule is meant to hold jobs back while capacity is free: {rule}.",
        TELLING,
    ),
    Kind(
        whole,
        UNEXPLAINED,
        Topic.UNEXPLAINED,
        "why",
        "{cause_unexplained_share} of all waiting time is unexplained "
        "({cause_unexplained_share:within}): the job would have fitted, and no known rule forbade "
        "it.",
        "Check limits, holds, node features and closed hours that the log does not show.",
        0.1,
    ),
    Kind(
        passed_over,
        "passed_share",
        Topic.PASSED_OVER,
        "passed",
        "{subject}: {passed_share} of later jobs that requested at least as much started first; "
        "{passed_expected} are expected.",
        "Compare the priorities of this {kind} with those of the jobs that passed it.",
    ),
    Kind(
        trusted_whole,
        OVERTAKEN,
        Topic.LATER_ARRIVALS,
        "fair",
        "By a model that fits, {overtaken_wait_share} of all waiting time is delay by later "
        "arrivals ({overtaken_wait_share:within}).",
        "See which widths are delayed, and reserve for more of the queue.",
    ),
    Kind(
        trusted_width,
        OVERTAKEN,
        Topic.LATER_ARRIVALS,
        "fair",
        "{subject}: by a model that fits, {overtaken_wait_share} of their waiting time is delay by "
        "later arrivals ({overtaken_wait_share:within}).",
        "Reserve for more of the queue than its head, or give wide jobs hours of their own.",
    ),
    Kind(
        whole,
        SHORTFALL,
        Topic.UNEQUAL_SHARES,
        "sharing",
        "{re_treated_unfairly_share:one in} jobs got less than an equal share; the shortfall is "
        "{re_unfairness_share} of all that was consumed ({re_unfairness_share:within}).",
        "See which widths and users have the largest shortfall.",
    ),
    Kind(
        worst_width,
        SHORTFALL,
        Topic.UNEQUAL_SHARES,
        "sharing",
        "{subject} have the largest shortfall: {re_unfairness_share} of what they consumed "
        "({re_unfairness_share:within}).",
        "Give this width more of the machine, or its own hours.",
    ),
    Kind(
        whole,
        "loss_of_capacity",
        Topic.IDLE,
        "machine",
        "{loss_of_capacity} of the capacity ({loss_of_capacity:within}) was idle while queued jobs "
        "requested as much.",
        "See what the first jobs in the queue waited for then.",
    ),
    Kind(
        stuck,
        "pending",
        Topic.STUCK,
        "passed",
        "{subject} waited longer than 95 % of similar jobs; by chance, one in twenty does.",
        "fairaudit stuck lists each of them with its probable cause.",
    ),
    Kind(
        partial(off_target, side="below"),
        "",
        Topic.TARGETS,
        "usage",
        "{subject} was furthest below its target: {mean} of all usage against {share}.",
        "Ask whether it asked for less; if not, raise its priority.",
    ),
    Kind(
        partial(off_target, side="above"),
        "",
        Topic.TARGETS,
        "usage",
        "{subject} was furthest above its target: {mean} of all usage against {share}.",
        "Nothing, unless others are below their targets because of it.",
    ),
)
