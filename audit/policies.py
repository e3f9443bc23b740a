"""The registry of policies: queue orders, backfillings, and the settings of a policy.

An entry is the only place that describes a policy: its key in config.toml and on the command line,
its label, its code in the kernels, what it needs, its cost and its settings. An incomplete entry
cannot be imported. Nothing heavy is imported, so that ``--help`` is fast.

Costs are constants a (CPU seconds) and exponents b of ``a · (n + 1)^b``, with n attempts that run
or wait; ``scenario.budget`` says how they were fitted.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
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
    "PolicySetting",
]

Cost = tuple[float, float]
"""a in CPU seconds, and b."""


@dataclass(frozen=True)
class OrderTraits:
    """The properties of a queue order."""

    key: str
    label: str
    kernel: str
    """Code in ``kernels.scheduling.model``; RANK: the rank of an attempt never changes."""
    deeper: float
    """Addition to b of fair starts, compared with the order by arrival."""
    _: KW_ONLY
    phrase: str = ""
    """The same in a sentence about a rule; empty: the label."""
    rank_by: str | None = None
    """Of RANK: the column of ``scenario.workload.Workload`` for the rank; ``-`` before it:
    descending; None: arrival."""
    needs: Literal["priority", "usage"] | None = None
    """Recorded priorities, or the usage or waits of owners."""
    by_owner: bool = False
    """Whether the order depends only on the usage or waits of an attempt's owner."""
    by_estimates: bool = False
    """Whether it depends on walltimes."""


class _Registry(StrEnum):
    """Entries by their keys."""

    _value_: str
    traits: Any

    def __new__(cls, traits: Any) -> Self:
        """Return a member whose value is its key."""
        member = str.__new__(cls, traits.key)
        member._value_, member.traits = traits.key, traits
        return member


class Order(_Registry):
    """In which order a queue is served (SPEC §4, *Queue order*)."""

    traits: OrderTraits

    fcfs = OrderTraits("fcfs", "first come, first served", "RANK", 0.0)
    sjf = OrderTraits(
        "sjf", "shortest walltime first", "RANK", 0.2, rank_by="estimate", by_estimates=True
    )
    lxf = OrderTraits("lxf", "largest expansion factor first", "EXPANSION", 0.43, by_estimates=True)
    recorded = OrderTraits(
        *("recorded", "highest priority in the log first", "RANK", 0.2),
        phrase="by the priorities in the log",
        rank_by="-priority",
        needs="priority",
    )
    fairshare = OrderTraits(
        *("fairshare", "highest fairshare priority first", "FAIRSHARE", 0.3),
        phrase="by fairshare",
        needs="usage",
        by_owner=True,
    )
    nuwt = OrderTraits(
        *("nuwt", "longest wait per unit of usage first, by user", "NUWT", 0.3),
        phrase="longest normalised user wait time first",
        needs="usage",
        by_owner=True,
    )
    multifactor = OrderTraits(
        *("multifactor", "Slurm's priority, highest first", "MULTIFACTOR", 0.43),
        phrase="by Slurm's multifactor priority (age, fairshare, size, partition, QOS)",
        needs="usage",
    )


BY_OWNER: Final = tuple(order for order in Order if order.traits.by_owner)
"""Orders that depend only on the usage or waits of an attempt's owner."""

BY_USAGE: Final = tuple(order for order in Order if order.traits.needs == "usage")
"""Orders that depend on them, among other things."""


@dataclass(frozen=True, kw_only=True)
class BackfillTraits:
    """The properties of a backfilling."""

    key: str
    label: str
    phrase: str
    """The same in a sentence about a rule, after the order."""
    kernel: str
    """Name of its code in ``kernels.scheduling.model``."""
    fair: Cost  # of the fair start times of an attempt
    replay: Cost  # of an attempt's passes in a replay
    settings: tuple[str, ...] = ()
    """The settings of ``Policy`` that it takes, besides those that every backfilling takes."""
    reservations: int | None = 0
    """Number of attempts that cannot start and have a reservation; None: all, unless the setting
    of this name limits it."""
    keeps_plans: bool = False
    """Whether a planned start is a promise. No log records such plans."""


class Backfill(_Registry):
    """How attempts may start before others ahead in the queue (SPEC §4, *Backfilling*)."""

    traits: BackfillTraits

    none = BackfillTraits(
        key="none",
        label="no job overtakes another",
        phrase="without backfilling",
        kernel="NONE",
        fair=(1.5e-06, 0.87),
        replay=(6e-07, 0.0),
    )
    no_guarantee = BackfillTraits(
        key="no_guarantee",
        label="every job for which enough is free starts",
        phrase="with backfilling without guarantees",
        kernel="NO_GUARANTEE",
        fair=(9.2e-07, 1.01),
        replay=(3e-07, 0.25),
    )
    easy = BackfillTraits(
        key="easy",
        label="one reservation, for the first waiting job",
        phrase="with EASY backfilling",
        kernel="EASY",
        fair=(7.8e-07, 1.05),
        replay=(4.5e-07, 0.25),
        settings=("depth", "window_s"),
        reservations=1,
    )
    conservative = BackfillTraits(
        key="conservative",
        label="a reservation for every job",
        phrase="with conservative backfilling",
        kernel="CONSERVATIVE",
        fair=(2.6e-08, 2.51),
        replay=(2.7e-08, 1.4),
        reservations=None,
        keeps_plans=True,
    )
    conservative_replan = BackfillTraits(
        key="conservative_replan",
        label="replanned in each pass, as in Slurm",
        phrase="with conservative backfilling, replanned at each pass",
        kernel="REPLAN",
        fair=(5.5e-08, 2.27),
        replay=(1.2e-08, 1.8),
        settings=("depth", "window_s", "reservations", "resolution_s", "batch_delay_s"),
        reservations=None,
    )


