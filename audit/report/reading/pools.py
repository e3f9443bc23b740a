"""The content of a report about each pool, read from the database."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import polars as pl

from audit.metrics.attempts import users
from audit.metrics.attempts.parts import BETWEEN, QUEUE
from audit.metrics.bursts import bursts
from audit.model import OBSERVED, FstStatus, Period
from audit.periods import day_edges, day_of, zone
from audit.registry.causes import COLUMNS
from audit.registry.requested import MATERIAL
from audit.report.charts.series import NUWT_CUT
from audit.report.reading import by_value, by_width, predicted, records
from audit.report.reading.fidelity import fidelity_of
from audit.report.record.page import Options, Settings
from audit.report.record.pool import (
    Advice,
    AdvicePart,
    Advised,
    BoundRule,
    Breakdown,
    Burst,
    Delayed,
    Elsewhere,
    Entities,
    Entity,
    FairStart,
    Figure,
    Figures,
    Missed,
    Outage,
    PassedOver,
    Pictured,
    PoolPart,
    Queue,
    ResourceUse,
    ResourceUser,
    Scattered,
    StatusCount,
    Step,
    Trend,
    Unexplained,
    Walltimes,
)
from audit.report.record.preemption import InterruptedUser, Preempted, Preemption
from audit.report.record.requested import BeyondUser
from audit.report.record.stuck import Stuck, StuckAttempt
from audit.store import queries
from audit.store.database import Connection
from audit.words import kind_of

Parts: TypeAlias = Mapping[str, tuple[Breakdown, ...]]
"""The figures of a pool by dimension, then by value."""

PREEMPTED: Final = 10
"""Most preempted attempts listed for each pool."""
DELAYED: Final = 10
"""Most delayed attempts listed for each pool."""
PASSED_KINDS: Final = ("account", "user", "partition", "qos")
BURST_DAYS: Final = 0.25
"""Least work of a burst that charts mark, in days of the whole pool."""
_DAY_S: Final = 86_400
_RESOURCES: Final = ("cpus", "nodes", "gpus", "mem_bytes")
_STATUSES: Final = {status.value: place for place, status in enumerate(FstStatus)}
_UNTRIED: Final = ("not_tried", "not_agreeing")
"""Outcomes of changes that were not replayed."""
_PLAIN: Final = len(Entity.__annotations__) - 1

ADVISED: Final = 3
"""Most changes that are advised."""
GROWTH: Final = 0.1
GROWTH_S: Final = 60
"""Growth of its mean wait above which a class is listed as losing even if it may be chance."""


FREE: Final = ("loss_of_capacity", "idle_usable", "cause_rule_free_share")
"""Figures of capacity that was free, which a part of the workload does not show."""


def in_part(pool: PoolPart, why: str) -> PoolPart:
    """Return a pool of a part of the workload, without what depends on free capacity."""
    if not why:
        return pool
    stuck = pool.stuck
    if stuck is not None:
        stuck = stuck._replace(rows=tuple(replace(row, cause=None) for row in stuck.rows))
    return replace(
        pool,
        part=why,
        figures=tuple(figure for figure in pool.figures if figure.metric not in FREE),
        fair_start=replace(pool.fair_start, delayed=()),
        rules=(),
        scattered=(),
        unexplained=(),
        outages=(),
        stuck=stuck,
        advised=Advised(part=True),
    )


def pools(
    con: Connection,
    cluster: str,
    period: Period,
    schedule: str,
    zone_name: str,
    options: Options,
    settings: Settings,
    trends: Mapping[str, Trend],
) -> tuple[PoolPart, ...]:
    """Return the content about each pool, the one with most waiting first.

    Advice, fidelity and stuck attempts exist only for the observed schedule.

    Args:
        settings: in force when the figures were computed.
        trends: by pool.
    """
    found = queries.run(con, "report_pools", cluster=cluster)
    of_period = {"cluster": cluster, "period": period.name}
    of_schedule = {**of_period, "schedule": schedule}
    span = {"from_time": period.from_time, "to_time": period.to_time}
    of_attempts = {"cluster": cluster, "schedule": schedule, **span, "whole": period.whole_log}
    requests: dict[str, dict[str, Any]] = {
        **dict.fromkeys(("report_summary", "report_entities", "report_peers"), of_schedule),
        "report_resource_users": {**of_schedule, "rows": options.rows},
        "report_delayed": {**of_attempts, "most": DELAYED},
        **dict.fromkeys(("report_fidelity", "report_outages"), of_period),
        **dict.fromkeys(("report_rules", "report_scattered"), of_attempts),
        "report_interrupted_users": of_schedule,
        "report_beyond_users": {**of_attempts, "least": MATERIAL},
        "report_preempted": {**of_attempts, "most": PREEMPTED},
        "report_unexplained": {**of_attempts, **of_schedule, "least": MUCH_UNEXPLAINED},
        "report_stuck": {**of_period, **span, "most": options.rows},
        "report_predicted": predicted.request(cluster, period, zone_name),
    }
    frames = {
        query: by_value(queries.run(con, query, **arguments), "pool", found["pool"])
        for query, arguments in requests.items()
    }
    pictures = pictured(con, cluster, schedule, period, zone_name)
    elsewheres = elsewhere(con, cluster, schedule, period)
    made = []
    for name, resource, capacity in found.iter_rows():
        rows = {query: of[name] for query, of in frames.items()}
        part = _pool(name, resource, capacity, rows, settings)
        if schedule == OBSERVED:
            fair = replace(part.fair_start, fidelity=fidelity_of(rows["report_fidelity"]))
            part = replace(part, fair_start=fair, advised=advices(con, cluster, period, name))
            right = predicted.of_pool(rows["report_predicted"])
            part = replace(part, stuck=_stuck(rows["report_stuck"]), predicted=right)
        made.append(
            replace(
                part,
                trend=trends.get(name),
                pictured=pictures.get(name, Pictured()),
                elsewhere=elsewheres.get(name),
            )
        )
    return tuple(sorted(made, key=lambda part: _total(part, "wait_mean"), reverse=True))


def _pool(
    name: str, resource: str, capacity: int, rows: Mapping[str, pl.DataFrame], settings: Settings
) -> PoolPart:
    parts, beside = breakdowns(rows["report_summary"]), breakdowns(rows["report_peers"])
    users_, accounts = (
        _entities(kind, of_kind, parts, settings.metrics.keep_single_job_users)
        for kind, of_kind in by_value(
            rows["report_entities"], "entity_kind", ("user", "account")
        ).items()
    )
    overall = parts.get("all", ())
    partitions = _by_total(parts.get("partition", ()), "miss_delivered_mean")
    judged = [(kind, part) for kind in PASSED_KINDS for part in beside.get(kind, ())]
    tested = Counter(kind for kind, part in judged if part.figure("passed_named").value is not None)
    return PoolPart(
        name,
        resource,
        capacity,
        figures=overall[0].figures if overall else (),
        widths=tuple(sorted(parts.get("width_class", ()), key=lambda of: by_width(of.label))),
        hours=tuple(sorted(parts.get("hour_of_week", ()), key=lambda of: int(of.label))),
        days=parts.get("day", ()),
        users=users_,
        accounts=accounts,
        resources=_resources(parts.get("resource", ()), rows["report_resource_users"]),
        fair_start=FairStart(
            _statuses(parts.get("fst_status", ())),
            partitions if len(partitions) > 1 else (),
            None,
            settings.metrics.tolerance_s if settings.known else None,
            _delayed(rows["report_delayed"]),
        ),
        passed=_passed(judged),
        used_more=_used_more(judged),
        ahead=_ahead(judged),
        tested=tested,
        rules=records(BoundRule, rows["report_rules"]),
        scattered=records(Scattered, rows["report_scattered"]),
        preemption=_preemption(rows),
        beyond=records(BeyondUser, rows["report_beyond_users"]),
        outages=records(Outage, rows["report_outages"]),
        unexplained=records(Unexplained, rows["report_unexplained"]),
        queues=_queues(parts.get(QUEUE, ())),
    )


MUCH_UNEXPLAINED: Final = 0.1
"""Share of all waiting above which a report shows where unexplained waiting is."""


def breakdowns(summary: pl.DataFrame) -> dict[str, tuple[Breakdown, ...]]:
    """Return the figures of a pool by dimension and value, in the order of the rows."""
    found: dict[str, dict[str | None, list[Figure]]] = {}
    places = summary.select("dimension", "dimension_value").iter_rows()
    for (dimension, value), figure in zip(places, records(Figure, summary), strict=True):
        found.setdefault(dimension, {}).setdefault(value, []).append(figure)
    return {
        dimension: tuple(
            Breakdown("unknown" if value is None else value, tuple(figures))
            for value, figures in of.items()
        )
        for dimension, of in found.items()
    }


def _by_total(parts: Sequence[Breakdown], metric: str) -> tuple[Breakdown, ...]:
    """Return those with the figure, the largest sum over attempts first."""
    known = (part for part in parts if part.figure(metric).value is not None)
    return tuple(sorted(known, key=lambda part: _total(part, metric), reverse=True))


def _total(part: Figures, metric: str) -> float:
    """Return the sum over attempts of which ``metric`` is the mean."""
    mean = part.figure(metric)
    return (mean.value or 0.0) * (mean.attempts or 0)


def _queues(parts: Sequence[Breakdown]) -> tuple[Queue, ...]:
    """Return the combinations of partition, QOS and GPU type with any waiting, most first."""
    waits = [_total(part, "wait_mean") for part in parts]
    queues = []
    for wait, part in sorted(zip(waits, parts, strict=True), key=lambda of: -of[0]):
        if wait:
            partition, qos, gpu_type = part.label.rsplit(BETWEEN, 2)
            queues.append(Queue(partition, qos, gpu_type, wait / sum(waits), part.figures))
    return tuple(queues)


def _preemption(rows: Mapping[str, pl.DataFrame]) -> Preemption | None:
    users = records(InterruptedUser, rows["report_interrupted_users"])
    return Preemption(users, records(Preempted, rows["report_preempted"])) if users else None


def _passed(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return those passed over, longest passed time first.

    An account with only one user has the user's figures, and is left out.
    """

    def lost(one: PassedOver) -> tuple[object, ...]:
        share = one.figure("passed_share")
        return share.value, share.attempts, one.figure("passed_s").value

    named = [
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("passed_named").value
    ]
    of_users = {lost(one) for one in named if one.kind == "user"}
    kept = (one for one in named if one.kind != "account" or lost(one) not in of_users)
    return tuple(sorted(kept, key=lambda one: -(one.figure("passed_s").value or 0.0)))


