"""The content of page one, before any HTML: about the pool with the most consumption."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from audit.metrics.attempts.fidelity import KNOWN
from audit.registry.causes import CAUSES
from audit.report.judgement.findings import Finding, findings
from audit.report.judgement.place import Place, subject_of, unfair, what_happened
from audit.report.judgement.questions import (
    Question,
    Verdict,
    questions,
    verdict,
    wait_changed,
)
from audit.report.record.page import Assumed, Contents, Level, Trust, Who
from audit.report.record.pool import PoolPart
from audit.report.text import belief, wording
from audit.report.text.part import time_passed
from audit.report.text.standing import State, lacks, standing
from audit.report.text.tables import queue_columns

MOST: Final = 0.5
"""Least part of all waiting for which page one names the partition."""
HURT: Final = 5
"""Most entities listed as passed over."""


class Hurt(NamedTuple):
    """An entity that later jobs passed over."""

    subject: str
    anchor: str
    attempts: int
    lost: str  # per attempt, in words
    lost_s: float
    what: str
    who: Who | None  # None: a partition or QOS


@dataclass(frozen=True, slots=True)
class PageOne:
    """Page one of one pool."""

    place: Place
    verdict: Verdict
    trust: tuple[Trust, ...]
    questions: tuple[Question, Question]
    waits_most: str
    """Which partition waits most, and for what; empty if none has most of the waiting."""
    wait_changed: str
    """Why the mean wait changed; may be empty."""
    hurt: tuple[Hurt, ...]  # longest passed time first
    findings: tuple[Finding, ...]

    @property
    def longest_lost_s(self) -> float:
        """The greatest loss in ``hurt``."""
        return max((row.lost_s for row in self.hurt), default=0.0)


def page_one(contents: Contents) -> PageOne | None:
    """Return page one of the pool with most waiting.

    None if nothing ended, or too few days of the period are covered.
    """
    measured = [pool for pool in contents.pools if pool.attempts or pool.undated]
    if contents.brief or not measured:
        return None
    return of_pool(contents, measured[0])


def of_pool(contents: Contents, pool: PoolPart) -> PageOne:
    """Return page one of one pool."""
    number, several = contents.pools.index(pool) + 1, len(contents.pools) > 1
    place = Place(contents.cluster, contents.span.name, pool, number, several)
    assumed = contents.settings.assumed
    answers = questions(place, contents.options.bounds, assumed)
    trust = (records(contents), _machine(pool), _model(pool, assumed.get(pool.name)))
    hurt = tuple(_hurt(place)[:HURT])
    found = findings(contents, place)
    changed = wait_changed(pool)
    most = _waits_most(pool)
    return PageOne(place, verdict(place, answers), trust, answers, most, changed, hurt, found)


def records(contents: Contents, *, counted: bool = True) -> Trust:
    """Return whether records are complete.

    Args:
        counted: whether to say what is missing and how many were refused, which is about the jobs
            of all users.
    """
    state = standing(contents).state
    level = {State.COMPLETE: Level.PASS, State.PARTIAL: Level.WARN}.get(state, Level.FAIL)
    if not counted:
        return Trust(level, "Records", state.value)
    why = lacks(contents)[:1] if state is State.PARTIAL else ()
    refused = f"{wording.count(contents.refused)} of {wording.count(contents.records)} refused"
    return Trust(level, "Records", "; ".join((state.value, *why, refused)))


def _waits_most(of: PoolPart) -> str:
    """Return the partition, QOS and GPU type with most of the waiting, and its cause."""
    if not of.queues or of.queues[0].share < MOST:
        return ""
    queue = of.queues[0]
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


def _machine(of: PoolPart) -> Trust:
    over = of.figure("over_capacity_time").value or 0.0
    parts = [wording.plural(of.capacity, wording.resource(of.resource)), belief.busy(of)]
    share = of.figure("utilization").value or 0.0
    parts += [
        f"{wording.resources(use.resource)} {wording.rough_percent(use.utilization)} in use"
        for use in of.resources
        if use.resource != of.resource and use.utilization is not None and use.utilization > share
    ]
    if over:
        parts.append(f"exceeded for {wording.rough_percent(over)} of the time")
    level = Level.WARN if of.overfilled or of.part else Level.PASS
    return Trust(level, "Machine", ", ".join(filter(None, parts)))


def _model(of: PoolPart, assumed: Assumed | None) -> Trust:
    fidelity = of.fair_start.fidelity
    if fidelity is None or fidelity.best is None:
        return Trust(Level.UNKNOWN, "Rules", "not known how far any rule agrees with the starts")
    text = wording.first_upper(belief.rule(fidelity.rules[0]))
    if assumed is not None:
        rules = wording.plural(len(assumed.rules), "rule")
        text += f", and {rules} inferred from the log"
    text += (
        f"; agrees with {wording.rough_percent(fidelity.best)} of the observed starts (at least "
        f"{wording.rough_percent(KNOWN)} required)"
    )
    return Trust(Level.PASS if belief.good_fit(of) else Level.WARN, "Rules", text)


def _hurt(place: Place) -> list[Hurt]:
    rows = []
    for one in unfair(place.pool):
        passed_s, attempts = one.figure("passed_s").value, one.figure("passed_share").attempts
        each_s = passed_s / attempts if passed_s and attempts else 0.0
        rows.append(
            Hurt(
                subject_of(one.kind, one.name),
                place.anchor("passed"),
                attempts or 0,
                wording.rough_duration(each_s),
                each_s,
                what_happened(one, part=bool(place.pool.part)),
                Who(one.kind, one.name),
            )
        )
    return rows
