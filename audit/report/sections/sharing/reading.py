"""Who was allocated more than requested, read from the database."""

from audit.registry.requested import MATERIAL
from audit.report.rows import records
from audit.report.sections.sharing.record import BeyondRequests, BeyondUser
from audit.report.source import SectionSource


def read(source: SectionSource) -> dict[str, BeyondRequests]:
    """Return the users of each pool whose jobs were allocated more than they requested."""
    return {
        pool: BeyondRequests(records(BeyondUser, rows))
        for pool, rows in source.by_pool("sharing/beyond_users", least=MATERIAL).items()
    }
