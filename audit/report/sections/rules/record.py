"""The records of the section *rules*."""

from dataclasses import dataclass
from datetime import date
from typing import NamedTuple


class BoundRule(NamedTuple):
    """A limit or window that kept jobs waiting."""

    name: str
    free_s: float  # of waiting while enough was free
    attempts: int


class RuleInForce(NamedTuple):
    """A rule that was in force, with its evidence and its waiting."""

    pool: str
    name: str
    rule: str
    source: str
    valid_from: date | None
    valid_to: date | None
    starts: int | None
    breaks: int | None
    waiting_s: int | None
    free_s: int | None


@dataclass(frozen=True, slots=True)
class BoundRules:
    """The limits and windows that kept jobs of a pool waiting."""

    rows: tuple[BoundRule, ...] = ()  # most waiting first
