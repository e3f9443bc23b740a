"""What a rule is called on pages, in tables and in the column ``rule``: a noun phrase."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from audit.rules import KINDS, Limit, Scope, Window, texts

UNITS: Final[Mapping[str | None, tuple[str, str]]] = {
    None: ("running job", "running jobs"),
    "cpus": ("CPU", "CPUs"),
    "nodes": ("node", "nodes"),
    "gpus": ("GPU", "GPUs"),
}
_GIB: Final = 1 << 30
_HOUR_S, _MINUTE_S = 3_600, 60


def rule_text(rule: Limit | Window, resource: str) -> str:
    """Return what a rule is called, such as ``limit of 10 running jobs per user``.

    Args:
        rule: a limit or a window.
        resource: the pool's counted resource, in which widths are given.
    """
    scope = scope_text(rule, resource)
    since = f" from {rule.valid_from}" if rule.valid_from else ""
    days = f"{since} until {rule.valid_to - timedelta(days=1)}" if rule.valid_to else since
    if isinstance(rule, Limit):
        whom = f"per {rule.per}" if rule.per else "in total"
        whose = f" for {scope}" if scope else ""
        return f"limit of {amount(rule.most, rule.resource)} {whom}{whose}{days}"
    hours = ", ".join(texts(rule.hours)).replace("-", "–")
    if rule.overlap:
        return f"hours {hours} that {scope or 'jobs'} may not run into{days}"
    return f"closed hours {hours} for {scope or 'all jobs'}{days}"


def scope_text(scope: Scope, resource: str) -> str:
    """Return which jobs a rule is about, such as ``jobs over 4 h in partition long``; or ""."""
    parts = []
    if scope.walltime_above_s is not None:
        parts.append(f"over {duration(scope.walltime_above_s)}")
    if scope.size_above is not None:
        parts.append(f"over {amount(scope.size_above, resource)}")
    if scope.size_up_to is not None:
        parts.append(f"up to {amount(scope.size_up_to, resource)}")
    prepositions = {"user": "of", "account": "of", "qos": "with", "partition": "in"}
    parts += [
        f"{prepositions[kind]} {kind} {', '.join(names)}"
        for kind in KINDS
        if (names := getattr(scope, kind)) is not None
    ]
    return f"jobs {' '.join(parts)}" if parts else ""


def amount(most: int, resource: str | None) -> str:
    """Return an amount with its unit, such as ``32 CPUs`` or ``1 running job``."""
    if resource == "mem_bytes":
        return f"{most / _GIB:,.3g} GiB of memory"
    return f"{most:,} {UNITS[resource][most != 1]}"


def duration(seconds: int) -> str:
    """Return a walltime in the largest unit that shows it exactly, such as ``4 h``."""
    if seconds % _HOUR_S == 0:
        return f"{seconds // _HOUR_S:,} h"
    return f"{seconds // _MINUTE_S:,} min" if seconds % _MINUTE_S == 0 else f"{seconds:,} s"
