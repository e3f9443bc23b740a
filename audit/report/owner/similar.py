"""How long one user's or account's jobs waited beside everybody's similar jobs."""

from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.metrics.uncertainty import NONE, Resamples, interval
from audit.report.contents import Figure
from audit.report.owner.attempts import Scene, local_day

LEAST_DAYS: Final = 10
"""No interval on fewer days (SPEC §10, *Peers*)."""
_SEED: Final = 0
"""Of the bootstrap: the same attempts give the same intervals."""


class Compared(NamedTuple):
    """The figures of attempts whose class is published in the block in which they ended."""

    ratio: Figure
    """Σ wait / Σ mean wait of everybody's attempts of the class in the block."""
    excess: Figure
    """Σ (wait − that mean), s."""
    burst: bool
    """Whether the ratio is above 1, but not of attempts that came when no other was active."""


def compare(scene: Scene, zone: ZoneInfo, resamples: int) -> Compared:
    """Compares the attempts of the period with everybody's similar ones.

    Args:
        scene: the attempts of the pool, and what is published.
        zone: the cluster's, for days: these are drawn again.
        resamples: of the bootstrap.
    """
    ratio, excess = _figures(_compared(scene, scene.attempts), zone, resamples)
    gone = pl.col("end_time").fill_null(np.iinfo(np.int64).max).cum_max().shift(1)
    alone = scene.attempts.filter((gone <= pl.col("arrival_time")).fill_null(True))
    of_alone, _ = _figures(_compared(scene, alone), zone, resamples)
    return Compared(ratio, excess, _longer(ratio) and not _longer(of_alone))


def _compared(scene: Scene, among: pl.DataFrame) -> pl.DataFrame:
    known = scene.subjects.filter(pl.col("similar_wait_s").is_not_null())
    return known.join(among, on=["job_id", "attempt"], how="semi", maintain_order="left")


def _longer(ratio: Figure) -> bool:
    return ratio.lower is not None and ratio.lower > 1


def _figures(compared: pl.DataFrame, zone: ZoneInfo, resamples: int) -> tuple[Figure, Figure]:
    days = (
        compared.group_by(local_day(pl.col("arrival_time"), zone).alias("day"))
        .agg(pl.col("wait_s", "similar_wait_s").sum().cast(pl.Float64))
        .sort("day")
    )
    wait, similar = days["wait_s"].to_numpy(), days["similar_wait_s"].to_numpy()
    expected = float(similar.sum())
    within = of_excess = NONE
    if len(days) >= LEAST_DAYS:
        drawn = Resamples(len(days), _SEED, resamples)
        waits, similars = drawn.sums(np.arange(len(days)), wait, similar)
        waited = similars > 0
        within = interval(waits[waited] / similars[waited])
        of_excess = interval(waits - similars)
    number, excess = compared.height, float(wait.sum()) - expected
    return (
        Figure("peer_ratio", wait.sum() / expected if expected else None, *within, "", number),
        Figure("excess_wait", excess if number else None, *of_excess, "s", number),
    )
