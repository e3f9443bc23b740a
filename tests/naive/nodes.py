"""SPEC §12 in slow, plain Python: what attempts use on their nodes, and whether they fit.

Nothing here is shared with the package.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor
from typing import Any, NamedTuple

Amounts = tuple[int, ...]
Free = dict[str, Amounts]
Used = Mapping[str, Amounts]
"""The part of each node that an attempt takes."""


class Machine(NamedTuple):
    """A node."""

    amounts: Amounts
    partitions: tuple[str, ...]
    features: tuple[str, ...] | None = None  # None: unknown


MET: Mapping[str, Callable[[set[str]], bool]] = {
    "ssd": lambda has: "ssd" in has,
    "ssd&amd": lambda has: {"ssd", "amd"} <= has,
    "ssd|amd": lambda has: bool({"ssd", "amd"} & has),
    "[intel|amd]&ssd": lambda has: "ssd" in has and bool({"intel", "amd"} & has),
    "ssd*2": lambda _: True,
    "tape": lambda has: "tape" in has,
}
"""Constraints, and whether a node with some features meets them."""

Machines = Mapping[str, Machine]


def eligible(
    machines: Machines, record: Mapping[str, Any], gpus: Collection[int] = ()
) -> list[str]:
    """The nodes that a record may use, in the order of use; they have the amounts ``gpus``."""
    named = record["partition"]
    found = [
        name
        for name, one in machines.items()
        if named is None or set(named.split(",")) & set(one.partitions)
    ]
    test = MET.get(record.get("constraints") or "")
    if test is not None:
        has = {name: machines[name].features for name in found}
        found = [n for n in found if (f := has[n]) is None or test(set(f))] or found
    return [n for n in found if all(machines[n].amounts[x] > 0 for x in gpus)] or found


def parts(request: Amounts, nodes: int | None, memory: Collection[int] = ()) -> list[Amounts]:
    """What must be placed, each part on a node of its own, or unit by unit if that is uneven."""
    count = max(nodes or 1, 1)
    if not is_even(request, nodes, memory):
        count = max(request[0], 1)
    return [tuple(-(-amount // count) for amount in request)] * count


def is_even(request: Amounts, nodes: int | None, memory: Collection[int] = ()) -> bool:
    """Whether nodes get equal parts; bytes of memory, the resources ``memory``, may differ."""
    counted = (amount for x, amount in enumerate(request) if x not in memory)
    return not any(amount % max(nodes or 1, 1) for amount in counted)


def holds(free: Amounts, part: Amounts, count: int) -> bool:
    """Whether a node holds so many parts."""
    return all(p == 0 or f >= p * count for p, f in zip(part, free, strict=True))


class Placing(NamedTuple):
    """Which nodes are chosen of those where a request fits."""

    left: Mapping[str, Amounts]  # now
    stated: str = "packed"
    now: bool = True  # whether it starts now
    gpus: Collection[int] = ()


def placement(
    request: Amounts,
    nodes: int | None,
    free: Mapping[str, Amounts],
    allowed: Sequence[str],
    but: Collection[int] = (),
    memory: Collection[int] = (),
    how: Placing | None = None,
) -> dict[str, Amounts] | None:
    """What the request takes of which nodes; None: no place.

    If uneven, of those that hold most; else of those with least left, or as it is stated. Of the
    resources ``but``, every node has enough.
    """
    wanted = parts(request, nodes, memory)
    part, missing, taken = wanted[0], len(wanted), {}
    part = tuple(0 if x in but else amount for x, amount in enumerate(part))
    most = 1 if is_even(request, nodes, memory) else max(len(wanted), *map(max, free.values()))
    can = {
        name: max(k for k in range(most + 1) if k == 0 or holds(free[name], part, k))
        for name in allowed
    }
    if how is not None and how.now and how.stated == "consecutive":
        if sum(can.values()) < missing:
            return None
        place = {name: number for number, name in enumerate(free) if can.get(name)}
        bound = any(request[x] for x in how.gpus)
        key = {
            k: min(can[n], missing) * part[0] if bound else max(how.left[n][0], 0)
            for n, k in place.items()
        }
        chosen = by_runs({k: can[n] for n, k in place.items()}, key, missing)
        names = list(free)
        return {names[k]: tuple(n * amount for amount in part) for k, n in chosen.items()}
    order = sorted(allowed, key=lambda name: -can[name]) if most > 1 else list(allowed)
    if how is not None and most == 1:
        sign = -1 if how.now and how.stated == "least_loaded" else 1
        order.sort(key=lambda name: sign * max(how.left[name][0], 0))
    for name in order:
        count = min(can[name], missing)
        if count:
            taken[name] = tuple(count * amount for amount in part)
            missing -= count
    return None if missing else taken


def by_runs(can: Mapping[int, int], key: Mapping[int, int], missing: int) -> dict[int, int]:
    """Slurm's default: the run with the least sum of keys that suffices, one node if possible.

    ``can`` holds how many parts each node takes, ascending, and at least ``missing`` together.
    """
    can, taken = dict(can), dict[int, int]()
    while missing:
        runs: list[list[int]] = []
        for node in can:
            if runs and runs[-1][-1] == node - 1:
                runs[-1].append(node)
            else:
                runs.append([node])

        def total(run: Sequence[int]) -> int:
            return sum(key[node] for node in run)

        enough = [run for run in runs if sum(can[node] for node in run) >= missing]
        best = min(enough, key=total) if enough else max(runs, key=total)
        single = [node for node in best if can[node] >= missing]
        if single:
            best = [min(single, key=lambda node: total([node]))]
        for node in best:
            count = min(can.pop(node), missing)
            if count:
                taken[node] = count
            missing -= count
    return taken


def lacking(
    request: Amounts,
    nodes: int | None,
    free: Mapping[str, Amounts],
    allowed: Sequence[str],
    wide: Sequence[str],
    resources: Sequence[str],
) -> str | None:
    """The first resource without which the request has a place; None: no single one.

    ``wide`` are the nodes that it might use if it required no features.

    Without GPUs, their types do not matter either; lacking a type is lacking GPUs.
    """
    types = [name for name in resources if name.startswith("gpus:")]
    memory = [x for x, name in enumerate(resources) if name == "mem_bytes"]
    for name in ("gpus", *types, "mem_bytes", "cpus", "constraints", "nodes"):
        if name == "constraints" and placement(request, nodes, free, wide, (), memory) is not None:
            return name
        but = [x for x, one in enumerate(resources) if one == name or one.startswith(f"{name}:")]
        if but and placement(request, nodes, free, allowed, but, memory) is not None:
            return name.partition(":")[0]
    return None


def minus(free: Mapping[str, Amounts], taken: Mapping[str, Amounts], sign: int = 1) -> Free:
    return {
        name: tuple(
            a - sign * b for a, b in zip(amounts, taken.get(name, (0,) * len(amounts)), strict=True)
        )
        for name, amounts in free.items()
    }


def total(free: Mapping[str, Amounts], names: Iterable[str], count: int) -> Amounts:
    rows = [free[name] for name in names]
    return tuple(sum(row[x] for row in rows) for x in range(count))


def split(
    spans: Sequence[tuple[int, int]],
    requests: Sequence[Amounts],
    lists: Sequence[Sequence[str]],
    machines: Machines,
    stated: Sequence[Sequence[Sequence[int] | None]],
    resources: Sequence[str],
) -> list[dict[str, Amounts]]:
    """What each attempt uses on which of its nodes; spans are (start, end), ascending ties kept.

    ``stated`` holds for each attempt and resource the amounts on its nodes, if the log has them.
    """
    used: list[dict[str, Amounts]] = [{} for _ in spans]
    for k in sorted(range(len(spans)), key=lambda k: spans[k][0]):
        start = spans[k][0]
        free = {name: one.amounts for name, one in machines.items()}
        for other, (begin, end) in enumerate(spans):
            if begin <= start < end and used[other]:
                free = minus(free, used[other])
        names = list(lists[k])
        shares = [
            given
            if given is not None and sum(given) == requests[k][x]
            else _share(x, requests[k], names, machines, free)
            for x, given in enumerate(stated[k])
        ]
        for x, name in enumerate(resources):
            types = [y for y, one in enumerate(resources) if one.startswith(f"{name}:")]
            all_typed = sum(requests[k][y] for y in types) == requests[k][x] > 0
            if all_typed and sum(stated[k][x] or ()) != requests[k][x]:
                shares[x] = [sum(shares[y][p] for y in types) for p in range(len(names))]
        used[k] = {name: tuple(share[p] for share in shares) for p, name in enumerate(names)}
    return used


def _share(
    x: int, request: Amounts, names: Sequence[str], machines: Machines, free: Free
) -> list[int]:
    amount, count = request[x], len(names)
    whole = [machines[name].amounts[x] for name in names]
    if count == 1:
        return [amount]
    if sum(whole) == amount:
        return whole
    if x > 0:  # not CPUs: in proportion to what the nodes have
        weights = whole if sum(whole) else [1] * count
        edges = [
            floor(Fraction(amount * sum(weights[: p + 1]), sum(weights)) + Fraction(1, 2))
            for p in range(count)
        ]
        return [b - a for a, b in pairwise([0, *edges])]
    share, left = [], amount
    for p, name in enumerate(names[:-1]):
        reserve = max(left - (count - 1 - p), 0)
        share.append(min(max(free[name][x], min(reserve, 1)), reserve))
        left -= share[-1]
    return [*share, left]
