"""Who is passed over, read from the database."""

from collections.abc import Sequence
from typing import Final

import polars as pl

from audit.report.figures import Breakdown
from audit.report.rows import records
from audit.report.sections.passed_over.record import PassedOver, Stuck, StuckAttempt

PASSED_KINDS: Final = ("account", "user", "partition", "qos")


def passed(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
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


def used_more(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return those that recent usage keeps from being named, greatest usage first."""
    found = [
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("usage_multiple").value is not None
        and part.figure("passed_named").value == 0
    ]
    return tuple(sorted(found, key=lambda one: -(one.figure("usage_multiple").value or 0.0)))


def ahead(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return the partitions and QOS whose later jobs started first."""
    return tuple(
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("passed_ahead").value is not None
    )


def stuck(rows: pl.DataFrame) -> Stuck | None:
    """Return the attempts that wait, or gave up, longer than similar jobs waited."""
    if rows.is_empty():
        return None
    waiting, gave_up = rows.select("all_waiting", "all_gave_up").row(0)
    return Stuck(waiting, gave_up, records(StuckAttempt, rows))
