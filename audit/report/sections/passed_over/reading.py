"""Who is passed over, read from the database."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import polars as pl

from audit.report.figures import Breakdown, breakdowns
from audit.report.rows import records
from audit.report.sections.passed_over.record import OrderTest, PassedOver, Stuck, StuckAttempt
from audit.report.source import SectionSource

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
