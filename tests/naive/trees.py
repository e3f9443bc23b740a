"""Share trees and operators straight from their definitions, slowly (SPEC §7; [R] §§2–5)."""

import math
from collections.abc import Sequence
from fractions import Fraction

from audit.metrics.fairshare.trees import TreeNode


def priority(operator: str, t: float, s: float) -> float:
    """[R] eqs. 5–12, case by case as printed; n = 2, k = 0.5."""
    if t == s == 0:
        return 0.0
    if operator == "absolute":
        return t - s
    if operator == "slurm":
        return -1.0 if t == 0 else float(2.0 ** (1 - s / t)) - 1
    if operator == "combined":
        return 0.5 * (t - s) + 0.5 * priority("relative_n", t, s)
    if s == t:
        return 0.0
    size = (t - s) / t if s < t else (s - t) / s
    sign = 1.0 if s < t else -1.0
    sine = math.sin(math.pi / 2 * size)
    sizes = {"relative": size, "relative_n": size * size, "sigmoid": sine}
    return sign * sizes.get(operator, math.sqrt(sine))


def is_shared(node: TreeNode) -> bool:
    return not math.isnan(node.share)


def parent_of(nodes: Sequence[TreeNode], node: TreeNode) -> TreeNode | None:
    """The node's account; None: the root."""
    return next((n for n in nodes if n.kind == "account" and n.name == node.parent), None)


def group_of(nodes: Sequence[TreeNode], node: TreeNode) -> TreeNode | None:
    """Return the next account above that has a share."""
    above = parent_of(nodes, node)
    while above is not None and not is_shared(above):
        above = parent_of(nodes, above)
    return above


def is_below(nodes: Sequence[TreeNode], node: TreeNode, account: TreeNode) -> bool:
    above: TreeNode | None = node
    while above is not None:
        if above is account:
            return True
        above = parent_of(nodes, above)
    return False


def siblings(nodes: Sequence[TreeNode], node: TreeNode) -> list[TreeNode]:
    above = group_of(nodes, node)
    return [n for n in nodes if is_shared(n) and group_of(nodes, n) is above]


def part(value: Fraction, of: Sequence[Fraction]) -> Fraction:
    return value / sum(of) if sum(of) else Fraction(0)


def target(nodes: Sequence[TreeNode], node: TreeNode) -> Fraction:
    return part(Fraction(node.share), [Fraction(n.share) for n in siblings(nodes, node)])


def used(nodes: Sequence[TreeNode], own: Sequence[int], node: TreeNode) -> Fraction:
    """Return the use of the node and all below it."""
    return sum(
        (Fraction(u) for n, u in zip(nodes, own, strict=True) if is_below(nodes, n, node)),
        Fraction(0),
    )


def state(nodes: Sequence[TreeNode], own: Sequence[int], node: TreeNode) -> Fraction:
    return part(
        used(nodes, own, node), [used(nodes, own, other) for other in siblings(nodes, node)]
    )


def vector(
    nodes: Sequence[TreeNode], own: Sequence[int], operator: str, node: TreeNode
) -> list[float]:
    """Priorities on the path from the root to the node."""
    above = group_of(nodes, node)
    head = [] if above is None else vector(nodes, own, operator, above)
    if not is_shared(node):
        return head
    t, s = target(nodes, node), state(nodes, own, node)
    return [*head, 0.0 if t == s else priority(operator, float(t), float(s))]


def ranks(vectors: Sequence[Sequence[float]]) -> list[int]:
    """One more than how many come before, comparing padded vectors."""
    longest = max(map(len, vectors))
    padded = [(*v, *[0.0] * (longest - len(v))) for v in vectors]
    return [1 + sum(other > own for other in padded) for own in padded]
