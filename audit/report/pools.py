"""The content of a report about each pool, read from the database."""

from dataclasses import replace
from typing import Final

from audit.report.figures import total
from audit.report.pool import PoolPart
from audit.report.rows import by_width
from audit.report.sections.registry import SECTIONS
from audit.report.sections.who import reading as entities
from audit.report.source import SectionSource

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
    named = entities.read(source)
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
