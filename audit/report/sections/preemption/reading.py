"""Preempted and requeued attempts, read from the database."""

from typing import Final

from audit.report.rows import records
from audit.report.sections.preemption.record import InterruptedUser, Preempted, Preemption
from audit.report.source import SectionSource

PREEMPTED: Final = 10
"""Most preempted attempts listed for each pool."""


def read(source: SectionSource) -> dict[str, Preemption]:
    """Return the users and attempts with the most lost work of each pool."""
    attempts = source.by_pool("preemption/preempted", most=PREEMPTED)
    return {
        pool: Preemption(records(InterruptedUser, rows), records(Preempted, attempts[pool]))
        for pool, rows in source.by_pool("preemption/users").items()
        if not rows.is_empty()
    }
