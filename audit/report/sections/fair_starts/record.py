"""Fair start times of a pool: read from the database, and whether they can be trusted, in words.

How far rules agree with the observed starts says by which rule fair starts are found, and whether
users may be named (SPEC §10). A replay of the period under the modelled policy shows how large the
errors of the papers' fair starts are (SPEC §5).
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import polars as pl

from audit.metrics.attempts.fidelity import KEPT_ORDER, KNOWN, MaySay
from audit.model import COUNTED, FstStatus
from audit.policies import Backfill, Order
from audit.registry.causes import CAUSES, COLUMNS
from audit.report import wording
from audit.report.contents import PoolPart
from audit.report.figures import Breakdown, Figure, Figures, records, total
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
    delayed = source.by_pool("fair_starts/delayed", most=DELAYED)
    known = source.settings.known
    found = {}
    for pool, parts in source.parts.items():
        every, late = parts.get("partition", ()), "miss_delivered_mean"
        known_parts = (part for part in every if part.figure(late).value is not None)
        partitions = tuple(sorted(known_parts, key=lambda part: -total(part, late)))
        found[pool] = FairStart(
            _statuses(parts.get("fst_status", ())),
            partitions if len(partitions) > 1 else (),
            fidelity_of(source.fidelity[pool]) if source.observed else None,
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
    found = _rules(rows, "agreement")
    # equal: plain ones first, then the policy of the pool (SPEC §10)
    found.sort(key=lambda of: (-(of.agreement or 0.0), of.own_peak, of[:2] != (order, backfill)))
    rules = {rule[:3]: rule for rule in found}
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


_ORDERS: Final = {of.value: of.traits.phrase or of.traits.label for of in Order}
_BACKFILLS: Final = {of.value: of.traits.phrase for of in Backfill}
_FAIR_ORDERS: Final = {"fairshare": "fairshare", "nuwt": "normalised user wait time"}


def good_fit(pool: PoolPart) -> bool:
    """Return whether the site's rule is known, so that users may be named."""
    fidelity = pool[FairStart].fidelity
    return fidelity is not None and fidelity.may_say is MaySay.POOL_AND_USERS


def trusted(pool: PoolPart) -> bool:
    """Return whether delays by later arrivals can judge the order: the site's rule is known.

    They cannot in a part of the workload.
    """
    return not pool.part and good_fit(pool)


def rule(one: RuleFit) -> str:
    """Return a rule in words."""
    if one.order == KEPT_ORDER:
        return "the order in which jobs started"
    peak = ", and no user runs more jobs than ever at once in the log" if one.own_peak else ""
    return f"{_in_words(one.order, one.backfill)}{peak}"


def policy(fidelity: Fidelity) -> str:
    """Return the modelled policy in words."""
    return _in_words(fidelity.order, fidelity.backfill)


def _in_words(order: str, backfill: str) -> str:
    first = _ORDERS.get(order) or wording.name(order)
    return f"{first} {_BACKFILLS.get(backfill) or wording.name(backfill)}"


def fair_order(fidelity: Fidelity | None) -> str:
    """Return a sentence about the fair order if it is not that of arrival, else nothing."""
    order = "" if fidelity is None else _FAIR_ORDERS.get(fidelity.fair_order, "")
    return order and (
        f"The fair order is by {order}, not by arrival. Of the jobs queued before a job, only "
        "those count that ranked ahead of it when it arrived."
    )


def verdict(pool: PoolPart) -> str:
    """Return by which rule fair starts were found, and what they may be used for."""
    fidelity = pool[FairStart].fidelity
    if fidelity is None or fidelity.best is None:
        return _UNKNOWN
    best, share = rule(fidelity.rules[0]), wording.percent(fidelity.best)
    text = f"Of all rules that were tried, {best} agrees best with the observed starts: {share}"
    return f"{text}. {_MAY_SAY[fidelity.may_say]}"


_KEPT: Final = (
    f"No rule reaches {wording.rough_percent(KNOWN)}, so the order in which jobs started is kept. "
)
_UNKNOWN: Final = (
    "How far any rule agrees with the observed starts is not known, so the order in which jobs "
    "started is kept and no user is named."
)
_MAY_SAY: Final = {
    MaySay.POOL: f"{_KEPT}Read the two figures of the whole pool as two readings of the log: no "
    "user is named for such delays.",
    MaySay.PROBABLY: f"{_KEPT}Figures of the whole pool are right within about 6 points. Users "
    "whose delay exceeds a quarter of their waiting by both readings are named as probable.",
    MaySay.POOL_AND_USERS: "That is the rule by which fair starts are found.",
}


