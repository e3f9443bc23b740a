"""Attempts that wait longer than similar jobs did, in words."""

from audit.registry.causes import CAUSES
from audit.report import wording
from audit.report.sections.passed_over.record import StuckAttempt


def stuck_because(row: StuckAttempt) -> str:
    """Return the most probable cause for which an attempt is stuck."""
    if row.cause == "exceeds_capacity":
        return "it requests more than the pool has"
    if row.cause == "rule" and row.rule:
        return wording.name(row.rule, 80)
    if row.cause == "held" and row.held_by:
        return f"held ({row.held_by})"
    return next((one.clause for one in CAUSES if one.key == row.cause), "not known")
