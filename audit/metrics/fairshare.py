"""Fairshare over time: who used how much of all, against which share, and who is served first.

Each row is one entity (user or account) at one instant:

    usage           decayed usage, penalty-seconds, ≥ 0 (``metrics.usage``)
    usage_fraction  usage / usage of all, 0 to 1; 0 where nobody used anything
    share           the entity's target, 0 to 1; null where none is given
    priority        F(share, usage_fraction), −1 to 1 (``metrics.operators``); null without a share
    rank            1 is served first; who ties shares the better rank (1, 2, 2, 4)

Ranks fall with the priority where targets are given, and ascend with usage_fraction where none is.
With targets, an entity without one has no rank. Nameless attempts are no entity: their row has a
usage and no rank.

In a share **tree** (``metrics.trees``) share and usage_fraction are parts among the siblings, the
operator is applied node by node, and ranks go by the vectors of priorities from the root down;
``parent`` is the account above, null at the top. ``share_of_all`` and ``usage_of_all`` are parts of
everything; without a tree they are the same. Slurm's own algorithms (``metrics.slurm_shares``) put
FairShare in the place of the priority: ``fair_tree`` has none for accounts, which rank as by the
operator ``slurm``.

An entity has a row at T if it has a target, or if an attempt of its own started before T: what
happened after T changes no row at T.

Sources: SPEC §7; [B] H. Bui et al., Fairshare Scheduling – A Case Study, §2.1; [R] G. Rodrigo et
al., Priority Operators for Fairshare Scheduling.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, cast
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.metrics import operators, slurm_shares, trees
from audit.metrics.trees import NO_SHARE, Tree
from audit.metrics.usage import Kind, Method, Usage, by_number, usage
from audit.model import Period
from audit.periods import day_edges

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

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
    }
)
"""Columns of ``fairshare_result`` that are the metrics' own."""

OF_SLURM: Final = ("fair_tree", "classic")
"""Operators that are algorithms of Slurm, and need a tree."""

DEFAULT_OPERATOR: Final = "absolute"


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
        charged: start_time, end_time, the column ``kind`` and ``penalty`` (``metrics.penalty``);
            *all* attempts of the pools that count, whatever period they belong to.
        kind: the column that names the entity.
        method: ``usage.Windows`` or ``usage.HalfLife``.
        instants: epoch s, strictly ascending; ``day_ends`` gives those of a period.
        now: when the log was taken, epoch s: open attempts count up to it.
        targets: the share of each entity that has one, 0 to 1, of everything; they need not sum
            to 1. Those that never ran anything have rows too. Without any, usage stands alone.
        operator: what makes a priority of target and usage, one of ``operators.OPERATORS``.
        label: what to call the method; its own name if left out.

    Returns:
        Columns of ``HISTORY_SCHEMA``, sorted by as_of and entity, null first.

    Raises:
        ValueError: the instants do not ascend, a target is not from 0 to 1, or there is no such
            operator.
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
    rank = np.empty(fraction.shape, np.int64)
    if shares:
        rank[:] = 0
        priority = np.full(fraction.shape, np.nan)
        aims = np.array([shares[name] for name in used.entities.filter(has_share)])
        aims = np.tile(aims, (len(at), 1))
        priority[:, has_share] = operators.priority(operator, aims, fraction[:, has_share])
        rank[:, has_share] = _side_by_side(priority[:, has_share])
    else:
        named = np.broadcast_to(used.entities.is_not_null().to_numpy(), present.shape)
        kernels.ranks(fraction, present & named, rank)
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
    target_of, priority_of = pl.lit(None, pl.Float64), pl.lit(None, pl.Float64)
    if shares:
        target = used.entities.replace_strict(shares, default=None, return_dtype=pl.Float64)
        rows = rows.with_columns(share=target.gather(column), priority=priority[present])
        target_of, priority_of = pl.col("share"), pl.col("priority").fill_nan(None)
    nothing = pl.lit(None, pl.String)
    all_ranked = bool(has_share.all()) if shares else not used.entities.has_nulls()
    return rows.select(
        "as_of",
        pl.lit(label or method.name).alias("method"),
        pl.lit(kind).alias("entity_kind"),
        "entity",
        nothing.alias("parent"),
        target_of.alias("share"),
        "usage",
        "usage_fraction",
        priority_of.alias("priority"),
        "rank" if all_ranked else pl.when(pl.col("rank") > 0).then("rank"),
        nothing.alias("partition"),
        target_of.alias("share_of_all"),
        pl.col("usage_fraction").alias("usage_of_all"),
    )


