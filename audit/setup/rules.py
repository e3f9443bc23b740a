"""Do limits and windows of a configured cluster go together with what its logs hold?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

from audit import config
from audit.errors import AuditError, UsageError
from audit.metrics.attempts.reasons import any_of, in_scope
from audit.model import Limit, Pool
from audit.pipeline.published import open_published
from audit.scenario.limits import WEEK
from audit.scenario.whatif.bounds import KINDS

_SHOWN: Final = 10
"""So many names of one kind are listed."""


def compare(
    cluster: config.Cluster, settings: config.Config, published: Path, archive: Path | None = None
) -> str:
    """What there is, and which names no log has.

    Args:
        cluster: whose limits and windows; its pools must have some.
        published: the database to compare with; it need not be there yet.

    Raises:
        AuditError: a limit under which nothing that started could have, a window that never opens.
    """
    pools = cluster.pools
    has = f"{sum(len(pool.limits) for pool in pools):,} limits"
    has += f", {sum(len(pool.windows) for pool in pools):,} windows"
    if not published.is_file():
        return f"{has}; no database to compare their names with yet"
    try:
        log = open_published(published, settings, cluster.name, archive=archive)
    except UsageError:
        return f"{has}; {published} has no cluster {cluster.name!r} yet"
    found = list(_impossible(log.described, log.setting.pools))
    if found:
        raise AuditError("; ".join(found))
    unknown = list(_unknown(log.described, log.setting.pools))
    return "; ".join([has, *unknown]) if unknown else f"{has}; the logs have every name"


def _unknown(described: pl.DataFrame, pools: tuple[Pool, ...]) -> Iterator[str]:
    """Names that occur in no log, by kind."""
    scopes = [limit.scope for pool in pools for limit in pool.limits]
    scopes += [window.scope for pool in pools for window in pool.windows]
    for kind in KINDS:
        named = {name for scope in scopes for name in _names(getattr(scope, kind))}
        if kind == "qos":
            named |= {name for pool in pools for limit in pool.limits for name in limit.exempt_qos}
        missing = sorted(named - {*described[kind].unique().to_list()})
        if missing:
            more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
            yield f"no log has {kind} {', '.join(map(repr, missing[:_SHOWN]))}{more}"


def _names(given: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else given or ()


def _impossible(described: pl.DataFrame, pools: tuple[Pool, ...]) -> Iterator[str]:
    """Rules that nothing in the logs could have kept."""
    ran = described.filter(pl.col("start_time").is_not_null())
    for pool in pools:
        held = ran.filter(pl.col("pool") == pool.name).rename({"occupancy_s": "occupancy"})
        for number, limit in enumerate(pool.limits, 1):
            least = _least(held, limit)
            if least is not None and least > limit.most:
                yield (
                    f"limit {number} of pool {pool.name!r}: at most {limit.most:,} "
                    f"{limit.resource or 'jobs'}, and no job that it is about asked for less than "
                    f"{least:,}"
                )
        for number, window in enumerate(pool.windows, 1):
            if len(window.hours) == WEEK:
                yield f"window {number} of pool {pool.name!r} is closed at all hours"


def _least(held: pl.DataFrame, limit: Limit) -> int | None:
    """The least that any that a limit holds asked for; None: it holds none.

    One that keeps out who asks for too much, or for too long, is meant to hold all of them.
    """
    scope = limit.scope
    bounds = (scope.walltime_above_s, scope.size_above, scope.size_up_to)
    if limit.most == 0 and any(bound is not None for bound in bounds):
        return None
    bound = in_scope(held, scope) & ~any_of(held["qos"], limit.exempt_qos)
    if not bound.any():
        return None
    if limit.resource is None:
        return 1
    least = held.filter(pl.Series(bound))[limit.resource].min()
    return least if isinstance(least, int) else None
