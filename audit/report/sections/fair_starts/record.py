"""The statuses, fidelity and delayed attempts behind fair start times, read from the database."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts.fidelity import MaySay
from audit.model import COUNTED, FstStatus
from audit.registry.causes import COLUMNS
from audit.report.figures import Breakdown, Figure, Figures, by_total, records
from audit.report.source import SectionSource


class RuleFit(NamedTuple):
    """How far a rule agrees with the observed starts."""

    order: str  # fidelity.KEPT_ORDER: that of the observed starts
    backfill: str
    own_peak: bool  # whether no user may run more jobs than it ever had running
    agreement: float | None  # A; None: nothing was compared


@dataclass(frozen=True, slots=True)
class Fidelity(Figures):
    """How well rules agree with the observed starts, and a replay reproduces them."""

    order: str  # of the modelled policy
    backfill: str
    figures: tuple[Figure, ...]  # of that policy: replayed, start_error_median, …
    fair_order: str = "fcfs"  # the order that counts as fair in the model
    rules: tuple[RuleFit, ...] = ()  # the best first
    used: RuleFit | None = None  # by which fair starts were found; None: not known

    @property
    def best(self) -> float | None:
        """The best agreement of all rules."""
        return self.rules[0].agreement if self.rules else None

    @property
    def may_say(self) -> MaySay:
        """Permitted uses of fair starts on the delivered capacity."""
        return MaySay.at(self.best)

    @property
    def of_policy(self) -> float | None:
        """The agreement of the modelled policy, by sums or by free nodes; None: not known."""
        policy = (self.order, self.backfill, False)
        plain = (rule.agreement for rule in self.rules if rule[:3] == policy)
        known = [next(plain, None), self.figure("agreement_nodes").value]
        return max((one for one in known if one is not None), default=None)


class StatusCount(NamedTuple):
    """The number of attempts whose fair start time has one status."""

    status: str  # model.FstStatus
    attempts: int


@dataclass(frozen=True, slots=True)
class Delayed:
    """An attempt that later arrivals delayed; times in s."""

    job_id: str
    attempt: int
    user: str | None
    size: int | None
    wait_s: int
    parts: tuple[float | None, ...]  # in the order of ``registry.causes.CAUSES``
    miss_delivered_s: int
    miss_cautious_s: int


@dataclass(frozen=True, slots=True)
class FairStart:
    """Statuses, fidelity and delayed attempts behind a pool's fair start times (FST)."""

    statuses: tuple[StatusCount, ...] = ()  # of the FST of the model; empty: none was computed
    partitions: tuple[Breakdown, ...] = ()  # largest total miss first; empty if there is only one
    fidelity: Fidelity | None = None  # None: not known
    tolerance_s: int | None = None  # None: not known
    delayed: tuple[Delayed, ...] = ()  # most delayed first

    @property
    def subjects(self) -> int:
        """Attempts of any status."""
        return sum(row.attempts for row in self.statuses)

    @property
    def counted(self) -> int:
        """Attempts whose FST counts in figures."""
        return sum(row.attempts for row in self.statuses if row.status in COUNTED)

    @property
    def not_sampled(self) -> int:
        """Attempts that a random sample represents."""
        left_out = FstStatus.NOT_SAMPLED
        return sum(row.attempts for row in self.statuses if row.status == left_out)


DELAYED: Final = 10
"""Most delayed attempts listed for each pool."""
_STATUSES: Final = {status.value: place for place, status in enumerate(FstStatus)}


def read(source: SectionSource) -> dict[str, FairStart]:
    """Return the statuses, fidelity and delayed attempts of each pool."""
    fidelity = source.by_pool("fair_starts/fidelity") if source.observed else {}
    delayed = source.by_pool("fair_starts/delayed", most=DELAYED)
    known = source.settings.known
    found = {}
    for pool, parts in source.parts.items():
        partitions = by_total(parts.get("partition", ()), "miss_delivered_mean")
        found[pool] = FairStart(
            _statuses(parts.get("fst_status", ())),
            partitions if len(partitions) > 1 else (),
            fidelity_of(fidelity[pool]) if fidelity else None,
            source.settings.metrics.tolerance_s if known else None,
            _delayed(delayed[pool]),
        )
    return found


def fidelity_of(rows: pl.DataFrame) -> Fidelity | None:
    """Return what the rows of a pool in the view ``fidelity`` say; None: there are none."""
    of_policy = rows.filter(pl.col("own_peak").is_null())
    if of_policy.is_empty():
        return None
    order, backfill, fair_order = of_policy.select("order", "backfill", "fair_order").row(0)
    rules = {rule[:3]: rule for rule in _rules(rows, "agreement")}
    used = next(iter(_rules(rows, "rule_used")), None)
    return Fidelity(
        *(order, backfill, records(Figure, of_policy), fair_order, tuple(rules.values())),
        None if used is None else rules.get(used[:3], used._replace(agreement=None)),
    )


def _rules(rows: pl.DataFrame, metric: str) -> list[RuleFit]:
    """Return the rules with a figure, the greatest first."""
    found = rows.filter(pl.col("own_peak").is_not_null(), metric=metric)
    found = found.sort("value", descending=True, nulls_last=True, maintain_order=True)
    return [RuleFit(*row) for row in found.select("order", "backfill", "own_peak", "value").rows()]


def _statuses(parts: tuple[Breakdown, ...]) -> tuple[StatusCount, ...]:
    """Return the number of attempts by status, in the order of ``FstStatus``."""
    counts = [
        StatusCount(part.label, int(number))
        for part in parts
        if (number := part.figure("fst_attempts").value)
    ]
    return tuple(sorted(counts, key=lambda of: (_STATUSES.get(of.status, len(_STATUSES)), of)))


def _delayed(rows: pl.DataFrame) -> tuple[Delayed, ...]:
    parts = rows.select(COLUMNS).rows()
    return records(Delayed, rows.with_columns(pl.Series("parts", parts, pl.Object)))
