"""A scenario: a pool under a policy and rules, with the attempts that it schedules; and changes.

``simulate``, what-if, advice, fair starts, modelled starts and decisions all take one.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from audit import rules
from audit.errors import UsageError
from audit.metrics.attempts.contention import counted_resources, requested
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.usage import HalfLife, Kind
from audit.metrics.preemption import whole_jobs
from audit.metrics.slurm.multifactor import FACTORS
from audit.model import BY_USAGE, Limit, Node, Order, Placement, Pool, Window
from audit.scenario.ownership import EQUAL_SHARES, Fairshare
from audit.scenario.workload import Indexed, workload_of_rows


@dataclass(frozen=True, eq=False)
class Scenario:
    """Attempts, and the pool and policy that schedule them."""

    attempts: pl.DataFrame
    """Columns of ``model.DESCRIBED``, of the pool; ``penalty`` where usage is charged by it."""
    pool: Pool  # with the policy in force
    now: int  # when the log was taken, epoch s
    fairshare: Fairshare = EQUAL_SHARES
    owned: bool = True  # whether attempts have owners, which orders by usage rank

    @cached_property
    def indexed(self) -> Indexed:
        """The workload of the attempts, and the row of each."""
        return workload_of_rows(
            self.attempts, self.pool, self.now, self.fairshare, owned=self.owned
        )

    def but(self, **changes: Any) -> "Scenario":
        """Return the scenario with other fields."""
        return replace(self, **changes)

    def to_compare(self) -> "Scenario":
        """Return the scenario without owners, to save memory, if no rule to compare ranks them."""
        ranks = self.fairshare != EQUAL_SHARES or self.pool.policy.order in BY_USAGE
        return self.but(owned=ranks)

    def of_whole_jobs(self) -> "Scenario":
        """Return the scenario with one row per job where preemption is simulated."""
        if not self.pool.preemption:
            return self
        return self.but(attempts=whole_jobs(self.attempts))


class Amount(NamedTuple):
    """A capacity, or a difference from the present one."""

    amount: int
    relative: bool

    def of(self, present: int) -> int:
        """Return the new capacity."""
        return present + self.amount if self.relative else self.amount


class Bound(NamedTuple):
    """A limit as the command line writes it; see ``options.limits``."""

    kind: rules.Kind
    name: str | None  # None: each entity of the kind
    most: int
    unit: str | None = None  # None: the pool's counted resource
    narrow: bool = False  # whether requests above the limit are exempt

    def of(self, pool: Pool) -> Limit:
        """Return the limit for a pool."""
        resource = None if self.unit == "jobs" else self.unit or pool.resource.value
        scope: dict[str, Any] = {"size_up_to": self.most} if self.narrow else {}
        scope |= {"per": self.kind} if self.name is None else {self.kind: self.name}
        return Limit(most=self.most, resource=resource, **scope)


PLACEMENTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "packed": {"placement": Placement.packed, "exclusive_nodes": False},
    "least_loaded": {"placement": Placement.least_loaded, "exclusive_nodes": False},
    "consecutive": {"placement": Placement.consecutive, "exclusive_nodes": False},
    "exclusive": {"exclusive_nodes": True},
}
"""Fields of ``Pool`` by the value of ``--placement``."""


class ScenarioChange(NamedTuple):
    """Changes of a scenario; None or empty: unchanged."""

    policy: Mapping[str, Any] = {}  # fields of ``Policy``
    targets: Mapping[str, float] = {}
    """Shares of users or accounts, in the unit of the present ones; without any, all have 1."""
    half_life_s: float | None = None
    weights: Mapping[str, float] = {}
    """Of factors of Slurm's priority (``metrics.slurm.multifactor.FACTORS``)."""
    walltimes: Fraction | None = None  # walltimes are at most this multiple of the occupancy; ≥ 1
    walltimes_of: tuple[str, ...] = ()  # the users whose walltimes change; empty: all
    capacity: Amount | None = None  # of the counted resource
    nodes: Amount | None = None  # all amounts of the pool grow in proportion
    placement: str | None = None  # a key of ``PLACEMENTS``
    per_node: Mapping[str, int] = {}  # most of a resource that a job requests per node; ≥ 1
    lift: tuple[str, ...] = ()  # removed limits and windows; see ``lifted``
    relax: Mapping[str, int] = {}  # new bounds of limits and windows; see ``relaxed``
    limits: tuple[Bound, ...] = ()  # further limits
    walltime_limits: Mapping[str, int] = {}  # longest walltime and run time by partition, s ≥ 1
    without: tuple[str, ...] = ()  # users whose attempts never arrive