def tree_history(
    charged: pl.DataFrame,
    tree: Tree,
    method: Method,
    instants: Sequence[int],
    now: int,
    *,
    operator: str = DEFAULT_OPERATOR,
    dampening: float = 1.0,
    label: str | None = None,
) -> pl.DataFrame:
    """Usage against the shares of a tree at each instant, accounts and users together.

    An account that lists no users is charged as a whole: those who ran below it stand where it
    does. Users that their account does not list, accounts that the tree does not have, and attempts
    without an account have rows with usage and nothing else; the usage of the former is their
    account's too.

    Args:
        charged: start_time, end_time, user, account, partition and ``penalty``; *all* attempts.
        tree: the shares.
        method: as ``history``.
        instants: as ``history``.
        now: as ``history``.
        operator: one of ``operators.OPERATORS``, ``"fair_tree"`` or ``"classic"``.
        dampening: of ``"classic"``, > 0.
        label: what to call the method; its own name if left out.

    Returns:
        Columns of ``HISTORY_SCHEMA``, by as_of; at each instant in the order of the tree.

    Raises:
        ValueError: the instants do not ascend, or there is no such operator.
    """
    at = np.array(instants, np.int64)
    started = charged.select("start_time", "end_time", "penalty", "user", "account", "partition")
    if started["start_time"].has_nulls():
        started = started.filter(pl.col("start_time").is_not_null())
    whole, guests = _with_users(tree, started)
    leaves = trees.leaf_of(whole, started["user"], started["account"], started["partition"]).nodes
    # slurmctld books at once what has ended: an attempt that is open at ``now`` has not
    open_end = now + 1 if method.name == "slurm" else now
    grouped = by_number(leaves, len(whole.names), started, open_end)
    own = method.sweep(grouped, at)[0] if len(at) else np.empty((0, len(whole.names)))
    stranger = leaves < 0
    stranger |= np.array([kind == "account" for kind in whole.kinds])[leaves]
    strangers = _strangers(
        started.filter(stranger) if stranger.any() else started.clear(), tree, method, at, now
    )
    outside = strangers.outside
    total = own.sum(axis=1) + outside
    judged = _judged(whole, own, outside, operator, dampening)
    rows = _rows(whole, judged, at, total)
    if guests.any():
        first = np.full(len(whole.names), np.iinfo(np.int64).max)
        np.minimum.at(first, leaves[leaves >= 0], started["start_time"].to_numpy()[leaves >= 0])
        there = ~guests | (first < at[:, np.newaxis])
        rows = rows.filter(there[:, 1:].ravel())
    if strangers.rows.height:
        rows = pl.concat([rows, strangers.of_all(at, total)]).sort("as_of", maintain_order=True)
    return rows.select(pl.lit(label or method.name).alias("method"), pl.all()).select(
        *HISTORY_SCHEMA
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


_USER: Final[tuple[trees.Kind]] = ("user",)


def _side_by_side(priority: Floats) -> Ints:
    """Ranks of those who have no account above them, a row per instant."""
    width = priority.shape[1]
    tree = Tree(
        ("", *("" for _ in range(width))),
        ("account", *_USER * width),
        (None,) * (width + 1),
        np.array([-1, *[0] * width], np.int64),
        np.ones(width + 1),
    )
    nobody = np.full((len(priority), 1), np.nan)
    return trees.ranks_of(tree, np.hstack([nobody, priority]))[:, 1:]


def _with_users(tree: Tree, started: pl.DataFrame) -> tuple[Tree, Bools]:
    """The tree with those who ran below accounts that list no users, and which nodes they are."""
    lists_users = {tree.parents[k] for k, kind in enumerate(tree.kinds) if kind == "user"}
    silent = [
        name
        for k, (name, kind) in enumerate(zip(tree.names, tree.kinds, strict=True))
        if k > 0 and kind == "account" and k not in lists_users
    ]
    found = (
        started.filter(pl.col("account").is_in(silent), pl.col("user").is_not_null())
        .select("account", "user")
        .unique()
        .sort("account", "user")
    )
    if found.is_empty():
        return tree, np.zeros(len(tree.names), np.bool_)
    above = {name: k for k, name in enumerate(tree.names) if tree.kinds[k] == "account"}
    count = found.height
    whole = Tree(
        (*tree.names, *found["user"]),
        (*tree.kinds, *_USER * count),
        (*tree.partitions, *(None,) * count),
        np.concatenate([tree.parents, [above[name] for name in found["account"]]]),
        np.concatenate([tree.shares, np.full(count, NO_SHARE)]),
    )
    return whole, np.arange(len(whole.names)) >= len(tree.names)


class _Judged(NamedTuple):
    """What becomes of all nodes; see ``trees.History``."""

    usage: Floats
    states: Floats
    priorities: Floats
    ranks: Ints


def _judged(tree: Tree, own: Floats, outside: Floats, operator: str, dampening: float) -> _Judged:
    """Priorities and ranks of all nodes at all instants."""
    if operator not in OF_SLURM:
        return _Judged(*trees.history(tree, own, operator))
    used, states, _, ranks = trees.history(tree, own, "slurm")
    factor = np.full(used.shape, np.nan)
    for k in range(len(used)):
        of_all = used[k].copy()
        of_all[0] += outside[k]
        shares = (
            slurm_shares.fair_tree(tree, of_all)
            if operator == "fair_tree"
            else slurm_shares.classic(tree, of_all, dampening)
        )
        factor[k] = shares.fairshare
    kinds = np.array([kind == "user" for kind in tree.kinds])
    kinds_ranked = (kinds,) if operator == "fair_tree" else (kinds, ~kinds)
    for members in kinds_ranked:
        mine = members.copy()
        mine[0] = False
        ranks[:, mine] = _side_by_side(factor[:, mine])
    factor[:, 0] = np.nan
    return _Judged(used, states, factor, ranks)


def _rows(tree: Tree, judged: _Judged, at: Ints, total: Floats) -> pl.DataFrame:
    """A row for each node but the root at each instant."""
    count = len(tree.names) - 1
    node = np.tile(np.arange(1, count + 1, dtype=np.uint32), len(at))
    names = pl.Series(tree.names, dtype=pl.String)
    above = [tree.names[parent] if parent > 0 else None for parent in tree.parents]
    target = trees.targets(tree)
    of_all = _down(tree, target)

    def of(values: Sequence[object] | Floats, dtype: pl.DataType | type[pl.DataType]) -> pl.Series:
        return pl.Series(values, dtype=dtype).gather(node)

    everything = np.divide(
        judged.usage, total[:, np.newaxis], out=np.zeros_like(judged.usage),
        where=total[:, np.newaxis] > 0,
    )  # fmt: skip
    missing = {"share": target, "share_of_all": of_all}
    return pl.DataFrame(
        {
            "as_of": np.repeat(at, count),
            "entity_kind": of(tree.kinds, pl.String),
            "entity": names.gather(node),
            "parent": of(above, pl.String),
            "usage": judged.usage[:, 1:].ravel(),
            "usage_fraction": pl.Series(judged.states[:, 1:].ravel()).fill_nan(None),
            "priority": pl.Series(judged.priorities[:, 1:].ravel()).fill_nan(None),
            "rank": judged.ranks[:, 1:].ravel(),
            "partition": of(tree.partitions, pl.String),
            "usage_of_all": everything[:, 1:].ravel(),
            **{
                name: pl.Series(values).fill_nan(None).gather(node)
                for name, values in missing.items()
            },
        }
    )


def _down(tree: Tree, target: Floats) -> Floats:
    """Each node's part of everything: the product of the targets on its way from the root."""
    above = trees.groups(tree)
    found = target.copy()
    found[0] = 1.0
    for node in range(1, len(found)):  # parents come first
        found[node] *= found[above[node]]
    return found


class _Strangers(NamedTuple):
    """Those to whom the tree gives nothing."""

    rows: pl.DataFrame
    """entity_kind, entity, parent; usage and first start by instant are the columns below."""
    usage: Floats
    first_start: Ints
    outside: Floats
    """What was used at each instant under no account of the tree."""

    def of_all(self, at: Ints, total: Floats) -> pl.DataFrame:
        """Rows of ``HISTORY_SCHEMA`` but for ``method``."""
        there = self.first_start < at[:, np.newaxis]
        k, column = np.nonzero(there)
        used = self.usage[k, column]
        part = np.divide(used, total[k], out=np.zeros_like(used), where=total[k] > 0)
        empty = {
            name: pl.lit(None, dtype)
            for name, dtype in HISTORY_SCHEMA.items()
            if name not in ("method", "as_of", "usage", "usage_of_all", *self.rows.columns)
        }
        return (
            self.rows[column.astype(np.uint32)]
            .with_columns(as_of=at[k], usage=used, usage_of_all=part, **empty)
            .select(name for name in _ROW if name in HISTORY_SCHEMA)
        )


_ROW: Final = (
    "as_of", "entity_kind", "entity", "parent", "usage", "usage_fraction", "priority", "rank",
    "partition", "usage_of_all", "share", "share_of_all",
)  # fmt: skip
"""Columns in the order in which ``_rows`` makes them."""


def _strangers(strange: pl.DataFrame, tree: Tree, method: Method, at: Ints, now: int) -> _Strangers:
    """Users whom their account does not list, accounts that are not there, and what has none."""
    accounts = [
        name for name, kind in zip(tree.names[1:], tree.kinds[1:], strict=True) if kind == "account"
    ]
    homeless = strange.filter(pl.col("account").is_in(accounts).fill_null(False).not_())
    outside = usage(homeless, "account", method, at.tolist(), now)
    pairs = strange.select("user", "account").unique(maintain_order=True).with_row_index("number")
    numbered = strange.join(
        pairs, on=["user", "account"], how="left", nulls_equal=True, maintain_order="left"
    )
    of_pairs = usage(numbered, cast(Kind, "number"), method, at.tolist(), now)
    named = pairs[of_pairs.entities.to_numpy()] if pairs.height else pairs
    rows = pl.concat(
        [
            pl.DataFrame({"entity": outside.entities}).select(
                entity_kind=pl.lit("account"),
                entity=pl.col("entity").cast(pl.String),
                parent=pl.lit(None, pl.String),
            ),
            named.select(
                entity_kind=pl.lit("user"),
                entity=pl.col("user").cast(pl.String),
                parent=pl.col("account").cast(pl.String),
            ),
        ]
    )
    return _Strangers(
        rows,
        np.hstack([outside.usage, of_pairs.usage]),
        np.concatenate([outside.first_start, of_pairs.first_start]),
        outside.usage.sum(axis=1),
    )
