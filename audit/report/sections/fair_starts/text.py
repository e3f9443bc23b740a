"""Whether the figures of a pool can be trusted, and the jobs that later arrivals delayed most.

How far rules agree with the observed starts says by which rule fair starts are found, and whether
users may be named (SPEC §10). A replay of the period under the modelled policy shows how large the
errors of the papers' fair starts are (SPEC §5).
"""

from typing import Final

from audit.metrics.attempts.fidelity import KEPT_ORDER, KNOWN, MaySay
from audit.policies import Backfill, Order
from audit.registry.causes import CAUSES
from audit.report import wording
from audit.report.figures import Figure
from audit.report.pool import PoolPart
from audit.report.sections.fair_starts.record import Delayed, FairStart, Fidelity, RuleFit

_ORDERS: Final = {of.value: of.traits.phrase or of.traits.label for of in Order}
_BACKFILLS: Final = {of.value: of.traits.phrase for of in Backfill}
_FAIR_ORDERS: Final = {"fairshare": "fairshare", "nuwt": "normalised user wait time"}


def good_fit(pool: PoolPart) -> bool:
    """Return whether the site's rule is known, so that users may be named."""
    fidelity = pool[FairStart].fidelity
    return fidelity is not None and fidelity.may_say is MaySay.POOL_AND_USERS


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
    MaySay.POOL: f"{_KEPT}Read the two figures of the whole pool as two readings of the log. The "
    "report names no user.",
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
