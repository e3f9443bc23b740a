"""Which jobs have reservations in the account of waits, and the evidence for it (SPEC §11)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reservations:
    """The plan that an account of waits assumes."""

    most: int | None
    """Most reservations at one time; None: every job has one."""
    strict: bool
    """Whether no job starts behind one that cannot."""
    broken: int | None = None
    """Starts for which the plan had no room; None: the backfilling is configured."""
    stretches: int | None = None
    """How often a job was kept from starting; None: the same."""
