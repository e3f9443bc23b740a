"""CPU time that jobs were allocated beyond their requests."""

from typing import NamedTuple


class BeyondUser(NamedTuple):
    """A user whose jobs were allocated more than they requested, in CPU·s of ended attempts."""

    name: str | None  # None: not named in the log
    allocated: float
    beyond: float
    charge_share: float | None  # of its charges, what its requests would save
    reason: str  # key of ``registry.requested.BEYONDS``: that of most of it
