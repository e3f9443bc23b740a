"""Who is passed over, who is not or cannot be tested, and what is stuck, in words (SPEC §11)."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from audit.registry.causes import CAUSES
from audit.registry.passed import PassedWhy
from audit.report import wording
from audit.report.contents import Contents
from audit.report.finding import Kind, Subject
from audit.report.place import Place, subject_of, unfair
from audit.report.pool import PoolPart
from audit.report.sections.passed_over.record import OrderTest, PassedOver, StuckAttempt

MOST_REASONS: Final = 3
"""Number of reasons that a text lists."""


def passed_notes(pool: PoolPart) -> tuple[str, ...]:
    """Return sentences: why others are not named, or not tested, and the order in the log."""
    return (*filter(None, (not_named(pool), untested(pool))), *used_more(pool), *ahead(pool))


def cannot_test(pool: PoolPart) -> str:
    """Return why too few could be tested, as a clause."""
    reasons = Counter({why: n for why, n in pool.passed_why.items() if not why.tested})
    if not reasons:
        return "the log does not name several users"
    return _listed(reasons)


def untested(pool: PoolPart) -> str:
    """Return how many could not be tested, and why; empty: all could."""
    reasons = Counter({why: n for why, n in pool.passed_why.items() if not why.tested})
    if not reasons:
        return ""
    return f"{wording.count(reasons.total())} could not be tested: {_listed(reasons)}."


def not_named(pool: PoolPart) -> str:
    """Return why entities are not named that lost significantly more pairs; empty: there are none.

    ``used_more`` returns those of whom the order by usage is known.
    """
    apart = (PassedWhy.USUAL, PassedWhy.USAGE)
    reasons = Counter(
        {why: n for why, n in pool.passed_why.items() if why.tested and why not in apart}
    )
    if not reasons:
        return ""
    others = f"{wording.count(reasons.total())} more {'is' if reasons.total() == 1 else 'are'}"
    return (
        f"{others} not named, although later jobs started first significantly more often: "
        f"{_listed(reasons)}."
    )


def _listed(reasons: Counter[PassedWhy]) -> str:
    """Return the most frequent reasons: ``a (of 9); b (of 3)``."""
    if len(reasons) == 1:
        (why,) = reasons
        return why.phrase
    parts = [
        f"{why.phrase} (of {wording.count(n)})" for why, n in reasons.most_common(MOST_REASONS)
    ]
    return "; ".join(parts)


def used_more(pool: PoolPart) -> tuple[str, ...]:
    """Return who waits longer because the order follows recent usage; the first alone."""
    if not pool[OrderTest].used_more:
        return ()
    first, *others = pool[OrderTest].used_more
    text = f"{subject_of(first.kind, first.name)} waits longer: {PassedWhy.USAGE.phrase}, and it "
    text += f"{used(first)}."
    if others:
        text += f" So do {wording.count(len(others))} others."
    return (text,)


def used(one: PassedOver) -> str:
    """Return its usage compared with its share: ``used 2.3 times its share``."""
    multiple = one.figure("usage_multiple").value
    return "" if multiple is None else f"used {wording.two_digits(multiple)} times its share"


def ahead(pool: PoolPart) -> tuple[str, ...]:
    """Return the order of partitions and QOS that the log shows."""
    return tuple(
        f"Later jobs of {subject_of(one.kind, one.name, start=False)} started first in "
        f"{wording.rough(one.figure('passed_ahead'))} of the pairs."
        for one in pool[OrderTest].ahead
    )


def stuck_because(row: StuckAttempt) -> str:
    """Return the most probable cause for which an attempt is stuck."""
    if row.cause == "exceeds_capacity":
        return "it requests more than the pool has"
    if row.cause == "rule" and row.rule:
        return wording.name(row.rule, 80)
    if row.cause == "held" and row.held_by:
        return f"held ({row.held_by})"
    return next((one.clause for one in CAUSES if one.key == row.cause), "not known")


def without_causes(of: OrderTest) -> OrderTest:
    """Return the attempts that are stuck without their causes."""
    if of.stuck is None:
        return of
    rows = tuple(replace(row, cause=None) for row in of.stuck.rows)
    return replace(of, stuck=of.stuck._replace(rows=rows))


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


def stuck(contents: Contents, place: Place, measure: str) -> Iterator[Subject]:
    """Yield all stuck attempts together; their count has no interval."""
    if (of := place.pool[OrderTest].stuck) is None:
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


KINDS: Final = (
    Kind(
        passed_over,
        "passed_share",
        "passed over by later jobs",
        "passed",
        "{subject}: {passed_share} of later jobs that requested at least as much started first; "
        "{passed_expected} are expected.",
        "Compare the priorities of this {kind} with those of the jobs that started first.",
    ),
    Kind(
        stuck,
        "pending",
        "held, or cannot start",
        "passed",
        "{subject} waited longer than 95 % of similar jobs; one in twenty is expected to.",
        "fairaudit stuck lists each of them with its probable cause.",
    ),
)
