"""The registry of policies: queue orders, backfillings, and the settings of a policy.

An entry says all that the rest of fairaudit needs to know of it: its key in config.toml and on the
command line, its label in help texts and docs, its code in the kernels, what it needs to know, what
it costs to simulate, and which settings it takes. An entry that leaves one of these out cannot be
made: importing this module raises. Nothing heavy is imported, so that ``--help`` is fast.

Costs are constants a (CPU seconds) and exponents b of ``a · (n + 1)^b``, with n attempts that run
or wait; ``scenario.cost`` says how they were fitted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, NamedTuple, Self, get_type_hints

from audit.errors import UsageError

__all__ = [
    "BY_OWNER",
    "BY_USAGE",
    "SETTINGS",
    "Backfill",
    "BackfillTraits",
    "Order",
    "OrderTraits",
    "Policy",
    "Setting",
]

Cost = tuple[float, float]
"""a in CPU seconds, and b."""


@dataclass(frozen=True, kw_only=True)
class OrderTraits:
    """What there is to know of a queue order."""

    label: str
    kernel: str
    """Code in ``kernels.scheduling.simulation``; RANK: the rank of an attempt never changes."""
    deeper: float
    """What it adds to b of fair and forward starts, compared with the order by arrival."""
    rank_by: str | None = None
    """Of RANK: the column of ``scenario.workload.Workload`` that ranks go by; ``-`` before it:
    descending; None: arrival."""
    needs: Literal["priority", "usage"] | None = None
    """Recorded priorities, or what owners used or waited."""
    by_owner: bool = False
    """Whether it goes by what an attempt's owner used or waited, and by nothing else."""
    by_estimates: bool = False
    """Whether it goes by walltimes."""


class Order(StrEnum):
    """In which order a queue is served (SPEC §4, *Queue order*)."""

    _value_: str
    traits: OrderTraits

    def __new__(cls, key: str, traits: OrderTraits) -> Self:
        """A member whose value is its key."""
        member = str.__new__(cls, key)
        member._value_ = key
        member.traits = traits
        return member

    fcfs = "fcfs", OrderTraits(label="first come, first served", kernel="RANK", deeper=0.0)
    sjf = (
        "sjf",
        OrderTraits(
            label="shortest walltime first",
            kernel="RANK",
            deeper=0.2,
            rank_by="estimate",
            by_estimates=True,
        ),
    )
    lxf = (
        "lxf",
        OrderTraits(
            label="largest expansion factor first",
            kernel="EXPANSION",
            deeper=0.43,
            by_estimates=True,
        ),
    )
    recorded = (
        "recorded",
        OrderTraits(
            label="highest priority in the log first",
            kernel="RANK",
            deeper=0.2,
            rank_by="-priority",
            needs="priority",
        ),
    )
    fairshare = (
        "fairshare",
        OrderTraits(
            label="highest fairshare priority first",
            kernel="FAIRSHARE",
            deeper=0.3,
            needs="usage",
            by_owner=True,
        ),
    )
    nuwt = (
        "nuwt",
        OrderTraits(
            label="users who waited longest for what they used first",
            kernel="NUWT",
            deeper=0.3,
            needs="usage",
            by_owner=True,
        ),
    )
    multifactor = (
        "multifactor",
        OrderTraits(
            label="Slurm's priority, highest first",
            kernel="MULTIFACTOR",
            deeper=0.43,
            needs="usage",
        ),
    )


BY_OWNER: Final = tuple(order for order in Order if order.traits.by_owner)
"""Orders that go by what an attempt's owner used or waited."""

BY_USAGE: Final = tuple(order for order in Order if order.traits.needs == "usage")
"""Orders that go by that, among other things."""


@dataclass(frozen=True, kw_only=True)
class BackfillTraits:
    """What there is to know of a backfilling."""

    label: str
    kernel: str
    """Name of its code in ``kernels.scheduling.simulation``."""
    fair: Cost
    """Of the fair start times of an attempt."""
    forward: Cost
    """Of the forward start of an attempt."""
    replay: Cost
    """Of an attempt's passes in a replay."""
    settings: tuple[str, ...] = ()
    """Settings of ``Policy`` that it takes, besides those that every backfilling takes."""
    reservations: int | None = 0
    """How many attempts that cannot start have a place in its plan; None: all, unless the setting
    of this name says otherwise."""
    keeps_plans: bool = False
    """Whether a planned start is a promise. No log tells such plans."""


