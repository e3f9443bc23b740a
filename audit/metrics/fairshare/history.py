"""Fairshare over time: usage of accounts and users against their targets (SPEC §7).

Each row is one entity at one instant:

    usage           decayed usage, penalty-seconds, ≥ 0 (``metrics.fairshare.usage``)
    usage_fraction  usage / usage of all, 0 to 1; 0 where nothing was used
    share           the entity's target, 0 to 1; null without one
    priority        F(share, usage_fraction), −1 to 1 (``operators``); null without a share
    rank            1 is served first; entities that tie share the better rank (1, 2, 2, 4)

With targets, ranks fall with the priority, and an entity without a target has no rank. Without any,
ranks ascend with usage_fraction. Attempts without a name are a row with a usage and no rank. An
entity has a row at T if it has a target, or if one of its attempts started before T.

In a share tree (``tree_history``), share and usage_fraction are parts among the siblings, and ranks
follow from the vectors of priorities (``trees``). ``parent`` is the account above, null at the top.
``share_of_all`` and ``usage_of_all`` are parts of everything. The ``share`` of a node with
fairshare=parent is that of the account above it, as in ``sshare``; its ``share_of_all`` is null.

Slurm's own algorithms (``metrics.slurm.shares``) give FairShare as the priority. With ``fair_tree``
only users have one; accounts rank as by the operator ``slurm``. Its usage_fraction is a part of all
that the account used, and it gives LevelFS, share / usage_fraction (∞ where unused; null with
fairshare=parent).

An account that lists no users is charged as a whole: users who ran below it are its **guests**, who
rank where it does. **Strangers** are users whom their account does not list, accounts that the
tree does not have, and attempts without an account: their rows have usage and nothing else.

Sources: [B] H. Bui et al., Fairshare Scheduling – A Case Study, §2.1; [R] G. Rodrigo et al.,
Priority Operators for Fairshare Scheduling.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, cast
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl

from audit.array_types import Bools, Floats, Ints
from audit.kernels import trees as kernels
from audit.metrics.fairshare import operators, trees
from audit.metrics.fairshare.trees import NO_SHARE, Shape, Tree
from audit.metrics.fairshare.usage import Kind, Method, Usage, by_number, numbered, usage
from audit.metrics.slurm.shares import classic, fair_tree
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
"""Columns of the view ``fairshare_history`` that are computed here."""

DEFAULT_OPERATOR: Final = "absolute"

AT_ONCE: Final = 2_000  # instants whose rows are made at once, to save memory


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
        charged: start_time, end_time, the column ``kind`` and ``penalty`` (of ``penalty``); *all*
            attempts of the pools that count.
        instants: epoch s, strictly ascending; ``day_ends`` gives those of a period.
        now: time of the log, up to which open attempts count, epoch s.
        targets: 0 to 1, of everything, by entity; they need not sum to 1.
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
    rank[:, has_target] = _ranks(priority[:, has_target])
    rows, entity = _present(used, fraction, rank, present, at)
    share = target.gather(entity)
    return rows.with_columns(
        share=share, share_of_all=share, priority=pl.Series(priority[present]).fill_nan(None)
    )


def _present(
    used: Usage, fraction: Floats, rank: Ints, present: Bools, at: Ints
) -> tuple[pl.DataFrame, pl.Series]:
    """Return a row for each present entity at each instant, and its number; rank 0 is none."""
    count = int(present.sum())
    entity, as_of = np.empty(count, np.uint32), np.empty(count, np.int64)
    amount, part, place = np.empty(count), np.empty(count), np.empty(count, np.int64)
    kernels.keep_present(
        present, at, usage=used.usage, fraction=fraction, rank=rank, as_of=as_of, column=entity,
        usage_out=amount, fraction_out=part, rank_out=place,
    )  # fmt: skip
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


def _ranks(priority: Floats) -> Ints:
    rank = np.empty(priority.shape, np.int64)
    kernels.ranks(np.ascontiguousarray(-priority), np.ones(priority.shape, np.bool_), rank)
    return rank


OF_SLURM: Final = ("fair_tree", "classic")  # operators that are algorithms of Slurm

BLOCK: Final = 512  # instants processed at a time, so that their data stay in the cache

_USER: Final[tuple[Kind]] = ("user",)
_NEVER: Final = np.iinfo(np.int64).max


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
    """Return usage against the shares of a tree at each instant, accounts and users together.

    Args:
        charged: start_time, end_time, user, account, partition and ``penalty``; *all* attempts.
        operator: one of ``operators.OPERATORS`` or ``OF_SLURM``.
        dampening: of ``"classic"``, > 0.

    Returns:
        Columns of ``HISTORY_SCHEMA``, by as_of; at each instant in the order of the tree.

    Raises:
        ValueError: the instants do not ascend, or there is no such operator.
    """
    at = np.array(instants, np.int64)
    started = charged.select("start_time", "end_time", "penalty", "user", "account", "partition")
    started = started.filter(pl.col("start_time").is_not_null())
    whole, is_guest = _with_guests(tree, started)
    leaves = _leaves(whole, started)
    own = _used(whole, leaves, started, method, at, now)
    is_stranger = (leaves < 0) | ~whole.is_user[leaves]
    total, strangers = own.sum(axis=1), started.filter(is_stranger)
    others, outside = _strangers(strangers, tree, method, at, now, total)
    total += outside
    shape = Shape(whole)
    judge: _Judge = lambda own, outside: _by_column(*shape.history(own, operator))  # noqa: E731
    if operator in OF_SLURM:
        judge = partial(_judged_by_slurm, shape, is_guest, operator, dampening)
    at_root = 0.0 if operator == "fair_tree" else 1.0
    rows = _rows(shape, _shares(shape, is_guest, at_root), judge, own, outside, total, at)
    rows = completed(rows, method=label or method.name)
    if is_guest.any():
        first = np.full(len(whole.names), _NEVER)
        np.minimum.at(first, leaves[leaves >= 0], started["start_time"].to_numpy()[leaves >= 0])
        rows = rows.filter((~is_guest | (first < at[:, np.newaxis]))[:, 1:].ravel())
        # guests who come later take no place
        places = pl.col("rank").rank("min").over("as_of", "entity_kind")
        rows = rows.with_columns(places.cast(pl.Int64))
    others = completed(others, method=label or method.name)
    return pl.concat([rows, others]).sort("as_of", maintain_order=True) if len(others) else rows


def _with_guests(tree: Tree, started: pl.DataFrame) -> tuple[Tree, Bools]:
    """Return the tree with the guests of its accounts, and which nodes they are."""
    number_of = {
        tree.names[node]: node
        for node in np.flatnonzero(~(tree.is_user | tree.lists_users)).tolist()
        if node > 0
    }
    guests = (
        started.filter(pl.col("account").is_in(list(number_of)), pl.col("user").is_not_null())
        .select("account", "user")
        .unique()
        .sort("account", "user")
    )
    count = guests.height
    whole = Tree(
        (*tree.names, *guests["user"]),
        (*tree.kinds, *_USER * count),
        (*tree.partitions, *(None,) * count),
        np.concatenate(
            [tree.parents, np.array([number_of[name] for name in guests["account"]], np.int64)]
        ),
        np.concatenate([tree.shares, np.full(count, NO_SHARE)]),
    )
    return whole, np.arange(len(whole.names)) >= len(tree.names)


def _leaves(tree: Tree, started: pl.DataFrame) -> Ints:
    by = ["user", "account"]
    if any(partition is not None for partition in tree.partitions):
        by.append("partition")
    distinct, codes, _ = numbered(started.select(by))
    partition = distinct["partition"] if "partition" in by else None
    return trees.leaf_of(tree, distinct["user"], distinct["account"], partition)[codes]


def _used(
    tree: Tree, leaves: Ints, started: pl.DataFrame, method: Method, at: Ints, now: int
) -> Floats:
    # slurmctld books at ends, too: an attempt that is open at ``now`` must not end then
    open_end = now + 1 if method.name == "slurm" else now
    if not len(at):
        return np.empty((0, len(tree.names)))
    return method.sweep(by_number(leaves, len(tree.names), started, open_end), at)[0]


_Judge = Callable[[Floats, Floats], dict[str, Floats | Ints]]
"""Of each node's own usage, and of usage outside the tree: columns of ``HISTORY_SCHEMA``.

