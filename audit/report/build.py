"""The content of a report, read from the database alone.

A report can therefore be reproduced from the same database, byte for byte. It uses only the logs
behind its figures: logs read since then do not change it.
"""

import json
from dataclasses import replace
from typing import Any, Final

from pydantic import ValidationError

from audit.config import Metrics
from audit.errors import ReportError
from audit.model import OBSERVED, Announcement, Period
from audit.report import stored
from audit.report.contents import DEFAULT, Contents, Options, PoolPart, Provenance, Settings, Span
from audit.report.figures import by_width, records, total
from audit.report.first_page.reading import with_verdicts
from audit.report.sections.definitions.section import definitions
from audit.report.sections.records import section as logs
from audit.report.sections.registry import SECTIONS
from audit.report.sections.usage import section as usage
from audit.report.sections.who import section
from audit.report.source import SectionSource
from audit.store import queries
from audit.store.database import Connection

FREE: Final = ("loss_of_capacity", "idle_usable", "cause_rule_free_share")
"""Figures of capacity that was free, which a part of the workload does not show."""


def in_part(pool: PoolPart, why: str) -> PoolPart:
    """Return a pool of a part of the workload, without what depends on free capacity."""
    if not why:
        return pool
    of_pool = {
        section.name: section.in_part(pool.sections[section.name])
        for section in SECTIONS
        if section.name in pool.sections
    }
    figures = tuple(figure for figure in pool.figures if figure.metric not in FREE)
    return replace(pool, part=why, figures=figures, sections=of_pool)


def pools(source: SectionSource) -> tuple[PoolPart, ...]:
    """Return the content about each pool, the one with most waiting first."""
    read = [
        (section.name, section.record, section.read(source))
        for section in SECTIONS
        if section.read is not None and section.record is not None
    ]
    named = section.read(source)
    made = []
    for name, resource, capacity in source.pools.iter_rows():
        parts = source.parts[name]
        overall = parts.get("all", ())
        pool = PoolPart(
            name,
            resource,
            capacity,
            figures=overall[0].figures if overall else (),
            widths=tuple(sorted(parts.get("width_class", ()), key=lambda of: by_width(of.label))),
            hours=tuple(sorted(parts.get("hour_of_week", ()), key=lambda of: int(of.label))),
            days=parts.get("day", ()),
            users=named[name][0],
            accounts=named[name][1],
            sections={
                section: of[name] if name in of else record() for section, record, of in read
            },
            zone=source.zone,
        )
        made.append(pool)
    return tuple(sorted(made, key=lambda pool: total(pool, "wait_mean"), reverse=True))


def build(
    con: Connection,
    cluster: str,
    period: Period,
    options: Options = DEFAULT,
    *,
    schedule: str = OBSERVED,
) -> Contents:
    """Return the content of the report on a cluster and period.

    If the period's figures were not computed, the report says so. ``con`` is a store or a published
    snapshot; ``schedule`` is the observed schedule, or the name of a simulated one.

    Raises:
        ReportError: the database does not have the cluster, or results that cannot be shown.
    """
    with stored.reading(cluster, period.name):
        return _build(con, cluster, period, options, schedule)


def _build(
    con: Connection, cluster: str, period: Period, options: Options, schedule: str
) -> Contents:
    of_period = {"cluster": cluster, "period": period.name}
    if not (known := queries.rows(con, "report/cluster", **of_period)):
        raise ReportError(f"cluster {cluster!r}: not in the database; ingest its logs first")
    zone_name, text = known[0]
    noted = _noted(text)
    settings = settings_of(con, cluster, period)
    source = SectionSource(con, cluster, period, schedule, zone_name, options, settings)
    run = records(Provenance, source.rows("provenance/run"))
    parts = tuple(in_part(pool, noted["part"]) for pool in pools(source))
    contents = Contents(
        cluster=cluster,
        span=_span(source),
        pools=parts,
        definitions=definitions(settings.metrics),
        provenance=run[0] if run else Provenance(*["unknown"] * 4),
        options=options,
        settings=settings,
        **noted,
        **logs.read(source, parts),
        **usage.read(source),
    )
    return with_verdicts(source, contents) if schedule == OBSERVED else contents


def settings_of(con: Connection, cluster: str, period: Period) -> Settings:
    """Return the settings behind the figures of a period, or the defaults."""
    rows = queries.run(con, "report/settings", cluster=cluster, period=period.name)
    metrics, resamples, decay, assumed = rows.row(0) if rows.height else (None,) * 4
    usage_ = json.loads(decay) if decay else None
    fitted = json.loads(assumed) if assumed else {}  # as ``cluster.fitted`` stores it
    found = Settings(
        usage=usage_ if isinstance(usage_, dict) else {},
        assumed={pool: of["says"] for pool, of in fitted.items() if of.get("says")},
    )
    try:
        known = None if metrics is None else Metrics.model_validate_json(metrics)
    except ValidationError:  # written by a version with other keys
        known = None
    if known is None:
        return found
    return replace(found, metrics=known, resamples=resamples or found.resamples, known=True)


def _span(source: SectionSource) -> Span:
    period = source.period
    ((newest,),) = source.tuples("latest_instant")
    (span,) = records(
        Span,
        source.rows("records/span"),
        name=period.name,
        from_time=period.from_time,
        to_time=period.to_time,
        whole_log=period.whole_log,
        zone=source.zone,
        newest=newest,
    )
    return span


def _noted(text: str) -> dict[str, Any]:
    """Return the fields of ``Contents`` that are in ``clusters.notes``."""
    value = json.loads(text)
    announced = value.get("announced")
    return {
        **{key: tuple(map(str, value.get(key, ()))) for key in ("notes", "warnings")},
        "part": str(value.get("part", "")),
        "announced": Announcement(*announced) if announced else None,
        "gaps": bool(value.get("gaps")),
    }
