"""The statuses, fidelity and delayed attempts behind fair start times."""

from dataclasses import dataclass
from typing import NamedTuple

from audit.metrics.attempts.fidelity import MaySay
from audit.model import COUNTED, FstStatus
from audit.report.figures import Breakdown, Figure, Figures


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