def changed(today: Scenario, change: ScenarioChange) -> Scenario:
    """Return the scenario after a change; errors as ``all_changed``."""
    return all_changed([today], change)[0]


def all_changed(todays: Sequence[Scenario], change: ScenarioChange) -> list[Scenario]:
    """Return the scenario of each pool after a change.

    A pool without a named user, account, partition, limit or window stays as it is in this respect.

    Raises:
        UsageError: no pool has a user, account, partition, limit or window, an amount would fall
            below 1, or the policy after the change does not use a setting or has no priorities to
            order jobs by; the message names the option.
    """
    _refuse_unknown_rules(todays, change)
    named = [each.name for each in change.limits if each.kind == "partition" and each.name]
    for names, flag, kind in (
        (change.without, "--without-user", "user"),
        (change.walltimes_of, "--walltimes-of", "user"),
        (change.walltime_limits, "--max-walltime", "partition"),
        (named, "--limit", "partition"),
    ):
        if names:
            _refuse_unknown(names, todays, flag, kind)
    owners = pl.concat([today.attempts.select("user", "account") for today in todays])
    return [_changed(today, change, owners) for today in todays]


def _changed(today: Scenario, change: ScenarioChange, owners: pl.DataFrame) -> Scenario:
    pool = decided(today.pool, change)
    _refuse_unused(pool, change)
    attempts = today.attempts
    recorded = change.policy.get("order") == Order.recorded
    if recorded and attempts.height and attempts["priority"].is_null().all():
        raise UsageError(f"--order recorded: no job of pool {pool.name!r} has a known priority")
    if change.without:
        attempts = attempts.filter(~pl.col("user").is_in(list(change.without)).fill_null(False))
        if attempts.is_empty():
            raise UsageError("--without-user: no attempt would remain")
    if change.walltimes is not None:
        attempts = asking_for(attempts, change.walltimes, change.walltimes_of or None)
    if change.walltime_limits:
        attempts = cut_short(attempts, change.walltime_limits)
    if change.per_node:
        attempts = spread(attempts, change.per_node, pool)
    fairshare = today.fairshare
    if change.targets:
        fairshare = retargeted(fairshare, today.attempts, change.targets, owners)
    if change.half_life_s is not None:
        fairshare = fairshare._replace(method=HalfLife(half_life_s=change.half_life_s))
    if change.weights:
        fairshare = reweighted(fairshare, change.weights)
    sized = resized(pool, change.capacity, change.nodes)
    return today.but(attempts=attempts, pool=sized, fairshare=fairshare)


def decided(pool: Pool, change: ScenarioChange) -> Pool:
    """Return the pool with the policy and rules of a change.

    Raises:
        UsageError: the policy after the change does not take a setting, a window without a bound
            is to be relaxed, or the pool's nodes are unknown and jobs are to be placed on others,
            or on more of them.
    """
    ruled = lifted(relaxed(pool, change.relax), change.lift)
    for flag, value in (("--placement", change.placement), ("--per-node", change.per_node)):
        if value and not pool.by_nodes:
            raise UsageError(
                f"{flag}: sums of resources decide which jobs of pool {pool.name!r} fit; "
                "describe its nodes (clusters.hardware)"
            )
    if change.placement is not None:
        ruled = ruled._replace(**PLACEMENTS[change.placement])
    after = ruled._replace(policy=pool.policy.changed(**change.policy))
    return after._replace(limits=(*after.limits, *(each.of(after) for each in change.limits)))


def _refuse_unused(pool: Pool, change: ScenarioChange) -> None:
    for flag, value, order in (
        ("--targets", change.targets, Order.fairshare),
        ("--half-life", change.half_life_s, Order.fairshare),
        ("--weight", change.weights, Order.multifactor),
    ):
        if value and pool.policy.order is not order:
            raise UsageError(
                f"{flag}: only the order {order} uses it, and pool {pool.name!r} has "
                f"{pool.policy.order}; add --order {order}"
            )


