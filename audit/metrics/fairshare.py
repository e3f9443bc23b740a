"""Fairshare over time: who used how much of all, against which share, and who is served first.

Each row is one entity (user or account) at one instant:

    usage           decayed usage, penalty-seconds, ≥ 0 (``metrics.usage``)
    usage_fraction  usage / usage of all, 0 to 1; 0 where nobody used anything
    share           the entity's target, 0 to 1; null where none is given
    rank            1 is served first; who ties shares the better rank (1, 2, 2, 4)

Ranks ascend with usage_fraction / share where targets are given, and with usage_fraction where none
is. With targets, an entity without one has no rank; a target of 0 ranks last (∞) once something was
used, and like usage at the target (1) before. Nameless attempts are no entity: their row has a
usage and no rank. ``parent`` and ``priority`` are null: share trees and operators fill them.

An entity has a row at T if it has a target, or if an attempt of its own started before T: what
happened after T changes no row at T.

Sources: SPEC §7; [B] H. Bui et al., Fairshare Scheduling – A Case Study, §2.1.
"""

from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics.usage import Kind, Method, Usage, usage
from audit.model import Period
from audit.periods import day_edges

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

HISTORY_SCHEMA = pl.Schema(
    {
        "as_of": pl.Int64,
        "method": pl.String,
        "entity_kind": pl.String,
        "entity": pl.String,
        "parent": pl.String,
        "share": pl.Float64,
        "usage": pl.Float64,
        "usage_fraction": pl.Float64,
        "priority": pl.Float64,
        "rank": pl.Int64,
    }
)
"""Columns of ``fairshare_result`` that are the metrics' own."""


def history(
    charged: pl.DataFrame,
    kind: Kind,
    method: Method,
    instants: Sequence[int],
    now: int,
    *,
    targets: Mapping[str, float] | None = None,
    label: str | None = None,
) -> pl.DataFrame:
    """Usage against targets at each instant.

    Args:
        charged: start_time, end_time, the column ``kind`` and ``penalty`` (``metrics.penalty``);
            *all* attempts of the pools that count, whatever period they belong to.
        kind: the column that names the entity.
        method: ``usage.Windows`` or ``usage.HalfLife``.
        instants: epoch s, strictly ascending; ``day_ends`` gives those of a period.
        now: when the log was taken, epoch s: open attempts count up to it.
        targets: the share of each entity that has one, 0 to 1, of everything; they need not sum
            to 1. Those that never ran anything have rows too. Without any, usage stands alone.
        label: what to call the method; ``"windows"`` or ``"half_life"`` if left out.

    Returns:
        Columns of ``HISTORY_SCHEMA``, sorted by as_of and entity, null first.

    Raises:
        ValueError: the instants do not ascend, or a target is not from 0 to 1.
    """
    from audit.kernels import usage as kernels

    shares = dict(targets or {})
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"target of {kind} {name!r} = {share}: must be from 0 to 1")
    at = np.array(instants, np.int64)
    used = _with_targets(usage(charged, kind, method, instants, now), shares)
    fraction = used.fraction
    has_share = used.entities.is_in(list(shares)).fill_null(False).to_numpy()
    present = has_share | (used.first_start < at[:, np.newaxis])
    target = used.entities.replace_strict(shares, default=None, return_dtype=pl.Float64)
    keys = _keys(fraction, target.to_numpy()) if shares else fraction
    ranked = has_share if shares else used.entities.is_not_null().to_numpy()
    rank = np.empty(keys.shape, np.int64)
    kernels.ranks(keys, present & ranked, rank)
    count = int(present.sum())
    column, as_of, rank_of = (
        np.empty(count, np.uint32),
        np.empty(count, np.int64),
        np.empty(count, np.int64),
    )
    of, part = np.empty(count), np.empty(count)
    kernels.keep_present(present, at, used.usage, fraction, rank, as_of, column, of, part, rank_of)
    rows = pl.DataFrame(
        {
            "as_of": as_of,
            "entity": used.entities.gather(column),
            "usage": of,
            "usage_fraction": part,
            "rank": rank_of,
        }
    )
    if shares:
        rows = rows.with_columns(target.gather(column).alias("share"))
    return rows.select(
        "as_of",
        pl.lit(label or method.name).alias("method"),
        pl.lit(kind).alias("entity_kind"),
        "entity",
        pl.lit(None, pl.String).alias("parent"),
        "share" if shares else pl.lit(None, pl.Float64).alias("share"),
        "usage",
        "usage_fraction",
        pl.lit(None, pl.Float64).alias("priority"),
        "rank" if ranked.all() else pl.when(pl.col("rank") > 0).then("rank"),
    )


def day_ends(period: Period, in_zone: ZoneInfo, now: int) -> list[int]:
    """The instants at which the days of a period have just ended: its midnights, its first not.

    The last is the period's end, or ``now`` where it is not over yet. A figure as of an instant
    tells what was before it, so adjoining periods share no instant.
    """
    return day_edges(period.from_time, min(period.to_time, now), in_zone)[1:]


def _with_targets(used: Usage, shares: Mapping[str, float]) -> Usage:
    """Adds those that have a target and never ran anything, in their places."""
    known = set(used.entities.to_list())
    missing = [name for name in shares if name not in known]
    if not missing:
        return used
    names = pl.concat([used.entities, pl.Series("entity", missing, pl.String)])
    order = names.arg_sort().to_numpy()
    never = np.full(len(missing), np.iinfo(np.int64).max)
    nothing = np.zeros((len(used.usage), len(missing)))
    return Usage(
        names.gather(order),
        np.concatenate([used.first_start, never])[order],
        np.hstack([used.usage, nothing])[:, order],
        used.total,
    )


def _keys(fraction: Floats, share: Floats) -> Floats:
    """usage_fraction / share; ∞ where the share is 0 and something was used, 1 where nothing."""
    at_zero = np.where(fraction > 0, np.inf, 1.0)
    return np.divide(fraction, share, out=at_zero, where=share != 0)
