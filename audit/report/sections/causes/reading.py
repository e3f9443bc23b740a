"""The evidence for causes of waiting, read from the database."""

from typing import Final

from audit.report.rows import records
from audit.report.sections.causes.record import Causes, Scattered, Unexplained
from audit.report.source import SectionSource

MUCH_UNEXPLAINED: Final = 0.1
"""Share of all waiting above which a report shows where unexplained waiting is."""


def read(source: SectionSource) -> dict[str, Causes]:
    """Return what single nodes lacked, and where unexplained waiting is, of each pool."""
    unexplained = source.by_pool("causes/unexplained", least=MUCH_UNEXPLAINED)
    return {
        pool: Causes(records(Scattered, rows), records(Unexplained, unexplained[pool]))
        for pool, rows in source.by_pool("causes/scattered").items()
    }