def _used_more(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return those that recent usage keeps from being named, greatest usage first."""
    found = [
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("usage_multiple").value is not None
        and part.figure("passed_named").value == 0
    ]
    return tuple(sorted(found, key=lambda one: -(one.figure("usage_multiple").value or 0.0)))


def _ahead(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return the partitions and QOS whose later jobs started first."""
    return tuple(
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("passed_ahead").value is not None
    )


def _entities(kind: str, rows: pl.DataFrame, parts: Parts, keep_single: bool) -> Entities:
    def entity(row: tuple[Any, ...]) -> Entity:
        fst = row[_PLAIN:]
        missed = Missed(*fst) if fst[0] else None
        return replace(Entity(*row[:_PLAIN]), missed=missed)

    spread = next((part for part in parts.get("entity_kind", ()) if part.label == kind), None)
    steps = users.cdf(rows, keep_single) if rows.height else pl.DataFrame()
    return Entities(
        kind,
        tuple(map(entity, rows.iter_rows())),
        spread.figures if spread else (),
        cdf=tuple(Step(nuwt, share) for nuwt, share, _ in steps.iter_rows() if nuwt <= NUWT_CUT),
    )


def _resources(busy: tuple[Breakdown, ...], used: pl.DataFrame) -> tuple[ResourceUse, ...]:
    used = used.rename({"user": "name", "value": "pool_hours"})
    resources = []
    for part in sorted(busy, key=lambda part: (_RESOURCES.index(kind_of(part.label)), part.label)):
        rows = used.filter(pl.col("resource") == part.label)
        total, left_out = rows.select("total", "left_out").row(0) if rows.height else (0.0, 0)
        utilization = part.figure("utilization").value
        shown = records(ResourceUser, rows)
        resources.append(ResourceUse(part.label, utilization, total, shown, left_out))
    return tuple(resources)


def _stuck(rows: pl.DataFrame) -> Stuck | None:
    if rows.is_empty():
        return None
    waiting, gave_up = rows.select("all_waiting", "all_gave_up").row(0)
    return Stuck(waiting, gave_up, records(StuckAttempt, rows))


def _statuses(parts: tuple[Breakdown, ...]) -> tuple[StatusCount, ...]:
    counts = [
        StatusCount(part.label, int(number))
        for part in parts
        if (number := part.figure("fst_attempts").value)
    ]
    return tuple(sorted(counts, key=lambda of: (_STATUSES.get(of.status, len(_STATUSES)), of)))


def _delayed(rows: pl.DataFrame) -> tuple[Delayed, ...]:
    parts = rows.select(COLUMNS).rows()
    return records(Delayed, rows.with_columns(pl.Series("parts", parts, pl.Object)))


def elsewhere(con: Connection, cluster: str, schedule: str, period: Period) -> dict[str, Elsewhere]:
    """Return the figures of ``sacct``, ``sreport`` and XDMoD for each pool with any start."""
    rows = queries.run(con, "report_elsewhere", **_attempts_of(cluster, schedule, period))
    return dict(zip(rows["pool"], records(Elsewhere, rows), strict=True))


def _attempts_of(cluster: str, schedule: str, period: Period) -> dict[str, Any]:
    span = {"from_time": period.from_time, "to_time": period.to_time, "whole": period.whole_log}
    return {"cluster": cluster, "schedule": schedule, **span}


def pictured(
    con: Connection, cluster: str, schedule: str, period: Period, zone_name: str
) -> dict[str, Pictured]:
    """Return daily waiting work, bursts and used walltimes of each pool with any of them."""
    in_zone = zone(zone_name)
    edges = day_edges(period.from_time, period.to_time, in_zone)
    days = {first: day_of(first, in_zone).isoformat() for first in edges[:-1]}
    of = {"cluster": cluster, "schedule": schedule}
    waiting: dict[str, dict[int, float]] = {}
    found: dict[str, tuple[Burst, ...]] = {}
    if days:
        for pool, first, seconds in queries.rows(con, "report_waiting_work", **of, edges=edges):
            waiting.setdefault(pool, {})[first] = seconds
        span = {"from_time": period.from_time, "to_time": period.to_time}
        attempts = queries.run(con, "report_bursts", **of, **span)
        for (pool,), of_pool in attempts.group_by("pool", maintain_order=True):
            rows = _bursts(of_pool, period.from_time)
            found[str(pool)] = tuple(
                Burst(day_of(first, in_zone).isoformat(), day_of(last, in_zone).isoformat(), *burst)
                for first, last, *burst in rows.iter_rows()
            )
    walltimes: dict[str, Walltimes] = {}
    of_attempts = _attempts_of(cluster, schedule, period)
    for pool, tenth, number, median in queries.rows(con, "report_walltimes", **of_attempts):
        known, tenths, _ = walltimes.get(pool, Walltimes(0, (0,) * 11, median))
        tenths = (*tenths[:tenth], number, *tenths[tenth + 1 :])
        walltimes[pool] = Walltimes(known + number, tenths, median)
    return {
        pool: Pictured(
            tuple((day, waiting[pool].get(first, 0.0)) for first, day in days.items())
            if pool in waiting
            else (),
            found.get(pool, ()),
            walltimes.get(pool),
        )
        for pool in sorted({*waiting, *found, *walltimes})
    }


def _bursts(attempts: pl.DataFrame, from_time: int) -> pl.DataFrame:
    """Return first and last arrival, user, attempts and work of a pool's large bursts."""
    arrival = pl.col("arrival_time")
    return (
        attempts.with_columns(burst=bursts(attempts))
        .group_by("burst")
        .agg(
            arrival.min().clip(lower_bound=from_time).alias("first"),
            arrival.max().alias("last"),
            pl.col("user").first(),
            pl.len().alias("attempts"),
            pl.col("work_s").sum(),
        )
        .filter(
            pl.col("last") >= from_time,
            pl.col("attempts") > 1,
            pl.col("work_s") >= BURST_DAYS * _DAY_S,
        )
        .sort("work_s", "first", "user", descending=[True, False, False])
        .drop("burst")
    )


# --- advice --------------------------------------------------------------------------------------


def advices(con: Connection, cluster: str, period: Period, pool: str) -> Advised:
    """Return the advice for a pool that ``scenario.advice`` found by replays of the period."""
    of = {"cluster": cluster, "period": period.name}
    rows = queries.run(con, "report_advice", **of, pool=pool)
    if rows.is_empty():
        return Advised()
    pools_ = queries.run(con, "report_pools", cluster=cluster)
    resource = pools_.filter(pl.col("pool") == pool)["resource"].item()
    fidelity = queries.run(con, "report_fidelity", **of).filter(pl.col("pool") == pool)
    fit = fidelity_of(fidelity)
    agreement = None if fit is None else fit.of_policy
    changes = [group for _, group in rows.group_by("change", maintain_order=True)]
    each = [group.row(0, named=True) for group in changes]
    advised = [group for group in changes if group["place"][0] is not None]
    return Advised(
        tuple(_advice(group, resource) for group in advised[:ADVISED]),
        tuple(one["title"] for one in each if one["outcome"] not in _UNTRIED),
        tuple(one["title"] for one in each if one["outcome"] == "not_tried"),
        agreement,
        agrees=all(one["outcome"] != "not_agreeing" for one in each),
        reproduced=all(one["outcome"] != "not_reproduced" for one in each),
        never_start=tuple((one["title"], one["never_start"]) for one in each if one["never_start"]),
    )


def _advice(rows: pl.DataFrame, resource: str) -> Advice:
    loses = pl.col("part_outcome") == "loses"
    grows = pl.col("difference_s") >= pl.max_horizontal(GROWTH_S, GROWTH * pl.col("part_today_s"))
    of_user = (pl.col("part_dimension") == "user").fill_null(value=False)
    users = rows.filter(of_user).sort(pl.col("difference_s") * pl.col("part_attempts"))
    losing = rows.filter(~of_user, loses | ((pl.col("part_outcome") == "unclear") & grows)).sort(
        loses,
        pl.col("difference_s") * pl.col("part_attempts"),
        descending=True,
        maintain_order=True,
    )
    row = rows.row(0, named=True)
    (advice,) = records(
        Advice,
        rows.head(1),
        resource=resource,
        width=row["dimension_value"],
        gain=_change(row, "gain_s", "gain_lower_s", "gain_upper_s"),
        losers=tuple(map(_part, losing.iter_rows(named=True))),
        by_user=tuple(map(_part, users.iter_rows(named=True))),
        sql=_evidence(row),
    )
    return advice


def _part(part: dict[str, Any]) -> AdvicePart:
    return AdvicePart(
        part["part_dimension"],
        part["part"],
        _change(part, "difference_s", "lower_s", "upper_s"),
        part["part_attempts"],
        part["part_outcome"] == "loses",
    )


def _change(row: dict[str, Any], value: str, lower: str, upper: str) -> Figure:
    return Figure("wait_change", row[value], row[lower], row[upper], "s")


def _evidence(row: dict[str, str]) -> str:
    """Return the query for the effects of a change; names are quoted."""
    quoted = {
        column: row[column].replace("'", "''") for column in ("cluster", "pool", "period", "change")
    }
    where = " AND ".join(f"{column} = '{value}'" for column, value in quoted.items())
    return f"SELECT * FROM advice_parts WHERE {where}"  # noqa: S608
