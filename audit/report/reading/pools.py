"""What a report says of each pool, read from the database.

Figures stand in the summary. Beside them come who got what, what fair start times (FST) rest on,
what charts show and no figure has, and what other tools count.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import polars as pl

from audit.metrics.attempts import users
from audit.model import COUNTED, FLOOD_ATTEMPTS, FLOOD_WORK, OBSERVED, FstStatus, Period
from audit.periods import day_edges, day_of, zone
from audit.registry.causes import COLUMNS
from audit.report.charts.series import NUWT_CUT
from audit.report.reading import by_value, records
from audit.report.reading.advice import advices
from audit.report.record.page import Options, Settings
from audit.report.record.pool import (
    Advised,
    BoundRule,
    Breakdown,
    Elsewhere,
    Entities,
    Entity,
    FairStart,
    Fidelity,
    Figure,
    Flood,
    Missed,
    Outage,
    Overtaken,
    PassedOver,
    Pictured,
    PoolPart,
    ResourceUse,
    ResourceUser,
    StatusCount,
    Step,
    Stuck,
    StuckAttempt,
    Trend,
    Unexplained,
    Walltimes,
)
from audit.store import queries
from audit.store.database import Connection

Parts: TypeAlias = Mapping[str, tuple[Breakdown, ...]]
"""The figures of a pool by dimension, and within it by value."""

OVERTAKEN: Final = 10
"""Most overtaken attempts that are listed, of each pool."""
_RESOURCES: Final = {"cpus": 0, "nodes": 1, "gpus": 2, "mem_bytes": 3}
_STATUSES: Final = {status.value: place for place, status in enumerate(FstStatus)}


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
    """Return what is said of each pool, the largest first.

    Advice, fidelity and stuck attempts are of the observed schedule only. ``settings`` were in
    force when the figures were computed; ``trends`` are by pool.
    """
    found = queries.run(con, "report_pools", cluster=cluster)
    observed = schedule == OBSERVED
    of_period = {"cluster": cluster, "period": period.name}
    of_schedule = {**of_period, "schedule": schedule}
    of_attempts = _attempts_of(cluster, schedule, period)
    requests: dict[str, dict[str, Any]] = {
        "report_summary": of_schedule,
        "report_entities": of_schedule,
        "report_peers": of_schedule,
        "report_resource_users": {**of_schedule, "rows": options.rows},
        "report_overtaken": {**of_attempts, "counted": list(COUNTED), "most": OVERTAKEN},
        "report_fidelity": of_period,
        "report_rules": of_attempts,
        "report_outages": of_period,
        "report_unexplained": {**of_attempts, **of_schedule, "least": MUCH_UNEXPLAINED},
        "report_stuck": {
            **of_period,
            "from_time": period.from_time,
            "to_time": period.to_time,
            "most": options.rows,
        },
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
        made.append(
            replace(
                _pool(name, resource, capacity, rows, settings, observed),
                stuck=_stuck(rows["report_stuck"]) if observed else None,
                advised=advices(con, cluster, period, name) if observed else Advised(),
                trend=trends.get(name),
                pictured=pictures.get(name, Pictured()),
                elsewhere=elsewheres.get(name),
            )
        )
    return tuple(made)


def _pool(
    name: str,
    resource: str,
    capacity: int,
    rows: Mapping[str, pl.DataFrame],
    settings: Settings,
    observed: bool,
) -> PoolPart:
    parts, beside = breakdowns(rows["report_summary"]), breakdowns(rows["report_peers"])
    users_, accounts = (
        _entities(kind, of_kind, parts, settings.metrics.keep_single_job_users)
        for kind, of_kind in by_value(
            rows["report_entities"], "entity_kind", ("user", "account")
        ).items()
    )
    overall = parts.get("all", ())
    judged = [(kind, part) for kind in PASSED_KINDS for part in beside.get(kind, ())]
    known = Counter(kind for kind, part in judged if part.figure("passed_named").value is not None)
    return PoolPart(
        name,
        resource,
        capacity,
        figures=overall[0].figures if overall else (),
        widths=tuple(sorted(parts.get("width_class", ()), key=_by_width)),
        hours=tuple(sorted(parts.get("hour_of_week", ()), key=lambda of: int(of.label))),
        days=parts.get("day", ()),
        users=users_,
        accounts=accounts,
        resources=_resources(parts.get("resource", ()), rows["report_resource_users"]),
        fair_start=FairStart(
            _statuses(parts.get("fst_status", ())),
            _partitions(parts.get("partition", ())),
            _fidelity(rows["report_fidelity"]) if observed else None,
            settings.metrics.tolerance_s if settings.known else None,
            _overtaken(rows["report_overtaken"]),
        ),
        passed=_passed(judged),
        tested=known,
        untested=len(judged) - sum(known.values()),
        rules=records(BoundRule, rows["report_rules"]),
        outages=records(Outage, rows["report_outages"]),
        unexplained=records(Unexplained, rows["report_unexplained"]),
        queues={kind: _queues(parts.get(kind, ())) for kind in ("partition", "qos")},
    )


MUCH_UNEXPLAINED: Final = 0.1
"""Of all waiting: above it, a report shows where it is."""
PASSED_KINDS: Final = ("account", "user", "partition", "qos")


def _passed(judged: Sequence[tuple[str, Breakdown]]) -> tuple[PassedOver, ...]:
    """Return those named, the one with the longest passed time first.

    An account of one user has the figures of that user, and is left out.
    """
    named = [
        PassedOver(kind, part.label, part.figures)
        for kind, part in judged
        if part.figure("passed_named").value
    ]
    users_ = {_lost(one) for one in named if one.kind == "user"}
    told = (one for one in named if one.kind != "account" or _lost(one) not in users_)
    return tuple(sorted(told, key=lambda one: -(one.figure("passed_s").value or 0.0)))


def _lost(one: PassedOver) -> tuple[object, ...]:
    share, passed_s = one.figure("passed_share"), one.figure("passed_s")
    return share.value, share.attempts, passed_s.value


def _attempts_of(cluster: str, schedule: str, period: Period) -> dict[str, Any]:
    """Whose attempts a query reads."""
    span = {"from_time": period.from_time, "to_time": period.to_time, "whole": period.whole_log}
    return {"cluster": cluster, "schedule": schedule, **span}


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


def _by_width(part: Breakdown) -> tuple[int, int]:
    """``1`` before ``2`` before ``9-16`` before ``>128`` before ``unknown``."""
    if part.label.startswith(">"):
        return (1, 0)
    lowest = part.label.partition("-")[0]
    return (0, int(lowest)) if lowest.isdecimal() else (2, 0)


def _entities(kind: str, rows: pl.DataFrame, parts: Parts, keep_single: bool) -> Entities:
    spread = next((part for part in parts.get("entity_kind", ()) if part.label == kind), None)
    steps = users.cdf(rows, keep_single) if rows.height else pl.DataFrame()
    return Entities(
        kind,
        tuple(map(_entity, rows.iter_rows())),
        spread.figures if spread else (),
        cdf=tuple(Step(nuwt, share) for nuwt, share, _ in steps.iter_rows() if nuwt <= NUWT_CUT),
    )


def _entity(row: tuple[Any, ...]) -> Entity:
    """One row of ``report_entities``: what the entity got, then its fair start times."""
    fst = row[_PLAIN:]
    missed = Missed(*fst) if fst[0] and None not in fst else None
    return replace(Entity(*row[:_PLAIN]), missed=missed)


_PLAIN: Final = len(Entity.__annotations__) - 1


def _resources(busy: tuple[Breakdown, ...], used: pl.DataFrame) -> tuple[ResourceUse, ...]:
    """The resources of a pool, in the order in which sites count them."""
    used = used.rename({"user": "name", "value": "pool_hours"})
    resources = []
    for part in sorted(busy, key=lambda part: _RESOURCES.get(part.label, len(_RESOURCES))):
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


def _queues(parts: tuple[Breakdown, ...]) -> tuple[Breakdown, ...]:
    """Return partitions or QOS, the one with most waiting time first; none where it is only one."""
    waited = [(part, part.figure("wait_mean")) for part in parts]
    known = [
        (part, (mean.value or 0.0) * (mean.attempts or 0)) for part, mean in waited if mean.value
    ]
    ordered = [part for part, _ in sorted(known, key=lambda pair: -pair[1])]
    return tuple(ordered) if len(parts) > 1 else ()


def _partitions(parts: tuple[Breakdown, ...]) -> tuple[Breakdown, ...]:
    """Those with a figure, by what their attempts missed in sum; nothing where it is only one."""

    def missed(part: Breakdown) -> float:
        mean = part.figure("miss_strict_mean")
        return (mean.value or 0.0) * (mean.attempts or 0)

    judged = [part for part in parts if part.figure("miss_strict_mean").value is not None]
    return tuple(sorted(judged, key=missed, reverse=True)) if len(judged) > 1 else ()


def _fidelity(replays: pl.DataFrame) -> Fidelity | None:
    if replays.is_empty():
        return None
    order, backfill, fair_order = replays.select("order", "backfill", "fair_order").row(0)
    of_policy = replays.filter(pl.col("order") == order, pl.col("backfill") == backfill)
    return Fidelity(order, backfill, records(Figure, of_policy), fair_order)


def _overtaken(rows: pl.DataFrame) -> tuple[Overtaken, ...]:
    parts = rows.select(COLUMNS).rows()
    rows = rows.with_columns(pl.Series("parts", parts, pl.Object), own_s="overtaken_own_s")
    return records(Overtaken, rows)


def elsewhere(con: Connection, cluster: str, schedule: str, period: Period) -> dict[str, Elsewhere]:
    """Return what ``sacct``, ``sreport`` and XDMoD count, of each pool in which anything started.

    They count the same attempts.
    """
    rows = queries.run(con, "report_elsewhere", **_attempts_of(cluster, schedule, period))
    return dict(zip(rows["pool"], records(Elsewhere, rows), strict=True))


def pictured(
    con: Connection, cluster: str, schedule: str, period: Period, zone_name: str
) -> dict[str, Pictured]:
    """Return work that waited by day, floods and use of walltimes, of pools with any of them."""
    in_zone = zone(zone_name)
    edges = day_edges(period.from_time, period.to_time, in_zone)
    days = {first: day_of(first, in_zone).isoformat() for first in edges[:-1]}
    waiting: dict[str, dict[int, float]] = {}
    floods: dict[str, list[Flood]] = {}
    if days:
        of = {"cluster": cluster, "schedule": schedule, "edges": edges}
        for pool, first, seconds in queries.rows(con, "report_waiting_work", **of):
            waiting.setdefault(pool, {})[first] = seconds
        least = {"least_attempts": FLOOD_ATTEMPTS, "least_part": FLOOD_WORK}
        for pool, first, *flood in queries.rows(con, "report_floods", **of, **least):
            floods.setdefault(pool, []).append(Flood(days[first], *flood))
    walltimes: dict[str, Walltimes] = {}
    of_attempts = _attempts_of(cluster, schedule, period)
    for pool, tenth, attempts, median in queries.rows(con, "report_walltimes", **of_attempts):
        known, tenths, _ = walltimes.get(pool, Walltimes(0, (0,) * 11, median))
        tenths = (*tenths[:tenth], attempts, *tenths[tenth + 1 :])
        walltimes[pool] = Walltimes(known + attempts, tenths, median)
    return {
        pool: Pictured(
            tuple((day, waiting[pool].get(first, 0.0)) for first, day in days.items())
            if pool in waiting
            else (),
            tuple(floods.get(pool, ())),
            walltimes.get(pool),
        )
        for pool in sorted({*waiting, *floods, *walltimes})
    }