def agreements(pool: PoolPart) -> tuple[tuple[str, str, bool], ...]:
    """Return the rules that were tried, the best first: in words, their agreement, if used."""
    fidelity = pool[FairStart].fidelity
    if fidelity is None:
        return ()
    return tuple(
        (wording.first_upper(rule(one)), wording.percent(one.agreement), one == fidelity.used)
        for one in fidelity.rules
    )


def fit_table(pool: PoolPart) -> tuple[tuple[str, str, str], ...]:
    """Return how a replay fits the log: name, figure, and how to read it."""
    over = wording.percent(pool.figure("over_capacity_time").value)
    last = ("Time over capacity", over, "jobs that arrived during this time are left out")
    fidelity = pool[FairStart].fidelity
    if fidelity is None:
        return (last,)
    of = fidelity.figure
    return (
        (
            "Agreement with the observed starts",
            wording.percent(fidelity.of_policy),
            "of this policy, decided anew at each instant; the best rule has "
            f"{wording.percent(fidelity.best)}",
        ),
        (
            "Replayed jobs",
            wording.count(of("replayed").value),
            "in a replay of the period under the modelled policy",
        ),
        (
            "Error of start, median",
            wording.duration(of("start_error_median").value),
            "half of the replayed starts are at most this far from the observed ones",
        ),
        (
            "Error of start, 90th percentile",
            wording.duration(of("start_error_p90").value),
            "nine in ten replayed starts are at most this far from the observed ones",
        ),
        (
            "Rank correlation of replayed waits",
            _correlation(of("wait_correlation")),
            "1: the same jobs wait longest; 0: no relation (Spearman)",
        ),
        (
            "Error of the mean wait",
            _signed(of("mean_wait_error").value),
            "positive: jobs wait longer in the replay",
        ),
        *(
            (
                f"Misses above the {limit} error",
                _beyond(fidelity, key),
                f"share of the total miss without misses below the {limit} error",
            )
            for limit, key in (("median", "median"), ("90th-percentile", "p90"))
        ),
        last,
    )


def _beyond(fidelity: Fidelity, limit: str) -> str:
    strict, relaxed = (
        wording.percent(fidelity.figure(f"miss_{kind}_share_beyond_{limit}").value)
        for kind in ("strict", "relaxed")
    )
    return f"{strict} strict, {relaxed} relaxed"


def _correlation(figure: Figure) -> str:
    if figure.value is None:
        return wording.UNKNOWN
    return f"{figure.value:.2f}".replace("-", "−")


def _signed(seconds: float | None) -> str:
    shown = wording.duration(seconds)
    return f"+{shown}" if seconds is not None and seconds > 0 else shown


def tolerance(fair: FairStart) -> str:
    """Return how much later than its fair start time a job may start without being late."""
    return "the tolerance" if fair.tolerance_s is None else wording.duration(fair.tolerance_s)


def most_delayed(pool: PoolPart) -> tuple[str, ...]:
    """Return two sentences on each of the jobs that later arrivals delayed most.

    They name users only if the site's rule is known.
    """
    return tuple(_story(pool, one) for one in pool[FairStart].delayed)


def _story(pool: PoolPart, one: Delayed) -> str:
    again = f", attempt {one.attempt}" if one.attempt > 1 else ""
    of = f" of user {wording.name(one.user)}" if one.user is not None and good_fit(pool) else ""
    unit = wording.resource(pool.resource)
    size = "" if one.size is None else f" ({wording.plural(one.size, unit)})"
    text = f"Job {wording.name(one.job_id)}{again}{of}{size} waited "
    text += f"{wording.duration(one.wait_s)}{_mostly(one)}. Without later arrivals, it would have "
    text += f"started {wording.duration(one.miss_delivered_s)} earlier"
    if one.miss_cautious_s < one.miss_delivered_s:
        text += f", by the cautious reading {wording.duration(one.miss_cautious_s)}"
    return f"{text}."


def _mostly(one: Delayed) -> str:
    parts = ((part or 0.0, cause) for part, cause in zip(one.parts, CAUSES, strict=True))
    longest, cause = max(parts, key=lambda part: part[0])
    if not one.wait_s or longest <= 0:
        return ""
    return f"; for {wording.percent(longest / one.wait_s)} of that time, {cause.clause}"
