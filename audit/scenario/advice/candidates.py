"""The changes of a pool that advice tries, family by family; see ``advise``."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Final, NamedTuple

import polars as pl

from audit import periods
from audit.metrics.attempts.contention import counted_resources
from audit.metrics.attempts.population import ended
from audit.metrics.bursts import bursts
from audit.model import Backfill, Limit, Order, Pool, Window
from audit.registry.causes import LACKS
from audit.scenario.advice import judging
from audit.scenario.scenario import (
    PLACEMENTS,
    Bound,
    Scenario,
    ScenarioChange,
    bound_of,
    changed,
    per_node,
    rules_of,
)
from audit.scenario.whatif.options import title, written
from audit.words import kind_of

DEPTHS: Final = (2, 4, 8)  # numbers of reservations that are tried
CAUSES: Final = 0.05  # share of all waiting from which on a rule is tried
OVERASKING: Final = 10  # number of users whose walltimes are shortened
TWICE: Final = Fraction(2)
BURST: Final = 0.25
"""Work of a burst from which on its user is limited, as a part of what the pool can do in a day."""
RARE_S: Final = 60  # passes are made more often only where they are at least this far apart, s

_OF_WORK: Final = ("occupancy_s", "size")
_WORK: Final = pl.col("occupancy_s") * pl.col("size")


class Candidate(NamedTuple):
    """A change that is tried; ``change`` holds options of ``fairaudit whatif``."""

    family: str
    change: str
    title: str
    after: Scenario


def candidates(today: Scenario, shares: Mapping[str, float] | None = None) -> tuple[Candidate, ...]:
    """Return the changes to try on a pool; ``today`` has the attempts of the period, or more.

    Families take turns: a budget that ends leaves out the last of each, and no whole family.

    Args:
        shares: share of all waiting that each rule (``scenario.scenario.rules_of``) and the
            ``nodes`` cause, in [0, 1], by name; None: unknown, and all are tried.
    """
    families = {
        "reservations": _reservations(today),
        "limits": _ruled(today, Limit, shares),
        "windows": _ruled(today, Window, shares),
        "walltimes": _walltimes(today),
        "per_user": _per_user(today),
        "targets": _targets(today),
        "passes": _passes(today),
        "placement": _placement(today.pool, shares),
        "sizes": _sizes(today),
    }
    found = []
    for turn in zip_longest(*families.values()):
        for family, fields in zip(families, turn, strict=True):
            if fields is not None:
                change = ScenarioChange(**fields)
                words = (written(change), title(change, today.pool))
                found.append(Candidate(family, *words, changed(today, change)))
    return tuple(found)


def _reservations(today: Scenario) -> Iterator[dict[str, Any]]:
    policy = today.pool.policy
    had = policy.reservations or policy.backfill.traits.reservations
    if had is None:  # all queued jobs have one
        depths = [] if policy.backfill.traits.keeps_plans else [1, 4]
    else:
        depths = [depth for depth in (1, *DEPTHS) if depth > had and (had or depth in (1, 4))]
    for depth in depths:
        if depth == 1 and policy.depth is None:
            yield {"policy": {"backfill": Backfill.easy}}
        else:
            yield {"policy": {"backfill": Backfill.conservative_replan, "reservations": depth}}


def _ruled(
    today: Scenario, kind: type[Limit | Window], shares: Mapping[str, float] | None
) -> Iterator[dict[str, Any]]:
    zone = periods.zone(today.pool.zone)
    rules = {
        name: rule
        for name, rule in rules_of(today.pool).items()
        if isinstance(rule, kind)
        and (rule.valid_to is None or periods.day_start(rule.valid_to, zone) > today.now)
    }
    if shares is not None:
        rules = {name: rule for name, rule in rules.items() if shares.get(name, 0.0) >= CAUSES}
        rules = dict(sorted(rules.items(), key=lambda one: -shares.get(one[0], 0.0)))
    for name, rule in rules.items():
        yield {"lift": (name,)}
        if (bound := bound_of(rule)) is not None:
            yield {"relax": {name: 2 * max(getattr(rule, bound), 1)}}


def _walltimes(today: Scenario) -> Iterator[dict[str, Any]]:
    policy = today.pool.policy
    if policy.backfill.traits.reservations == 0 and not policy.order.traits.by_estimates:
        return  # walltimes decide nothing
    unused = (pl.col("walltime_s") - pl.col("occupancy_s")) * pl.col("size")
    asked = today.attempts.select("standing", "user", "walltime_s", "occupancy_s", "size")
    overasking = ended(asked).filter(unused > 0)
    worst = tuple(
        overasking.drop_nulls("user")
        .group_by("user")
        .agg(unused.sum().alias("unused"))
        .sort("unused", "user", descending=[True, False])["user"]
        .head(OVERASKING)
    )
    if worst:
        yield {"walltimes": TWICE, "walltimes_of": worst}
        if overasking["user"].n_unique() > len(worst):
            yield {"walltimes": TWICE}


def _per_user(today: Scenario) -> Iterator[dict[str, Any]]:
    half, quarter = today.pool.capacity // 2, today.pool.capacity // 4
    largest = (
        ended(today.attempts.select("standing", "user", *_OF_WORK, burst=bursts(today.attempts)))
        .drop_nulls("burst")
        .group_by("user", "burst")
        .agg(_WORK.sum().alias("work"), attempts=pl.len())
        .filter(
            pl.col("attempts") > 1,  # one attempt is not a queue
            pl.col("work") >= BURST * today.pool.capacity * judging.DAY_S,
        )
        .sort("work", "user", descending=[True, False])
    )
    if quarter and not largest.is_empty():
        yield {"limits": (Bound("user", largest["user"][0], quarter, narrow=True),)}
    for most in filter(None, dict.fromkeys((half, quarter))):
        yield {"limits": (Bound("user", None, most, narrow=True),)}


def _targets(today: Scenario) -> Iterator[dict[str, Any]]:
    if today.pool.policy.order is not Order.fairshare:
        return
    used = (
        today.attempts.select("account", *_OF_WORK)
        .drop_nulls("account")
        .group_by("account")
        .agg(_WORK.sum().cast(pl.Float64).alias("used"))
        .sort("account")
    )
    tree = today.fairshare.tree
    if tree is not None:
        used = used.filter(pl.col("account").is_in(tree.names[1:]))
    if used.height > 1 and used["used"].sum() > 0:
        percent = (100 * pl.col("used") / pl.col("used").sum()).round(3)
        yield {"targets": dict(used.select("account", percent).iter_rows())}
        yield {"targets": dict.fromkeys(used["account"], 1.0)}


def _passes(today: Scenario) -> Iterator[dict[str, Any]]:
    policy = today.pool.policy
    if policy.depth is not None:
        yield {"policy": {"depth": 4 * policy.depth}}
    if policy.interval_s is not None and policy.interval_s >= RARE_S:
        yield {"policy": {"interval_s": policy.interval_s // 4}}


def _placement(pool: Pool, shares: Mapping[str, float] | None) -> Iterator[dict[str, Any]]:
    if not pool.by_nodes or pool.exclusive_nodes:
        return
    if shares is None or shares.get("nodes", 0.0) >= CAUSES:
        yield from (
            {"placement": name}
            for name, fields in PLACEMENTS.items()
            if any(getattr(pool, key) != value for key, value in fields.items())
        )


def _sizes(today: Scenario) -> Iterator[dict[str, Any]]:
    attempts, counted = today.attempts, counted_resources(today.pool)
    if not today.pool.by_nodes or "cause_nodes_s" not in attempts.columns:
        return
    least = CAUSES * float(attempts["wait_s"].sum() or 0)
    found: dict[tuple[str, int], None] = {}
    for lack in LACKS:
        lacking = lack.resource or kind_of(counted[0])  # several: jobs are halved as a whole
        resource = next((name for name in counted if kind_of(name) == lacking), None)
        if resource is None:
            continue
        waits = (
            attempts.filter(pl.col(lack.column) > 0)
            .group_by(per_node=per_node(resource))
            .agg(pl.col(lack.column).sum().alias("waited"))
            .drop_nulls()
            .sort("waited", "per_node", descending=[True, False])
        )
        if waits.is_empty() or waits["waited"].sum() < least:
            continue
        asked = waits["per_node"][0]
        if asked > 1:
            found[resource, -(-asked // 2)] = None
    yield from ({"per_node": {resource: most}} for resource, most in found)
