"""Preempted and requeued attempts, read from the database."""

from collections.abc import Mapping
from typing import Final

import polars as pl

from audit.report.rows import records
from audit.report.sections.preemption.record import InterruptedUser, Preempted, Preemption

PREEMPTED: Final = 10
"""Most preempted attempts listed for each pool."""


def preemption(rows: Mapping[str, pl.DataFrame]) -> Preemption | None:
    """Return the users and attempts with the most lost work; None: there are none."""
    users = records(InterruptedUser, rows["preemption/users"])
    return Preemption(users, records(Preempted, rows["preemption/preempted"])) if users else None
