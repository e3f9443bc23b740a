"""Whether the figures of a pool can be trusted, and the jobs that later arrivals delayed most.

Fair start times are those of a modelled policy. Two figures say how well it fits the log: how often
it starts jobs when the site did, and how its waits correlate with those observed (SPEC §10). A
replay of the period shows the size of its errors (SPEC §5).
"""

from enum import StrEnum
from typing import Final

from audit.metrics.attempts.fidelity import ENOUGH_AGREEMENT, ENOUGH_CORRELATION, fits
from audit.registry.causes import CAUSES
from audit.report.record.pool import FairStart, Fidelity, Figure, Overtaken, PoolPart
from audit.report.text import wording

_ORDERS: Final = {
    "fcfs": "first come, first served",
    "sjf": "shortest walltime first",
    "lxf": "largest expansion factor first",
    "recorded": "by the priorities in the log",
    "fairshare": "by fairshare",
    "nuwt": "longest normalised user wait time first",
    "multifactor": "by Slurm's multifactor priority (age, fairshare, size, partition, QOS)",
}
_BACKFILLS: Final = {
    "none": "without backfilling",
    "no_guarantee": "with backfilling without guarantees",
    "easy": "with EASY backfilling",
    "conservative": "with conservative backfilling",
    "conservative_replan": "with conservative backfilling, replanned at each pass",
}
_FAIR_ORDERS: Final = {"fairshare": "fairshare", "nuwt": "normalised user wait time"}


class Fit(StrEnum):
    """How well the modelled policy fits the log."""

    UNKNOWN = "unknown"
    POOR = "poor"
    GOOD = "good"


def busy(pool: PoolPart) -> str:
    """Return how busy a pool was; empty if that is not known."""
    share = pool.figure("utilization")
    if share.value is None:
        return ""
    more = " (including use above capacity)" if pool.overfilled else ""
    of = " with this part of the workload" if pool.part else ""
    return f"{wording.rough(share)} busy{of}{more}"


def fit(fidelity: Fidelity | None) -> Fit:
    """Return how well the modelled policy fits the log (SPEC §10)."""
    if fidelity is None:
        return Fit.UNKNOWN
    agreement, correlation = _fitting(fidelity)
    if agreement.value is None or correlation.value is None:
        return Fit.UNKNOWN
    return Fit.GOOD if fits(agreement.value, correlation.value) else Fit.POOR


def _fitting(fidelity: Fidelity) -> tuple[Figure, Figure]:
    return fidelity.figure("agreement"), fidelity.figure("forward_correlation")


def good_fit(pool: PoolPart) -> bool:
    """Return whether the modelled policy of a pool fits the log."""
    return fit(pool.fair_start.fidelity) is Fit.GOOD


def policy(fidelity: Fidelity) -> str:
    """Return the modelled policy in words."""
    order = _ORDERS.get(fidelity.order) or wording.name(fidelity.order)
    backfill = _BACKFILLS.get(fidelity.backfill) or wording.name(fidelity.backfill)
    return f"{order} {backfill}"


def fair_order(fidelity: Fidelity | None) -> str:
    """Return a sentence about the fair order if it is not that of arrival, else nothing."""
    order = "" if fidelity is None else _FAIR_ORDERS.get(fidelity.fair_order, "")
    return order and (
        f"The fair order is by {order}, not by arrival. Of the jobs queued before a job, only "
        "those count that ranked ahead of it when it arrived."
    )


def verdict(pool: PoolPart) -> str:
    """Return how well the model fits, and the figures that show it."""
    return f"{_VERDICTS[fit(pool.fair_start.fidelity)]} {_reasons(pool)}".strip()


_VERDICTS: Final = {
    Fit.UNKNOWN: "How well the model fits this log is not known, so the report names no user by "
    "it.",
    Fit.POOR: "The model fits this log poorly. Apparent unfairness may be an error of the model, "
    "so the report names no user by it.",
    Fit.GOOD: "The model fits this log well.",
}


def _reasons(pool: PoolPart) -> str:
    fidelity = pool.fair_start.fidelity
    if fidelity is None or fit(fidelity) is Fit.UNKNOWN:
        return ""
    agreement, correlation = _fitting(fidelity)
    return (
        f"In the model, {wording.percent(agreement.value)} of the jobs that waited start when the "
        f"site started them (at least {wording.percent(ENOUGH_AGREEMENT)} required). The rank "
        f"correlation of modelled and observed waits is {_correlation(correlation)} (at least "
        f"{ENOUGH_CORRELATION:.2f} required)."
    )


def fit_table(pool: PoolPart) -> tuple[tuple[str, str, str], ...]:
    """Return what is known of the model's fit: name, figure, and how to read it."""
    over = wording.percent(pool.figure("over_capacity_time").value)
    last = ("Time over capacity", over, "jobs that arrived during this time are left out")
    fidelity = pool.fair_start.fidelity
    if fidelity is None:
        return (last,)
    of = fidelity.figure
    agreement, correlation = _fitting(fidelity)
    return (
        (
            "Agreement",
            wording.percent(agreement.value),
            "share of the jobs that waited that the model starts when the site did",
        ),
        (
            "Rank correlation of modelled waits",
            _correlation(correlation),
            "modelled from the state at each arrival; 1: the same jobs wait longest",
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


def most_overtaken(pool: PoolPart) -> tuple[str, ...]:
    """Return a few sentences on each of the jobs that later arrivals delayed most.

    They name users only if the model fits the log.
    """
    return tuple(_story(pool, one) for one in pool.fair_start.overtaken)


def _story(pool: PoolPart, one: Overtaken) -> str:
    again = f", attempt {one.attempt}" if one.attempt > 1 else ""
    of = f" of user {wording.name(one.user)}" if one.user is not None and good_fit(pool) else ""
    unit = wording.resource(pool.resource)
    size = "" if one.size is None else f" ({wording.plural(one.size, unit)})"
    text = f"Job {wording.name(one.job_id)}{again}{of}{size} waited "
    text += f"{wording.duration(one.wait_s)}{_mostly(one)}. In the model, later arrivals delayed "
    text += f"it by {wording.duration(one.overtaken_s)}"
    if one.own_s and one.own_s > 0:
        text += f" (jobs of the same user by {wording.duration(one.own_s)})"
    if one.unmodelled_s == 0:
        return f"{text}; the model explains the rest of the wait."
    side = "longer" if one.unmodelled_s > 0 else "less"
    rest = wording.duration(abs(one.unmodelled_s))
    return f"{text}; it waited {rest} {side} than the model explains."


def _mostly(one: Overtaken) -> str:
    parts = ((part or 0.0, cause) for part, cause in zip(one.parts, CAUSES, strict=True))
    longest, cause = max(parts, key=lambda part: part[0])
    if not one.wait_s or longest <= 0:
        return ""
    return f"; for {wording.percent(longest / one.wait_s)} of that time, {cause.clause}"
