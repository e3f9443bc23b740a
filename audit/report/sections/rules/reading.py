"""The limits and windows that kept jobs waiting, read from the database."""

from audit.report.rows import records
from audit.report.sections.rules.record import BoundRule, BoundRules
from audit.report.source import SectionSource


def read(source: SectionSource) -> dict[str, BoundRules]:
    """Return the limits and windows that kept jobs of each pool waiting."""
    return {
        pool: BoundRules(records(BoundRule, rows))
        for pool, rows in source.by_pool("rules/bound").items()
    }