MOST: Final = 1_000_000_000
"""The greatest number of things that an option accepts, so that no sum leaves int64."""


@dataclass(frozen=True)
class PolicySetting:
    """The properties of a number that a policy may have."""

    flag: str  # its option on the command line
    help: str
    part: str  # its prefix in the name of a policy
    says: str  # the same in a sentence that begins with "with"
    unit: Literal["count", "duration"] = "count"
    most: int = MOST  # the greatest value; the least is 1


class Policy(NamedTuple):
    """How a scheduler decides."""

    order: Order = Order.fcfs
    backfill: Backfill = Backfill.easy
    depth: Annotated[
        int | None,
        PolicySetting(
            "--depth", "Maximum number of queued jobs examined per pass.", "depth", "a depth of"
        ),
    ] = None
    """None: all of the queue."""
    window_s: Annotated[
        int | None,
        PolicySetting(
            "--window",
            "Maximum walltime of a job that overtakes, in seconds.",
            "window",
            "a window, in s, of",
            "duration",
        ),
    ] = None
    """Attempts with a longer estimate never start, or are planned, before one that has to wait."""
    interval_s: Annotated[
        int | None,
        PolicySetting(
            "--interval",
            "Seconds between two passes.",
            "every",
            "passes, in s, every",
            "duration",
            3_600,
        ),
    ] = None
    """Passes take place at its multiples since the first arrival; None: at each event."""
    reservations: Annotated[
        int | None,
        PolicySetting(
            "--reservations",
            "Number of waiting jobs with reservations in conservative_replan; 1 equals easy.",
            "reserve",
            "reservations for",
        ),
    ] = None
    """Number of attempts for which a pass makes a reservation; others start if they delay none of
    these. None: all; 1 is ``easy``, except for planned steps. Maui's RESERVATIONDEPTH and PBS's
    backfill_depth."""
    resolution_s: Annotated[
        int | None,
        PolicySetting(
            "--resolution",
            "Seconds to which conservative_replan rounds its plans down.",
            "resolution",
            "a resolution of plans, in s, of",
            "duration",
            3_600,
        ),
    ] = None
    """Plans begin and end at its multiples in epoch time; None: at any second. Slurm's
    bf_resolution."""
    batch_delay_s: Annotated[
        int | None,
        PolicySetting(
            "--batch-delay",
            "Minimum seconds between two passes of Slurm's main scheduler.",
            "delay",
            "a pause of the main scheduler, in s, of",
            "duration",
            3_600,
        ),
    ] = None
    """Under ``multifactor`` with an interval; None: a pass at each event. batch_sched_delay."""

    @property
    def name(self) -> str:
        """Such as ``fcfs-easy``; names the schedule that the policy makes."""
        parts = (
            f"{setting.part}{value}"
            for key, setting in SETTINGS.items()
            if (value := getattr(self, key)) is not None
        )
        return "-".join([self.order.value, self.backfill.value, *parts])

    @property
    def not_taken(self) -> list[str]:
        """The keys of settings that the policy has and its backfilling does not take."""
        given = (key for key in SETTINGS if getattr(self, key) is not None)
        return [key for key in given if self.backfill not in takers(key)]

    def changed(self, **changes: Any) -> "Policy":
        """Return the policy with these fields; None leaves one as it is.

        Settings are dropped if the backfilling does not take them. Raises UsageError if such a
        setting is given.
        """
        given = {key: value for key, value in changes.items() if value is not None}
        after = self._replace(**{**dict.fromkeys(SETTINGS), **given})
        for key in after.not_taken:
            raise UsageError(f"{SETTINGS[key].flag}: {refused(key)}")
        kept = {key: getattr(self, key) for key in SETTINGS if key not in given}
        return after._replace(**{k: v for k, v in kept.items() if after.backfill in takers(k)})


SETTINGS: Final[Mapping[str, PolicySetting]] = {
    key: setting
    for key, hint in get_type_hints(Policy, include_extras=True).items()
    for setting in getattr(hint, "__metadata__", ())
    if isinstance(setting, PolicySetting)
}
"""By key in config.toml, which is the field of ``Policy``."""


def takers(key: str) -> tuple[Backfill, ...]:
    """Return the backfillings that take a setting: all if no backfilling names it."""
    named = tuple(fill for fill in Backfill if key in fill.traits.settings)
    return named or tuple(Backfill)


def refused(key: str) -> str:
    """Return a text that says which backfillings take a setting."""
    fills = takers(key)
    return f"only backfill {' and '.join(fills)} {'has' if len(fills) == 1 else 'have'} one"


def choices(registry: type[Order] | type[Backfill]) -> str:
    """Return the keys of a registry with their labels, as a list in words."""
    return ", ".join(f"{member.value} ({member.traits.label})" for member in registry)
