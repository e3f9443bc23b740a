"""What pictures of a report show and no figure has: read from attempts, for each pool."""

from audit.model import FLOOD_ATTEMPTS, FLOOD_WORK, Period
from audit.periods import day_edges, day_of, zone
from audit.report.pictured_contents import Flood, Pictured, Walltimes
from audit.store import queries
from audit.store.database import Connection


def pictured(
    con: Connection, cluster: str, schedule: str, period: Period, zone_name: str
) -> dict[str, Pictured]:
    """Work that waited by day, floods, use of walltimes, of the pools of which any is known."""
    in_zone = zone(zone_name)
    edges = day_edges(period.from_time, period.to_time, in_zone)
    of = {"cluster": cluster, "schedule": schedule}
    days = {first: day_of(first, in_zone).isoformat() for first in edges[:-1]}
    waiting: dict[str, dict[int, float]] = {}
    floods: dict[str, list[Flood]] = {}
    if len(edges) > 1:
        rows = queries.rows(con, "report_waiting_work", **of, edges=edges)
        for pool, first, seconds in rows:
            waiting.setdefault(pool, {})[first] = seconds
        least = {"least_attempts": FLOOD_ATTEMPTS, "least_part": FLOOD_WORK}
        for pool, first, *flood in queries.rows(con, "report_floods", **of, edges=edges, **least):
            floods.setdefault(pool, []).append(Flood(days[first], *flood))
    within = {"from_time": period.from_time, "to_time": period.to_time, "whole": period.whole_log}
    used: dict[str, list[tuple[int, int, float]]] = {}
    for pool, *row in queries.rows(con, "report_walltimes", **of, **within):
        used.setdefault(pool, []).append((row[0], row[1], row[2]))
    return {
        pool: Pictured(
            tuple((day, waiting[pool].get(first, 0.0)) for first, day in days.items())
            if pool in waiting
            else (),
            tuple(floods.get(pool, ())),
            _walltimes(used.get(pool, [])),
        )
        for pool in sorted({*waiting, *floods, *used})
    }


def _walltimes(rows: list[tuple[int, int, float]]) -> Walltimes | None:
    if not rows:
        return None
    tenths = [0] * 11
    for tenth, attempts, _ in rows:
        tenths[tenth] = attempts
    return Walltimes(sum(tenths), tuple(tenths), rows[0][2])
