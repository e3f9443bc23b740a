"""Resource equality (RE): the share that each attempt got of the resources in use [S §3.2].

An attempt is *active* from its arrival to its end. With size_i the amount of the counted resource,
active(t) = Σ size of active attempts and used(t) = Σ size of running ones,

    deserved_i   = ∫ over [arrival_i, end_i) of min(size_i · used(t)/active(t), size_i) dt
    consumed_i   = (end_i − start_i) · size_i
    unfairness_i = deserved_i − consumed_i        positive: treated unfairly
    overall      = Σ max(unfairness_i, 0) / number of attempts of known size

all in resource-seconds. Over all attempts of a pool Σ unfairness_i = 0.

Conventions: all attempts of the pool are active, those outside the reported period included; open
ones up to ``now``; those that never started only on request; those of unknown start never. An
attempt of unknown size counts as 0 in active and used, has no figures, and counts in no mean.

Since used = active − queued ≤ active, deserved_i − consumed_i = size_i · (wait_i − Q_i), where Q_i
is ∫ queued/active dt over the attempt's life. The code uses this form: the integrand is exactly 0
without a queue, so an attempt that neither waited nor overlapped with others' waits gets exactly 0.

Source: [S] G. Sabin, P. Sadayappan, Unfairness Metrics for Space-Sharing Parallel Job Schedulers,
§3.2; for ``weights="jobs"`` the RAQFM of §2.
"""

from typing import Literal

import numpy as np
import polars as pl

from audit.array_types import Floats
from audit.kernels import sweeps
from audit.metrics.attempts.contention import Lifetimes, lifetimes
from audit.metrics.quantiles import exact_sum
from audit.model import Standing

Weights = Literal["size", "jobs"]


def resource_equality(
    described: pl.DataFrame, now: int, weights: Weights = "size", count_never_started: bool = False
) -> pl.DataFrame:
    """Add each attempt's deserved and consumed resource-seconds, and their difference.

    Args:
        described: columns of ``model.DESCRIBED``; *all* attempts of one pool, in any order. now:
        time of the log, up to which open attempts count, epoch s. weights: ``"size"`` for the
        size-weighted share of [S] §3.2; ``"jobs"`` for RAQFM's equal share,
            deserved_i = ∫ min(used(t)/N(t), size_i) dt with N(t) active attempts. It is not
            conserved: the part that a narrow attempt cannot use is lost.
        count_never_started: count attempts that never started while they were queued, as [S] does.

    Returns:
        ``described`` with re_deserved ≥ 0, re_consumed ≥ 0 and re_unfairness, float64, in
        resource·s; null for attempts that have not ended, or of unknown size. O(n log n), for
        ``"jobs"`` times the number of distinct sizes.
    """
    lives = lifetimes(described, now, count_never_started)
    consumed, unfairness = _shares(lives, weights)
    added = pl.DataFrame(
        {"re_deserved": consumed + unfairness, "re_consumed": consumed, "re_unfairness": unfairness}
    )
    ended = described["standing"] == Standing.ENDED.value
    subject = ended & described["size"].is_not_null()
    if not subject.all():
        added = added.select(pl.when(subject).then(pl.all()).name.keep())
    return described.with_columns(added.get_columns())


def overall(with_re: pl.DataFrame) -> float | None:
    """Return Σ max(unfairness, 0) / number of attempts, resource·s; null without attempts."""
    unfairness = with_re["re_unfairness"].drop_nulls().to_numpy()
    if len(unfairness) == 0:
        return None
    return exact_sum(np.maximum(unfairness, 0.0)) / len(unfairness)


def conservation(
    described: pl.DataFrame, now: int, count_never_started: bool = False
) -> float | None:
    """Return |Σ unfairness| / Σ consumed over all attempts of the pool, open ones included.

    It is 0 up to rounding: a value above 1e-9 shows a fault in the log or in the code. Null without
    consumption.
    """
    consumed, unfairness = _shares(lifetimes(described, now, count_never_started), "size")
    total = exact_sum(consumed)
    return abs(exact_sum(unfairness)) / total if total > 0 else None


def _shares(lives: Lifetimes, weights: Weights) -> tuple[Floats, Floats]:
    """Return the consumption and unfairness of every lifetime."""
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
