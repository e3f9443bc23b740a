"""``fairaudit fit-policy``: infers from a log how a site schedules."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl

from audit.config.toml import value
from audit.errors import UsageError
from audit.files import folders, replace
from audit.metrics.draws import Draws
from audit.metrics.waits.plan import inferred_interval
from audit.model import Pool
from audit.oneoff.fit_policy import page
from audit.oneoff.fit_policy.elements import as_frame, from_frame
from audit.oneoff.fit_policy.page import Found
from audit.oneoff.study import Made, Plan
from audit.pipeline.opening import Log, pools
from audit.pipeline.shown import look
from audit.report.study.cells import Cell, studied
from audit.scenario.fit import judging, outcome

KEY: Final = "fit-policy"
BUDGET_S: Final = 60.0  # default CPU time of the search, for all pools together


def plan(
    only: str | None = None, budget_s: float = BUDGET_S, write: Path | None = None
) -> Callable[[Log, Draws], Plan]:
    """Return what to do with a log.

    Args:
        only: the pool to fit; None: all with attempts.
        budget_s: estimated CPU seconds that the search may take.
        write: a new file for the site's config.toml, if any.

    Raises:
        UsageError: that file exists, or cannot be written.
    """
    if write is not None:
        _refuse(write)

    def of_log(log: Log, draws: Draws) -> Plan:
        chosen = [pool._replace(zone=str(log.setting.zone)) for pool in pools(log, only)]
        each = budget_s / len(chosen)
        now = log.setting.now
        begin = log.setting.log.from_time
        looks = [look(log.described, pool, now, begin) for pool in chosen]
        chosen = [one.plateaus.pool for one in looks]
        begins = [outcome.affordable(log.described, pool, each).since for pool in chosen]
        cells = [
            Cell(pool.name, partial(_searched, log.described, pool, now, each, draws, since))
            for pool, since in zip(chosen, begins, strict=True)
        ]

        def finish(frames: Sequence[pl.DataFrame]) -> Made:
            found = []
            for pool, one, since, frame in zip(chosen, looks, begins, frames, strict=True):
                tried, ended = from_frame(frame)
                result = outcome.outcome(log.described, pool, now, tried, draws, since)
                interval_s = _interval(log.described, pool)
                found.append(Found(pool, result, one, interval_s, each, ended))
            if write is not None:
                _put(write, config_toml(log.setting.cluster, str(log.setting.zone), found))
            rows = [row for one in found for row in _rows(one)]
            return Made(page.study(log.setting.cluster, found, draws), studied(rows))

        return Plan(json.dumps([only, budget_s, draws.number]), cells, finish)

    return of_log


def _refuse(file: Path) -> None:
    """Raise UsageError, before the long work, rather than overwrite a configuration."""
    if file.exists():
        raise UsageError(f"--write {file}: already exists; name a new file")
    if not file.parent.is_dir():
        raise UsageError(f"--write {file}: name a file in a folder that exists")
    folders.require(file.parent)


def _put(file: Path, text: str) -> None:
    _refuse(file)
    try:
        replace.write(file, text.encode(), alone=True)
    except OSError as error:
        raise UsageError(f"--write {file}: cannot be written ({error.strerror})") from error


def _searched(
    described: pl.DataFrame, pool: Pool, now: int, seconds: float, draws: Draws, since: int | None
) -> pl.DataFrame:
    return as_frame(outcome.find(described, pool, now, seconds, draws, since))


def _interval(described: pl.DataFrame, pool: Pool) -> int | None:
    """Return the interval of the scheduler that the starts of a pool show, s."""
    of_pool = described.filter(pl.col("pool") == pool.name)
    times = of_pool.select("arrival_time", "start_time").drop_nulls()
    return inferred_interval(times["arrival_time"].to_numpy(), times["start_time"].to_numpy())


def _rows(found: Found) -> list[tuple[object, ...]]:
    """Return how well the site is known, as rows of the database."""
    result = found.outcome
    return [
        (found.pool.name, setting, metric, "all", None, value, None, None, unit, attempts)
        for setting, standing, fidelity in (
            ("as assumed", result.before, result.before_fidelity),
            ("as fitted", result.after, result.after_fidelity),
        )
        for metric, value, unit, attempts in (
            ("unexplained_share", standing.unexplained, "1", standing.attempts),
            ("agreement", standing.agreement, "1", standing.attempts),
            ("foreseen_share", standing.foreseen, "1", standing.attempts),
            ("decision_loss", standing.loss, "nats", standing.attempts),
            ("forward_correlation", fidelity.over_all, "1", fidelity.attempts),
            ("forward_correlation_waited", fidelity.waited, "1", fidelity.attempts),
        )
    ]


# --- the site as a config.toml -------------------------------------------------------------------

HEAD: Final = """\
# Inferred by `fairaudit fit-policy` from this site's log: how it behaves, not how it is configured.
# Check it against what you know before you rely on it; then pass it to --config.
"""
_LISTS: Final = ("steps", "limits", "windows")  # keys whose entries have a line each


def config_toml(cluster: str, zone: str, found: Sequence[Found]) -> str:
    """Return a config.toml with one cluster.

    Its zone is that of the first pool with windows, else ``zone``.
    """
    pools = [judging.pool_of(one.outcome.fitted.site, one.outcome.observed) for one in found]
    clocks = [pool.zone for pool in pools if pool.windows]
    lines = [
        HEAD,
        "[[clusters]]",
        f"name = {value(cluster)}",
        f"zone = {value(clocks[0] if clocks else zone)}",
        "",
    ]
    for pool in pools:
        lines += [*_pool(pool, alone=len(pools) == 1), ""]
    for one in found:
        if (ahead := one.outcome.fitted.site.ahead) is not None:
            lines += [
                f"# Not a rule of the pool: these jobs go before others, by {ahead.by}",
                *(f"# {value(name)}" for name in ahead.names),
            ]
    lines += _holds(found)
    return "\n".join(lines).rstrip() + "\n"


def _holds(found: Sequence[Found]) -> Iterator[str]:
    """Yield the chains, and the limits of single users, as comments."""
    users = [chain.user for one in found for chain in one.shown.chains]
    if users:
        yield "# Not a rule of the pool: jobs of these users wait for their user's previous one"
        yield from (f"# {value(user)}" for user in users)
    own = [rule.limit for one in found for rule in one.shown.plateaus.own]
    if own:
        yield "# Not a rule of the site: limits, throttles or dependencies of single users"
        yield from (f"# {value(limit)}" for limit in own)


def _pool(pool: Pool, *, alone: bool) -> Iterator[str]:
    yield "[[clusters.pools]]"
    yield f"name = {value(pool.name)}"
    if not alone:
        yield "# partitions = [ … ]: those of this pool, as you have configured it"
    keys: dict[str, Any] = {
        "resource": pool.resource.value,
        "capacity": dict(pool.amounts) | {pool.resource.value: pool.capacity},
        "exclusive_nodes": pool.exclusive_nodes or None,
        # absences are in files, and more exact
        "steps": None if pool.absences else list(_steps(pool)) or None,
        **pool.policy._asdict(),
        "limits": pool.limits or None,
        "windows": pool.windows or None,
    }
    for key, content in keys.items():
        if content is not None and key in _LISTS:
            yield f"{key} = ["
            yield from (f"    {value(entry)}," for entry in content)
            yield "]"
        elif content is not None:
            yield f"{key} = {value(content)}"


def _steps(pool: Pool) -> Iterator[dict[str, Any]]:
    """Yield the capacity steps by day; of several on a day the last."""
    zone = ZoneInfo(pool.zone)
    by_day = {
        datetime.fromtimestamp(step.since, UTC).astimezone(zone).date(): step for step in pool.steps
    }
    for day, step in by_day.items():
        yield {"since": day, **dict(step.amounts)}
