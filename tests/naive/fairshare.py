"""Histories of share trees straight from their definition, slowly (SPEC §7)."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from audit.metrics.fairshare.trees import NO_SHARE, TreeNode
from tests.naive import attempts as naive
from tests.naive import trees

Key = tuple[str, str | None, str | None, str | None]
"""Kind, parent, name, partition."""


@dataclass
class Row:
    usage: Fraction
    usage_of_all: Fraction
    usage_fraction: Fraction | None = None
    share: Fraction | None = None
    share_of_all: Fraction | None = None
    priority: float | None = None
    vector: list[float] | None = None


def node_of(nodes: Sequence[TreeNode], record: Mapping[str, Any]) -> TreeNode | None:
    """The most specific node of an attempt."""
    user, account, partition = record["user"], record["account"], record["partition"]
    for wanted in (
        ("user", user, account, partition),
        ("user", user, account, None),
        ("account", account, None, None),
    ):
        for node in nodes:
            of = node.parent if node.kind == "user" else None
            if (node.kind, node.name, of, node.partition) == wanted:
                return node
    return None


def tree_rows(
    nodes: Sequence[TreeNode],
    records: Sequence[Mapping[str, Any]],
    now: int,
    instant: int,
    operator: str,
    usage: Callable[[list[naive.Use]], Fraction],
) -> dict[Key, Row]:
    """Return the row of each account and user at one instant."""
    there = [r for r in records if r["start_time"] is not None and r["start_time"] < instant]
    listing = {node.parent for node in nodes if node.kind == "user"}
    accounts = {node.name for node in nodes if node.kind == "account"}
    guests = {
        (r["user"], r["account"])
        for r in there
        if r["account"] in accounts - listing and r["user"] is not None
    }
    everyone = [*nodes, *(TreeNode(user, "user", NO_SHARE, account) for user, account in guests)]

    def used(mine: Sequence[Mapping[str, Any]]) -> Fraction:
        return usage(naive.uses(mine, "user", now))

    own = [used([r for r in there if node_of(everyone, r) is node]) for node in everyone]
    total = used(there)
    found: dict[Key, Row] = {}
    for node in everyone:
        mine = trees.used(everyone, own, node)  # type: ignore[arg-type]
        row = Row(mine, mine / total if total else Fraction())
        row.vector = trees.vector(everyone, own, operator, node)  # type: ignore[arg-type]
        if trees.is_shared(node):
            row.share = trees.target(everyone, node)
            row.usage_fraction = trees.state(everyone, own, node)  # type: ignore[arg-type]
            row.priority = row.vector[-1]
            row.share_of_all = row.share
            group = trees.group_of(everyone, node)
            while group is not None:
                row.share_of_all *= trees.target(everyone, group)
                group = trees.group_of(everyone, group)
        elif node in nodes:  # fairshare=parent: that of the account above
            group = trees.group_of(everyone, node)
            row.share = Fraction(1) if group is None else trees.target(everyone, group)
        found[(node.kind, node.parent, node.name, node.partition)] = row
    places = [(r, node_of(everyone, r)) for r in there]
    strangers = [r for r, place in places if place is None or place.kind == "account"]
    for user, account in {(r["user"], r["account"]) for r in strangers}:
        mine = used([r for r in strangers if (r["user"], r["account"]) == (user, account)])
        found[("user", account, user, None)] = Row(mine, mine / total if total else Fraction())
    for account in {r["account"] for r in strangers} - accounts:
        mine = used([r for r in strangers if r["account"] == account])
        found[("account", None, account, None)] = Row(mine, mine / total if total else Fraction())
    return found


def near(one: float | None, other: float | None) -> bool:
    """Whether they agree to nine digits, or seven behind the point; null with null."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-7)


def ranks_agree(fast: Mapping[Key, int | None], exact: Mapping[Key, Row]) -> bool:
    """Equal among users and among accounts, unless floats cannot tell two vectors apart."""
    for kind in ("user", "account"):
        keys = [key for key, row in exact.items() if key[0] == kind and row.vector is not None]
        if any(fast[key] is not None for key, row in exact.items() if row.vector is None):
            return False
        vectors = [exact[key].vector or [] for key in keys]
        if not keys or [fast[key] for key in keys] == trees.ranks(vectors):
            continue
        if not any(near_vectors(a, b) for a, b in combinations(vectors, 2)):
            return False
    return True


def near_vectors(a: Sequence[float], b: Sequence[float], within: float = 1e-7) -> bool:
    """Whether the first components that differ at all differ by less than ``within``."""
    longest = max(len(a), len(b))
    pairs = zip([*a, *[0.0] * (longest - len(a))], [*b, *[0.0] * (longest - len(b))], strict=True)
    return next((abs(x - y) < within for x, y in pairs if x != y), True)
