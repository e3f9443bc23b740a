"""What is replayed: attempts, a pool with its policy, and how owners are ranked."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from audit import rules
from audit.errors import UsageError
from audit.metrics.fairshare import trees
from audit.metrics.fairshare.trees import Tree
from audit.metrics.fairshare.usage import HalfLife, Kind
from audit.metrics.slurm.multifactor import FACTORS
from audit.model import Limit, Order, Pool
from audit.scenario.ownership import EQUAL_SHARES, Fairshare


class Scenario(NamedTuple):
    """What is replayed."""

    attempts: pl.DataFrame
    """Columns of ``model.DESCRIBED``, of the pool; ``penalty`` where usage is charged by one."""
    pool: Pool
    """With the policy in force."""
    fairshare: Fairshare = EQUAL_SHARES


def asking_for(
    attempts: pl.DataFrame, factor: Fraction, of: tuple[str, ...] | None = None
) -> pl.DataFrame:
    """Attempts with better walltimes: min(walltime, factor · occupancy), rounded up, ≥ 1 s.

    A walltime that is unknown stays so, as does that of an attempt whose occupancy is.

    Args:
        factor: ≥ 1; 1: all ask for exactly what they take.
    """
    above, below = factor.numerator, factor.denominator
    enough = -((-pl.col("occupancy_s") * above) // below)
    better = pl.min_horizontal("walltime_s", pl.max_horizontal(enough, pl.lit(1)))
    known = pl.col("walltime_s").is_not_null() & pl.col("occupancy_s").is_not_null()
    if of is not None:
        known &= pl.col("user").is_in(list(of)).fill_null(value=False)
    return attempts.with_columns(walltime_s=pl.when(known).then(better).otherwise("walltime_s"))


# --- the same after a change; what cannot be made is refused, with the option that asked for it --


class Amount(NamedTuple):
    """How much there is to be: so much, or so much more."""

    amount: int
    relative: bool

    def of(self, had: int) -> int:
        """What there is to be of ``had``."""
        return had + self.amount if self.relative else self.amount


class Bound(NamedTuple):
    """A limit as a command line says it; see ``options.limits``."""

    kind: rules.Kind
    name: str | None
    """None: each of them."""
    most: int
    unit: str | None
    """None: what the pool counts."""

    def of(self, pool: Pool) -> Limit:
        """The limit that it is for a pool."""
        resource = None if self.unit == "jobs" else self.unit or pool.resource.value
        if self.name is None:
            return Limit(most=self.most, resource=resource, per=self.kind)
        whose: dict[str, Any] = {self.kind: self.name}
        return Limit(most=self.most, resource=resource, **whose)


class Change(NamedTuple):
    """What is changed; what is None or empty stays."""

    policy: Mapping[str, Any] = {}
    """Fields of ``Policy``."""
    targets: Mapping[str, float] = {}
    """Shares of users or accounts, in the unit of those of today; without any today, all have 1."""
    half_life_s: float | None = None
    weights: Mapping[str, float] = {}
    """Of factors of Slurm's priority (``metrics.slurm.multifactor.FACTORS``)."""
    walltimes: Fraction | None = None
    """Nobody asks for more than so many times what the attempt takes; ≥ 1."""
    capacity: Amount | None = None
    """Of the counted resource."""
    nodes: Amount | None = None
    """Everything that the pool has grows with them."""
    lift: tuple[str, ...] = ()
    """Which limits and windows of today are no more; see ``lifted``."""
    limits: tuple[Bound, ...] = ()
    """What may run at one time, beside what is limited today."""
    walltime_limits: Mapping[str, int] = {}
    """The longest that a partition's attempts may ask for, and run, s ≥ 1."""
    without: tuple[str, ...] = ()
    """Users whose attempts never come."""


