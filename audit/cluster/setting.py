"""What must be known of a cluster before anything can be computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit import config, periods
from audit.cluster import inference
from audit.cluster.inference import Fact
from audit.formats.dialects import Header
from audit.model import Period, Policy, Pool, Resource, Step

ASSUMED = Policy()
"""The policy of fair start times where nobody says which."""

OTHERS = "others"
"""Name of the pool of partitions that no configured pool has."""


@dataclass(frozen=True)
class Setting:
    """A cluster as its figures see it."""

    cluster: str
    zone: ZoneInfo
    pools: tuple[Pool, ...]
    partition_pool: Mapping[str | None, str]
    """The pool of each partition that the log names."""
    now: int
    """Instant up to which open attempts count."""
    facts: tuple[Fact, ...]
    """What was inferred, and from what."""
    warnings: tuple[str, ...]
    """What is wrong with the logs."""
    evidence: Mapping[str, Sequence[Mapping[str, object]]] = field(default_factory=dict)
    """Rows of the view ``rules`` about inferred rules, by pool."""


def one_off(
    cluster: Fact,
    attempts: pl.DataFrame,
    headers: Mapping[str, Header],
    resource: Resource,
    pool_size: int | None,
    asked_zone: str | None,
    policy: Policy | None = None,
) -> Setting:
    """What the user said of a cluster, and else what its logs say: one pool for everything."""
    zone = inference.zone(asked_zone, list(headers.values()))
    now = latest_instant(attempts) or 0
    pool, capacity = inference.pool(attempts, list(headers.values()), resource, pool_size, now)
    assumed = Fact(
        "policy",
        (policy or ASSUMED).name,
        "the default; --order and --backfill change it"
        if policy is None
        else "--order and --backfill",
    )
    return Setting(
        cluster.value,
        periods.zone(zone.value),
        (pool._replace(policy=policy or ASSUMED, zone=zone.value),),
        dict.fromkeys(attempts["partition"].unique().to_list(), pool.name),
        now,
        (cluster, zone, capacity, assumed),
        _warnings((cluster, zone, capacity), attempts, headers),
    )


class Told(NamedTuple):
    """What attempts tell of their cluster, where not all of them are at hand."""

    partitions: Sequence[str | None]
    """Those that they name."""
    now: int
    """The last thing that they know of, epoch s."""


def told_by(attempts: pl.DataFrame) -> Told:
    """The same of all attempts of a cluster."""
    partitions = attempts["partition"].unique().sort().to_list()
    return Told(partitions, latest_instant(attempts) or 0)


def configured(
    cluster: config.Cluster,
    attempts: pl.DataFrame,
    headers: Mapping[str, Header],
    told: Told | None = None,
) -> Setting:
    """A cluster as config.toml describes it; what it leaves out is inferred.

    A partition that no pool names belongs to the pool that names none. Where there is none, such
    partitions make a pool of their own, which is said.

    Args:
        attempts: all of them; those of pools whose capacity is configured may be left out where
            ``told`` is given.
        told: what all attempts tell; None: those at hand are all.
    """
    zone = periods.zone(cluster.zone)
    partitions, now = told or told_by(attempts)
    asked = cluster.pools or (config.Pool(name=inference.POOL),)
    rest = next((pool.name for pool in asked if not pool.partitions), OTHERS)
    owner = {partition: pool.name for pool in asked for partition in pool.partitions}
    partition_pool = {partition: _owner(partition, owner, rest) for partition in partitions}
    strays = [name for name, pool in partition_pool.items() if pool == OTHERS]
    facts = _people(cluster)
    pools: list[Pool] = []
    if strays and rest == OTHERS:
        listed = ", ".join("(none)" if name is None else name for name in strays)
        facts.append(
            Fact(
                f"pool {OTHERS!r}",
                listed,
                "partitions of the log",
                f"no pool of cluster {cluster.name!r} has these partitions of the log: {listed}; "
                f"they are audited as pool {OTHERS!r}",
            )
        )
        asked = (*asked, config.Pool(name=OTHERS))
    whole = list(headers.values()) if len(asked) == 1 else []  # a header speaks of all pools
    for pool in asked:
        of_pool = [part for part, name in partition_pool.items() if name == pool.name]
        if not of_pool and len(asked) > 1:
            continue
        held = attempts.filter(pl.col("partition").is_in(of_pool, nulls_equal=True))
        known, fact = _pool(pool, held, whole, zone, now)
        pools.append(known)
        facts.append(fact)
    return Setting(
        cluster.name,
        zone,
        tuple(pools),
        partition_pool,
        now,
        tuple(facts),
        _warnings(facts, attempts, headers),
    )


def _people(cluster: config.Cluster) -> list[Fact]:
    """What a reader must know of the names."""
    of, facts = cluster.people, list[Fact]()
    if of.hidden:
        facts.append(
            Fact("names", f"pseudonyms of each {', '.join(of.hidden)}", "clusters.people.key_file")
        )
    if of.file is not None:
        how = "whatever logs say" if of.replace else "where logs leave them out"
        facts.append(Fact("accounts and groups", f"those of {of.file}, {how}", "clusters.people"))
    return facts


def _owner(partition: str | None, owner: Mapping[str, str], rest: str) -> str:
    """The pool of a partition; of several that a pending job asked for, the first known one's."""
    for name in (partition or "").split(","):
        if name in owner:
            return owner[name]
    return rest


