"""Resource equality (RE): did each attempt get its share of what was in use? [S §3.2]

An attempt is *active* from its arrival to its end. With size_i the amount of the counted resource,
active(t) = Σ size of active attempts and used(t) = Σ size of running ones,

    deserved_i   = ∫ over [arrival_i, end_i) of min(size_i · used(t)/active(t), size_i) dt
    consumed_i   = (end_i − start_i) · size_i
    unfairness_i = deserved_i − consumed_i        positive: treated unfairly
    overall      = Σ max(unfairness_i, 0) / number of attempts whose size is known

all in resource-seconds. Over all attempts of a pool Σ unfairness_i = 0.

Conventions: all attempts of the pool are active, those outside the reported period too; open ones
up to ``now``; those that never started only where asked for; those with an unknown start not. Of
an attempt whose size is unknown nobody can say what it deserved or consumed: it counts as 0 in what
is active and used, has no figures of its own, and no mean counts it.

Since used = active − queued ≤ active, deserved_i − consumed_i = size_i · (wait_i − Q_i), where Q_i
is ∫ queued/active dt over the attempt's life. It is computed in this form: where nobody queues the
integrand is exactly 0, and an attempt that neither waited nor saw others wait gets exactly 0.

Source: [S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job Schedulers,
§3.2; for ``weights="jobs"`` the RAQFM of §2.
"""

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.attempts.contention import Lifetimes, lifetimes
from audit.metrics.quantiles import exact_sum
from audit.model import Standing

Weights = Literal["size", "jobs"]
Floats = NDArray[np.float64]


def resource_equality(
    described: pl.DataFrame,
    now: int,
    weights: Weights = "size",
    count_never_started: bool = False,
) -> pl.DataFrame:
    """Adds each attempt's deserved and consumed resource-seconds, and their difference.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool, in any order.
        now: when the log was taken, epoch s: open attempts count up to it.
        weights: ``"size"`` for the size-weighted share of [S] §3.2; ``"jobs"`` for RAQFM's equal
            share, deserved_i = ∫ min(used(t)/N(t), size_i) dt with N(t) active attempts, which is
            not conserved: what a narrow attempt cannot use is given to nobody.
        count_never_started: as [S], count attempts that never started while they were queued.

    Returns:
        ``described`` with re_deserved ≥ 0, re_consumed ≥ 0 and re_unfairness, float64, in
        resource·s; null for attempts that have not ended, or whose size is unknown. O(n log n); for
        ``"jobs"`` times the number of distinct sizes.
    """
    lives = lifetimes(described, now, count_never_started)
    consumed, unfairness = _shares(lives, weights)
    added = pl.DataFrame(
        {
            "re_deserved": consumed + unfairness,
            "re_consumed": consumed,
            "re_unfairness": unfairness,
        }
    )
    ended = described["standing"] == Standing.ENDED.value
    subject = ended & described["size"].is_not_null()
    if not subject.all():
        added = added.select(pl.when(subject).then(pl.all()).name.keep())
    return described.with_columns(added.get_columns())


def overall(with_re: pl.DataFrame) -> float | None:
    """Σ max(unfairness, 0) / number of attempts, ≥ 0, in resource·s per attempt.

    Args:
        with_re: what ``resource_equality`` gave, or those of its rows that a period holds.

    Returns:
        Null where no attempt of known size ended.
    """
    unfairness = with_re["re_unfairness"].drop_nulls().to_numpy()
    if len(unfairness) == 0:
        return None
    return exact_sum(np.maximum(unfairness, 0.0)) / len(unfairness)


def conservation(
    described: pl.DataFrame, now: int, count_never_started: bool = False
) -> float | None:
    """|Σ unfairness| / Σ consumed over all attempts of the pool, open ones included.

    By definition 0 with the size-weighted share; what is left is the rounding of n products. Above
    1e-9 something is wrong with the log or with us. Null where nothing was consumed.
    """
    consumed, unfairness = _shares(lifetimes(described, now, count_never_started), "size")
    total = exact_sum(consumed)
    return abs(exact_sum(unfairness)) / total if total > 0 else None


def _shares(lives: Lifetimes, weights: Weights) -> tuple[Floats, Floats]:
    """Consumed and unfairness of every life."""
    from audit.kernels import sweeps

    count = len(lives.arrival)
    share, share_low = np.empty(count), np.empty(count)
    consumed = ((lives.end - lives.start) * lives.size).astype(np.float64)
    if weights == "size":
        sweeps.shares(*lives, -1, share, share_low)
        np.subtract((lives.start - lives.arrival).astype(np.float64), share, out=share)
        share *= lives.size
        share += 0.0  # −0 becomes 0, which prints better
        return consumed, share
    if weights != "jobs":
        raise ValueError(f"weights = {weights!r}: either 'size' or 'jobs'")
    for cap in np.unique(lives.size).tolist():
        sweeps.shares(*lives, cap, share, share_low)
    return consumed, share - consumed
