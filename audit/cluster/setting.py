"""Settings of a cluster on which its figures depend: zone, pools and the instant of the log."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import polars as pl

from audit import config, periods
from audit.cluster import hardware, inference, presence, separate
from audit.cluster.hardware import CONFIGURED
from audit.cluster.inference import NOTHING, Fact, RuleFact
from audit.cluster.log_begin import LogBegin
from audit.errors import UsageError
from audit.formats.dialects import Header
from audit.metrics.attempts import population
from audit.metrics.waits.plan import Passes
from audit.model import Announcement, CapacityStep, Declared, Node, Period, Policy, Pool, Resource
from audit.policies import Backfill, Order
from audit.rule_text import amount as amount_text
from audit.scenario.releases.holds import NOT_HOLDING, Holding

ASSUMED = Policy()
"""The policy of fair start times if none is configured."""

OTHERS = "others"
"""Name of the pool of partitions that no configured pool has."""


Agreement = tuple[str | bool | int | float | None, ...]
"""A row of ``scenario.delivered.agreement``."""


class PoolInference(NamedTuple):
    """Facts that the log shows of a pool beyond its rules and policy."""

    evidence: Sequence[Mapping[str, Any]] = ()  # rows of the view ``rules``
    holds: Sequence[Mapping[str, Any]] = ()  # rows of the views ``chains`` and ``releases``
    holding: Holding = NOT_HOLDING  # the users whose jobs were held
    passes: Passes | None = None  # of the scheduler; None: as the attempts show
    compared: Mapping[tuple[Policy, bool], Agreement] = {}
    """The agreement of policies without and with own peaks."""


NOT_INFERRED: Final = PoolInference()


@dataclass(frozen=True)
class ClusterSettings:
    """The settings of a cluster."""

    cluster: str
    zone: ZoneInfo
    pools: tuple[Pool, ...]
    partition_pool: Mapping[str | None, str]
    now: int  # instant up to which open attempts count, epoch s
    facts: tuple[Fact, ...]
    warnings: tuple[str, ...]  # faults of the logs
    inferred: Mapping[str, PoolInference] = field(default_factory=dict)
    """Facts that the log shows of pools beyond their rules and policies."""
    declared: Declared = NOTHING  # the nodes by files
    log_begin: int | None = None
    """Instant from which on the log has what happened, epoch s (SPEC §11: T0); None: ``now``."""

    by_end: bool = False
    """Whether the log is selected by the end of jobs, so that others may have run and waited."""

    part: str = ""
    """Why its logs are a part of the workload, in a clause; empty: they are not (SPEC §14)."""

    announced: Announcement | None = None
    """None: headers announce about as many records as there are."""

    gaps: bool = False  # whether most job numbers have no record

    def shown_of(self, pool: str) -> PoolInference:
        """Return what the log shows of a pool."""
        return self.inferred.get(pool, NOT_INFERRED)

    @property
    def log(self) -> Period:
        """The time that the log covers, which is the period of the whole log."""
        return Period("all", self.now if self.log_begin is None else self.log_begin, self.now)

    def stating_backfill(self) -> "ClusterSettings":
        """Return the setting with pools of which the policy's backfilling is stated."""
        return replace(
            self, pools=tuple(pool._replace(states_backfill=True) for pool in self.pools)
        )

    def stating(self, order: Order | None, backfill: Backfill | None) -> "ClusterSettings":
        """Return the setting with the order and the backfilling of options; None: as before."""
        pools, facts = [], [fact for fact in self.facts if fact.what != "policy"]
        for pool in self.pools:
            policy = pool.policy.changed(order=order, backfill=backfill)
            states = pool.states_backfill or backfill is not None
            pools.append(pool._replace(policy=policy, states_backfill=states))
            of = f" of pool {pool.name!r}" if len(self.pools) > 1 else ""
            facts.append(RuleFact(f"policy{of}", policy.name, "--order and --backfill"))
        return replace(self, pools=tuple(pools), facts=tuple(facts))

    def begun(self, begin: LogBegin | None) -> "ClusterSettings":
        """Return the setting of a log with this begin; None: it has no times.

        Raises UsageError if that is after ``now``.
        """
        if begin is None:
            return self
        shown = f"{datetime.fromtimestamp(begin.instant, self.zone):%Y-%m-%d %H:%M:%S}"
        if begin.instant > self.now:
            raise UsageError(f"{begin.source}: {shown} is after the last record of the logs")
        fact = Fact("begin of the log", shown, begin.source)
        facts = (*self.facts, fact)
        return replace(self, log_begin=begin.instant, by_end=begin.by_end, facts=facts)


