"""The form of a measure: its unit, how it is shown, and how it is computed from attempts.

Amounts are of the pool's counted resource ("resource": cpus, nodes or gpus), times in s.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

SECONDS, ONE, ATTEMPTS, JOBS, RESOURCE = "s", "1", "attempts", "jobs", "resource"
PER_ATTEMPT, NUWT, AREA = "resource·s/attempt", "s/(resource·s)", "resource·s"
EPOCH: Final = "epoch s"
ENTITIES: Final = "users, accounts"
"""The unit ``users`` for users, and ``accounts`` for accounts."""


class Presentation(Enum):
    """How a reader sees a value."""

    COUNT = "a whole number"
    NUMBER = "a number"
    SHARE = "a share of 1, in per cent"
    DURATION = "seconds, in the unit that suits them"
    RESOURCE_TIME = "resource-seconds, in resource-hours"


class Heading(Enum):
    """Where a report lists a measure, under its label."""

    ATTEMPTS = "Attempts"
    WAITS = "Waits"
    EQUALITY = "Resource equality"
    MACHINE = "The machine"
    FAIR_STARTS = "Fair start times"
    OWNERS = "NUWT"


class Of(Enum):
    """The attempts of a figure, among those that ended in the period."""

    ENDED = "all"
    SIZED = "those whose size is known"
    BOOKED = "those whose waits were attributed to causes"
    ON_NODES = "those whose waits were attributed by nodes"
    TAKES = "those that may preempt others"
    STRICT = "strict"
    """Those with a strict fair start time that counts, each with its weight in a sample."""
    RELAXED = "relaxed"
    """The same for the relaxed one."""
    INTERRUPTED = "those in logs with preempted, requeued or suspended attempts"
    ARRAYS = "tasks of job arrays"
    REQUESTED = "those whose requested CPUs are known"
    DELIVERED = "delivered"
    """Those with a fair start time on what the machine delivered."""


ENDED, SIZED, BOOKED, ON_NODES = Of.ENDED, Of.SIZED, Of.BOOKED, Of.ON_NODES
STRICT, RELAXED, DELIVERED = Of.STRICT, Of.RELAXED, Of.DELIVERED
INTERRUPTED, ARRAYS, REQUESTED, TAKES = Of.INTERRUPTED, Of.ARRAYS, Of.REQUESTED, Of.TAKES


class Quotient(NamedTuple):
    """Σ above / Σ below; a mean or share where ``below`` is 1 for each attempt.

    A term is a column of attempts, or one that ``metrics.attempts.figures`` names.
    """

    of: Of
    above: str
    below: str = "one"


class RatioRange(NamedTuple):
    """A quotient of which the log gives only bounds: from Σ least / Σ below to Σ most / Σ below.

    Its value is the upper bound.
    """

    of: Of
    least: str
    most: str
    below: str


class Quantile(NamedTuple):
    """A nearest-rank quantile of a term."""

    of: Of
    term: str
    thousandths: int


class Greatest(NamedTuple):
    """The greatest value of a term."""

    of: Of
    term: str


class Total(NamedTuple):
    """The sum of a term."""

    of: Of
    term: str


Figure = Quotient | RatioRange | Quantile | Greatest | Total


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure of the view ``summary``, or of ``fidelity``."""

    key: str
    label: str
    unit: str
    shown: Presentation
    dimensions: tuple[str, ...]
    meaning: str
    """One sentence without a full stop, with the formula."""
    source: str = ""
    table: Heading | None = None
    """None: it is in no table."""
    record_label: str = ""
    """Its label in the table of records; empty: it is not in that table."""
    when: str = ""
    """When it is computed; empty: always."""
    figure: Figure | None = None
    """Its computation from attempts, for all dimensions; None: its own code computes it."""

    @property
    def of_waiting(self) -> bool:
        """Whether it is a share of waiting time."""
        return isinstance(self.figure, Quotient) and self.figure.below == "wait_s"


COUNT, NUMBER, SHARE = Presentation.COUNT, Presentation.NUMBER, Presentation.SHARE
DURATION, RESOURCE_TIME = Presentation.DURATION, Presentation.RESOURCE_TIME
