"""Users and accounts of a pool, read from the database."""

from dataclasses import replace
from typing import Any, Final

import polars as pl

from audit.metrics.attempts import users
from audit.report.charts.series import NUWT_CUT
from audit.report.figures import Parts
from audit.report.rows import by_value
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