def changed(today: Scenario, change: Change) -> Scenario:
    """The scenario after a change.

    Raises:
        UsageError: it cannot be made: an unknown user, account or partition, an amount below 1, a
            setting that the policy after the change does not heed.
    """
    pool = decided(today.pool, change)
    heeded = (
        ("--targets", change.targets, Order.fairshare),
        ("--half-life", change.half_life_s, Order.fairshare),
        ("--weight", change.weights, Order.multifactor),
    )
    for flag, value, order in heeded:
        if value and pool.policy.order is not order:
            raise UsageError(
                f"{flag}: only the order {order} heeds it, and pool {pool.name!r} has "
                f"{pool.policy.order}; add --order {order}"
            )
    attempts = _without(today, change.without)
    if change.walltimes is not None:
        attempts = asking_for(attempts, change.walltimes)
    if change.walltime_limits:
        _refuse_strange(change.walltime_limits, today, "--max-walltime")
        attempts = cut_short(attempts, change.walltime_limits)
    named = [each.name for each in change.limits if each.kind == "partition" and each.name]
    _refuse_strange(named, today, "--limit")
    fairshare = today.fairshare
    if change.targets:
        fairshare = retargeted(fairshare, today.attempts, change.targets)
    if change.half_life_s is not None:
        fairshare = fairshare._replace(method=HalfLife(half_life_s=change.half_life_s))
    if change.weights:
        fairshare = reweighted(fairshare, change.weights)
    return Scenario(attempts, resized(pool, change.capacity, change.nodes), fairshare)


def decided(pool: Pool, change: Change) -> Pool:
    """The pool with another policy and other rules.

    Raises:
        UsageError: the policy after the change does not take a setting, or a limit is to be lifted
            that the pool does not have.
    """
    after = lifted(pool._replace(policy=pool.policy.changed(**change.policy)), change.lift)
    return after._replace(limits=(*after.limits, *(each.of(after) for each in change.limits)))


def lifted(pool: Pool, what: Sequence[str]) -> Pool:
    """A pool without some of its limits and windows.

    Args:
        what: ``all``, ``limits``, ``windows``, or the number of a limit, from 1 on, in the order of
            the configuration.

    Raises:
        UsageError: it has no such limit, or none at all.
    """
    gone: set[int] = set()
    count = len(pool.limits)
    for each in what:
        if each in ("all", "limits", "windows"):
            gone |= set(range(len(pool.limits))) if each != "windows" else set()
            if each != "limits":
                pool = pool._replace(windows=())
        elif each.isdecimal() and 1 <= int(each) <= count:
            gone.add(int(each) - 1)
        else:
            raise UsageError(
                f"--lift {each}: all, limits, windows, or one of the {count} limits of pool "
                f"{pool.name!r} by its number"
            )
    kept = tuple(limit for k, limit in enumerate(pool.limits) if k not in gone)
    return pool._replace(limits=kept)


def _without(today: Scenario, users: Sequence[str]) -> pl.DataFrame:
    """The attempts but for those of some users."""
    if not users:
        return today.attempts
    for name in users:
        if not (today.attempts["user"] == name).any():
            raise UsageError(
                f"--without-user {name}: no attempt of pool {today.pool.name!r} is of it"
            )
    attempts = today.attempts.filter(~pl.col("user").is_in(users).fill_null(False))
    if attempts.is_empty():
        raise UsageError("--without-user: nobody would be left")
    return attempts


def _refuse_strange(limits: Iterable[str], today: Scenario, flag: str) -> None:
    known = today.attempts["partition"].drop_nulls().unique().sort().to_list()
    strange = next((partition for partition in limits if partition not in known), None)
    if strange is not None:
        listed = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")
        raise UsageError(
            f"{flag} {strange}: pool {today.pool.name!r} has no such partition; "
            + (f"it has {listed}" if known else "the log names none")
        )


def cut_short(attempts: pl.DataFrame, limits: Mapping[str, int]) -> pl.DataFrame:
    """Attempts under walltime limits of their partitions.

    Who asks for more, or for nothing known, asks for the limit; who runs longer ends at it, and
    what was left of it is not done. An attempt that was still running asks for no more either, and
    keeps what it has run.

    Args:
        limits: by partition, s ≥ 1; other partitions have none.
    """
    given = {"partition": list(limits), "_limit": list(limits.values())}
    known = pl.DataFrame(given, schema={"partition": pl.String, "_limit": pl.Int64})
    held = attempts.join(known, on="partition", how="left", maintain_order="left")
    limit = pl.col("_limit")
    cut = (pl.col("occupancy_s") > limit).fill_null(False)
    asked = pl.when(limit.is_not_null()).then(pl.min_horizontal("walltime_s", limit))
    return held.with_columns(
        walltime_s=asked.otherwise("walltime_s"),
        end_time=pl.when(cut).then(pl.col("start_time") + limit).otherwise("end_time"),
        **{
            name: pl.when(cut & (pl.col(name) > limit)).then(limit).otherwise(name)
            for name in ("occupancy_s", "suspended_s", "runtime_s")
        },
    ).select(attempts.columns)


