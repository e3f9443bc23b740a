"""How far the figures of fair start times can be believed, decided and said.

They tell what the modelled policy would have done, and no site's scheduler is that policy. A replay
of the period under it shows by how much the model errs (SPEC §5, *Model fidelity*); a miss that is
no larger than such errors may be one of them.
"""

from enum import StrEnum
from typing import Final

from audit.report.contents import FairStart, Fidelity, Figure, PoolPart
from audit.report.text import wording

_MOST: Final = 0.5
"""Less than this share of the miss total is not most of it; and waits whose ranks correlate by less
than this are hardly the same."""

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
    """Most of the miss total lies in misses below the median error, or waits hardly correlate."""
    LIMITED = "limited"
    """Most of it lies in misses below the 90th percentile of the error."""
    GOOD = "good"
    """Most of it lies beyond."""


def fit(fidelity: Fidelity | None) -> Fit:
    """What the figures of fair start times are worth under the modelled policy.

    Of the strict and the relaxed share the smaller decides; where nothing was missed, neither does.
    """
    if fidelity is None or fidelity.figure("start_error_median").value is None:
        return Fit.UNKNOWN
    correlation = fidelity.figure("wait_correlation").value
    if _beyond(fidelity, "median") < _MOST or (correlation is not None and correlation < _MOST):
        return Fit.POOR
    return Fit.LIMITED if _beyond(fidelity, "p90") < _MOST else Fit.GOOD


def _beyond(fidelity: Fidelity, limit: str) -> float:
    shares = (fidelity.figure(f"miss_{fst}_share_beyond_{limit}").value for fst in _FSTS)
    return min((share for share in shares if share is not None), default=1.0)


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


def judged(fidelity: Fidelity | None) -> str:
    """The same in a sentence, with a space behind it."""
    said = "" if fidelity is None else _FAIR_ORDERS.get(fidelity.fair_order, "")
    return said and f"Whose turn it was is judged {said}. "


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
    Fit.UNKNOWN: "How well the model fits this log is not known.",
    Fit.POOR: "The model fits this log poorly: what looks like unfairness may be its error.",
    Fit.LIMITED: "The model fits this log in part: single figures may be its error.",
    Fit.GOOD: "Most of what was missed is beyond the errors of the model.",
}


def fit_line(pool: PoolPart) -> str:
    """All that must stand beside a figure of fair start times, as short as can be."""
    over = wording.percent(pool.figure("over_capacity_time").value)
    last = f"{over} of the time over capacity."
    fidelity = pool.fair_start.fidelity
    if fidelity is None:
        return f"Model fidelity: not known; {last}"
    of = fidelity.figure
    return (
        f"Model fidelity ({wording.name(fidelity.order)} + {wording.name(fidelity.backfill)}): "
        f"starts off by {wording.duration(of('start_error_median').value)} (median), "
        f"{wording.duration(of('start_error_p90').value)} (90th percentile); misses beyond these: "
        f"{_share(fidelity, 'median')}; {_share(fidelity, 'p90')}; correlation of waits "
        f"{_rounded(of('wait_correlation'))}; mean wait {_signed(of('mean_wait_error').value)}; "
        f"{last}"
    )


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
    return (
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
    """What a fit that is not good is concluded from; nothing where it is, or is not known."""
    fidelity = pool.fair_start.fidelity
    if fidelity is None:
        return ""
    said = []
    correlated = fidelity.figure("wait_correlation")
    if correlated.value is not None and correlated.value < _MOST:
        said.append(f"Waits in a replay and those observed correlate by {_rounded(correlated)}.")
    for limit, name in (("median", "the median"), ("p90", "the 90th percentile of the")):
        share = _beyond(fidelity, limit)
        if share < _MOST:
            error = wording.duration(fidelity.figure(f"start_error_{limit}").value)
            said.append(
                f"Of what was missed, {wording.percent(share)} is left without misses below "
                f"{name} error of a replayed start, {error}."
            )
            break
    return " ".join(said)


def tolerance(fair: FairStart) -> str:
    """By how much a start may miss its fair start time before that counts."""
    return "the tolerance" if fair.tolerance_s is None else wording.duration(fair.tolerance_s)
