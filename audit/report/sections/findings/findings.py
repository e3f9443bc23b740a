"""The findings of a report: what a reader should know about a pool, most important first.

``KINDS`` is the registry. A kind has its subjects, measure, phrase and action.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, NamedTuple

from audit.registry.measures import SUMMARY
from audit.registry.requested import BEYONDS, MATERIAL
from audit.report import wording
from audit.report.contents import Contents
from audit.report.figures import Breakdown, Figure
from audit.report.place import (
    DELAY,
    SHORTFALL,
    UNEXPLAINED,
    Place,
    quoted,
    subject_of,
    trusted,
    unfair,
)
from audit.report.pool import PoolPart
from audit.report.sections.causes.scattered import lack_of
from audit.report.sections.causes.scattered import sentence as scattered_sentence
from audit.report.sections.rules.text import TELLING, rule_sentence

WORDS: Final = 25
"""Most words of a finding."""


class Topic(StrEnum):
    """The subject area of a finding."""

    LATER_ARRIVALS = "later arrivals"
    RULES = "limits and closed hours"
    NODES = "free capacity scattered over nodes"
    UNEXPLAINED = "unexplained waits"
    PASSED_OVER = "passed over by later jobs"
    UNEQUAL_SHARES = "unequal shares of the machine"
    PREEMPTION = "work lost to preemption"
    REQUESTED = "allocated beyond requests"
    IDLE = "idle while others queue"
    STUCK = "held, or cannot start"
    TARGETS = "usage against targets"


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
    topic: Topic
    section: str  # of the page, with the evidence
    phrase: str
    """At most ``WORDS`` words. Its fields are words of the subject, or figures: in two digits;
    with ``:within``, their intervals; with ``:one in``, shares as "3 in 10"."""
    action: str  # what a site can do
    threshold: float = 0.0  # ``Subject.sure`` must be above it


class Finding(NamedTuple):
    """One thing that a reader should know; see ``Subject`` and ``Kind``."""

    about: str
    name: str | None
    topic: Topic
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


def findings(contents: Contents, place: Place) -> tuple[Finding, ...]:
    """Return the findings about a pool, most important first."""
    return ranked(
        _finding(kind, subject, place)
        for kind in KINDS
        for subject in kind.subjects(contents, place, kind.measure)
        if subject.sure > kind.threshold
    )


def ranked(candidates: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the most important finding of each subject and topic, most important first."""
    found: dict[tuple[str, str | None, Topic], Finding] = {}
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
        text=text if kind.topic is Topic.TARGETS else place.text(text),
        action=kind.action.format_map(words),
        anchor=subject.anchor or place.anchor(kind.section),
        sql=sql,
    )


# --- subjects ------------------------------------------------------------------------------------


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


