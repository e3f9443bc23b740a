"""Usage, fairshare and priority settings of ``slurm.conf``, or ``scontrol show config``.

    PriorityDecayHalfLife=14-0          PriorityDecayHalfLife   = 14-00:00:00
    PartitionName=batch TRESBillingWeights="CPU=1.0,Mem=0.25G" …

Names ignore case; other keys are skipped; missing keys have Slurm's default. Included files
are not read, which is reported. Sources: slurm.conf's manual page, Slurm 17.11 to
25.05.
"""

import math
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from audit.formats.slurm.fields import ALWAYS, tres_weights
from audit.formats.slurm.sacctmgr import Fault

DAY: Final = 86_400
RESETS: Final = ("none", "now", "daily", "weekly", "monthly", "quarterly", "yearly")


@dataclass(frozen=True)
class SlurmConf:
    """Settings, each with Slurm's default."""

    cluster: str | None = None
    half_life_s: float = 7.0 * DAY  # PriorityDecayHalfLife; 0: usage does not decay
    period_s: int = 300  # PriorityCalcPeriod
    reset: str = "none"  # PriorityUsageResetPeriod, one of RESETS
    dampening: float = 1.0  # FairShareDampeningFactor
    flags: frozenset[str] = frozenset()  # PriorityFlags, in capitals
    favor_small: bool = False
    max_age_s: float = 7.0 * DAY  # PriorityMaxAge; infinite where it is unlimited
    weights: Mapping[str, float] = field(default_factory=dict)
    """PriorityWeight…, by the rest of the key in lower case; missing ones are 0."""
    tres_weights: Mapping[str, float] = field(default_factory=dict)  # PriorityWeightTRES
    tres: tuple[str, ...] = ALWAYS
    """Tracked resources (AccountingStorageTRES), in Slurm's order."""
    priority_type: str = "priority/basic"
    """PriorityType, in lower case; ``priority/multifactor`` since Slurm 23.11 by default."""
    scheduler: str = "sched/backfill"  # SchedulerType, in lower case
    select: str = "select/cons_tres"  # SelectType, in lower case
    select_parameters: frozenset[str] = frozenset()
    """SelectTypeParameters, in capitals; empty: Slurm's default, which its versions differ in."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """SchedulerParameters, by name; of a flag the value is empty."""
    enforce: frozenset[str] = frozenset()  # AccountingStorageEnforce, in lower case
    preempt_type: str = "preempt/none"  # PreemptType, in lower case
    preempt_modes: frozenset[str] = frozenset()  # PreemptMode, in lower case
    credentials_s: int = 120
    """How long credentials are valid (AuthInfo, cred_expire); a requeued job waits 1 s longer."""
    partitions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """TRESBillingWeights of the partitions."""
    job_factors: Mapping[str, int] = field(default_factory=dict)
    """PriorityJobFactor of those partitions."""
    faults: tuple[Fault, ...] = ()
    """Errors: with any, the settings must not be used."""
    notes: tuple[str, ...] = ()
    """Unread parts, in words for the user."""

    @property
    def fair_tree(self) -> bool:
        """Whether fairshare is Fair Tree rather than classic."""
        return "NO_FAIR_TREE" not in self.flags

    @property
    def multifactor(self) -> bool:
        """Whether queues are served by multifactor priorities."""
        return self.priority_type == "priority/multifactor"

    @property
    def counts_memory(self) -> bool:
        """Whether jobs wait for memory."""
        given = self.select_parameters
        return not given or any(name.endswith("MEMORY") for name in given)

    @property
    def limits_enforced(self) -> bool:
        """Whether slurmctld enforces limits on running jobs."""
        return bool(self.enforce & {"limits", "safe", "all", "2"})

    def parameter(self, name: str, default: int) -> int:
        """Return a whole number ≥ 0 of SchedulerParameters; the default if invalid."""
        given = self.parameters.get(name, "")
        return int(given) if re.fullmatch(r"[0-9]{1,9}", given) else default


def seconds(text: str) -> float | None:
    """Return the seconds of ``5``, ``5:00``, ``1:00:00``, ``7-0``, ``7-00:00:00``; None if invalid.

    A number alone is minutes, as in slurm.conf; ``UNLIMITED`` is infinite.
    """
    plain = text.strip()
    if plain.lower() in ("unlimited", "infinite", "-1"):
        return math.inf
    match = re.fullmatch(r"(?:(\d{1,7})-)?(\d{1,9})(?::(\d{1,9}))?(?::(\d{1,9}))?", plain)
    if match is None:
        return None
    first, second, third = (int(match[n] or 0) for n in (2, 3, 4))
    if match[1] is not None or match[4] is not None:
        return float(int(match[1] or 0) * DAY + first * 3600 + second * 60 + third)
    return float(first * 60 + second)


def _length(text: str, above: float = -1, most: float = sys.float_info.max) -> float:
    value = seconds(text)
    if value is None or not above < value <= most:
        raise ValueError(f"{text!r} is not a valid duration here")
    return value


def _number(text: str, above: float = -1.0) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value > above and math.isfinite(value)):
        raise ValueError(f"{text!r} is not a valid number here")
    return value


def _choice(text: str, *choices: str) -> str:
    if text.lower() not in choices:
        raise ValueError(f"{text!r}: must be one of {', '.join(choices)}")
    return text.lower()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _parameters(text: str) -> dict[str, str]:
    pairs = (word.partition("=") for word in _words(text))
    return {name.strip(): value.strip() for name, _, value in pairs}


def _credentials(text: str) -> int:
    return int(_number(_parameters(text).get("cred_expire", "120"), above=0))


_SETTINGS: Final[dict[str, tuple[str, Callable[[str], Any]]]] = {
    # field: key in lower case, converter
    "cluster": ("clustername", str),
    "half_life_s": ("prioritydecayhalflife", _length),
    "period_s": ("prioritycalcperiod", lambda text: int(_length(text, above=0))),
    "reset": ("priorityusageresetperiod", lambda text: _choice(text, *RESETS)),
    "dampening": ("fairsharedampeningfactor", lambda text: _number(text, above=0.0)),
    "flags": ("priorityflags", lambda text: frozenset(_words(text.upper()))),
    "favor_small": ("priorityfavorsmall", lambda text: _choice(text, "no", "yes") == "yes"),
    "max_age_s": ("prioritymaxage", lambda text: _length(text, above=0, most=math.inf)),
    "tres_weights": ("priorityweighttres", tres_weights),
    "tres": (
        "accountingstoragetres",
        lambda text: tuple(dict.fromkeys((*ALWAYS, *_words(text.lower())))),
    ),
    "priority_type": ("prioritytype", str.lower),
    "scheduler": ("schedulertype", str.lower),
    "select": ("selecttype", str.lower),
    "select_parameters": (
        "selecttypeparameters",
        lambda text: frozenset(_words(text.upper())) - {"NONE"},
    ),
    "parameters": ("schedulerparameters", _parameters),
    "preempt_type": ("preempttype", str.lower),
    "preempt_modes": ("preemptmode", lambda text: frozenset(_words(text.lower()))),
    "credentials_s": ("authinfo", _credentials),
    "enforce": ("accountingstorageenforce", lambda text: frozenset(_words(text.lower()))),
    **{
        f"weights.{name}": (f"priorityweight{name}", _number)
        for name in ("age", "assoc", "fairshare", "jobsize", "partition", "qos")
    },
}
_LINE: Final = re.compile(r"\s*([A-Za-z_]\w*(?:\[\d+\])?)\s*=\s*(.*?)\s*")
_PAIR: Final = re.compile(r"([A-Za-z]\w*)\s*=\s*(\"[^\"]*\"|\S*)")
_NOTHING: Final = ("", "(null)", "n/a")


def read(text: str) -> SlurmConf:
    """Read either text; never raises for its content."""
    values, partitions, notes = _values(text)
    faults: list[Fault] = []
    billed: dict[str, Mapping[str, float]] = {}
    factors: dict[str, int] = {}
    for line, named, pairs in partitions:
        try:
            weights = tres_weights(pairs.get("tresbillingweights", ""))
            factor = int(pairs.get("priorityjobfactor", "1"))
        except ValueError as error:
            faults.append(Fault(line, f"partition {named!r}: {error}"))
            continue
        for name in named.split(","):  # one line may define several
            billed[name], factors[name] = weights, factor
    found: dict[str, Any] = {}
    for name, (key, convert) in _SETTINGS.items():
        if key in values:
            line, value = values[key]
            try:
                found[name] = convert(value)
            except ValueError as error:
                faults.append(Fault(line, f"{key}: {error}"))
    weights = {name: found.pop(name) for name in [*found] if name.startswith("weights.")}
    return SlurmConf(
        **found,
        weights={name.removeprefix("weights."): of for name, of in weights.items() if of},
        partitions=billed,
        job_factors=factors,
        faults=tuple(sorted(faults)),
        notes=tuple(notes),
    )


_Partition = tuple[int, str, Mapping[str, str]]


def _values(text: str) -> tuple[dict[str, tuple[int, str]], list[_Partition], list[str]]:
    """Return settings by key, with their lines; the partitions; notes."""
    values: dict[str, tuple[int, str]] = {}
    partitions: list[_Partition] = []
    notes: list[str] = []
    default: dict[str, str] = {}
    for number, line in _lines(text):
        if re.match(r"include\s", line, re.IGNORECASE):
            notes.append(f"line {number}: {line!r} is not followed")
        elif re.match(r"PartitionName\s*=", line, re.IGNORECASE):
            pairs = {key.lower(): value.strip('"') for key, value in _PAIR.findall(line)}
            name = pairs.pop("partitionname")
            if name.lower() == "default":
                default |= pairs
            else:
                partitions.append((number, name, default | pairs))
        elif match := _LINE.fullmatch(line):
            key, value = match[1].lower(), match[2].strip('"')
            if value.lower() not in _NOTHING:
                values[key] = number, value
    return values, partitions, notes


def _lines(text: str) -> list[tuple[int, str]]:
    """Return numbered lines without comments; a final backslash continues a line."""
    found: list[tuple[int, str]] = []
    before, begun = "", 0
    for number, raw in enumerate([*text.split("\n"), ""], 1):
        line = re.sub(r"(?<!\\)#.*", "", raw).strip()
        begun = begun or number
        if line.endswith("\\"):
            before += line[:-1] + " "
            continue
        if whole := (before + line).strip():
            found.append((begun, whole))
        before, begun = "", 0
    return found
