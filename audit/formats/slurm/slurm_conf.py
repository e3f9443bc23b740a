"""What ``slurm.conf``, or ``scontrol show config``, says of usage, fairshare and priority.

    PriorityDecayHalfLife=14-0          PriorityDecayHalfLife   = 14-00:00:00
    PriorityFlags=MAX_TRES              PriorityFlags           = MAX_TRES
    PartitionName=batch TRESBillingWeights="CPU=1.0,Mem=0.25G" …

Names ignore case; every other key is passed over. What a text does not say has Slurm's default.
``Include`` names files that are not read here: it is said. Sources: slurm.conf's manual page,
Slurm 17.11 to 25.05.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from audit.formats.slurm.fields import ALWAYS, tres_weights
from audit.formats.slurm.sacctmgr import Fault

DAY: Final = 86_400
RESETS: Final = ("none", "now", "daily", "weekly", "monthly", "quarterly", "yearly")


@dataclass(frozen=True)
class SlurmConf:
    """Settings, each with Slurm's default."""

    cluster: str | None = None
    half_life_s: float = 7.0 * DAY
    """PriorityDecayHalfLife; 0: usage does not decay."""
    period_s: int = 300
    """PriorityCalcPeriod: slurmctld recalculates so often."""
    reset: str = "none"
    """PriorityUsageResetPeriod, one of ``RESETS``."""
    dampening: float = 1.0
    """FairShareDampeningFactor."""
    flags: frozenset[str] = frozenset()
    """PriorityFlags, in capitals."""
    favor_small: bool = False
    max_age_s: float = 7.0 * DAY
    """PriorityMaxAge; infinite where it is unlimited."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """PriorityWeight…, by what follows that, in small letters; what is missing is 0."""
    tres_weights: Mapping[str, float] = field(default_factory=dict)
    """PriorityWeightTRES."""
    tres: tuple[str, ...] = ALWAYS
    """What is tracked (AccountingStorageTRES), in Slurm's order."""
    priority_type: str = "priority/basic"
    """PriorityType, in small letters; ``priority/multifactor`` since Slurm 23.11 by default."""
    scheduler: str = "sched/backfill"
    """SchedulerType, in small letters."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """SchedulerParameters, by name; of a flag the value is empty."""
    enforce: frozenset[str] = frozenset()
    """AccountingStorageEnforce, in small letters."""
    partitions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """TRESBillingWeights of the partitions that the text defines; empty: none are set."""
    job_factors: Mapping[str, int] = field(default_factory=dict)
    """PriorityJobFactor of those partitions."""
    faults: tuple[Fault, ...] = ()
    """What is wrong; nothing may be built on it then."""
    notes: tuple[str, ...] = ()
    """What is not read of it, in words for the user."""

    @property
    def fair_tree(self) -> bool:
        """Whether fairshare is Fair Tree rather than classic."""
        return "NO_FAIR_TREE" not in self.flags

    @property
    def multifactor(self) -> bool:
        """Whether queues are served by multifactor priorities."""
        return self.priority_type == "priority/multifactor"

    def parameter(self, name: str, default: int) -> int:
        """A whole number ≥ 0 among SchedulerParameters; the default where it is none."""
        given = self.parameters.get(name, "")
        return int(given) if re.fullmatch(r"[0-9]{1,9}", given) else default

    @property
    def limits_enforced(self) -> bool:
        """Whether slurmctld keeps account of what running jobs may still use."""
        return bool(self.enforce & {"limits", "safe", "all", "2"})


_LINE: Final = re.compile(r"\s*([A-Za-z_]\w*(?:\[\d+\])?)\s*=\s*(.*?)\s*")
_PAIR: Final = re.compile(r"([A-Za-z]\w*)\s*=\s*(\"[^\"]*\"|\S*)")
_NOTHING: Final = ("", "(null)", "n/a")
_WEIGHTS: Final = ("age", "assoc", "fairshare", "jobsize", "partition", "qos")


def read(text: str) -> SlurmConf:
    """Reads either text; never raises for what it holds."""
    faults: list[Fault] = []
    notes: list[str] = []
    values: dict[str, tuple[int, str]] = {}
    partitions: dict[str, dict[str, float]] = {}
    factors: dict[str, int] = {}
    default: dict[str, str] = {}
    for number, line in _lines(text):
        if re.match(r"include\s", line, re.IGNORECASE):
            notes.append(f"line {number}: {line!r} is not followed")
            continue
        if re.match(r"PartitionName\s*=", line, re.IGNORECASE):
            pairs = {key.lower(): value.strip('"') for key, value in _PAIR.findall(line)}
            name = pairs.pop("partitionname")
            if name.lower() == "default":
                default |= pairs
            else:
                _partition(name, default | pairs, number, partitions, factors, faults)
            continue
        if match := _LINE.fullmatch(line):
            key, value = match[1].lower(), match[2].strip('"')
            if value.lower() not in _NOTHING:
                values[key] = number, value
    settings = _Settings(values, faults)
    flags = settings.words("priorityflags")
    extra = settings.words("accountingstoragetres")
    named = tuple(dict.fromkeys((*ALWAYS, *(name.lower() for name in extra))))
    parts = (word.partition("=") for word in settings.words("schedulerparameters"))
    weights = {name: settings.number(f"priorityweight{name}") for name in _WEIGHTS}
    return SlurmConf(
        cluster=settings.text("clustername"),
        half_life_s=settings.duration("prioritydecayhalflife", 7.0 * DAY),
        period_s=int(settings.duration("prioritycalcperiod", 300.0, above=0)),
        reset=settings.choice("priorityusageresetperiod", RESETS),
        dampening=settings.number("fairsharedampeningfactor", 1.0, above=0.0),
        flags=frozenset(word.upper() for word in flags),
        favor_small=settings.choice("priorityfavorsmall", ("no", "yes")) == "yes",
        max_age_s=settings.duration("prioritymaxage", 7.0 * DAY, unlimited=True, above=0),
        weights={name: weight for name, weight in weights.items() if weight},
        tres_weights=settings.tres_weights("priorityweighttres"),
        priority_type=(settings.text("prioritytype") or "priority/basic").lower(),
        scheduler=(settings.text("schedulertype") or "sched/backfill").lower(),
        parameters={name.strip(): value.strip() for name, _, value in parts},
        tres=named,
        enforce=frozenset(word.lower() for word in settings.words("accountingstorageenforce")),
        partitions=partitions,
        job_factors=factors,
        faults=tuple(sorted(faults)),
        notes=tuple(notes),
    )


def seconds(text: str) -> float | None:
    """``5``, ``5:00``, ``1:00:00``, ``7-0``, ``7-00:00``, ``7-00:00:00`` → s; None if it is none.

    A number alone is minutes, as in slurm.conf; infinite where it says ``UNLIMITED``.
    """
    plain = text.strip()
    if plain.lower() in ("unlimited", "infinite", "-1"):
        return math.inf
    match = re.fullmatch(r"(?:(\d{1,7})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", plain)
    if match is None:
        return None
    first, second, third = (int(match[n] or 0) for n in (2, 3, 4))
    if match[1] is not None:
        return float(int(match[1]) * DAY + first * 3600 + second * 60 + third)
    if match[4] is not None:
        return float(first * 3600 + second * 60 + third)
    return float(first * 60 + second)


class _Settings:
    """The values by key, and what is wrong with them."""

    def __init__(self, values: Mapping[str, tuple[int, str]], faults: list[Fault]) -> None:
        self._said = values
        self._faults = faults

    def text(self, key: str) -> str | None:
        return self._said[key][1] if key in self._said else None

    def words(self, key: str) -> list[str]:
        return [word.strip() for word in (self.text(key) or "").split(",") if word.strip()]

    def duration(
        self, key: str, default: float, *, unlimited: bool = False, above: int = -1
    ) -> float:
        if key not in self._said:
            return default
        line, text = self._said[key]
        value = seconds(text)
        if value is None or not value > above or (value == math.inf and not unlimited):
            self._faults.append(Fault(line, f"{key}: {text!r} is no length of time here"))
            return default
        return value

    def number(self, key: str, default: float = 0.0, *, above: float = -1.0) -> float:
        if key not in self._said:
            return default
        line, text = self._said[key]
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (value > above and math.isfinite(value)):
            self._faults.append(Fault(line, f"{key}: {text!r} is no number that can be"))
            return default
        return value

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        if key not in self._said:
            return choices[0]
        line, text = self._said[key]
        if text.lower() not in choices:
            self._faults.append(Fault(line, f"{key}: {text!r} is none of {', '.join(choices)}"))
            return choices[0]
        return text.lower()

    def tres_weights(self, key: str) -> dict[str, float]:
        if key not in self._said:
            return {}
        line, text = self._said[key]
        try:
            return tres_weights(text)
        except ValueError as error:
            self._faults.append(Fault(line, f"{key}: {error}"))
            return {}


def _lines(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, without comments; a backslash at the end joins the next one."""
    found: list[tuple[int, str]] = []
    held, begun = "", 0
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.sub(r"(?<!\\)#.*", "", raw).strip()
        begun = begun or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        if whole := (held + line).strip():
            found.append((begun, whole))
        held, begun = "", 0
    if held.strip():
        found.append((begun, held.strip()))
    return found


def _partition(
    name: str,
    values: Mapping[str, str],
    line: int,
    partitions: dict[str, dict[str, float]],
    factors: dict[str, int],
    faults: list[Fault],
) -> None:
    """Takes in one partition, or several of one line (``PartitionName=a,b``)."""
    try:
        weights = tres_weights(values.get("tresbillingweights", ""))
        factor = int(values.get("priorityjobfactor", "1"))
    except ValueError as error:
        faults.append(Fault(line, f"partition {name!r}: {error}"))
        return
    for each in name.split(","):
        partitions[each] = weights
        factors[each] = factor