def _pool(
    asked: config.Pool,
    attempts: pl.DataFrame,
    headers: Sequence[Header],
    zone: ZoneInfo,
    now: int,
) -> tuple[Pool, Fact]:
    resource = asked.resource
    given = asked.capacity.model_dump(exclude_none=True)
    capacity = given.get(asked.resource)
    if capacity is None:
        inferred, fact = inference.pool(attempts, headers, resource, None, now, asked.name)
        capacity = inferred.capacity
    else:
        fact = Fact(f"capacity of pool {asked.name!r}", f"{capacity:,} {resource}", "config.toml")
    steps = tuple(
        Step(
            periods.day_start(step.since, zone),
            tuple(sorted(step.model_dump(exclude_none=True, exclude={"since", "planned"}).items())),
            step.planned,
        )
        for step in asked.steps
    )
    amounts = {**given, asked.resource: capacity}
    pool = Pool(
        asked.name,
        resource,
        capacity,
        steps,
        tuple(sorted(amounts.items())),
        asked.exclusive_nodes,
        asked.policy,
        asked.fair_order,
        asked.limits,
        asked.windows,
        str(zone),
    )
    return pool, fact


def _warnings(
    facts: Sequence[Fact], attempts: pl.DataFrame, headers: Mapping[str, Header]
) -> tuple[str, ...]:
    warnings = [fact.warning for fact in facts if fact.warning]
    warnings += [
        f"{file}: {problem}" for file, header in headers.items() for problem in header.problems
    ]
    of_all = (inference.same_machine(headers), inference.missing_runs(attempts, headers))
    return (*warnings, *(warning for warning in of_all if warning is not None))


def latest_instant(attempts: pl.DataFrame) -> int | None:
    """The last thing that the log knows of: no time in it is later. Null for an empty log."""
    latest = attempts.select(
        pl.max_horizontal(pl.col("submit_time", "eligible_time", "start_time", "end_time").max())
    ).item()
    return None if latest is None else int(latest)


def whole_log(attempts: pl.DataFrame, now: int) -> Period:
    """The period ``all``: from the first arrival to the last instant of the log."""
    first = attempts.select(
        pl.min_horizontal(pl.col("submit_time", "eligible_time", "start_time").min())
    ).item()
    return Period("all", now if first is None else int(first), now)


def covered(period: Period, log: Period) -> tuple[int, int]:
    """From when to when a log speaks of a period, epoch s; all of one that it does not touch.

    Nobody knows what a cluster did before its first record and after the last one, so figures by
    time are of this span.
    """
    begin, end = max(period.from_time, log.from_time), min(period.to_time, log.to_time)
    return (begin, end) if begin < end else (period.from_time, period.to_time)


def between_days(from_day: str | None, to_day: str | None, log: Period, zone: ZoneInfo) -> Period:
    """The period that ``--from`` and ``--to`` ask for; what is left out is the log's own bound.

    Raises:
        UsageError: a day is not written YYYY-MM-DD, or the period would be empty.
    """
    first = periods.parse_day(from_day) if from_day else periods.day_of(log.from_time, zone)
    last = periods.day_of(log.to_time, zone)
    after = periods.parse_day(to_day) if to_day else periods.day_after(last)
    return periods.between(first, after, zone)