def _refuse_unknown(names: Iterable[str], of: Sequence[Scenario], flag: str, kind: str) -> None:
    known = pl.concat([today.attempts[kind] for today in of])
    there = known.drop_nulls().unique().sort().to_list()
    if unknown := next((name for name in names if name not in there), None):
        listed = ", ".join(there[:10]) + (", …" if len(there) > 10 else "")
        pools, they, have = _named(of)
        others = f"{they} {have} {listed}" if there else "the log names none"
        raise UsageError(f"{flag} {unknown}: {pools} {have} no such {kind}; {others}")


def _named(todays: Sequence[Scenario]) -> tuple[str, str, str]:
    """Return the pool or pools as a noun, a pronoun and its verb."""
    single = len(todays) == 1
    return (
        (f"pool {todays[0].pool.name!r}", "it", "has") if single else ("the pools", "they", "have")
    )


def _refuse_unknown_rules(todays: Sequence[Scenario], change: ScenarioChange) -> None:
    rules = dict.fromkeys(name for today in todays for name in rules_of(today.pool))
    for flag, names, kinds in (("--relax", change.relax, ()), ("--lift", change.lift, _KINDS)):
        if unknown := next((name for name in names if name not in {*rules, *kinds}), None):
            pools, they, have = _named(todays)
            known = ", ".join(rules) or f"{they} {have} no limits and no windows"
            must = ", ".join(kinds) + " or " if kinds else ""
            raise UsageError(f"{flag} {unknown}: must be {must}a rule of {pools}: {known}")


def require_known(limits: Iterable[Bound], attempts: pl.DataFrame) -> None:
    """Raise UsageError where a limit is for a user, account or QOS that no attempt has."""
    for each in limits:
        if each.name and not attempts[each.kind].eq(each.name).any():
            raise UsageError(f"--limit {each.kind}:{each.name}: the log has no such {each.kind}")


_KINDS: Final = {"all": (Limit, Window), "limits": (Limit,), "windows": (Window,)}
"""Kinds of rules, by the name with which all of them are lifted."""


def lifted(pool: Pool, names: Sequence[str]) -> Pool:
    """Return a pool without some of its limits and windows.

    ``names`` are ``all``, ``limits``, ``windows``, or those of ``rules_of``; others are ignored.
    """
    gone = tuple(kind for name in names for kind in _KINDS.get(name, ()))
    rules = rules_of(pool).items()
    left = {key: rule for key, rule in rules if key not in names and not isinstance(rule, gone)}
    return _ruled(pool, left)


def relaxed(pool: Pool, bounds: Mapping[str, int]) -> Pool:
    """Return a pool with other bounds of some limits and windows.

    ``bounds`` are by name (``rules_of``; others are ignored): the amount of a limit; the walltime
    (s) above which a window applies, or else the size. Raises UsageError for a window without one.
    """
    rules = rules_of(pool)
    for name, rule in rules_of(pool).items():
        if name in bounds:
            key = bound_of(rule)
            if key is None:
                raise UsageError(f"--relax {name}: the window has no bound of walltime or size")
            rules[name] = rule.but(**{key: bounds[name]})
    return _ruled(pool, rules)


Rule = Limit | Window


def rules_of(pool: Pool) -> dict[str, Rule]:
    """Return limits and windows, in the order of the configuration: ``1``, …, ``window1``, …."""
    numbered: dict[str, Rule] = {str(k): limit for k, limit in enumerate(pool.limits, 1)}
    return numbered | {f"window{k}": window for k, window in enumerate(pool.windows, 1)}


def bound_of(rule: Rule) -> str | None:
    """Return the field of a limit or a window that its strictness depends on; None: none."""
    if isinstance(rule, Limit):
        return "most"
    bounds = ("walltime_above_s", "size_above")
    return next((name for name in bounds if getattr(rule, name) is not None), None)


def _ruled(pool: Pool, rules: Mapping[str, Rule]) -> Pool:
    return pool._replace(
        limits=tuple(rule for rule in rules.values() if isinstance(rule, Limit)),
        windows=tuple(rule for rule in rules.values() if isinstance(rule, Window)),
    )


# --- other attempts ------------------------------------------------------------------------------


