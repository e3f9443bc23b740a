"""Who is passed over, and what waits longer than similar jobs did, read from the database."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import polars as pl

from audit.report.figures import Breakdown, Figure, Figures, breakdowns, records
from audit.report.source import SectionSource


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
        judged = [(kind, part) for kind in PASSED_KINDS for part in beside.get(kind, ())]
        found[pool] = OrderTest(
            _passed(judged),
            _used_more(judged),
            _ahead(judged),
            Counter(kind for kind, part in judged if part.figure("passed_named").value is not None),
            _stuck(waiting[pool]) if pool in waiting else None,
        )
    return found


def _passed(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return those passed over, longest passed time first.

    An account with only one user has the user's figures, and is left out.
    """

    def lost(one: PassedOver) -> tuple[object, ...]:
        share = one.figure("passed_share")
        return share.value, share.attempts, one.figure("passed_s").value

    named = [
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("passed_named").value
    ]
    of_users = {lost(one) for one in named if one.kind == "user"}
    kept = (one for one in named if one.kind != "account" or lost(one) not in of_users)
    return tuple(sorted(kept, key=lambda one: -(one.figure("passed_s").value or 0.0)))


def _used_more(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return those that recent usage keeps from being named, greatest usage first."""
    found = [
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("usage_multiple").value is not None
        and part.figure("passed_named").value == 0
    ]
    return tuple(sorted(found, key=lambda one: -(one.figure("usage_multiple").value or 0.0)))


def _ahead(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return the partitions and QOS whose later jobs started first."""
    return tuple(
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("passed_ahead").value is not None
    )


def _stuck(rows: pl.DataFrame) -> Stuck | None:
    if rows.is_empty():
        return None
    waiting, gave_up = rows.select("all_waiting", "all_gave_up").row(0)
    return Stuck(waiting, gave_up, records(StuckAttempt, rows))
