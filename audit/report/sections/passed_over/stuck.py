"""Attempts that wait longer than similar jobs did, in words."""

from dataclasses import replace

from audit.registry.causes import CAUSES
from audit.report import wording
from audit.report.sections.passed_over.record import OrderTest, StuckAttempt


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
