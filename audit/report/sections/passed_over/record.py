"""Who is passed over, and the attempts that wait longer than similar jobs did."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from audit.report.figures import Figure, Figures


@dataclass(frozen=True, slots=True)
class PassedOver(Figures):
    """A user or account that later jobs passed over; or a partition or QOS whose later jobs did."""

    kind: str  # user | account | partition | qos
    name: str
    figures: tuple[Figure, ...]  # passed_*, usage_multiple, causes


@dataclass(frozen=True, slots=True)
class StuckAttempt:
    """An attempt that waits, or gave up, longer than 95 % of similar jobs waited; times in s."""

    job_id: str
    tasks: int  # attempts for which it stands
    user: str | None
    size: int | None
    waiting: bool  # else it left the queue without a start
    waited_s: int
    similar_p95_s: int
    unexplained_share: float | None  # of its wait
    cause: str | None
    rule: str | None
    held_by: str | None
    reason: str | None


class Stuck(NamedTuple):
    """All such attempts of a pool."""

    waiting: int
    gave_up: int
    rows: tuple[StuckAttempt, ...]  # waiting ones first, then by their excess


@dataclass(frozen=True, slots=True)
class OrderTest:
    """How the order of starts in a pool was tested, and the attempts that are stuck."""

    passed: tuple[PassedOver, ...] = ()  # users and accounts, longest passed time first
    used_more: tuple[PassedOver, ...] = ()  # those that recent usage keeps from being named
    ahead: tuple[PassedOver, ...] = ()  # partitions and QOS whose later jobs started first
    tested: Mapping[str, int] = field(default_factory=dict)  # entities tested, by kind
    stuck: Stuck | None = None
