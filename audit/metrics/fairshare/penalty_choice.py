"""What the choice of a penalty changes: who is charged for which part of everything (SPEC §7).

The same attempts, charged by several penalties. Of each user or account o under penalty k, with
usage as in ``metrics.fairshare.usage``,

    usage_fraction_k,o = usage_k,o / Σ over all of usage_k  0 to 1; 0 where nothing was used
    shift_k,o          = usage_fraction_k,o − usage_fraction_first,o    −1 to 1; Σ_o shift = 0
    moved_k            = ½ Σ_o |shift_k,o|  0 to 1; part of everything charged to others

Fractions have no unit, so penalties whose usage has none in common (``billing``, ``pe``) compare
too. The first penalty is what the others are compared with: what a site has now, or ``cpu``.

Conventions: attempts whose owner the log does not name are those of a null entity.

Source: [M] D. Klusáček, H. Rudová, M. Jaroš, Multi Resource Fairness: Problems and Challenges, §1,
fig. 1: a tenth of a node's processors and all of its memory, charged as a tenth of the node.
"""

import math
from collections.abc import Mapping

import polars as pl

from audit.metrics.fairshare.usage import Kind, Method, usage

COMPARED = pl.Schema(
    {
        "penalty": pl.String,
        "entity": pl.String,
        "usage": pl.Float64,
        "usage_fraction": pl.Float64,
        "shift": pl.Float64,
    }
)
"""Columns of what ``compare`` gives."""


def compare(
    charged_by: Mapping[str, pl.DataFrame], kind: Kind, method: Method, instant: int, now: int
) -> pl.DataFrame:
    """Everybody's part of all usage under each penalty.

    Args:
        charged_by: by penalty, the same attempts as it charges them: start_time, end_time, the
            column ``kind`` and ``penalty``; all attempts of the pools that count, as for ``usage``.
            The first is what the others are compared with.
        kind: the column that names the entity.
        method: how usage decays; ``Windows`` with one window is what was used in it.
        instant: as of when, epoch s.
        now: when the log was taken, epoch s: open attempts count up to it.

    Returns:
        Columns of ``COMPARED``, in the order of the penalties, then by entity, null first; who used
        something under any penalty has a row under each.
    """
    frames = [
        pl.DataFrame(
            {
                "penalty": name,
                "entity": used.entities,
                "usage": used.usage[0],
                "usage_fraction": used.fraction[0],
            },
            schema_overrides={"penalty": pl.String, "entity": pl.String},
        )
        for name, charged in charged_by.items()
        for used in [usage(charged, kind, method, [instant], now)]
    ]
    if not frames:
        return pl.DataFrame(schema=COMPARED)
    parts = pl.concat(frames)
    first = frames[0].select("entity", first="usage_fraction")
    used = pl.col("usage").max().over("entity") > 0
    return (
        parts.filter(used)
        .join(first, on="entity", nulls_equal=True, how="left", maintain_order="left")
        .with_columns(shift=pl.col("usage_fraction") - pl.col("first"))
        .select(pl.col(name).cast(dtype) for name, dtype in COMPARED.items())
    )


def moved(compared: pl.DataFrame) -> dict[str, float]:
    """By penalty, the part of everything that it charges to others than the first one does."""
    return {
        str(name): math.fsum(abs(shift) for shift in rows["shift"].to_list()) / 2.0
        for (name,), rows in compared.group_by("penalty", maintain_order=True)
    }


def movers(compared: pl.DataFrame) -> pl.DataFrame:
    """Who moves most: for each entity, the penalty under which its part shifts furthest.

    Returns:
        Rows of ``compared``, one per entity, the greatest |shift| first; ties by entity, null
        first. The first of several penalties that shift it as far; those that never move are left
        out.
    """
    far = pl.col("shift").abs()
    return (
        compared.filter(far > 0)
        .filter(far == far.max().over("entity"))
        .unique("entity", keep="first", maintain_order=True)
        .sort(far, "entity", descending=[True, False], nulls_last=False, maintain_order=True)
    )
