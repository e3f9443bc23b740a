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
from audit.report.judgement.owners import compared, entity, subject_of
from audit.report.judgement.place import OVERTAKEN, ROOM, SHORTFALL, Place, quoted
from audit.report.record.page import Contents
from audit.report.record.pool import Breakdown, Entities, Figure, PoolPart
from audit.report.text import wording

WORDS: Final = 25
"""The most words that a finding has."""


class Topic(StrEnum):
    """What is behind a finding, as far as the figures tell."""

    LATER_ARRIVALS = "later arrivals"
    NOT_COMPETITION = "something else than competition"
    UNEQUAL_WAITS = "treated unlike others with jobs alike"
    OWN_FLOOD = "a flood of its own"
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


def longer(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Users, or accounts, that wait longer than others with jobs alike."""
    of = compared(place.pool)
    for part in of.longer:
        yield _owner(place, of, part, measure)


def floods(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """The first of those that do so only in floods of their own."""
    of = compared(place.pool)
    if of.floods:
        count = len(of.floods) - 1
        verb = "does" if count == 1 else "do"
        others = f"; so {verb} {wording.plural(count, 'other')}" if count else ""
        yield _owner(place, of, of.floods[0], measure, others)


def _owner(place: Place, of: Entities, part: Breakdown, measure: str, others: str = "") -> Subject:
    ratio = part.figure(measure)
    row, used = entity(of, part.label), sum(each.tusa for each in of.rows)
    return Subject(
        of.kind,
        part.label,
        {"subject": subject_of(of.kind, part.label), "kind": of.kind, "others": others},
        part.figure,
        effect=_beyond(ratio.value),
        sure=_beyond(ratio.lower),
        part=row.tusa / used if row is not None and used else 0.0,
        sql=place.owners_sql(of.kind, measure),
    )


def _beyond(ratio: float | None) -> float:
    """The part of its waiting that a ratio to peers puts beyond theirs."""
    return 1 - 1 / ratio if ratio and ratio > 0 else 0.0


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
        whole,
        OVERTAKEN,
        Topic.LATER_ARRIVALS,
        "fair",
        "Later arrivals cost {overtaken_wait_share} of all waiting "
        "({overtaken_wait_share:within}), {overtaken_time_mean} for each job.",
        "Look at which widths lose, and reserve for more of the queue.",
    ),
    Kind(
        worst_width,
        OVERTAKEN,
        Topic.LATER_ARRIVALS,
        "fair",
        "{subject} lose {overtaken_wait_share} of their waiting to later arrivals "
        "({overtaken_wait_share:within}), {overtaken_time_mean} each.",
        "Reserve for more of the queue than its head, or give wide jobs hours of their own.",
    ),
    Kind(
        whole,
        ROOM,
        Topic.NOT_COMPETITION,
        "why",
        "During {wait_room_share} of all waiting ({wait_room_share:within}) there was room for the "
        "job: no competition held it back.",
        "Look for limits, holds and closed hours: fairaudit fit-policy finds many.",
    ),
    Kind(
        longer,
        "peer_ratio",
        Topic.UNEQUAL_WAITS,
        "peers",
        "{subject} waits {peer_ratio} times as long as others with jobs alike "
        "({peer_ratio:within}), {excess_wait} more in all.",
        "Ask why: limits, priorities or holds of this {kind}.",
    ),
    Kind(
        floods,
        "peer_ratio",
        Topic.OWN_FLOOD,
        "peers",
        "{subject} waits {peer_ratio} times as long as others, {excess_wait} in all, but only in "
        "floods of its own{others}.",
        "Talk to this {kind} about spreading submissions, or cap what it has running.",
    ),
    Kind(
        whole,
        SHORTFALL,
        Topic.UNEQUAL_SHARES,
        "sharing",
        "{re_treated_unfairly_share:one in} jobs got less than an equal share, short by "
        "{re_unfairness_share} of all that was consumed ({re_unfairness_share:within}).",
        "See which widths and users went short.",
    ),
    Kind(
        worst_width,
        SHORTFALL,
        Topic.UNEQUAL_SHARES,
        "sharing",
        "{subject} went shortest of an equal share: by {re_unfairness_share} of what they consumed "
        "({re_unfairness_share:within}).",
        "Give this width more of the machine, or its own hours.",
    ),
    Kind(
        whole,
        "loss_of_capacity",
        Topic.IDLE,
        "machine",
        "{loss_of_capacity} of the machine ({loss_of_capacity:within}) stood idle while the queue "
        "asked for as much.",
        "See what the first in the queue were waiting for then.",
    ),
    Kind(
        stuck,
        "pending",
        Topic.STUCK,
        "peers",
        "{subject} waited longer than 95 % of jobs like them.",
        "Go through them: fairaudit stuck lists each with its probable cause.",
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
        "Nothing, unless others went short for it.",
    ),
)
