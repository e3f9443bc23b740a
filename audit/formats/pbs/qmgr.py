"""Limits of ``qmgr -c 'print server'`` (PBS Pro, OpenPBS, TORQUE).

Only limits on what runs at one time are read, and greatest requests of jobs. Limits on queued jobs,
soft limits, and limits of groups and projects are named as problems.

Source: pbs_queue_attributes(7B), pbs_server_attributes(7B); TORQUE's queue attributes.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

from audit.formats.pbs.allocations import size
from audit.rules import Limit

_LINE: Final = re.compile(
    r"set (?:queue (?P<queue>\S+)|server) (?P<key>[a-z_]+)(?:\.(?P<resource>\w+))?"
    r" *\+?= *(?P<value>.+)",
    re.ASCII,
)
_ENTRY: Final = re.compile(r"\[ *([ougp]):([^=[\]]*[^=[\] ]) *=([^[\]]+)\]", re.ASCII)
_RESOURCES: Final = {
    **dict.fromkeys(("ncpus", "procs", "procct"), "cpus"),
    "mem": "mem_bytes",
    "ngpus": "gpus",
    "nodect": "nodes",
}
_PLAIN: Final[dict[str, Literal["user"] | None]] = {
    **dict.fromkeys(("max_running", "max_run"), None),
    "max_user_run": "user",
}
_LEFT: Final = re.compile(r"max_(?:group|queued|queuable|user_queuable)|\w+_soft$", re.ASCII)
_ALL, _EACH = "PBS_ALL", "PBS_GENERIC"


class QmgrLimits(NamedTuple):
    """The limits of a server and its queues."""

    limits: tuple[Limit, ...]
    problems: tuple[str, ...]
    """Limits that are left out."""


def limits(text: str) -> QmgrLimits:
    """Return the limits of the output of ``qmgr -c 'print server'``.

    Each queue is a partition. A user with a limit of its own is not bound by that of all users; if
    its own is higher, the latter is left out.
    """
    found, problems = list[Limit](), list[str]()
    matches = [_LINE.fullmatch(line.strip()) for line in text.splitlines()]
    if not any(matches):
        problems.append(
            "no line such as 'set server max_run = …': is it of qmgr -c 'print server'?"
        )
    for number, match in enumerate(matches, 1):
        if match is None:
            continue
        try:
            found += _of_line(match)
        except ValueError as error:
            problems.append(f"line {number}: {error}")
    kept = []
    for limit in found:
        names = _higher(limit, found)
        if names:
            left = f"a limit of {limit.most} for each user is left out: {', '.join(names)} have"
            problems.append(f"{left} higher ones")
        else:
            kept.append(limit)
    return QmgrLimits(tuple(dict.fromkeys(kept)), tuple(problems))


def _of_line(match: re.Match[str]) -> Iterator[Limit]:
    """Yield the limits of a line; raises ValueError if it has one that is not modelled."""
    key, value = match["key"], match["value"].strip().strip('"')
    of: dict[str, Any] = {} if match["queue"] is None else {"partition": (match["queue"],)}
    if key == "resources_max":
        if match["resource"] == "walltime":
            yield Limit(most=0, walltime_above_s=_seconds(value), **of)
        elif match["resource"] in _RESOURCES:
            name = _RESOURCES[match["resource"]]
            yield Limit(most=_amount(value), resource=name, per="job", **of)
        return
    if _LEFT.match(key):
        raise ValueError(f"{key} is not modelled")
    if match["resource"] is not None and key in ("max_run_res", "max_user_res"):
        if match["resource"] not in _RESOURCES:
            raise ValueError(f"{key}.{match['resource']} is not modelled")
        of["resource"] = _RESOURCES[match["resource"]]
    elif key not in _PLAIN:
        return
    if not value.startswith("["):
        per = "user" if key == "max_user_res" else _PLAIN.get(key)
        yield Limit(most=_amount(value), per=per, **of)
        return
    whose = ""
    for kind, name, amount in _ENTRY.findall(value):
        if kind == "o" and name == _ALL:
            yield Limit(most=_amount(amount), **of)
        elif kind == "u" and name == _EACH:
            yield Limit(most=_amount(amount), per="user", **of)
        elif kind == "u":
            yield Limit(most=_amount(amount), user=(name,), **of)
        else:
            whose = "a group" if kind == "g" else "a project"
    if whose:
        raise ValueError(f"{key} of {whose} is not modelled")


def _higher(limit: Limit, others: list[Limit]) -> list[str]:
    if limit.per != "user":
        return []
    return [
        one.user[0]
        for one in others
        if one.user is not None
        and one.most > limit.most
        and (one.resource, one.partition) == (limit.resource, limit.partition)
    ]


def _amount(text: str) -> int:
    """Return a number, or a size such as ``64gb``, in bytes."""
    if (amount := size(text.strip())) is None:
        raise ValueError(f"{text!r} is no amount")
    return amount


def _seconds(text: str) -> int:
    """Return ``HH:MM:SS``, ``D:HH:MM:SS`` or seconds, s."""
    if not re.fullmatch(r"\d{1,9}(?::\d{1,2}){0,3}(?:\.\d+)?", text, re.ASCII):
        raise ValueError(f"{text!r} is no walltime")
    parts = text.split(".", maxsplit=1)[0].split(":")
    scales = (1, 60, 3_600, 86_400)
    return sum(int(part) * scale for part, scale in zip(reversed(parts), scales, strict=False))