class Extent(NamedTuple):
    """Properties of all attempts of a cluster that its setting needs."""

    partitions: Sequence[str | None]
    now: int  # the last instant in the log, epoch s


def one_off(
    cluster: Fact,
    attempts: pl.DataFrame,
    headers: Mapping[str, Header],
    resource: Resource | None,
    pool_size: int | None,
    asked_zone: str | None,
    policy: Policy | None = None,
    declared: Declared = NOTHING,
) -> ClusterSettings:
    """Return the setting of a cluster by options, or else by its logs.

    Partitions that share no hardware are pools of their own, unless a capacity is requested.

    Args:
        declared: the content of files about its nodes.
    """
    zone = inference.zone(asked_zone, list(headers.values()))
    now = latest_instant(attempts) or 0
    groups, divided = [attempts["partition"].unique().sort().to_list()], None
    if pool_size is None:
        groups, divided = separate.pools(attempts, declared.nodes, resource, list(headers.values()))
    source = "--order and --backfill" if policy else "the default; --order and --backfill change it"
    policy = policy or ASSUMED
    whole = list(headers.values()) if len(groups) == 1 else []  # a header is about all pools
    pools, facts = [], [cluster, zone, *filter(None, [divided])]
    idle = {node.name for node in declared.nodes}
    for group in groups:
        name = inference.POOL if len(groups) == 1 else str(group[0])
        rows = population.only(attempts, pl.col("partition").is_in(group, nulls_equal=True))
        of_pool = rows if len(groups) > 1 else None
        mine = hardware.in_partitions(declared.nodes, group, of_pool)
        if of_pool is None:
            mine = mine or declared.nodes  # partitions that a site has renamed
        of_nodes = declared._replace(nodes=mine)
        pool, found = inference.pool(rows, whole, resource, pool_size, now, name, of_nodes)
        pool = pool._replace(policy=policy, zone=zone.value)
        pools.append(_with_declared(pool, declared, mine, rows, group))
        facts += found
        idle -= {node.name for node in mine}
    if idle:
        facts.append(Fact("nodes of partitions without jobs", f"{len(idle):,}", "no pool has them"))
    facts += _facts_about_nodes(declared)
    return ClusterSettings(
        cluster.value,
        periods.zone(zone.value),
        tuple(pools),
        {part: pool.name for pool, group in zip(pools, groups, strict=True) for part in group},
        now,
        (*facts, RuleFact("policy", policy.name, source)),
        _warnings(facts, attempts, headers),
        declared=declared,
    )


def _with_declared(
    pool: Pool,
    declared: Declared,
    shapes: Sequence[Node],
    attempts: pl.DataFrame,
    partitions: Iterable[str | None],
) -> Pool:
    """Return a pool with the declared absences of its nodes, and limits on its partitions.

    Its attempts show late begins of absences. Where sums decide, absences are steps of its
    capacity, unless it has steps of its own. A limit of the whole site is one of each pool.
    """
    names = {node.name for node in pool.nodes or shapes}
    found = presence.after_starts([one for one in declared.absences if one.node in names], attempts)
    if not pool.nodes and not pool.steps:
        pool = pool._replace(steps=presence.steps_of(pool.amounts, shapes, found))
    own = {name for text in partitions if text for name in text.split(",")}
    mine = (one for one in declared.limits if one.partition is None or own & set(one.partition))
    return pool._replace(absences=(*pool.absences, *found), limits=(*pool.limits, *mine))


def _facts_about_nodes(declared: Declared) -> list[Fact]:
    """Return how often nodes were out of service, and what is wrong with the files about them."""
    counts = Counter(absence.why for absence in declared.absences)
    what = "times of nodes"
    facts = [
        Fact(f"{what} {why}", f"{count:,}", "files about nodes")
        for why, count in sorted(counts.items())
    ]
    return [*facts, *(Fact(what, "partly read", "their file", why) for why in declared.cautions)]


