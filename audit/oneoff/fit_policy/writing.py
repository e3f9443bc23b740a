"""What was found out of a site, as a config.toml that fairaudit reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from zoneinfo import ZoneInfo

from audit.model import Limit, Pool, Scope, Step, Window
from audit.oneoff.fit_policy.page import Found
from audit.oneoff.fit_policy.wording import DAYS
from audit.scenario.fit import judging
from audit.scenario.fit.hours import DAY, WEEK

HEAD: Final = """\
# What `fairaudit fit-policy` found out of this site by its log: what it does, not how it is set.
# Check it against what you know before you rely on it; then give it to --config.
"""
_SCOPE: Final = tuple(Scope._fields)


def config_toml(cluster: str, zone: str, found: Sequence[Found]) -> str:
    """The text of a config.toml with one cluster.

    Args:
        cluster: its name.
        zone: its time zone, where no pool has windows by another clock.
        found: its pools, and what was found out of each.
    """
    pools = [judging.pool_of(one.outcome.fitted.site, one.outcome.observed) for one in found]
    clocks = [pool.zone for pool in pools if pool.windows]
    lines = [
        HEAD,
        "[[clusters]]",
        f"name = {text(cluster)}",
        f"zone = {text(clocks[0] if clocks else zone)}",
        "",
    ]
    for pool in pools:
        lines += [*_pool(pool, alone=len(pools) == 1), ""]
    users = [name for one in found for name in one.outcome.fitted.site.users]
    if users:
        lines += [
            "# Not a rule of the pool: attempts of these users wait for their user's previous one",
            *(f"# {text(user)}" for user in users),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _pool(pool: Pool, *, alone: bool) -> Iterator[str]:
    yield "[[clusters.pools]]"
    yield f"name = {text(pool.name)}"
    if not alone:
        yield "# partitions = [ … ]: those of this pool, as you have configured it"
    yield f"resource = {text(pool.resource.value)}"
    yield f"capacity = {_table(dict(pool.amounts) | {pool.resource.value: pool.capacity})}"
    if pool.exclusive_nodes:
        yield "exclusive_nodes = true"
    steps = list(_steps(pool.steps, pool.zone))
    if steps:
        yield from _list("steps", steps)
    policy = pool.policy
    yield f"order = {text(policy.order.value)}"
    yield f"backfill = {text(policy.backfill.value)}"
    for key in ("depth", "window_s", "interval_s"):
        value = getattr(policy, key)
        if value is not None:
            yield f"{key} = {value}"
    if pool.limits:
        yield from _list("limits", [_table(_limit(limit)) for limit in pool.limits])
    if pool.windows:
        yield from _list("windows", [_table(_window(window)) for window in pool.windows])


def _list(key: str, tables: Sequence[str]) -> Iterator[str]:
    yield f"{key} = ["
    yield from (f"    {table}," for table in tables)
    yield "]"


def _steps(steps: Sequence[Step], zone: str) -> Iterator[str]:
    """What was in force, from whole days on: of several on a day the last."""
    by_day = {
        datetime.fromtimestamp(step.since, UTC).astimezone(ZoneInfo(zone)).date(): step
        for step in steps
    }
    for day, step in by_day.items():
        amounts = ", ".join(f"{name} = {amount}" for name, amount in step.amounts)
        yield f"{{ since = {day.isoformat()}, {amounts} }}"


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "most": limit.most,
        "resource": limit.resource,
        "per": limit.per,
        **_scope(limit.scope),
        "exempt_qos": list(limit.exempt_qos) or None,
    }


def _window(window: Window) -> dict[str, Any]:
    return {"hours": hours(window.hours), **_scope(window.scope)}


def _scope(scope: Scope) -> dict[str, Any]:
    return {name: getattr(scope, name) for name in _SCOPE}


def hours(closed: Sequence[int]) -> list[str]:
    """Hours of the week as config.toml has them, such as ``Mon-Fri 08-18``."""
    by_stretch: dict[tuple[int, int], list[int]] = {}
    for day in range(WEEK // DAY):
        of_day = sorted(hour - day * DAY for hour in closed if day * DAY <= hour < (day + 1) * DAY)
        for begin, end in _stretches(of_day):
            by_stretch.setdefault((begin, end), []).append(day)
    found = []
    for (begin, end), days in sorted(by_stretch.items(), key=lambda one: (one[1], one[0])):
        of_hours = "" if (begin, end) == (0, DAY) else f" {begin:02}-{end:02}"
        for first, behind in _stretches(days):
            whole = DAYS[first] if behind == first + 1 else f"{DAYS[first]}-{DAYS[behind - 1]}"
            found.append(whole + of_hours)
    return found


def _stretches(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Runs of numbers that follow each other: first, and the one behind the last."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = runs[-1][0], number + 1
        else:
            runs.append((number, number + 1))
    return runs


def _table(values: dict[str, Any]) -> str:
    """An inline table of what is not None."""
    entries = (f"{key} = {_value(value)}" for key, value in values.items() if value is not None)
    return "{ " + ", ".join(entries) + " }"


def _value(value: object) -> str:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(one) for one in value) + "]"
    return str(value)


def text(value: str) -> str:
    """A string as TOML writes it, of printable letters alone."""
    return '"' + "".join(_letter(letter) for letter in value) + '"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    return f"\\u{ord(letter):04x}" if ord(letter) <= 0xFFFF else f"\\U{ord(letter):08x}"
