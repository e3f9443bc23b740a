"""What a finding is, and which come first."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from audit.report.record.pool import Figure

WORDS: Final = 25
"""A finding says what it has to say in so many words."""


class Cause(StrEnum):
    """What is behind a finding, as far as the figures tell."""

    LATER_ARRIVALS = "later arrivals"
    NOT_COMPETITION = "something else than competition"
    UNEQUAL_WAITS = "treated unlike others with jobs alike"
    OWN_FLOOD = "a flood of its own"
    UNEQUAL_SHARES = "unequal shares of the machine"
    IDLE = "idle while others queue"
    STUCK = "held, or cannot start"
    TARGETS = "usage against targets"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a reader should know, with what carries it."""

    subject: str
    """Whom it is about, in words: all attempts, a width class, a user."""
    about: str
    """``pool``, ``width``, ``user`` or ``account``."""
    name: str | None
    """The value of that dimension; None of the whole pool."""
    measure: str
    """Key of the figure in the registry of measures."""
    figure: Figure
    effect: float
    """How much of what it is measured by is affected, as a share of 1."""
    sure: float
    """The least that chance leaves of the effect; as corrected where picked from many."""
    part: float
    """Its part of the work: of all that was consumed."""
    cause: Cause
    action: str
    """What a site can do about it."""
    anchor: str
    """Where the page shows the evidence."""
    sql: str
    """The query that gives the evidence."""
    text: str
    """The finding, in ``WORDS`` words at most."""

    @property
    def confidence(self) -> float:
        """The part of the effect that chance cannot take away, from 0 to 1."""
        return min(max(self.sure / self.effect, 0.0), 1.0) if self.effect else 0.0

    @property
    def weight(self) -> float:
        """What findings are ranked by: effect × part of the work × confidence."""
        return self.effect * self.part * self.confidence


def ranked(candidates: Iterable[Finding]) -> tuple[Finding, ...]:
    """Those that their intervals carry, the weightiest first; one of each subject and cause."""
    carried = [one for one in candidates if one.sure > 0]
    found: dict[tuple[str, str | None, Cause], Finding] = {}
    for one in sorted(carried, key=lambda one: (-one.weight, one.subject, one.cause)):
        found.setdefault((one.about, one.name, one.cause), one)
    return tuple(found.values())
