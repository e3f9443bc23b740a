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

In a share **tree** (``trees``) share and usage_fraction are parts among the siblings, the
operator is applied node by node, and ranks go by the vectors of priorities from the root down;
``parent`` is the account above, null at the top. ``share_of_all`` and ``usage_of_all`` are parts of
everything; without a tree they are the same. Slurm's own algorithms (``metrics.slurm.shares``) put
FairShare in the place of the priority: ``fair_tree`` has none for accounts, which rank as by the
operator ``slurm``, and takes usage_fraction as a part of all that the account used.

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

from audit.metrics.fairshare import operators, trees
from audit.metrics.fairshare.trees import NO_SHARE, Tree
from audit.metrics.fairshare.usage import Kind, Method, Usage, by_number, numbered, usage
from audit.metrics.slurm import shares as slurm_shares
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

BLOCK: Final = 512
"""So many instants of a tree are worked on at a time: what they need then stays in the cache."""


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
    leaves = _leaves(whole, started)
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
    called = label or method.name
    rows = _rows(whole, own, at, total, outside, operator, dampening, called)
    if guests.any():
        first = np.full(len(whole.names), np.iinfo(np.int64).max)
        np.minimum.at(first, leaves[leaves >= 0], started["start_time"].to_numpy()[leaves >= 0])
        there = ~guests | (first < at[:, np.newaxis])
        rows = rows.filter(there[:, 1:].ravel())
    if strangers.rows.height:
        more = strangers.of_all(at, total, called)
        rows = pl.concat([rows, more]).sort("as_of", maintain_order=True)
    return rows


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


def _leaves(tree: Tree, started: pl.DataFrame) -> Ints:
    """The node of each attempt, −1 for none: looked up once for each combination of names."""
    by = ["user", "account"]
    if any(partition is not None for partition in tree.partitions):
        by.append("partition")
    distinct, codes, _ = numbered(started.select(by))
    partition = distinct["partition"] if "partition" in by else None
    return trees.leaf_of(tree, distinct["user"], distinct["account"], partition).nodes[codes]


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


class _Shape:
    """What stays the same about a tree at all instants, for the kernels."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.above = trees.groups(tree)
        self.shared = trees.shared(tree)
        self.depths = trees.depths(tree)
        self.targets = trees.targets(tree)
        self.members = np.argsort(self.above, kind="stable")[1:]  # the root is nobody's
        counts = np.bincount(self.above[1:], minlength=len(self.above))
        self.offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self.users = np.array([kind == "user" for kind in tree.kinds])

    def history(self, own: Floats, operator: str) -> trees.History:
        """The same as ``trees.history``, but that ``own`` becomes the usage of it."""
        from audit.kernels import trees as kernels

        states, priorities = np.empty_like(own), np.empty_like(own)
        ranks = np.empty(own.shape, np.int64)
        kernels.climb(self.tree.parents, self.above, self.shared, own, states)
        kernels.apply(operators.code(operator), self.targets, states, priorities)
        kinds = self.users.astype(np.int64)
        kernels.rank(self.offsets, self.members, self.depths, kinds, priorities, ranks)
        return trees.History(own, states, priorities, ranks)

    def slurm_history(
        self, own: Floats, outside: Floats, operator: str, dampening: float
    ) -> trees.History:
        """FairShare in the place of priorities; ``outside`` was used below the root alone."""
        used, states, _, ranks = self.history(own, "slurm")
        factor = np.full(used.shape, np.nan)
        for k in range(len(used)):
            of_all = used[k].copy()
            of_all[0] += outside[k]
            if operator == "fair_tree":
                shares = slurm_shares.fair_tree(self.tree, of_all)
                # of all that the account used: also by users without a share of their own
                states[k, self.shared] = shares.effective_usage[self.shared]
            else:
                shares = slurm_shares.classic(self.tree, of_all, dampening)
            factor[k] = shares.fairshare
        for members in (self.users,) if operator == "fair_tree" else (self.users, ~self.users):
            mine = members & (np.arange(len(members)) > 0)
            ranks[:, mine] = _side_by_side(factor[:, mine])
        factor[:, 0] = np.nan
        return trees.History(used, states, factor, ranks)


def _rows(
    tree: Tree,
    own: Floats,
    at: Ints,
    total: Floats,
    outside: Floats,
    operator: str,
    dampening: float,
    label: str,
) -> pl.DataFrame:
    """A row for each node but the root at each instant; ``own`` is used up."""
    shape = _Shape(tree)
    nodes = pl.DataFrame(
        {
            "method": [label] * (len(tree.names) - 1),
            "entity_kind": tree.kinds[1:],
            "entity": tree.names[1:],
            "parent": [tree.names[parent] if parent else None for parent in tree.parents[1:]],
            "partition": tree.partitions[1:],
            "share": _known(shape.targets[1:]),
            "share_of_all": _known(_down(shape)[1:]),
        },
        schema_overrides={"parent": pl.String, "partition": pl.String},
    )
    there = np.where(total > 0, total, np.inf)[:, np.newaxis]
    parts = []
    for first in range(0, max(len(at), 1), BLOCK):
        block = slice(first, first + BLOCK)
        judged = (
            shape.slurm_history(own[block], outside[block], operator, dampening)
            if operator in OF_SLURM
            else shape.history(own[block], operator)
        )
        columns = {
            "as_of": pl.Series(np.repeat(at[block], nodes.height)),
            **{name: _repeated(nodes[name], len(at[block])) for name in nodes.columns},
            "usage": pl.Series(judged.usage[:, 1:].ravel()),
            "usage_fraction": _known(judged.states[:, 1:].ravel()),
            "priority": _known(judged.priorities[:, 1:].ravel()),
            "rank": pl.Series(judged.ranks[:, 1:].ravel()),
            "usage_of_all": pl.Series((judged.usage[:, 1:] / there[block]).ravel()),
        }
        parts.append(pl.DataFrame({name: columns[name] for name in HISTORY_SCHEMA}))
    return pl.concat(parts)


def _repeated(values: pl.Series, times: int) -> pl.Series:
    """The values again and again, held in memory once."""
    return pl.concat([values] * times, rechunk=False) if times else values.clear()


def _known(values: Floats) -> pl.Series:
    """Null where there is no number."""
    series = pl.Series(values)
    return series.fill_nan(None) if np.isnan(values).any() else series


def _down(shape: _Shape) -> Floats:
    """Each node's part of everything: the product of the targets on its way from the root."""
    found = shape.targets.copy()
    found[0] = 1.0
    for node in range(1, len(found)):  # parents come first
        found[node] *= found[shape.above[node]]
    return found


class _Strangers(NamedTuple):
    """Those to whom the tree gives nothing."""

    rows: pl.DataFrame
    """entity_kind, entity, parent; usage and first start by instant are the columns below."""
    usage: Floats
    first_start: Ints
    outside: Floats
    """What was used at each instant under no account of the tree."""

    def of_all(self, at: Ints, total: Floats, label: str) -> pl.DataFrame:
        """Rows of ``HISTORY_SCHEMA``."""
        there = self.first_start < at[:, np.newaxis]
        k, column = np.nonzero(there)
        used = self.usage[k, column]
        part = np.divide(used, total[k], out=np.zeros_like(used), where=total[k] > 0)
        found = self.rows[column.astype(np.uint32)].with_columns(
            as_of=at[k], usage=used, usage_of_all=part, method=pl.lit(label)
        )
        return found.select(
            name if name in found.columns else pl.lit(None, dtype).alias(name)
            for name, dtype in HISTORY_SCHEMA.items()
        )


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