def asking_for(
    attempts: pl.DataFrame, factor: Fraction, users: Collection[str] | None = None
) -> pl.DataFrame:
    """Return attempts whose walltimes are min(walltime, factor · occupancy), rounded up, ≥ 1 s.

    Unknown walltimes stay unknown; walltimes of attempts of unknown occupancy stay as they are.

    Args:
        factor: ≥ 1; 1: all walltimes are exact.
        users: those whose walltimes change; None: all.
    """
    above, below = factor.numerator, factor.denominator
    enough = -((-pl.col("occupancy_s") * above) // below)
    better = pl.min_horizontal("walltime_s", pl.max_horizontal(enough, pl.lit(1)))
    known = pl.col("walltime_s").is_not_null() & pl.col("occupancy_s").is_not_null()
    if users is not None:
        known &= pl.col("user").is_in(list(users)).fill_null(value=False)
    return attempts.with_columns(walltime_s=pl.when(known).then(better).otherwise("walltime_s"))


def cut_short(attempts: pl.DataFrame, limits: Mapping[str, int]) -> pl.DataFrame:
    """Return attempts under walltime limits of their partitions.

    A longer or unknown walltime becomes the limit. An attempt that ran longer ends at the limit,
    and the rest of its work is not done. An open attempt keeps what it has run.

    Args:
        limits: by partition, s ≥ 1.
    """
    limit = pl.col("partition").replace_strict(dict(limits), default=None, return_dtype=pl.Int64)
    cut = (pl.col("occupancy_s") > limit).fill_null(False)
    shorter = pl.when(limit.is_not_null()).then(pl.min_horizontal("walltime_s", limit))
    return attempts.with_columns(
        walltime_s=shorter.otherwise("walltime_s"),
        end_time=pl.when(cut).then(pl.col("start_time") + limit).otherwise("end_time"),
        **{
            name: pl.when(cut & (pl.col(name) > limit)).then(limit).otherwise(name)
            for name in ("occupancy_s", "suspended_s", "runtime_s")
        },
    )


def spread(attempts: pl.DataFrame, most: Mapping[str, int], pool: Pool) -> pl.DataFrame:
    """Return attempts that request as much in total, on more nodes if it is too much for one.

    Those that request more than allowed per node request as many times their nodes as are needed.

    Args:
        most: by resource (``contention.counted_resources``), in its unit, ≥ 1.

    Raises:
        UsageError: the pool does not count a resource.
    """
    counted = counted_resources(pool)
    if unknown := next((name for name in most if name not in counted), None):
        raise UsageError(
            f"--per-node {unknown}: not a resource that limits starts in pool {pool.name!r}; "
            f"it has {', '.join(counted)}"
        )
    times = [-(-per_node(name) // most[name]) for name in most]
    more = pl.max_horizontal(pl.lit(1), *times)
    return attempts.with_columns(pl.when(more > 1).then(_NODES * more).otherwise("nodes"))


_NODES: Final = pl.max_horizontal(pl.col("nodes").fill_null(1), pl.lit(1))


def per_node(resource: str) -> pl.Expr:
    """Return the amount that an attempt requests on each of its nodes, rounded up."""
    return -(-requested(resource) // _NODES)


# --- another capacity ----------------------------------------------------------------------------


def resized(pool: Pool, capacity: Amount | None, nodes: Amount | None) -> Pool:
    """Return a pool of another size, at all times, or raise UsageError.

    With ``nodes`` every amount grows in proportion, rounded down. The pool keeps its first nodes;
    further ones are like them.
    """
    if capacity is not None and nodes is not None:
        raise UsageError("--nodes and --capacity: give one of them")
    counted = nodes if pool.resource == "nodes" and capacity is None else capacity
    if counted is not None:
        after = _resized(
            pool,
            "--capacity",
            lambda name, present: counted.of(present) if name == pool.resource else present,
        )
        more = after.capacity - pool.capacity
        return after._replace(nodes=tuple(_with_more(pool.nodes, pool.resource.value, more)))
    if nodes is None:
        return pool
    present = dict(pool.amounts).get("nodes", len(pool.nodes) or None)
    if present is None:
        raise UsageError(
            f"--nodes: the configuration does not say how many nodes pool {pool.name!r} has "
            "(clusters.pools.capacity); give --capacity instead"
        )
    growth = Fraction(nodes.of(present), present)
    if growth <= 0:
        raise UsageError("--nodes: at least one node must remain")
    count = int(len(pool.nodes) * growth)
    known = tuple(_node(pool.nodes, number) for number in range(count)) if pool.nodes else ()
    return _resized(pool, "--nodes", lambda _, present: int(present * growth))._replace(nodes=known)


def _resized(pool: Pool, flag: str, size: Callable[[str, int], int]) -> Pool:
    def sized(amounts: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        return tuple((name, size(name, present)) for name, present in amounts)

    after = pool._replace(
        capacity=size(pool.resource.value, pool.capacity),
        amounts=sized(pool.amounts),
        steps=tuple(step._replace(amounts=sized(step.amounts)) for step in pool.steps),
        unseen=tuple(step._replace(amounts=sized(step.amounts)) for step in pool.unseen),
    )
    least = min((amount for step in after.changes for _, amount in step.amounts), default=0)
    if after.capacity < 1 or least < 0:
        raise UsageError(f"{flag}: pool {pool.name!r} would have no capacity left")
    return after


def _node(nodes: Sequence[Node], number: int) -> Node:
    copy, of = divmod(number, len(nodes))
    return nodes[of]._replace(name=f"{nodes[of].name}+{copy}") if copy else nodes[of]


def _with_more(nodes: Sequence[Node], resource: str, more: int) -> Iterator[Node]:
    """Yield nodes that have ``more`` more of a resource in total; the last one has the rest."""

    def amount(node: Node) -> int:
        return 1 if resource == "nodes" else dict(node.amounts).get(resource, 0)

    total = sum(map(amount, nodes))
    left = total + more if total else 0
    for number in itertools.count():
        if left <= 0:
            return
        node = _node(nodes, number)
        has = [(name, min(of, left) if name == resource else of) for name, of in node.amounts]
        yield node._replace(amounts=tuple(has))
        left -= amount(node)


# --- other shares and weights --------------------------------------------------------------------


def reweighted(fairshare: Fairshare, weights: Mapping[str, float]) -> Fairshare:
    """Return Slurm's priorities with other weights of the named factors, or raise UsageError."""
    slurm = fairshare.multifactor
    assert slurm is not None  # the order is multifactor
    if unknown := sorted(set(weights) - set(FACTORS)):
        raise UsageError(f"--weight: {unknown[0]}: one of {', '.join(FACTORS)}")
    return fairshare._replace(multifactor=slurm._replace(weights={**slurm.weights, **weights}))


def retargeted(
    fairshare: Fairshare,
    attempts: pl.DataFrame,
    targets: Mapping[str, float],
    owners: pl.DataFrame,
) -> Fairshare:
    """Return owners ranked by other shares.

    Where there are shares, those of the named users and accounts are replaced. Where there are
    none, all users (or all accounts, if the names are accounts) get 1, except those named.
    ``attempts`` are those of the pool; ``owners`` are the users and accounts of all pools.

    Raises:
        UsageError: a name is unknown, or all shares are 0.
    """
    tree = fairshare.tree
    if tree is not None:
        _refuse_untargeted(targets, tree.names[1:], "the configured shares")
        placed = enumerate(zip(tree.names, tree.shares.tolist(), strict=True))
        shares = [targets.get(name, share) if place else share for place, (name, share) in placed]
        return fairshare._replace(tree=tree._replace(shares=np.array(shares, np.float64)))
    kinds: tuple[Kind, ...] = ("account", "user")
    named = {kind: set(owners[kind]) for kind in kinds}
    kind = next((kind for kind in kinds if set(targets) <= named[kind]), None)
    if kind is None:
        _refuse_untargeted(targets, named["account"] | named["user"], "the log")
        raise UsageError("--targets: name either users or accounts, not both")
    own = attempts[kind].drop_nulls().unique().sort().to_list()
    shares_of = {name: targets.get(name, 1.0) for name in own}
    try:
        return fairshare._replace(kind=kind, tree=trees.flat(own, shares_of, kind=kind))
    except ValueError as error:
        raise UsageError(f"--targets: {error}") from error


def _refuse_untargeted(targets: Iterable[str], known: Iterable[str], where: str) -> None:
    if unknown := sorted(set(targets) - set(known)):
        raise UsageError(f"--targets: {', '.join(unknown)}: not in {where}")
