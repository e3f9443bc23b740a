"""Shares of accounts, and CPU time allocated beyond requests, read from the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from audit.registry.requested import MATERIAL
from audit.report.figures import records
from audit.report.source import SectionSource


class BeyondUser(NamedTuple):
    """A user whose jobs were allocated more than they requested, in CPU·s of ended attempts."""

    name: str | None  # None: not named in the log
    allocated: float
    beyond: float
    charge_share: float | None  # of its charges, what its requests would save
    reason: str  # key of ``registry.requested.BEYONDS``: that of most of it


class AccountShare(NamedTuple):
    """Mean dominant shares of an account while it demanded anything, and over time."""

    name: str
    demanded_s: int
    held: float  # of the pool, in [0, 1]
    entitled: float
    deficit: float  # s of the whole pool
    first: int  # begin of the steps, epoch s
    step_s: int
    step: Sequence[int]  # numbers of the steps with demand; of one account only
    held_at: Sequence[float]  # mean in each of these
    entitled_at: Sequence[float]


@dataclass(frozen=True, slots=True)
class PoolShares:
    """Accounts with a deficit, and users whose jobs were allocated more than they requested."""

    users: tuple[BeyondUser, ...] = ()  # most first
    accounts: tuple[AccountShare, ...] = ()  # largest deficit first


def read(source: SectionSource) -> dict[str, PoolShares]:
    """Return the accounts of each pool with a deficit, and its users with more than requested."""
    users = source.by_pool("sharing/beyond_users", least=MATERIAL)
    accounts = source.by_pool("sharing/account_shares")
    return {
        pool: PoolShares(records(BeyondUser, rows), records(AccountShare, accounts[pool]))
        for pool, rows in users.items()
    }
