"""Usage as slurmctld computes it: the RawUsage of ``sshare`` (SPEC §7, *Usage*, ``slurm``).

An attempt j is charged b_j · u_j in each second from its start to its end, suspended time included:
b_j is its billing by the weights of its partition (``charge``), u_j the UsageFactor of its QOS.
slurmctld books that in *ticks*, one every p = PriorityCalcPeriod, at instants τ ≡ φ (mod p):

    at each tick τ    usage ← usage · f^p, then for each attempt that runs  + d · f^d · b_j · u_j
    when j ends       usage ← usage + d · f^d · b_j · u_j

with d the seconds since the later of j's start and the last tick, and f = 1 − 0.693/H per second (H
the half-life; f = 1 where H = 0). An attempt that ends at the instant of a tick is booked first. So
usage changes at ticks and ends only, and depends on the phase φ. Here each attempt's bookings are
summed in closed form.

With a reset period (PriorityUsageResetPeriod), all usage is dropped at the first tick at or after
each midnight that begins a day, a week (on Sunday), a month, a quarter or a year in the cluster's
zone; that tick then books what ran since the tick before.

Usage is in billing-seconds, ≥ 0. slurmctld adds in long double, this module in double: figures
agree to some 12 digits.

Accounting does not show usage that an administrator reset, changed settings, factors and weights
(today's are applied to all of the past), late ticks, and ticks before slurmctld was last started,
which have another phase.

Sources: Slurm's priority/multifactor plugin, 22.05 (observed, see docs/sshare.md); slurm.conf's
manual page ("PriorityDecayHalfLife", "PriorityUsageResetPeriod", "TRESBillingWeights").
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import ClassVar, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from audit.array_types import Floats, Ints
from audit.kernels.elementary import exp, expm1
from audit.metrics.attempts.contention import gpu_types, with_gpu_types
from audit.metrics.fairshare.usage import Grouped
from audit.metrics.waits.queue import ranges
from audit.periods import day_of, day_start
from audit.words import gpu_type

RESETS: Final = ("none", "now", "daily", "weekly", "monthly", "quarterly", "yearly")
"""PriorityUsageResetPeriod. ``now`` is once, at an unknown start of slurmctld: none here."""

RESET_S: Final = {
    "daily": 86_400,
    "weekly": 7 * 86_400,
    "monthly": 30 * 86_400,
    "quarterly": 91 * 86_400,
    "yearly": 365 * 86_400,
}
"""Time between two resets; of months and longer, about."""
LONGEST_RESET_S: Final = 367 * 86_400

COUNTED: Final = {
    "cpu": ("cpus", 1.0),
    "mem": ("mem_bytes", 1.0 / (1 << 20)),
    "node": ("nodes", 1.0),
    "gres/gpu": ("gpus", 1.0),
}
"""Resources of ``model.ATTEMPTS`` by Slurm's name: column, and base units in one of it."""

_TYPED: Final = "gres/gpu:"
_ON_NODE: Final = ("cpu", "mem", "node")


