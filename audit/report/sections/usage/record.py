"""The records of the section *usage*."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One entity's fraction of all decayed usage."""

    name: str | None  # None: not named in the log
    share: float | None  # its target
    now: float  # at the end of the period's last day
    mean: float  # over the days of the period
    rank: int | None  # at the end; 1 has the highest priority
    priority: float | None = None  # at the end
    parent: str | None = None  # the account above it in a share tree
    partition: str | None = None  # the only one to which it applies, in a share tree

    @property
    def difference(self) -> float | None:
        """Its mean usage fraction minus its target."""
        return None if self.share is None else self.mean - self.share


@dataclass(frozen=True, slots=True)
class UsageOf:
    """Decayed usage of users, or of accounts."""

    kind: str  # user | account
    named: int  # entities with a name in the log or a target
    targets: int  # entities with a target
    rows: tuple[UsageRow, ...]  # largest usage first; includes ``above`` and ``below``
    left_out: int
    above: UsageRow | None  # furthest above its target, by the mean
    below: UsageRow | None  # furthest below its target
    different: int = 0  # number of different targets
    without: int = 0  # entities with usage but no target, where others have one
    by_without: float = 0.0  # their fraction of all usage, mean
    unused: float = 0.0  # share of all targets that belongs to entities without usage
    tree: bool = False  # whether targets are those of a share tree


class Stretch(NamedTuple):
    """Consecutive days."""

    first: str  # ISO date
    last: str
    days: int


@dataclass(frozen=True, slots=True)
class OffTarget:
    """The days on which an entity was above or below its target."""

    name: str
    parent: str | None
    partition: str | None
    share: float
    days: int  # with any usage
    above: int  # of them
    below: int
    longest_above: Stretch | None
    longest_below: Stretch | None


class OffTargets(NamedTuple):
    """Users, or accounts, that were off target on some day; most days first."""

    kind: str  # user | account
    rows: tuple[OffTarget, ...]
    off: int  # number of such entities
    entities: int  # with a target


class UsageLine(NamedTuple):
    """The usage fractions of one entity, or of all others together."""

    name: str | None  # None: not named in the log
    others: int  # number of entities together; 0: one entity
    share: float | None  # its target
    values: tuple[float, ...]  # over time, or by resource


class UsageSeries(NamedTuple):
    """Usage fractions over time of the entities with the largest usage."""

    kind: str  # user | account
    days: tuple[str, ...]  # ISO dates; of weeks the first
    weekly: bool  # whether values are means of seven days
    lines: tuple[UsageLine, ...]  # largest usage first, others last


@dataclass(frozen=True, slots=True)
class DecayedUsage:
    """Usage fractions by one method."""

    method: str  # such as windows:cpu
    settings: Mapping[str, object]  # of the method, as configured; empty: not known
    as_of: int  # end of the last day
    days: int  # of the period, from the first with any usage
    accounts: UsageOf
    users: UsageOf
    series: UsageSeries | None
    off: tuple[OffTargets, ...] = ()
    nothing: bool = False  # whether there was no usage at all
    from_first: bool = False  # whether ``days`` begin later than the period

    @property
    def operator(self) -> str | None:
        """The operator that computes priorities; None if unknown or there are no targets."""
        operator = self.settings.get("operator")
        return str(operator) if self.targets and operator is not None else None

    @property
    def targets(self) -> int:
        """The number of users and accounts with a target."""
        return self.accounts.targets + self.users.targets


class Occupied(NamedTuple):
    """The fractions of each resource that entities occupied in the period."""

    kind: str  # user | account
    resources: tuple[str, ...]
    lines: tuple[UsageLine, ...]  # largest fraction of any resource first, others last


class PenaltyRow(NamedTuple):
    """One entity's fraction of all usage in the period, by penalty."""

    name: str | None  # None: not named in the log
    parts: tuple[float, ...]
    furthest: int  # index of the penalty that differs most from the first

    @property
    def shift(self) -> float:
        """The difference between the two."""
        return self.parts[self.furthest] - self.parts[0]


class PenaltyOf(NamedTuple):
    """Users, or accounts, by penalty; largest shift first."""

    kind: str  # user | account
    rows: tuple[PenaltyRow, ...]
    left_out: int
    moved: tuple[float, ...]  # by penalty: fraction of usage charged to others than by the first


class PenaltyChoice(NamedTuple):
    """The effect of the penalty on usage in the period, without decay."""

    penalties: tuple[str, ...]  # the configured one first
    accounts: PenaltyOf
    users: PenaltyOf

    @property
    def moving(self) -> PenaltyOf:
        """Accounts or users, whichever a penalty affects more."""
        return max((self.accounts, self.users), key=lambda of: max(of.moved, default=0.0))


@dataclass(frozen=True, slots=True)
class Charge:
    """One resource of a pool as usage counts it."""

    pool: str
    resource: str
    inferred: bool  # from the most that was in use
    charged: bool  # whether the configured penalty includes it
    attempts: int  # started, and inside the period
    unknown: int  # of them without an amount in the log
    clipped: int  # of them with more than is available
    first_start: int | None  # of the first known attempt
