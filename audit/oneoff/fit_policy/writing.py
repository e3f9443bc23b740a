"""What was found out of a site, as a config.toml that fairaudit reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from audit.config.toml import value
from audit.model import Pool
from audit.oneoff.fit_policy.page import Found
from audit.scenario.fit import judging

HEAD: Final = """\
# What `fairaudit fit-policy` found out of this site by its log: what it does, not how it is set.
# Check it against what you know before you rely on it; then give it to --config.
"""
_LISTS: Final = ("steps", "limits", "windows")
"""Keys whose entries have a line each."""


def config_toml(cluster: str, zone: str, found: Sequence[Found]) -> str:
    """The text of a config.toml with one cluster.

    Args:
        zone: its time zone, where no pool has windows by another clock.
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
    users = [name for one in found for name in one.outcome.fitted.site.users]
    if users:
        lines += [
            "# Not a rule of the pool: attempts of these users wait for their user's previous one",
            *(f"# {value(user)}" for user in users),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _pool(pool: Pool, *, alone: bool) -> Iterator[str]:
    yield "[[clusters.pools]]"
    yield f"name = {value(pool.name)}"
    if not alone:
        yield "# partitions = [ … ]: those of this pool, as you have configured it"
    keys: dict[str, Any] = {
        "resource": pool.resource.value,
        "capacity": dict(pool.amounts) | {pool.resource.value: pool.capacity},
        "exclusive_nodes": pool.exclusive_nodes or None,
        "steps": list(_steps(pool)) or None,
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
    """What was in force, from whole days on: of several on a day the last."""
    zone = ZoneInfo(pool.zone)
    by_day = {
        datetime.fromtimestamp(step.since, UTC).astimezone(zone).date(): step for step in pool.steps
    }
    for day, step in by_day.items():
        yield {"since": day, **dict(step.amounts)}