@dataclass(frozen=True, kw_only=True)
class SlurmUsage:
    """Usage as slurmctld books it, a ``fairshare.usage.Method``.

    Args:
        half_life_s: PriorityDecayHalfLife, s; 0: no decay.
        period_s: PriorityCalcPeriod, s, ≥ 1.
        phase_s: an instant of a tick, or any a whole number of periods away.
        reset: PriorityUsageResetPeriod, one of ``RESETS``, in ``zone``.

    Raises:
        ValueError: one of them is out of range; a reset without a zone; or usage would neither
            decay nor be reset, which slurmctld refuses, too.
    """

    name: ClassVar[str] = "slurm"

    half_life_s: float
    period_s: int = 300
    phase_s: int = 0
    reset: str = "none"
    zone: ZoneInfo | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.half_life_s < math.inf or 0 < self.half_life_s < 1:
            raise ValueError(
                f"half_life_s = {self.half_life_s}: at least 1 s, or 0 for no decay (with a reset)"
            )
        if self.period_s < 1:
            raise ValueError(f"period_s = {self.period_s}: a period lasts at least 1 s")
        if self.reset not in RESETS:
            raise ValueError(f"reset = {self.reset!r}: one of {', '.join(RESETS)}")
        if self.half_life_s == 0 and self.reset == "none":
            raise ValueError(
                "half_life_s = 0 without a reset: usage would never be forgotten; slurmctld needs "
                "PriorityUsageResetPeriod then"
            )
        if self.reset not in ("none", "now") and self.zone is None:
            raise ValueError(f"reset {self.reset!r}: the cluster's zone is not given")

    @property
    def rate(self) -> float:
        """Return ln f, per second; ≤ 0."""
        return math.log1p(-0.693 / self.half_life_s) if self.half_life_s else 0.0

    def tick(self, instant: int) -> int:
        """Return the last tick at or before ``instant``, epoch s."""
        return instant - (instant - self.phase_s) % self.period_s

    def resets(self, begin: int, end: int) -> Ints:
        """Return the numbers of ticks from ``begin`` to ``end`` (epoch s) that drop all usage.

        The tick of number 0 is at ``phase_s``.
        """
        if self.reset in ("none", "now"):
            return np.zeros(0, np.int64)
        assert self.zone is not None  # seen to above
        first, last = day_of(begin, self.zone), day_of(end, self.zone)
        days = (first + timedelta(days=k) for k in range((last - first).days + 1))
        bounds = (day_start(day, self.zone) for day in days if _begin(day, self.reset) == day)
        ticks = np.array([-((self.phase_s - bound) // self.period_s) for bound in bounds], np.int64)
        return np.unique(ticks)

    def sweep(self, grouped: Grouped, instants: Ints) -> tuple[Floats, Floats]:
        """Return usage as ``Method.sweep``. Cost: attempts · instants that each spans."""
        owners, height = len(grouped.offsets) - 1, len(instants)
        owner = np.repeat(np.arange(owners), np.diff(grouped.offsets))
        tick = (instants - self.phase_s) // self.period_s  # the last at or before each instant
        dropped = self._reset_ticks(tick)
        fresh = np.zeros(height * owners)
        for (rows, attempt), amount in (
            self._at_ticks(grouped, tick, dropped),
            self._at_ends(grouped, instants, tick, dropped),
        ):
            fresh += np.bincount(rows * owners + owner[attempt], amount, len(fresh))
        used = fresh.reshape(height, owners)
        for row in range(1, height):
            if dropped[row] <= tick[row - 1]:
                passed = float(tick[row] - tick[row - 1]) * self.period_s
                used[row] += used[row - 1] * math.exp(self.rate * passed)
        return used, used.sum(axis=1)

    def _at_ticks(
        self, grouped: Grouped, tick: Ints, dropped: Ints
    ) -> tuple[tuple[Ints, Ints], Floats]:
        """Return the bookings of ticks, one for each attempt and span between two instants."""
        first, last = self._ticks(grouped)
        begin = np.searchsorted(tick, first, "left")
        end = np.searchsorted(tick, last, "left") + 1
        count = np.where(last >= first, np.minimum(end, len(tick)) - begin, 0).clip(0)
        attempt, row = ranges(begin, count)
        before = np.concatenate([[np.iinfo(np.int64).min], tick[:-1] + 1])
        low = np.maximum(np.maximum(first[attempt], before[row]), dropped[row])
        high = np.minimum(last[attempt], tick[row])
        whole = float(self.period_s)
        # of the first tick only the part since the start
        partial = first * self.period_s + self.phase_s - grouped.start
        begins = (low == first[attempt]) & (low <= high)
        seconds = np.where(begins, partial[attempt], 0).astype(np.float64)
        age = (tick[row] - low).astype(np.float64) * whole
        amount = seconds * exp(self.rate * (seconds + age))
        low += begins
        ticks = (high - low + 1).clip(0).astype(np.float64)
        age = (tick[row] - high).astype(np.float64) * whole
        if self.rate:
            # Σ of ticks terms of a geometric series with ratio f^p
            series = expm1(self.rate * whole * ticks) / math.expm1(self.rate * whole)
        else:
            series = ticks
        amount += np.where(ticks > 0, whole * exp(self.rate * (whole + age)) * series, 0.0)
        return (row, attempt), amount * grouped.penalty[attempt]

    def _at_ends(
        self, grouped: Grouped, instants: Ints, tick: Ints, dropped: Ints
    ) -> tuple[tuple[Ints, Ints], Floats]:
        _, last = self._ticks(grouped)
        row = np.searchsorted(instants, grouped.end, "left")
        attempt = np.flatnonzero((row < len(instants)) & (grouped.end > grouped.start))
        row = row[attempt]
        kept = last[attempt] >= dropped[row]
        row, attempt = row[kept], attempt[kept]
        last = last[attempt]
        since = np.maximum(grouped.start[attempt], last * self.period_s + self.phase_s)
        seconds = (grouped.end[attempt] - since).astype(np.float64)
        age = (tick[row] - last).astype(np.float64) * self.period_s
        amount = seconds * exp(self.rate * (seconds + age))
        return (row, attempt), amount * grouped.penalty[attempt]

    def _ticks(self, grouped: Grouped) -> tuple[Ints, Ints]:
        """Return the numbers of the first tick after each start and the last before each end."""
        first = (grouped.start - self.phase_s) // self.period_s + 1
        last = -((self.phase_s - grouped.end) // self.period_s) - 1
        return first, last

    def _reset_ticks(self, tick: Ints) -> Ints:
        """Return the number of the last tick up to each that dropped all usage."""
        begin, end = (int(tick[k]) * self.period_s + self.phase_s for k in (0, -1))
        resets = self.resets(begin - LONGEST_RESET_S, end)
        if not len(resets):
            return np.full(len(tick), np.iinfo(np.int64).min)
        return resets[np.searchsorted(resets, tick, "right") - 1]


class Charged(NamedTuple):
    """Attempts with the charge of a second; counts are of attempts that started."""

    attempts: pl.DataFrame
    """The given frame with ``billing`` (b_j), ``usage_factor`` (u_j) and ``penalty``, b_j · u_j."""
    unknown_partitions: dict[str, int]  # attempts billed by CPUs, by unknown partition
    unknown_qos: dict[str, int]  # attempts with factor 1, by unknown QOS


def charge(
    attempts: pl.DataFrame,
    amounts: Mapping[str, pl.Expr | pl.Series],
    weights: Mapping[str, Mapping[str, float]],
    factors: Mapping[str, float],
    flags: Collection[str] = (),
    otherwise: Mapping[str, float] | None = None,
) -> Charged:
    """Add the charge of slurmctld for a second of each attempt.

        billing = Σ over resources x of weight_x · amount_x        of its partition's weights
                  the same by ``otherwise``, else the CPUs         without such weights

    With the flag MAX_TRES the greatest term of resources on nodes (cpu, mem, node, gres/…) counts
    instead of their sum; with MAX_TRES_GRES the greatest of cpu, mem and node, and all of gres/….
    Terms of other resources (licenses, burst buffers) are added either way.

    Args:
        attempts: partition, qos, start_time.
        amounts: of each resource by Slurm's name, in its base unit, including ``cpu``; null, and a
            missing resource, is 0 (see ``uncounted``).
        weights: TRESBillingWeights by partition, per base unit.
        otherwise: those of partitions without any.
    """
    named = attempts.with_columns(
        (pl.lit(amount) if isinstance(amount, pl.Series) else amount)
        .cast(pl.Float64)
        .fill_null(0.0)
        .alias(_column(name))
        for name, amount in amounts.items()
    )
    billing = pl.col(_column("cpu"))
    if otherwise is not None:
        billing = _billed(otherwise, amounts, flags)
    for partition, by_resource in weights.items():
        if by_resource:
            this = pl.col("partition") == partition
            billing = pl.when(this).then(_billed(by_resource, amounts, flags)).otherwise(billing)
    factor = pl.col("qos").replace_strict(dict(factors), default=1.0, return_dtype=pl.Float64)
    charged = named.with_columns(billing=billing, usage_factor=factor.fill_null(1.0))
    charged = charged.with_columns(penalty=pl.col("billing") * pl.col("usage_factor"))
    return Charged(
        charged.drop(_column(name) for name in amounts),
        _strangers(attempts, "partition", weights),
        _strangers(attempts, "qos", factors),
    )


def stored(attempts: pl.DataFrame) -> dict[str, pl.Series]:
    """Return the amounts for ``charge`` from the columns of ``model.ATTEMPTS``."""
    types = gpu_types(attempts)
    typed = with_gpu_types(attempts, types)
    return {
        name: attempts[column].cast(pl.Float64) * part for name, (column, part) in COUNTED.items()
    } | {f"{_TYPED}{gpu_type(name)}": typed[name].cast(pl.Float64) for name in types}


def uncounted(weights: Mapping[str, Mapping[str, float]], known: Collection[str]) -> list[str]:
    """Return billed resources with unknown amounts; a log with types of GPUs names all of them."""
    billed = {name for one in weights.values() for name, weight in one.items() if weight}
    if any(name.startswith(_TYPED) for name in known):
        billed = {name for name in billed if not name.startswith(_TYPED)}
    return sorted(billed - set(known))


def _billed(
    weights: Mapping[str, float], amounts: Collection[str], flags: Collection[str]
) -> pl.Expr:
    names = [name for name in weights if name in amounts and name != "billing"]
    terms = {name: pl.col(_column(name)) * weights[name] for name in names}
    greatest: list[pl.Expr] = []
    if "MAX_TRES" in flags or "MAX_TRES_GRES" in flags:
        gres = "MAX_TRES" in flags
        one_of = [name for name in names if name in _ON_NODE or (gres and name.startswith("gres"))]
        greatest = [terms.pop(name) for name in one_of]
    parts = [pl.max_horizontal(greatest)] if greatest else []
    parts += list(terms.values())
    return pl.sum_horizontal(parts) if parts else pl.lit(0.0)


def _column(name: str) -> str:
    return f"tres {name}"


def _strangers(attempts: pl.DataFrame, column: str, known: Mapping[str, object]) -> dict[str, int]:
    counts = attempts.filter(pl.col("start_time").is_not_null())[column].drop_nulls().value_counts()
    return {name: count for name, count in sorted(counts.iter_rows()) if name not in known}


def _begin(day: date, reset: str) -> date:
    if reset == "weekly":
        return day - timedelta(days=(day.weekday() + 1) % 7)
    if reset == "monthly":
        return day.replace(day=1)
    if reset == "quarterly":
        return day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
    if reset == "yearly":
        return day.replace(month=1, day=1)
    return day


class Fit(NamedTuple):
    """The phase of the ticks that explains a sample of ``sshare`` best."""

    phase_s: int  # the middle one of equally good phases
    agree: int  # number of figures with the printed whole part
    equals: int  # number of equally good phases


def fit_phase(method: SlurmUsage, grouped: Grouped, instant: int, raw_usage: ArrayLike) -> Fit:
    """Return the phase whose usage at ``instant`` is nearest to that printed by ``sshare``.

    Every second of one period is tried. ``raw_usage`` is by owner; NaN: unknown.
    """
    printed = np.asarray(raw_usage, np.float64)
    known = np.isfinite(printed)
    scores = []
    for phase in range(method.period_s):
        used = replace(method, phase_s=phase).sweep(grouped, np.array([instant]))[0][0][known]
        off = np.abs(used - printed[known] - 0.5).clip(0.5) - 0.5
        agree = int((np.floor(used + 1e-9) == printed[known]).sum())
        scores.append((agree, -float(off.sum())))
    best = max(scores)
    good = [phase for phase, score in enumerate(scores) if score == best]
    return Fit(good[len(good) // 2], best[0], len(good))
