"""Fairshare over time: usage of users or accounts, against their targets, at each instant.

Each row is one entity at one instant:

    usage           decayed usage, penalty-seconds, ≥ 0 (``metrics.fairshare.usage``)
    usage_fraction  usage / usage of all, 0 to 1; 0 where nothing was used
    share           the entity's target, 0 to 1; null without one
    priority        F(share, usage_fraction), −1 to 1 (``operators``); null without a share
    rank            1 is served first; entities that tie share the better rank (1, 2, 2, 4)

With targets, ranks fall with the priority, and an entity without a target has no rank. Without any,
ranks ascend with usage_fraction. Attempts without a name are a row with a usage and no rank.

An entity has a row at T if it has a target, or if one of its attempts started before T. Targets
in a share tree: ``tree_history``, which gives rows of the same columns.

Sources: SPEC §7; [B] H. Bui et al., Fairshare Scheduling – A Case Study, §2.1; [R] G. Rodrigo et
al., Priority Operators for Fairshare Scheduling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.metrics.fairshare import operators, trees
from audit.metrics.fairshare.trees import Bools, Floats, Ints, Tree
from audit.metrics.fairshare.usage import Kind, Method, Usage, usage
from audit.model import Period
from audit.periods import day_edges

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
        "partition": pl.String,
        "share_of_all": pl.Float64,
        "usage_of_all": pl.Float64,
        "level_fs": pl.Float64,
    }
)
"""Columns of the view ``fairshare_history`` that are the metrics' own."""

DEFAULT_OPERATOR: Final = "absolute"

AT_ONCE: Final = 2_000
"""Instants whose rows are made at once: all rows may be more than the attempts."""


def history_parts(
    charged: pl.DataFrame,
    kind: Kind,
    method: Method,
    instants: Sequence[int],
    now: int,
    *,
    targets: Mapping[str, float] | None = None,
    operator: str = DEFAULT_OPERATOR,
    label: str | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield usage against targets at each instant, ``AT_ONCE`` instants at a time.

    Args:
        charged: start_time, end_time, the column ``kind`` and ``penalty`` (of ``penalty``);
            *all* attempts of the pools that count, whatever period they belong to.
        instants: epoch s, strictly ascending; ``day_ends`` gives those of a period.
        now: when the log was taken, epoch s: open attempts count up to it.
        targets: the share of each entity that has one, 0 to 1, of everything; they need not sum
            to 1. Entities that never ran anything have rows too.
        operator: one of ``operators.OPERATORS``.

    Returns:
        Columns of ``HISTORY_SCHEMA``, sorted by as_of and entity, null first.

    Raises:
        ValueError: the instants do not ascend, a target is not from 0 to 1, or there is no such
            operator.
    """
    shares = dict(targets or {})
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"target of {kind} {name!r} = {share}: must be from 0 to 1")
    at = np.array(instants, np.int64)
    whole = _with_targets(usage(charged, kind, method, instants, now), shares)
    for low in range(0, max(len(at), 1), AT_ONCE):
        part = slice(low, low + AT_ONCE)
        used = whole._replace(usage=whole.usage[part], total=whole.total[part])
        if shares:
            rows = _against_targets(used, at[part], shares, operator)
        else:
            rows = _by_usage(used, at[part])
        rows = rows.with_columns(usage_of_all="usage_fraction")
        yield completed(rows, method=label or method.name, entity_kind=kind)


def completed(rows: pl.DataFrame, **everywhere: str) -> pl.DataFrame:
    """Return columns of ``HISTORY_SCHEMA``; null where neither rows nor ``everywhere`` have one."""
    return rows.select(
        name if name in rows.columns else pl.lit(everywhere.get(name), dtype).alias(name)
        for name, dtype in HISTORY_SCHEMA.items()
    )


def day_ends(period: Period, in_zone: ZoneInfo, now: int) -> list[int]:
    """Return the midnights of a period but the first; the last is its end, or ``now`` if earlier.

    A figure as of an instant covers what was before it, so adjoining periods share no instant.
    """
    return day_edges(period.from_time, min(period.to_time, now), in_zone)[1:]


def _by_usage(used: Usage, at: Ints) -> pl.DataFrame:
    """Return the rows without targets: least usage is served first."""
    from audit.kernels import trees as kernels

    fraction = used.fraction
    present = used.first_start < at[:, np.newaxis]
    rank = np.empty_like(fraction, np.int64, order="C")
    kernels.ranks(fraction, present & used.entities.is_not_null().to_numpy(), rank)
    return _present(used, fraction, rank, present, at)[0]


def _against_targets(
    used: Usage, at: Ints, shares: Mapping[str, float], operator: str
) -> pl.DataFrame:
    """Return the rows with targets: the greatest priority is served first."""
    fraction = used.fraction
    target = pl.Series([shares.get(name) for name in used.entities], dtype=pl.Float64)
    has_target = target.is_not_null().to_numpy()
    present = has_target | (used.first_start < at[:, np.newaxis])
    goals = np.tile(target.drop_nulls().to_numpy(), (len(at), 1))
    priority = np.full(fraction.shape, np.nan)
    priority[:, has_target] = operators.priority(operator, goals, fraction[:, has_target])
    rank = np.zeros(fraction.shape, np.int64)
    rank[:, has_target] = side_by_side(priority[:, has_target])
    rows, entity = _present(used, fraction, rank, present, at)
    share = target.gather(entity)
    return rows.with_columns(
        share=share, share_of_all=share, priority=pl.Series(priority[present]).fill_nan(None)
    )


def _present(
    used: Usage, fraction: Floats, rank: Ints, present: Bools, at: Ints
) -> tuple[pl.DataFrame, pl.Series]:
    """Return a row for each present entity at each instant, and its number; rank 0 is none."""
    from audit.kernels import trees as kernels

    count = int(present.sum())
    entity, as_of = np.empty(count, np.uint32), np.empty(count, np.int64)
    amount, part, place = np.empty(count), np.empty(count), np.empty(count, np.int64)
    kernels.keep_present(
        present, at, used.usage, fraction, rank, as_of, entity, amount, part, place
    )
    rows = pl.DataFrame(
        {
            "as_of": as_of,
            "entity": used.entities.gather(entity),
            "usage": amount,
            "usage_fraction": part,
            "rank": place,
        }
    )
    return rows.with_columns(rank=pl.when(pl.col("rank") > 0).then("rank")), pl.Series(entity)


def _with_targets(used: Usage, shares: Mapping[str, float]) -> Usage:
    """Add entities that have a target and never ran anything, in their places."""
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
        np.take(np.hstack([used.usage, nothing]), order, axis=1),  # C-contiguous, for kernels
        used.total,
    )


def side_by_side(priority: Floats) -> Ints:
    """Return ranks of entities directly below the root, a row per instant."""
    width = priority.shape[1]
    tree = Tree(
        ("",) * (width + 1),
        ("account", *(("user",) * width)),
        (None,) * (width + 1),
        np.array([-1, *[0] * width], np.int64),
        np.ones(width + 1),
    )
    of_root = np.full((len(priority), 1), np.nan)
    return trees.ranks_of(tree, np.hstack([of_root, priority]))[:, 1:]
