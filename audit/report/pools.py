"""The content of a report about each pool, read from the database."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import polars as pl

from audit.metrics.attempts.parts import QUEUE
from audit.model import OBSERVED, Period
from audit.registry.requested import MATERIAL
from audit.report.contents import Options, Settings
from audit.report.figures import breakdowns, by_total, total
from audit.report.pool import PoolPart
from audit.report.rows import by_value, by_width, records
from audit.report.sections.advice.reading import advices
from audit.report.sections.advice.record import Advised
from audit.report.sections.causes.record import Scattered, Unexplained
from audit.report.sections.changes.record import Trend
from audit.report.sections.definitions.elsewhere import elsewhere
from audit.report.sections.fair_starts.reading import DELAYED, delayed, fidelity_of, statuses
from audit.report.sections.fair_starts.record import FairStart
from audit.report.sections.machine.reading import pictured
from audit.report.sections.machine.record import Outage, Pictured
from audit.report.sections.passed_over.reading import PASSED_KINDS, ahead, passed, stuck, used_more
from audit.report.sections.predicted import reading as predicted
from audit.report.sections.preemption.reading import PREEMPTED, preemption
from audit.report.sections.resources.reading import resources
from audit.report.sections.rules.record import BoundRule
from audit.report.sections.sharing.record import AccountShare, BeyondUser
from audit.report.sections.waits.reading import queues
from audit.report.sections.who.reading import entities
from audit.store import queries
from audit.store.database import Connection

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
    found = queries.run(con, "report/pools", cluster=cluster)
    of_period = {"cluster": cluster, "period": period.name}
    of_schedule = {**of_period, "schedule": schedule}
    span = {"from_time": period.from_time, "to_time": period.to_time}
    of_attempts = {"cluster": cluster, "schedule": schedule, **span, "whole": period.whole_log}
    requests: dict[str, dict[str, Any]] = {
        **dict.fromkeys(("report/summary", "who/entities", "passed_over/peers"), of_schedule),
        "resources/users": {**of_schedule, "rows": options.rows},
        "fair_starts/delayed": {**of_attempts, "most": DELAYED},
        **dict.fromkeys(_OF_PERIOD, of_period),
        **dict.fromkeys(("rules/bound", "causes/scattered"), of_attempts),
        "preemption/users": of_schedule,
        "sharing/beyond_users": {**of_attempts, "least": MATERIAL},
        "preemption/preempted": {**of_attempts, "most": PREEMPTED},
        "causes/unexplained": {**of_attempts, **of_schedule, "least": MUCH_UNEXPLAINED},
        "passed_over/stuck": {**of_period, **span, "most": options.rows},
        "predicted/judged": predicted.request(cluster, period, zone_name),
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
            fair = replace(part.fair_start, fidelity=fidelity_of(rows["fair_starts/fidelity"]))
            part = replace(part, fair_start=fair, advised=advices(con, cluster, period, name))
            right = predicted.of_pool(rows["predicted/judged"])
            part = replace(part, stuck=stuck(rows["passed_over/stuck"]), predicted=right)
        made.append(
            replace(
                part,
                trend=trends.get(name),
                pictured=pictures.get(name, Pictured()),
                elsewhere=elsewheres.get(name),
            )
        )
    return tuple(sorted(made, key=lambda part: total(part, "wait_mean"), reverse=True))


def _pool(
    name: str, resource: str, capacity: int, rows: Mapping[str, pl.DataFrame], settings: Settings
) -> PoolPart:
    parts, beside = breakdowns(rows["report/summary"]), breakdowns(rows["passed_over/peers"])
    users_, accounts = (
        entities(kind, of_kind, parts, settings.metrics.keep_single_job_users)
        for kind, of_kind in by_value(
            rows["who/entities"], "entity_kind", ("user", "account")
        ).items()
    )
    overall = parts.get("all", ())
    partitions = by_total(parts.get("partition", ()), "miss_delivered_mean")
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
        resources=resources(parts.get("resource", ()), rows["resources/users"]),
        fair_start=FairStart(
            statuses(parts.get("fst_status", ())),
            partitions if len(partitions) > 1 else (),
            None,
            settings.metrics.tolerance_s if settings.known else None,
            delayed(rows["fair_starts/delayed"]),
        ),
        passed=passed(judged),
        used_more=used_more(judged),
        ahead=ahead(judged),
        tested=tested,
        rules=records(BoundRule, rows["rules/bound"]),
        scattered=records(Scattered, rows["causes/scattered"]),
        preemption=preemption(rows),
        beyond=records(BeyondUser, rows["sharing/beyond_users"]),
        shares=records(AccountShare, rows["sharing/account_shares"]),
        outages=records(Outage, rows["machine/outages"]),
        unexplained=records(Unexplained, rows["causes/unexplained"]),
        queues=queues(parts.get(QUEUE, ())),
    )


_OF_PERIOD: Final = ("fair_starts/fidelity", "machine/outages", "sharing/account_shares")
MUCH_UNEXPLAINED: Final = 0.1
"""Share of all waiting above which a report shows where unexplained waiting is."""