class Backfill(StrEnum):
    """Who may start before those ahead in the queue (SPEC §4, *Backfilling*)."""

    _value_: str
    traits: BackfillTraits

    def __new__(cls, key: str, traits: BackfillTraits) -> Self:
        """A member whose value is its key."""
        member = str.__new__(cls, key)
        member._value_ = key
        member.traits = traits
        return member

    none = (
        "none",
        BackfillTraits(
            label="no job overtakes another",
            kernel="NONE",
            fair=(1.5e-06, 0.87),
            forward=(1.1e-06, 0.97),
            replay=(6e-07, 0.0),
        ),
    )
    no_guarantee = (
        "no_guarantee",
        BackfillTraits(
            label="every job that fits starts",
            kernel="NO_GUARANTEE",
            fair=(9.2e-07, 1.01),
            forward=(4.7e-07, 1.22),
            replay=(3e-07, 0.25),
        ),
    )
    easy = (
        "easy",
        BackfillTraits(
            label="one reservation, for the first waiting job",
            kernel="EASY",
            fair=(7.8e-07, 1.05),
            forward=(4.3e-07, 1.23),
            replay=(4.5e-07, 0.25),
            settings=("depth", "window_s"),
            reservations=1,
        ),
    )
    conservative = (
        "conservative",
        BackfillTraits(
            label="a reservation for every job",
            kernel="CONSERVATIVE",
            fair=(2.6e-08, 2.51),
            forward=(1.5e-08, 2.66),
            replay=(2.7e-08, 1.4),
            reservations=None,
            keeps_plans=True,
        ),
    )
    conservative_replan = (
        "conservative_replan",
        BackfillTraits(
            label="replanned in each pass, as in Slurm",
            kernel="REPLAN",
            fair=(5.5e-08, 2.27),
            forward=(5.5e-09, 3.03),
            replay=(1.2e-08, 1.8),
            settings=("depth", "window_s", "reservations"),
            reservations=None,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What there is to know of a number that a policy may have."""

    flag: str
    """Its option on the command line."""
    help: str
    part: str
    """What stands before it in the name of a policy."""
    says: str
    """The same in a sentence that begins with "with"."""
    unit: Literal["count", "duration"] = "count"
    most: int | None = None
    """The greatest value; the least is 1."""


class Policy(NamedTuple):
    """How a scheduler decides."""

    order: Order = Order.fcfs
    backfill: Backfill = Backfill.easy
    depth: Annotated[
        int | None,
        Setting(
            flag="--depth",
            help="Maximum number of queued jobs examined per pass.",
            part="depth",
            says="a depth of",
        ),
    ] = None
    """None: all of the queue."""
    window_s: Annotated[
        int | None,
        Setting(
            flag="--window",
            help="Longest walltime that may overtake, in seconds.",
            part="window",
            says="a window, in s, of",
            unit="duration",
        ),
    ] = None
    """None with a longer estimate starts, or is planned, past one that has to wait."""
    interval_s: Annotated[
        int | None,
        Setting(
            flag="--interval",
            help="Seconds between two passes.",
            part="every",
            says="passes, in s, every",
            unit="duration",
            most=3_600,
        ),
    ] = None
    """Passes are at its multiples since the first arrival; None: at each instant at which something
    happens."""
    reservations: Annotated[
        int | None,
        Setting(
            flag="--reservations",
            help="Number of waiting jobs with reservations in conservative_replan; 1 equals easy.",
            part="reserve",
            says="reservations for",
        ),
    ] = None
    """For how many that cannot start a pass keeps a place in its plan; others start where that
    delays none of these. None: for all; 1 is ``easy``, but for steps that are planned. What Maui
    calls RESERVATIONDEPTH and PBS backfill_depth."""

    @property
    def name(self) -> str:
        """Such as ``fcfs-easy``; names the schedule that it makes."""
        parts = (
            f"{setting.part}{value}"
            for key, setting in SETTINGS.items()
            if (value := getattr(self, key)) is not None
        )
        return "-".join([self.order.value, self.backfill.value, *parts])

    @property
    def not_taken(self) -> list[str]:
        """The keys of settings that it has, but its backfilling does not take."""
        given = (key for key in SETTINGS if getattr(self, key) is not None)
        return [key for key in given if self.backfill not in takers(key)]

    def changed(self, **changes: Any) -> "Policy":
        """Return the policy with these fields; None leaves one as it is.

        Settings stay only where the backfilling takes them.

        Raises:
            UsageError: a setting is given that the backfilling does not take.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        after = self._replace(**{**dict.fromkeys(SETTINGS), **given})
        for key in after.not_taken:
            raise UsageError(f"{SETTINGS[key].flag}: {refused(key)}")
        kept = {
            key: getattr(self, key)
            for key in SETTINGS
            if key not in given and after.backfill in takers(key)
        }
        return after._replace(**kept)


def _settings() -> dict[str, Setting]:
    hints = get_type_hints(Policy, include_extras=True)
    return {
        key: setting
        for key, hint in hints.items()
        for setting in getattr(hint, "__metadata__", ())
        if isinstance(setting, Setting)
    }


SETTINGS: Final[Mapping[str, Setting]] = _settings()
"""By key in config.toml, which is the field of ``Policy``."""


def takers(key: str) -> tuple[Backfill, ...]:
    """Return the backfillings that take a setting: all where none names it."""
    named = tuple(fill for fill in Backfill if key in fill.traits.settings)
    return named or tuple(Backfill)


def refused(key: str) -> str:
    """Say which backfillings take a setting."""
    fills = takers(key)
    return f"only backfill {' and '.join(fills)} {'has' if len(fills) == 1 else 'have'} one"


def choices(registry: type[Order] | type[Backfill]) -> str:
    """List the keys of a registry with their labels."""
    return ", ".join(f"{member.value} ({member.traits.label})" for member in registry)
