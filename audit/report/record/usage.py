"""What one report says of usage, targets and penalties, as frozen records; see ``contents``."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The part of all decayed usage that is one entity's."""

    name: str | None  # None: the log names none
    share: float | None  # its target
    now: float  # as of the last day of the period
    mean: float  # over the days of the period
    rank: int | None  # as of the last day; 1 is served first
    priority: float | None = None  # as of the last day
    parent: str | None = None  # the account above, in a share tree
    partition: str | None = None  # the only one for which it is, in a share tree

    @property
    def difference(self) -> float | None:
        """What it had beyond its target, in the mean."""
        return None if self.share is None else self.mean - self.share


@dataclass(frozen=True, slots=True)
class UsageOf:
    """Decayed usage of users, or of accounts."""

    kind: str  # user | account
    named: int  # how many the log, or a target, names
    targets: int  # how many have a target
    rows: tuple[UsageRow, ...]  # who used most comes first; with those below
    left_out: int
    above: UsageRow | None  # furthest above its target, in the mean
    below: UsageRow | None  # furthest below its target, in the mean
    different: int = 0  # how many different targets there are
    without: int = 0  # how many used something and have no target, though others have
    by_without: float = 0.0  # their part of all usage, in the mean
    unused: float = 0.0  # part of all targets that is of those who used nothing
    tree: bool = False  # whether targets are those of a share tree


@dataclass(frozen=True, slots=True)
class Stretch:
    """Days on end."""

    first: str  # ISO date
    last: str
    days: int


@dataclass(frozen=True, slots=True)
class OffTarget:
    """When an entity was above or below its target."""

    name: str
    parent: str | None
    partition: str | None
    share: float
    days: int  # on which anybody used anything
    above: int  # of them
    below: int
    longest_above: Stretch | None
    longest_below: Stretch | None


@dataclass(frozen=True, slots=True)
class OffTargets:
    """Users, or accounts, that were not at their target on some day; on most days come first."""

    kind: str  # user | account
    rows: tuple[OffTarget, ...]
    off: int  # how many there are
    entities: int  # with a target


@dataclass(frozen=True, slots=True)
class UsageLine:
    """The usage fraction of one entity over time, or of all others together."""

    name: str | None  # None: the log names none
    others: int  # how many are together; 0: one entity
    share: float | None  # its target
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class UsageSeries:
    """Usage fractions over time of those who used most."""

    kind: str  # user | account
    days: tuple[str, ...]  # ISO dates; of weeks the first
    weekly: bool  # whether values are means of seven days
    lines: tuple[UsageLine, ...]  # who used most comes first, others last


@dataclass(frozen=True, slots=True)
class DecayedUsage:
    """Who used how much of all, by one method."""

    method: str  # such as windows:cpu
    settings: Mapping[str, object]  # of the method, as configured; empty: not known
    as_of: int  # the end of the last day
    days: int  # of the period, from the first on at whose end anybody had used anything
    accounts: UsageOf
    users: UsageOf
    series: UsageSeries | None
    off: tuple[OffTargets, ...] = ()
    nothing: bool = False  # whether nobody used anything
    from_first: bool = False  # whether ``days`` begin later than the period, with the first usage

    @property
    def operator(self) -> str | None:
        """What makes a priority of target and usage; None where it is not known, or none is."""
        operator = self.settings.get("operator")
        return str(operator) if self.targets and operator is not None else None

    @property
    def targets(self) -> int:
        """How many users and accounts have a target."""
        return self.accounts.targets + self.users.targets


@dataclass(frozen=True, slots=True)
class OccupiedLine:
    """What one entity, or all others together, occupied of each resource."""

    name: str | None  # None: the log names none
    others: int  # how many are together; 0: one entity
    share: float | None  # its target
    parts: tuple[float, ...]  # of each resource in the period
    over_time: tuple[tuple[float, ...], ...]  # of each resource, in each part of the period


@dataclass(frozen=True, slots=True)
class Occupied:
    """Who occupied which part of each resource in the period."""

    kind: str  # user | account
    resources: tuple[str, ...]
    days: tuple[str, ...]  # ISO dates; of weeks the first
    weekly: bool
    lines: tuple[OccupiedLine, ...]  # who occupied most of any comes first, others last


@dataclass(frozen=True, slots=True)
class PenaltyRow:
    """One entity's part of all usage in the period, by penalty."""

    name: str | None  # None: the log names none
    parts: tuple[float, ...]
    furthest: int  # the penalty by which its part differs most from that by the first

    @property
    def shift(self) -> float:
        """What it has more by that penalty than by the first."""
        return self.parts[self.furthest] - self.parts[0]


@dataclass(frozen=True, slots=True)
class PenaltyOf:
    """Users, or accounts, by penalty; who moves most comes first."""

    kind: str  # user | account
    rows: tuple[PenaltyRow, ...]
    left_out: int
    moved: tuple[float, ...]  # by penalty: what it charges to others than the first does


@dataclass(frozen=True, slots=True)
class PenaltyChoice:
    """What the choice of a penalty changes: usage in the period, not decayed."""

    penalties: tuple[str, ...]  # the first, the configured one, is what others are compared with
    accounts: PenaltyOf
    users: PenaltyOf

    @property
    def configured(self) -> str:
        """The penalty by which usage is charged."""
        return self.penalties[0]

    @property
    def moving(self) -> PenaltyOf:
        """Accounts or users, whichever a penalty moves more between."""
        return max((self.accounts, self.users), key=lambda of: max(of.moved, default=0.0))


@dataclass(frozen=True, slots=True)
class Charge:
    """What requests were compared with, and what had to be assumed of them."""

    pool: str
    resource: str
    available: float
    inferred: bool  # from the most that was in use
    charged: bool  # whether the configured penalty heeds it
    attempts: int  # that started and occupied part of the period
    unknown: int  # of them with no amount in the log
    clipped: int  # of them with more than is available
    first_start: int | None  # when the first attempt that is known of started
