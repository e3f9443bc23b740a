"""Users and accounts: read from the database, and the rows of their tables."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

import polars as pl

from audit.metrics.attempts import users
from audit.report.charts.series import NUWT_CUT
from audit.report.figures import Parts, by_value
from audit.report.pool import PoolPart
from audit.report.sections.who.record import Entities, Entity, Missed, Step
from audit.report.source import SectionSource

_PLAIN: Final = len(Entity.__annotations__) - 1


def read(source: SectionSource) -> dict[str, tuple[Entities, Entities]]:
    """Return the users and the accounts of each pool."""
    keep_single = source.settings.metrics.keep_single_job_users
    found = {}
    for pool, rows in source.by_pool("who/entities").items():
        of = by_value(rows, "entity_kind", ("user", "account"))
        users_, accounts = (
            _entities(kind, of[kind], source.parts[pool], keep_single) for kind in of
        )
        found[pool] = users_, accounts
    return found


def _entities(kind: str, rows: pl.DataFrame, parts: Parts, keep_single: bool) -> Entities:

    def entity(row: tuple[Any, ...]) -> Entity:
        fst = row[_PLAIN:]
        missed = Missed(*fst) if fst[0] else None
        return replace(Entity(*row[:_PLAIN]), missed=missed)

    spread = next((part for part in parts.get("entity_kind", ()) if part.label == kind), None)
    steps = users.cdf(rows, keep_single) if rows.height else pl.DataFrame()
    return Entities(
        kind,
        tuple(map(entity, rows.iter_rows())),
        spread.figures if spread else (),
        cdf=tuple(Step(nuwt, share) for nuwt, share, _ in steps.iter_rows() if nuwt <= NUWT_CUT),
    )


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