def resized(pool: Pool, capacity: Amount | None, nodes: Amount | None) -> Pool:
    """A pool of another size, at all times.

    Args:
        nodes: every amount grows in proportion to them, rounded down.

    Raises:
        UsageError: nothing would be left, or the number of nodes is not known.
    """
    if capacity is not None and nodes is not None:
        raise UsageError("--nodes and --capacity: give one of them")
    counted = nodes if pool.resource == "nodes" and capacity is None else capacity
    if counted is not None:
        return _resized(
            pool,
            "--capacity",
            lambda name, had: counted.of(had) if name == pool.resource else had,
        )
    if nodes is None:
        return pool
    had = dict(pool.amounts).get("nodes")
    if had is None:
        raise UsageError(
            f"--nodes: the configuration does not say how many nodes pool {pool.name!r} has "
            "(clusters.pools.capacity); give --capacity instead"
        )
    growth = Fraction(nodes.of(had), had)
    if growth <= 0:
        raise UsageError("--nodes: at least one node must be left")
    return _resized(pool, "--nodes", lambda _, had: int(had * growth))


def _resized(pool: Pool, flag: str, size: Callable[[str, int], int]) -> Pool:
    """The pool with each amount as ``size`` makes it of the resource's name and what there was."""

    def sized(amounts: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        return tuple((name, size(name, had)) for name, had in amounts)

    after = pool._replace(
        capacity=size(pool.resource.value, pool.capacity),
        amounts=sized(pool.amounts),
        steps=tuple(step._replace(amounts=sized(step.amounts)) for step in pool.steps),
    )
    least = min((amount for step in after.steps for _, amount in step.amounts), default=0)
    if after.capacity < 1 or least < 0:
        raise UsageError(f"{flag}: pool {pool.name!r} would be left with less than nothing")
    return after


def reweighted(fairshare: Fairshare, weights: Mapping[str, float]) -> Fairshare:
    """Slurm's priorities with other weights; what is not named keeps its own.

    Raises:
        UsageError: there is no such factor.
    """
    slurm = fairshare.multifactor
    assert slurm is not None  # the order is multifactor
    if strange := sorted({*weights} - {*FACTORS}):
        raise UsageError(f"--weight: {strange[0]}: one of {', '.join(FACTORS)}")
    return fairshare._replace(multifactor=slurm._replace(weights={**slurm.weights, **weights}))


def retargeted(
    fairshare: Fairshare, attempts: pl.DataFrame, wanted: Mapping[str, float]
) -> Fairshare:
    """Owners ranked by other shares.

    Where there are shares today, those of the named users and accounts are replaced. Where there
    are none, all users (or all accounts, if the names are accounts) get 1, but for those named.

    Raises:
        UsageError: a name is unknown, or nobody has a share above 0.
    """
    if fairshare.tree is not None:
        known = set(fairshare.tree.names[1:])
        _refuse_unknown(wanted, known, "the configured shares")
        shares = [
            wanted.get(name, share) if place else share
            for place, (name, share) in enumerate(
                zip(fairshare.tree.names, fairshare.tree.shares.tolist(), strict=True)
            )
        ]
        return fairshare._replace(tree=fairshare.tree._replace(shares=np.array(shares, np.float64)))
    kinds: tuple[Kind, ...] = ("account", "user")
    named = {kind: attempts[kind].drop_nulls().unique().sort().to_list() for kind in kinds}
    kind = next((kind for kind in kinds if set(wanted) <= set(named[kind])), None)
    if kind is None:
        _refuse_unknown(wanted, set(named["account"]) | set(named["user"]), "the log")
        raise UsageError("--targets: name either users or accounts, not both")
    shares_of = dict.fromkeys(named[kind], 1.0) | dict(wanted)
    try:
        tree: Tree = trees.flat(named[kind], shares_of, kind=kind)
    except ValueError as error:
        raise UsageError(f"--targets: {error}") from error
    return fairshare._replace(kind=kind, tree=tree)


def _refuse_unknown(wanted: Mapping[str, float], known: set[str], where: str) -> None:
    strangers = sorted(set(wanted) - known)
    if strangers:
        raise UsageError(f"--targets: {', '.join(strangers)}: not in {where}")