def configured(
    cluster: config.Cluster,
    attempts: pl.DataFrame,
    headers: Mapping[str, Header],
    extent: Extent | None = None,
    declared: Declared = NOTHING,
) -> ClusterSettings:
    """Return the setting of a cluster of config.toml; unconfigured values are inferred.

    A partition that no pool names belongs to the pool without names. If there is no such pool,
    these partitions form a pool of their own, with a warning.

    Args:
        attempts: all of the cluster; with ``extent``, those of pools with a configured capacity may
            be missing.
        declared: the content of files about its nodes.
    """
    zone = periods.zone(cluster.zone)
    if extent is None:
        known = attempts["partition"].unique().sort()
        extent = Extent(known.to_list(), latest_instant(attempts) or 0)
    pools = cluster.pools or (config.PoolConfig(name=inference.POOL),)
    rest = next((pool.name for pool in pools if not pool.partitions), OTHERS)
    owner = {partition: pool.name for pool in pools for partition in pool.partitions}

    def pool_of(partition: str | None) -> str:
        """Return the pool of the first known partition: a pending job may name several."""
        names = (partition or "").split(",")
        return next((owner[name] for name in names if name in owner), rest)

    partition_pool = {partition: pool_of(partition) for partition in extent.partitions}
    strays = [name for name, pool in partition_pool.items() if pool == OTHERS]
    facts = _facts_about_names(cluster.people)
    if strays and rest == OTHERS:
        listed = ", ".join("(none)" if name is None else name for name in strays)
        warning = (
            f"no pool of cluster {cluster.name!r} has these partitions of the log: {listed}; they "
            f"are audited as pool {OTHERS!r}"
        )
        facts.append(Fact(f"pool {OTHERS!r}", listed, "partitions of the log", warning))
        pools = (*pools, config.PoolConfig(name=OTHERS))
    whole = list(headers.values()) if len(pools) == 1 else []  # a header is about all pools
    found = []
    for each in pools:
        of_pool = [part for part, name in partition_pool.items() if name == each.name]
        if of_pool or len(pools) == 1:
            rows = population.only(attempts, pl.col("partition").is_in(of_pool, nulls_equal=True))
            mine = hardware.tables(each) or declared.nodes
            if not each.nodes and len(pools) > 1:
                mine = hardware.in_partitions(mine, {*of_pool, *each.partitions}, rows)
            of_nodes = declared._replace(nodes=mine)
            pool, sources = _pool(each, rows, whole, zone, extent.now, of_nodes)
            found.append(_with_declared(pool, declared, mine, rows, {*of_pool, *each.partitions}))
            facts += sources
    facts += _facts_about_nodes(declared)
    about = (tuple(facts), _warnings(facts, attempts, headers))
    return ClusterSettings(
        cluster.name, zone, tuple(found), partition_pool, extent.now, *about, declared=declared
    )


def _facts_about_names(people: config.PeopleConfig) -> list[Fact]:
    facts = []
    if people.hidden:
        hidden = f"pseudonyms of each {', '.join(people.hidden)}"
        facts.append(Fact("names", hidden, "clusters.people.key_file"))
    if people.file is not None:
        how = "whatever logs say" if people.replace else "where logs leave them out"
        value = f"those of {people.file}, {how}"
        facts.append(Fact("accounts and groups", value, "clusters.people"))
    return facts


