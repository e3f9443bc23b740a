"""How far the figures of fair start times can be believed, decided and said.

They tell what the modelled policy would have done, and no site's scheduler is that policy. How
often it decides as the site did, and how its waits rank beside those observed, tells what these
are worth (SPEC §10); a replay of the period shows by how much it errs (SPEC §5).
"""

from enum import StrEnum
from typing import Final

from audit.metrics.attempts.fidelity import ENOUGH_AGREEMENT, ENOUGH_CORRELATION, fits
from audit.report.record.pool import FairStart, Fidelity, Figure, PoolPart
from audit.report.text import wording

_ORDERS: Final = {
    "fcfs": "first come, first served",
    "sjf": "shortest walltime first",
    "lxf": "largest expansion factor first",
    "recorded": "by the priorities in the log",
    "fairshare": "by fairshare",
    "nuwt": "who waited longest for what they used first",
    "multifactor": "by the priorities that Slurm makes (age, fairshare, size, partition, QOS)",
}
_BACKFILLS: Final = {
    "none": "no backfilling",
    "no_guarantee": "backfilling without guarantees",
    "easy": "EASY backfilling",
    "conservative": "conservative backfilling",
    "conservative_replan": "conservative backfilling, planned afresh each time",
}


class Fit(StrEnum):
    """How well the modelled policy fits the log."""

    UNKNOWN = "unknown"
    POOR = "poor"
    """It starts too few of those that waited when the site did, or its waits rank otherwise."""
    GOOD = "good"


def fit(fidelity: Fidelity | None) -> Fit:
    """What the figures of fair start times are worth under the modelled policy (SPEC §10)."""
    if fidelity is None:
        return Fit.UNKNOWN
    agreement, correlation = _fitting(fidelity)
    if agreement.value is None or correlation.value is None:
        return Fit.UNKNOWN
    return Fit.GOOD if fits(agreement.value, correlation.value) else Fit.POOR


def _fitting(fidelity: Fidelity) -> tuple[Figure, Figure]:
    """What the fit is judged by."""
    return fidelity.figure("agreement"), fidelity.figure("forward_correlation")


_FSTS: Final = ("strict", "relaxed")


def policy(fidelity: Fidelity) -> str:
    """The modelled policy in words."""
    order = _ORDERS.get(fidelity.order) or wording.name(fidelity.order)
    backfill = _BACKFILLS.get(fidelity.backfill) or wording.name(fidelity.backfill)
    return f"{order}, {backfill}"


def fair_order(fidelity: Fidelity | None) -> str:
    """What a fair start time rests on where it is another order than that of arrival."""
    said = "" if fidelity is None else _FAIR_ORDERS.get(fidelity.fair_order, "")
    return said and (
        f"Who would come first is judged {said}, not by arrival: of those queued before an attempt "
        "only those count whose turn was not after its own when it arrived."
    )


_FAIR_ORDERS: Final = {
    "fairshare": "by fairshare",
    "nuwt": "by how long owners waited for what they used",
}


def good_fit(pool: PoolPart) -> bool:
    """Whether the figures of fair start times need no caveat."""
    return fit(pool.fair_start.fidelity) is Fit.GOOD


def verdict(pool: PoolPart) -> str:
    """What the model's fit means for a reader, and from what this is concluded."""
    return f"{caveat(pool)} {reasons(pool)}".strip()


def caveat(pool: PoolPart) -> str:
    """What the model's fit means for a reader."""
    return _VERDICTS[fit(pool.fair_start.fidelity)]


_VERDICTS: Final = {
    Fit.UNKNOWN: "How well the model fits this log is not known, so nobody is named by it.",
    Fit.POOR: "The model fits this log poorly: what looks like unfairness may be its error, and "
    "nobody is named by it.",
    Fit.GOOD: "The model fits this log well enough to go by.",
}


def fit_table(pool: PoolPart) -> tuple[tuple[str, str, str], ...]:
    """What is known of the model's fit: a name, the figure, and how to read it."""
    over = wording.percent(pool.figure("over_capacity_time").value)
    last = (
        "Time over capacity",
        over,
        "attempts that arrived while more was in use than the pool has are left out",
    )
    fidelity = pool.fair_start.fidelity
    if fidelity is None:
        return (last,)
    of = fidelity.figure
    agreement, correlation = _fitting(fidelity)
    return (
        (
            "Agreement",
            wording.percent(agreement.value),
            "of the attempts that waited, those that the model starts when the site did",
        ),
        (
            "Rank correlation of forward waits",
            _rounded(correlation),
            "from what ran and waited at each arrival; 1: the same attempts wait longest",
        ),
        ("Replayed attempts", wording.count(of("replayed").value), "under the policy assumed"),
        (
            "Error of start, median",
            wording.duration(of("start_error_median").value),
            "half of the replayed starts are no further from those observed",
        ),
        (
            "Error of start, 90th percentile",
            wording.duration(of("start_error_p90").value),
            "one replayed start in ten is further off",
        ),
        (
            "Rank correlation of waits",
            _rounded(of("wait_correlation")),
            "1: the same attempts wait longest; 0: no relation (Spearman)",
        ),
        (
            "Error of the mean wait",
            _signed(of("mean_wait_error").value),
            "positive: attempts wait longer in the replay",
        ),
        (
            "Miss total beyond the median",
            _share(fidelity, "median"),
            "what remains when misses below the median error are left out",
        ),
        (
            "Miss total beyond the 90th percentile",
            _share(fidelity, "p90"),
            "what remains when misses below the 90th percentile are left out",
        ),
        last,
    )


def _share(fidelity: Fidelity, limit: str) -> str:
    strict, relaxed = (
        wording.percent(fidelity.figure(f"miss_{fst}_share_beyond_{limit}").value) for fst in _FSTS
    )
    return f"{strict} strict, {relaxed} relaxed"


def _rounded(figure: Figure) -> str:
    """A correlation to two places, which is as far as it means something."""
    if figure.value is None:
        return wording.UNKNOWN
    return f"{figure.value:.2f}".replace("-", "−")


def _signed(seconds: float | None) -> str:
    """A difference of times with its sign."""
    shown = wording.duration(seconds)
    return f"+{shown}" if seconds is not None and seconds > 0 else shown


def reasons(pool: PoolPart) -> str:
    """What the fit is concluded from; nothing where it is not known."""
    fidelity = pool.fair_start.fidelity
    if fidelity is None or fit(fidelity) is Fit.UNKNOWN:
        return ""
    agreement, correlation = _fitting(fidelity)
    return (
        f"Of the attempts that waited it starts {wording.percent(agreement.value)} when the site "
        f"did (enough: {wording.percent(ENOUGH_AGREEMENT)}), and the waits it gives them rank as "
        f"those observed by {_rounded(correlation)} (enough: {ENOUGH_CORRELATION:.2f})."
    )


def tolerance(fair: FairStart) -> str:
    """By how much a start may miss its fair start time before that counts."""
    return "the tolerance" if fair.tolerance_s is None else wording.duration(fair.tolerance_s)
