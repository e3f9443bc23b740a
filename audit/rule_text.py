"""Rules of a pool in words: noun phrases for pages, tables, titles and the column ``rule``."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from audit.rules import KINDS, Limit, Scope, Window, texts
from audit.words import gpu_type, kind_of

UNITS: Final[Mapping[str | None, tuple[str, str]]] = {
    None: ("running job", "running jobs"),
    "cpus": ("CPU", "CPUs"),
    "nodes": ("node", "nodes"),
    "gpus": ("GPU", "GPUs"),
}
_GIB: Final = 1 << 30
_TIMES: Final = ((3_600, "h"), (60, "min"), (1, "s"))
_PREPOSITIONS: Final = {"user": "of", "account": "of", "qos": "with", "partition": "in"}


def rule_text(rule: Limit | Window, resource: str, zone: str) -> str:
    """Return the name of a rule, such as ``limit of 10 running jobs per user``.

    ``resource`` is the pool's counted resource, the unit of widths; ``zone`` is its clock.
    """
    since = f" from {rule.valid_from}" if rule.valid_from else ""
    days = f"{since} until {rule.valid_to - timedelta(days=1)}" if rule.valid_to else since
    if isinstance(rule, Limit):
        return f"limit of {level_text(rule, resource)}{days}"
    scope = scope_text(rule, resource)
    if rule.overlap:
        return f"{hours_text(rule, zone)} that {scope or 'jobs'} may not run into{days}"
    return f"closed {hours_text(rule, zone)} for {scope or 'all jobs'}{days}"


def short_text(rule: Limit | Window, resource: str) -> str:
    """Return the name of a rule on page one: ``daytime closure for jobs over 4 h``.

    It has no days and no clock, so several rules may have the same name.
    """
    over = (
        "" if rule.walltime_above_s is None else f" for jobs over {_rough(rule.walltime_above_s)}"
    )
    if isinstance(rule, Limit):
        places = _places(rule, resource)
        if over and rule.most == 0:
            return f"longest time limit allowed{places}"
        if rule.per == "job":
            return f"largest job allowed{places}{over}"
        alone = rule.per is not None and len(getattr(rule, rule.per) or ()) == 1
        entity = f" per {rule.per}" if rule.per and not alone else ""
        return f"limit of {_most(rule, 'time')}{entity}{places}{over}"
    return (
        f"{_closed(rule)}{over}"
        if over
        else f"closed hours{_places(rule, resource, partition='of')}"
    )


def _places(scope: Scope, resource: str, **prepositions: str) -> str:
    """Return which jobs a scope is about without their walltime: `` in QOS long``; "" for all."""
    words = {"user": "of user", "account": "of account", "qos": "in QOS", "partition": "in"}
    words |= prepositions
    if scope.partition and scope.partition[0].isdecimal():
        words["partition"] += " partition"
    parts = [
        f"{words[kind]} {', '.join(names)}"
        for kind in KINDS
        if (names := getattr(scope, kind)) is not None
    ]
    if scope.size_above is not None:
        parts.append(f"for jobs over {amount(scope.size_above, resource)}")
    if scope.size_up_to is not None:
        parts.append(f"for jobs up to {amount(scope.size_up_to, resource)}")
    return "".join(f" {part}" for part in parts)


def _closed(window: Window) -> str:
    """Return when a window is closed: ``daytime closure``; ``closed hours`` where no word fits."""
    closed = window.hours
    if 2 * sum(hour >= 120 for hour in closed) >= len(closed):
        return "weekend closure"
    if sum(hour < 120 for hour in closed) >= 90:  # three quarters of the hours of five days
        return "weekday closure"
    night = sum(hour % 24 < 6 or hour % 24 >= 20 for hour in closed)
    if 3 * night >= 2 * len(closed):
        return "night closure"
    return "daytime closure" if 2 * night < len(closed) else "closed hours"


def _rough(seconds: int) -> str:
    """Return a time in two digits: ``15 h`` for 52,800 s."""
    size, unit = next((one for one in _TIMES if seconds >= one[0]), (1, "s"))
    return f"{seconds / size:,.2g} {unit}" if seconds < 100 * size else duration(seconds)


def level_text(limit: Limit, resource: str) -> str:
    """Return what a limit allows, such as ``32 CPUs in total for jobs in partition debug``."""
    scope = scope_text(limit, resource)
    most = _most(limit, "walltime")
    entity = f"per {limit.per}" if limit.per else "in total"
    return f"{most} {entity}" + (f" for {scope}" if scope else "")


def _most(limit: Limit, time: str) -> str:
    """Return the level of a limit, such as ``64 CPUs × h of remaining walltime``.

    The log shows the level that was reached, in seconds. Unless it is a whole number of minutes, it
    is rounded to at least three digits.
    """
    if not limit.remaining:
        return amount(limit.most, limit.resource)
    size, unit = _unit(limit.most)
    if unit == "s":
        size, unit = next((one for one in _TIMES if limit.most >= 100 * one[0]), _TIMES[-1])
    most = amount(round(limit.most / size), limit.resource)
    return f"{most} × {unit} of remaining {time}"


def hours_text(window: Window, zone: str) -> str:
    """Return the hours of a window, such as ``hours Mon–Fri 08–18 (Europe/Berlin)``."""
    return f"hours {', '.join(texts(window.hours)).replace('-', '–')} ({clock(zone)})"


def clock(zone: str) -> str:
    """Return the name of a clock: its zone, or its offset without summer time."""
    behind = zone.removeprefix("Etc/GMT")
    if behind == zone:
        return zone
    # in these names, as in POSIX, the sign is that of UTC less local time
    return f"UTC{-int(behind):+d} all year"


def scope_text(scope: Scope, resource: str) -> str:
    """Return the jobs of a rule, such as ``jobs over 4 h in partition long``; "" for all."""
    parts = []
    if scope.walltime_above_s is not None:
        parts.append(f"over {duration(scope.walltime_above_s)}")
    if scope.size_above is not None:
        parts.append(f"over {amount(scope.size_above, resource)}")
    if scope.size_up_to is not None:
        parts.append(f"up to {amount(scope.size_up_to, resource)}")
    parts += [
        f"{_PREPOSITIONS[kind]} {kind} {', '.join(names)}"
        for kind in KINDS
        if (names := getattr(scope, kind)) is not None
    ]
    return f"jobs {' '.join(parts)}" if parts else ""


def amount(most: int, resource: str | None) -> str:
    """Return an amount with its unit, such as ``32 CPUs`` or ``1 running job``."""
    if resource == "mem_bytes":
        size = most / _GIB
        return f"{size:,.0f} GiB of memory" if size >= 100 else f"{size:.3g} GiB of memory"
    units = UNITS[resource and kind_of(resource)]
    of_type = f"{gpu_type(resource)} " if resource and gpu_type(resource) else ""
    return f"{most:,} {of_type}{units[most != 1]}"


def duration(seconds: int) -> str:
    """Return a time in the largest unit that shows it exactly, such as ``4 h``."""
    size, unit = _unit(seconds)
    return f"{seconds // size:,} {unit}"


def _unit(seconds: int) -> tuple[int, str]:
    """Return the length and name of the largest unit of time that divides a number of seconds."""
    return next(one for one in _TIMES if seconds % one[0] == 0)
