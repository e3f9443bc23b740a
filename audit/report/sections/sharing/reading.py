"""What accounts held, and who was allocated more than requested, read from the database."""

from audit.registry.requested import MATERIAL
from audit.report.rows import records
from audit.report.sections.sharing.record import AccountShare, BeyondUser, PoolShares
from audit.report.source import SectionSource


def read(source: SectionSource) -> dict[str, PoolShares]:
    """Return the accounts of each pool with a deficit, and its users with more than requested."""
    users = source.by_pool("sharing/beyond_users", least=MATERIAL)
    accounts = source.by_pool("sharing/account_shares")
    return {
        pool: PoolShares(records(BeyondUser, rows), records(AccountShare, accounts[pool]))
        for pool, rows in users.items()
    }
