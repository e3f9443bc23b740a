"""Who is passed over, who is not or cannot be tested, and what is stuck (SPEC §11)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.pairs import LEAD_S
from audit.registry.causes import CAUSES
from audit.registry.passed import PassedWhy
from audit.report import wording
from audit.report.charts.marks import dots, scales
from audit.report.charts.marks.dots import Dot, DotRow
from audit.report.charts.marks.frame import Series
from audit.report.charts.style import LATER, MUTED, Chart
from audit.report.contents import Contents, PoolPart, Who
from audit.report.figures import Figure, Figures, breakdowns, records
from audit.report.finding import Kind, Place, Subject, subject_of
from audit.report.source import ReportSection, SectionSource


@dataclass(frozen=True, slots=True)
class PassedOver(Figures):
    """A user or account that later jobs passed over; or a partition or QOS whose later jobs did."""

    kind: str  # user | account | partition | qos
    name: str
    figures: tuple[Figure, ...]  # passed_*, usage_multiple, causes


@dataclass(frozen=True, slots=True)
class StuckAttempt:
    """An attempt that waits, or gave up, longer than 95 % of similar jobs waited; times in s."""

    job_id: str
    tasks: int  # attempts for which it stands
    user: str | None
    size: int | None
    waiting: bool  # else it left the queue without a start
    waited_s: int
    similar_p95_s: int
    unexplained_share: float | None  # of its wait
    cause: str | None
    rule: str | None
    held_by: str | None
    reason: str | None


class Stuck(NamedTuple):
    """All such attempts of a pool."""

    waiting: int
    gave_up: int
    rows: tuple[StuckAttempt, ...]  # waiting ones first, then by their excess


@dataclass(frozen=True, slots=True)
class OrderTest:
    """How the order of starts in a pool was tested, and the attempts that are stuck."""

    passed: tuple[PassedOver, ...] = ()  # users and accounts, longest passed time first
    used_more: tuple[PassedOver, ...] = ()  # those that recent usage keeps from being named
    ahead: tuple[PassedOver, ...] = ()  # partitions and QOS whose later jobs started first
    tested: Mapping[str, int] = field(default_factory=dict)  # entities tested, by kind
    stuck: Stuck | None = None


PASSED_KINDS: Final = ("account", "user", "partition", "qos")


def read(source: SectionSource) -> dict[str, OrderTest]:
    """Return how the order of starts in each pool was tested, and the attempts that are stuck."""
    waiting = (
        source.by_pool("passed_over/stuck", most=source.options.rows) if source.observed else {}
    )
    found = {}
    for pool, rows in source.by_pool("passed_over/peers").items():
        beside = breakdowns(rows)
        judged = [
            PassedOver(kind, part.label, part.figures)
            for kind in PASSED_KINDS
            for part in beside.get(kind, ())
        ]
        found[pool] = OrderTest(
            _passed(judged),
            _used_more(judged),
            tuple(one for one in judged if one.figure("passed_ahead").value is not None),
            Counter(one.kind for one in judged if one.figure("passed_named").value is not None),
            _stuck(waiting[pool]) if pool in waiting else None,
        )
    return found


def _passed(judged: Sequence[PassedOver]) -> tuple[PassedOver, ...]:
    """Return those passed over, longest passed time first.

    An account with only one user has the user's figures, and is left out.
    """

    def lost(one: PassedOver) -> tuple[object, ...]:
        share = one.figure("passed_share")
        return share.value, share.attempts, one.figure("passed_s").value

    named = [one for one in judged if one.figure("passed_named").value]
    of_users = {lost(one) for one in named if one.kind == "user"}
    kept = (one for one in named if one.kind != "account" or lost(one) not in of_users)
    return tuple(sorted(kept, key=lambda one: -(one.figure("passed_s").value or 0.0)))


def _used_more(judged: Sequence[PassedOver]) -> tuple[PassedOver, ...]:
    """Return those that recent usage keeps from being named, greatest usage first."""
    found = [
        one
        for one in judged
        if one.figure("usage_multiple").value is not None and one.figure("passed_named").value == 0
    ]
    return tuple(sorted(found, key=lambda one: -(one.figure("usage_multiple").value or 0.0)))


def _stuck(rows: pl.DataFrame) -> Stuck | None:
    if rows.is_empty():
        return None
    waiting, gave_up = rows.select("all_waiting", "all_gave_up").row(0)
    return Stuck(waiting, gave_up, records(StuckAttempt, rows))


LEAST_TESTED: Final = 5
"""With fewer entities tested, the log cannot tell whether the order was fair."""
MOST_REASONS: Final = 3
"""Number of reasons that a text lists."""


def passed_notes(pool: PoolPart) -> tuple[str, ...]:
    """Return sentences: why others are not named, or not tested, and the order in the log."""
    return (*filter(None, (not_named(pool), untested(pool))), *used_more(pool), *ahead(pool))


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
    some = f"{wording.count(reasons.total())} of them {'is' if reasons.total() == 1 else 'are'}"
    return (
        f"{some} not named, although later jobs started first significantly more often: "
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


def named(contents: Contents) -> tuple[Who, ...]:
    """Return the users and accounts that the report's tables name as passed over."""
    found = [
        Who(one.kind, one.name)
        for pool in contents.pools
        for one in pool[OrderTest].passed[: contents.options.rows]
    ]
    return tuple(dict.fromkeys(found))


def unfair(pool: PoolPart) -> tuple[PassedOver, ...]:
    """Return those passed over; empty if too few entities were tested."""
    of = pool[OrderTest]
    return of.passed if sum(of.tested.values()) >= LEAST_TESTED else ()


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


def passed_chart(pool: PoolPart) -> Chart | None:
    """Draw the share of later jobs that started first, and the expected share, by entity."""
    if not pool[OrderTest].passed:
        return None
    rows, words = [], []
    for one in pool[OrderTest].passed[:12]:
        name = f"{one.kind} {wording.name(one.name, 24)}"
        shares = {word: one.figure(metric).value for word, metric in _PASSED.items()}
        dots_ = [
            Dot(number, share, tip=f"{name}, {word}: {wording.percent(share)}")
            for number, (word, share) in enumerate(shares.items())
            if share is not None
        ]
        rows.append(DotRow(name, tuple(dots_)))
        each = (f"{wording.percent(share)} {word}" for word, share in shares.items())
        words.append(f"{name}: {', '.join(each)}")
    axis = scales.shares([dot.value for row in rows for dot in row.dots])
    kinds = [Series("expected", MUTED, hollow=True), Series("observed", LATER)]
    alt = f"Dots. Share of later jobs of other users that started first. {'; '.join(words)}."
    return Chart(
        "passed",
        "Later jobs that requested at least as much often started first",
        alt,
        *dots.drawn(rows, dots.Looks(kinds, axis, joined=True)),
        f"Share of such jobs that started more than {LEAD_S} s earlier; expected: that of similar "
        "jobs.",
    )


_PASSED: Final = {"expected": "passed_expected", "observed": "passed_share"}


SECTION: Final = ReportSection(
    "passed_over",
    OrderTest,
    read,
    in_part=without_causes,
    findings=KINDS,
    charts=(passed_chart,),
    filters=(passed_notes, stuck_because),
)