They have a row per instant and a column per node; NaN: none."""


def _by_column(*columns: Floats | Ints) -> dict[str, Floats | Ints]:
    names = ("usage", "usage_fraction", "priority", "rank", "level_fs")
    return dict(zip(names, columns, strict=False))


def _judged_by_slurm(
    shape: Shape, is_guest: Bools, operator: str, dampening: float, own: Floats, outside: Floats
) -> dict[str, Floats | Ints]:
    """Return FairShare as the priorities."""
    used, fraction, _, rank = shape.history(own, "slurm")
    factor, level_fs = np.full(used.shape, np.nan), np.full(used.shape, np.nan)
    for k in range(len(used)):
        of_all = used[k].copy()
        of_all[0] += outside[k]
        if operator == "fair_tree":
            shares = fair_tree(shape.tree, of_all)
            # of all that the account used: also by users without a share of their own
            fraction[k, ~is_guest] = shares.effective_usage[~is_guest]
        else:
            shares = classic(shape.tree, of_all, dampening)
        factor[k], level_fs[k] = shares.fairshare, shares.level_fs
    is_user = shape.is_user
    for members in (is_user,) if operator == "fair_tree" else (is_user, ~is_user):
        below_root = members & (np.arange(len(members)) > 0)
        rank[:, below_root] = _ranks(factor[:, below_root])
    factor[:, 0] = np.nan
    return _by_column(used, fraction, factor, rank, level_fs)


def _shares(shape: Shape, is_guest: Bools, at_root: float) -> pl.DataFrame:
    """Return the share, and share of everything, of each node below the root.

    ``at_root`` is the share of nodes right below the root with fairshare=parent.
    """
    of_all = shape.targets.copy()
    of_all[0] = 1.0
    for node in range(1, len(of_all)):  # parents come first
        of_all[node] *= of_all[shape.above[node]]
    shown = shape.targets.copy()
    shown[0] = at_root
    inherits = ~shape.shared & ~is_guest
    inherits[0] = False
    shown[inherits] = shown[shape.above[inherits]]
    return pl.DataFrame({"share": _known(shown[1:]), "share_of_all": _known(of_all[1:])})


def _rows(
    shape: Shape,
    shares: pl.DataFrame,
    judge: _Judge,
    own: Floats,
    outside: Floats,
    total: Floats,
    at: Ints,
) -> pl.DataFrame:
    """Return a row for each node but the root at each instant; overwrites ``own``."""
    tree = shape.tree
    nodes = shares.with_columns(
        pl.Series("entity_kind", tree.kinds[1:]),
        pl.Series("entity", tree.names[1:]),
        pl.Series("parent", [tree.names[p] if p else None for p in tree.parents[1:]], pl.String),
        pl.Series("partition", tree.partitions[1:], pl.String),
    )
    divisor = np.where(total > 0, total, np.inf)[:, np.newaxis]
    parts = []
    for first in range(0, max(len(at), 1), BLOCK):
        block = slice(first, first + BLOCK)
        by_instant = judge(own[block], outside[block])
        by_instant["usage_of_all"] = by_instant["usage"] / divisor[block]
        parts.append(
            pl.DataFrame(
                [
                    pl.Series("as_of", np.repeat(at[block], nodes.height)),
                    *(_repeated(nodes[name], len(at[block])) for name in nodes.columns),
                    *(_known(values[:, 1:].ravel()).alias(k) for k, values in by_instant.items()),
                ]
            )
        )
    return pl.concat(parts)


def _repeated(values: pl.Series, times: int) -> pl.Series:
    """Return the values repeated, held in memory once."""
    return pl.concat([values] * times, rechunk=False) if times else values.clear()


def _known(values: Floats | Ints) -> pl.Series:
    series = pl.Series(values)
    return series.fill_nan(None) if np.isnan(values).any() else series


def _strangers(
    strange: pl.DataFrame, tree: Tree, method: Method, at: Ints, now: int, inside: Floats
) -> tuple[pl.DataFrame, Floats]:
    """Return users whom their account does not list, unknown accounts, and attempts without one.

    Args:
        inside: usage at each instant of all nodes of the tree.

    Returns:
        A row for each at each instant after its first start; and the usage at each instant under no
        account of the tree.
    """
    accounts = [name for name, is_user in zip(tree.names, tree.is_user, strict=True) if not is_user]
    homeless = strange.filter(pl.col("account").is_in(accounts[1:]).fill_null(False).not_())
    outside = usage(homeless, "account", method, at.tolist(), now)
    pairs = strange.select("user", "account").unique(maintain_order=True).with_row_index("number")
    numbered_pairs = strange.join(
        pairs, on=["user", "account"], how="left", nulls_equal=True, maintain_order="left"
    )
    of_pairs = usage(numbered_pairs, cast(Kind, "number"), method, at.tolist(), now)
    users = pairs[of_pairs.entities.to_numpy()] if pairs.height else pairs
    who = pl.concat(
        [
            outside.entities.cast(pl.String)
            .to_frame("entity")
            .select(entity_kind=pl.lit("account"), entity="entity", parent=pl.lit(None, pl.String)),
            users.select(
                entity_kind=pl.lit("user"),
                entity=pl.col("user").cast(pl.String),
                parent=pl.col("account").cast(pl.String),
            ),
        ]
    )
    beyond = outside.usage.sum(axis=1)
    first_start = np.concatenate([outside.first_start, of_pairs.first_start])
    instant, stranger = np.nonzero(first_start < at[:, np.newaxis])
    used = np.hstack([outside.usage, of_pairs.usage])[instant, stranger]
    total = (inside + beyond)[instant]
    of_all = np.divide(used, total, out=np.zeros_like(used), where=total > 0)
    rows = who[stranger.astype(np.uint32)]
    return rows.with_columns(as_of=at[instant], usage=used, usage_of_all=of_all), beyond