def _pool(
    chosen: config.PoolConfig,
    attempts: pl.DataFrame,
    headers: Sequence[Header],
    zone: ZoneInfo,
    now: int,
    declared: Declared,
) -> tuple[Pool, list[Fact]]:
    """Return a configured pool, and the sources of its capacity.

    Without any configured capacity, all resources and nodes are inferred. Declared nodes give what
    is not configured, and decide what fits unless the capacity has steps.
    """
    resource, name = chosen.resource, chosen.name
    amounts = chosen.capacity.model_dump(exclude_none=True)
    known: Pool | None = None  # has the nodes, if they decide
    if declared.nodes:
        inferred, facts = inference.pool(attempts, headers, resource, None, now, name, declared)
        facts += _against(name, amounts, dict(inferred.amounts))
        amounts = dict(inferred.amounts) | amounts
        if chosen.steps:
            why = "its capacity has steps, so sums decide what fits, and not its nodes"
            facts.append(Fact(f"nodes of pool {name!r}", "not used", CONFIGURED, why))
        else:
            known = inferred
    elif resource in amounts:
        value = amount_text(amounts[resource], resource)
        facts = [Fact(f"capacity of pool {name!r}", value, CONFIGURED)]
    elif not amounts and hardware.counted(attempts) == resource:
        known, facts = inference.pool(attempts, headers, None, None, now, name)
        amounts = dict(known.amounts)
    else:
        amounts[resource], fact = inference.capacity(attempts, headers, resource, None, now, name)
        facts = [fact]
    nodes = () if known is None or chosen.by_nodes is False else known.nodes
    if chosen.by_nodes and not nodes:
        others = sorted(amounts.keys() - {resource, "nodes"})
        nodes = _inferred_nodes(attempts, [resource, *others], name)
    if nodes and chosen.steps:
        why = "steps of the capacity do not say which nodes come or go"
        facts.append(Fact(f"simulation of pool {name!r}", "by sums over its nodes", why))
    return Pool(
        name=name,
        resource=resource,
        capacity=amounts[resource],
        steps=tuple(_step(step, zone) for step in chosen.steps),
        amounts=tuple(sorted(amounts.items())),
        exclusive_nodes=chosen.exclusive_nodes,
        policy=chosen.policy,
        fair_order=chosen.fair_order,
        limits=chosen.limits,
        windows=chosen.windows,
        zone=str(zone),
        nodes=nodes,
        absences=known.absences if known is not None and nodes else (),
        unseen=known.unseen if known is not None and nodes else (),
        placement=chosen.placement,
        preemption=chosen.preemption,
        states_backfill=chosen.backfill is not None,
    ), facts


def _step(step: config.StepConfig, zone: ZoneInfo) -> CapacityStep:
    amounts = step.model_dump(exclude_none=True, exclude={"since", "planned"})
    return CapacityStep(
        periods.day_start(step.since, zone), tuple(sorted(amounts.items())), step.planned
    )


def _inferred_nodes(
    attempts: pl.DataFrame, resources: Sequence[str], name: str
) -> tuple[Node, ...]:
    if nodes := hardware.nodes_of(attempts, resources):
        return nodes
    raise UsageError(
        f"clusters.pools.by_nodes: the log does not name the nodes of pool {name!r} for at least "
        f"{100 * hardware.COMPLETE:.0f} % of the time that they ran jobs"
    )


def _against(name: str, given: Mapping[str, int], declared: Mapping[str, int]) -> list[Fact]:
    """Return the configured amounts of a pool, with a warning where its nodes have others."""
    facts = []
    for resource, amount in given.items():
        other = declared.get(resource, amount)
        if other == amount:
            continue
        text = amount_text(amount, resource)
        why = f"pool {name!r}: {text} are configured, its nodes have {amount_text(other, resource)}"
        facts.append(Fact(f"capacity of pool {name!r}", text, CONFIGURED, why))
    return facts


def _warnings(
    facts: Sequence[Fact], attempts: pl.DataFrame, headers: Mapping[str, Header]
) -> tuple[str, ...]:
    warnings = [
        *(fact.warning for fact in facts),
        *(f"{file}: {problem}" for file, header in headers.items() for problem in header.problems),
        inference.same_machine(headers),
        inference.missing_runs(attempts, headers),
        inference.too_many_tasks(attempts),
    ]
    return tuple(warning for warning in warnings if warning)


def latest_instant(attempts: pl.DataFrame) -> int | None:
    """Return the latest submission, start or end in a log, epoch s; None without one.

    The time at which a job becomes eligible may be a plan.
    """
    latest = attempts.select(
        pl.max_horizontal(pl.col("submit_time", "start_time", "end_time").max())
    ).item()
    return None if latest is None else int(latest)


def covered(period: Period, log: Period) -> tuple[int, int]:
    """Return the part of a period for which figures by time are computed, epoch s.

    This is the part that the log covers; the whole period if the log covers no part of it.
    """
    begin, end = max(period.from_time, log.from_time), min(period.to_time, log.to_time)
    return (begin, end) if begin < end else (period.from_time, period.to_time)


def between_days(from_day: str | None, to_day: str | None, log: Period, zone: ZoneInfo) -> Period:
    """Return the period of ``--from`` and ``--to``; None: the log's own bound.

    Raises UsageError if a day is not written YYYY-MM-DD, or the period would be empty.
    """
    first = periods.parse_day(from_day) if from_day else periods.day_of(log.from_time, zone)
    last = periods.day_of(log.to_time, zone)
    after = periods.parse_day(to_day) if to_day else periods.day_after(last)
    return periods.between(first, after, zone)
