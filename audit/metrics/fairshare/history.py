"""Fairshare over time: who used how much of all, against which share, and who is served first.

Each row is one entity (user or account) at one instant:

    usage           decayed usage, penalty-seconds, ≥ 0 (``metrics.fairshare.usage``)
    usage_fraction  usage / usage of all, 0 to 1; 0 where nobody used anything
    share           the entity's target, 0 to 1; null where none is given
    priority        F(share, usage_fraction), −1 to 1 (``operators``); null without a share
    rank            1 is served first; who ties shares the better rank (1, 2, 2, 4)

Ranks fall with the priority where targets are given, and ascend with usage_fraction where none is.
With targets, an entity without one has no rank. Nameless attempts are no entity: their row has a
usage and no rank.

An entity has a row at T if it has a target, or if an attempt of its own started before T: what
happened after T changes no row at T. Targets in a share tree are of ``tree_history``, which gives
rows of the same columns.

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
"""Instants whose rows are made at once."""


def history(
    charged: pl.DataFrame,
    kind: Kind,
    method: Method,
    instants: Sequence[int],
    now: int,
    *,
    targets: Mapping[str, float] | None = None,
    operator: str = DEFAULT_OPERATOR,
    label: str | None = None,
) -> pl.DataFrame:
    """Usage against targets at each instant.

    Args:
        charged: start_time, end_time, the column ``kind`` and ``penalty`` (of ``penalty``);
            *all* attempts of the pools that count, whatever period they belong to.
        instants: epoch s, strictly ascending; ``day_ends`` gives those of a period.
        now: when the log was taken, epoch s: open attempts count up to it.
        targets: the share of each entity that has one, 0 to 1, of everything; they need not sum
            to 1. Those that never ran anything have rows too. Without any, usage stands alone.
        operator: what makes a priority of target and usage, one of ``operators.OPERATORS``.

    Returns:
        Columns of ``HISTORY_SCHEMA``, sorted by as_of and entity, null first.

    Raises:
        ValueError: the instants do not ascend, a target is not from 0 to 1, or there is no such
            operator.
    """
    return pl.concat(
        history_parts(
            charged, kind, method, instants, now, targets=targets, operator=operator, label=label
        )
    )


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
    """As ``history``, some instants at a time: all rows may be more than the attempts."""
    shares = dict(targets or {})
    for name, share in shares.items():
        if not 0 <= share <= 1:
            raise ValueError(f"target of {kind} {name!r} = {share}: must be from 0 to 1")
    at = np.array(instants, np.int64)
    whole = _with_targets(usage(charged, kind, method, instants, now), shares)
    named = whole.entities.is_not_null().to_numpy()
    for low in range(0, max(len(at), 1), AT_ONCE):
        part = slice(low, low + AT_ONCE)
        used = whole._replace(usage=whole.usage[part], total=whole.total[part])
        rows = (
            _against_targets(used, at[part], shares, operator)
            if shares
            else _alone(used, at[part], named)
        )
        yield completed(
            rows.with_columns(usage_of_all="usage_fraction"),
            method=label or method.name,
            entity_kind=kind,
        )


def completed(rows: pl.DataFrame, **everywhere: str) -> pl.DataFrame:
    """Columns of ``HISTORY_SCHEMA``; null where neither rows nor ``everywhere`` say anything."""
    return rows.select(
        name if name in rows.columns else pl.lit(everywhere.get(name), dtype).alias(name)
        for name, dtype in HISTORY_SCHEMA.items()
    )


def day_ends(period: Period, in_zone: ZoneInfo, now: int) -> list[int]:
    """The instants at which the days of a period have just ended: its midnights, its first not.

    The last is the period's end, or ``now`` where it is not over yet. A figure as of an instant
    tells what was before it, so adjoining periods share no instant.
    """
    return day_edges(period.from_time, min(period.to_time, now), in_zone)[1:]


def _alone(used: Usage, at: Ints, named: Bools) -> pl.DataFrame:
    """Who used least is served first; who has no name is nobody to be served."""
    from audit.kernels import trees as kernels

    fraction = used.fraction
    present = used.first_start < at[:, np.newaxis]
    rank = np.empty_like(fraction, np.int64, order="C")
    kernels.ranks(fraction, present & named, rank)
    return _present(used, fraction, rank, present, at)[0]


def _against_targets(
    used: Usage, at: Ints, shares: Mapping[str, float], operator: str
) -> pl.DataFrame:
    """Who has the greatest priority is served first, of those who have a target."""
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
    """A row for each entity at each instant at which it is present, and the number of the entity.

    A rank of 0 is none.
    """
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
        np.take(np.hstack([used.usage, nothing]), order, axis=1),  # row by row, as kernels take it
        used.total,
    )


def side_by_side(priority: Floats) -> Ints:
    """Ranks of those who have no account above them, a row per instant."""
    width = priority.shape[1]
    tree = Tree(
        ("",) * (width + 1),
        ("account", *(("user",) * width)),
        (None,) * (width + 1),
        np.array([-1, *[0] * width], np.int64),
        np.ones(width + 1),
    )
    nobody = np.full((len(priority), 1), np.nan)
    return trees.ranks_of(tree, np.hstack([nobody, priority]))[:, 1:]