def passed_over(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the users and accounts that later jobs passed over."""
    waited = (place.pool.figure("wait_mean").value or 0.0) * place.pool.attempts
    for one in unfair(place.pool):
        excess, passed_s = one.figure("passed_excess"), one.figure("passed_s").value or 0.0
        yield Subject(
            one.kind,
            one.name,
            {"subject": subject_of(one.kind, one.name), "kind": one.kind},
            one.figure,
            effect=excess.value or 0.0,
            sure=excess.lower or 0.0,
            part=min(passed_s / waited, 1.0) if waited else 0.0,
            sql=place.sql(measure, one.kind),
        )


def rules(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the limits and windows that alone kept jobs waiting."""
    if rule_sentence(place, contents.settings.assumed):
        figure = place.pool.figure(measure)
        words = {"rule": place.pool.rules[0].name}
        effect, sure = figure.value or 0.0, figure.lower or figure.value or 0.0
        yield Subject("pool", None, words, place.pool.figure, effect, sure, 1.0)


def scattered(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the resource that single nodes lacked longest while enough was free in total."""
    pool = place.pool
    if pool.figure(measure).value is None or not pool.scattered:
        return
    one = pool.scattered[0]
    lack = lack_of(one)
    figure = pool.figure(lack.share)
    effect = figure.value or 0.0
    waited = (pool.figure("wait_mean").value or 0.0) * pool.attempts
    words = {"sentence": scattered_sentence(one, pool), "remedy": lack.remedy}
    yield Subject(
        *("pool", None, words, pool.figure),
        effect=effect,
        sure=effect if figure.lower is None else figure.lower,
        part=min(one.lacked_s / (effect * waited), 1.0) if effect and waited else 0.0,
        sql=place.sql(lack.share, "partition"),
    )


def beyond_requests(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield the pool as a whole, with the main reason for allocating more than was requested."""
    pool = place.pool
    main = max(BEYONDS, key=lambda one: pool.figure(one.share).value or 0.0)
    for subject in whole(contents, place, measure):
        yield subject._replace(words={"reason": main.words, "remedy": main.action})


def stuck(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield all stuck attempts together; their count has no interval."""
    if (of := place.pool.stuck) is None:
        return
    number = of.waiting + of.gave_up
    subjects = []
    if of.waiting:
        subjects.append(f"{wording.plural(of.waiting, 'job')} still waiting")
    if of.gave_up:
        jobs = wording.count(of.gave_up) if subjects else wording.plural(of.gave_up, "job")
        subjects.append(f"{jobs} that gave up")
    words = {"subject": " and ".join(subjects)}
    part = number / (place.pool.attempts + number)
    yield Subject("pool", None, words, place.pool.figure, 1.0, 1.0, part, sql="SELECT * FROM stuck")


def off_target(contents: Contents, place: Place, measure: str, *, side: str) -> Iterator[Subject]:
    """Yield the entity furthest below or above its target, by each method."""
    for number, of in enumerate(contents.usages, start=1):
        kind = of.accounts if of.accounts.targets else of.users
        row = kind.below if side == "below" else kind.above
        if row is None or not row.share:
            continue
        gap = abs(row.mean - row.share)
        yield Subject(
            kind.kind,
            row.name,
            {
                "subject": subject_of(kind.kind, row.name),
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
        "For {cause_rule_free_share} of all waiting time enough was free, and only limits or "
        "closed hours kept the job from starting.",
        "Decide whether this rule should keep jobs waiting while capacity is free: {rule}.",
        TELLING,
    ),
    Kind(
        scattered,
        "cause_nodes_share",
        Topic.NODES,
        "why",
        "{sentence}",
        "{remedy}.",
        0.05,
    ),
    Kind(
        partial(if_whole, subjects=whole),
        UNEXPLAINED,
        Topic.UNEXPLAINED,
        "why",
        "{cause_unexplained_share} of all waiting time is unexplained "
        "({cause_unexplained_share:within}): enough was free, and the log does not say why jobs "
        "waited.",
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
        "Compare the priorities of this {kind} with those of the jobs that started first.",
    ),
    Kind(
        partial(if_trusted, subjects=whole),
        DELAY,
        Topic.LATER_ARRIVALS,
        "fair",
        "{miss_delivered_share} of all waiting time is delay by later arrivals "
        "({miss_delivered_share:within}), under the rule that this log shows.",
        "Check which widths are delayed, and reserve for more jobs than the first in the queue.",
    ),
    Kind(
        partial(if_trusted, subjects=worst_width),
        DELAY,
        Topic.LATER_ARRIVALS,
        "fair",
        "{subject}: {miss_delivered_share} of their waiting time is delay by later arrivals "
        "({miss_delivered_share:within}), under the site's known rule.",
        "Reserve for more jobs than the first in the queue, or give these jobs their own hours.",
    ),
    Kind(
        whole,
        SHORTFALL,
        Topic.UNEQUAL_SHARES,
        "sharing",
        "{re_treated_unfairly_share:one in} jobs received less than an equal share; the shortfall "
        "is {re_unfairness_share} of all consumption ({re_unfairness_share:within}).",
        "Check which widths and users have the largest shortfall.",
    ),
    Kind(
        worst_width,
        SHORTFALL,
        Topic.UNEQUAL_SHARES,
        "sharing",
        "{subject} have the largest shortfall: {re_unfairness_share} of what they consumed "
        "({re_unfairness_share:within}).",
        "Give these jobs more of the machine, or their own hours.",
    ),
    Kind(
        whole,
        "lost_share",
        Topic.PREEMPTION,
        "preemption",
        "Preempted and requeued jobs had used {lost_share} of all consumption "
        "({lost_share:within}), which is lost unless they wrote checkpoints.",
        "Let preemptible jobs write checkpoints, or exempt them from preemption when they have "
        "just started.",
        0.01,
    ),
    Kind(
        beyond_requests,
        "beyond_request_share",
        Topic.REQUESTED,
        "sharing",
        "{beyond_request_share} of all CPU time ({beyond_request_share:within}) was allocated "
        "beyond the CPUs that jobs requested, mostly {reason}.",
        "{remedy}",
        MATERIAL,
    ),
    Kind(
        whole,
        "loss_of_capacity",
        Topic.IDLE,
        "machine",
        "{loss_of_capacity} of the capacity ({loss_of_capacity:within}) was idle while queued jobs "
        "requested at least as much.",
        "Check what the first jobs in the queue waited for at these times.",
        0.01,
    ),
    Kind(
        stuck,
        "pending",
        Topic.STUCK,
        "passed",
        "{subject} waited longer than 95 % of similar jobs; one in twenty is expected to.",
        "fairaudit stuck lists each of them with its probable cause.",
    ),
    Kind(
        partial(off_target, side="below"),
        "",
        Topic.TARGETS,
        "usage",
        "{subject} was furthest below its target: {mean} of all usage against {share}.",
        "Check whether it requested less; if not, raise its priority.",
    ),
    Kind(
        partial(off_target, side="above"),
        "",
        Topic.TARGETS,
        "usage",
        "{subject} was furthest above its target: {mean} of all usage against {share}.",
        "No action is needed unless others are below their targets because of it.",
    ),
)
