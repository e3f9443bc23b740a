"""The rows of tables about users and accounts."""

from collections.abc import Callable, Iterable

from audit.registry.measure import Heading
from audit.report.labels import Labels, listed
from audit.report.pool import PoolPart
from audit.report.sections.who.record import Entities, Entity


def nuwt_measures() -> Labels:
    """Return the measures of the distribution of NUWT over users or accounts."""
    return listed(Heading.OWNERS)


def owners(pool: PoolPart) -> tuple[Entities, ...]:
    """Return users, and accounts unless each account has the jobs of one user."""

    def work(of: Entities) -> list[tuple[int, int, float]]:
        return sorted((row.attempts, row.tuwt_s, row.tusa) for row in of.rows)

    users, accounts = pool.users, pool.accounts
    same = work(users) == work(accounts)
    return (users,) if same or not accounts.named else (users, accounts)


def most(rows: Iterable[Entity], key: Callable[[Entity], float], number: int) -> tuple[Entity, ...]:
    """Return at most ``number`` rows with a positive ``key``, the largest first."""
    return tuple(row for row in sorted(rows, key=lambda row: -key(row)) if key(row) > 0)[:number]


def with_fair_starts(of: Entities) -> list[Entity]:
    """Return the named entities with a fair start time."""
    return [row for row in of.named if row.missed is not None]


def net(row: Entity) -> float:
    """Return how much later than fair the attempts of an entity started in total, s."""
    return row.missed.net_s if row.missed else 0.0


def gave_up(of: Entities) -> tuple[Entity, ...]:
    """Return those with attempts that never started, the longest total wait first."""

    def order(row: Entity) -> tuple[int, int, str]:
        return -(row.gave_up_wait_s or 0), -row.never_started, row.name or ""

    return tuple(sorted((row for row in of.rows if row.never_started), key=order))
