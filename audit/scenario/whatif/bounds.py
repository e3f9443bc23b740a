"""Limits and windows of a pool: as config.toml has them, and as a command changes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from audit import config
from audit.config.limits import hours_of_week
from audit.errors import UsageError
from audit.model import Limit, Pool, Scope, Window

Kind = Literal["user", "account", "qos", "partition"]
KINDS: Final[tuple[Kind, ...]] = ("user", "account", "qos", "partition")

_LARGEST: Final = 1 << 53
_ASKED: Final = re.compile(
    r"(?:(?P<kind>user|account|qos|partition):)?(?P<name>.+)=(?P<most>\d{1,18})"
    r"(?P<unit>jobs|cpus|nodes|gpus)?"
)


def limits(asked: config.Pool) -> tuple[Limit, ...]:
    """The limits of a configured pool."""
    return tuple(
        Limit(limit.most, limit.resource, limit.per, _scope(limit), limit.exempt_qos or ())
        for limit in asked.limits
    )


def windows(asked: config.Pool) -> tuple[Window, ...]:
    """The windows of a configured pool."""
    return tuple(
        Window(
            tuple(sorted(frozenset().union(*map(hours_of_week, window.hours)))),
            _scope(window),
        )
        for window in asked.windows
    )


def _scope(asked: config.Limit | config.Window) -> Scope:
    return Scope(
        *(asked.user, asked.account, asked.qos, asked.partition),
        asked.walltime_above_s,
        asked.size_above,
        asked.size_up_to,
    )


class Bound(NamedTuple):
    """A limit as a command line says it; see ``asked``."""

    kind: Kind
    name: str | None
    """None: each of them."""
    most: int
    unit: str | None
    """None: what the pool counts."""

    def of(self, pool: Pool) -> Limit:
        """The limit that it is for a pool."""
        resource = None if self.unit == "jobs" else self.unit or pool.resource.value
        if self.name is None:
            return Limit(self.most, resource, self.kind)
        whose: dict[str, Any] = {self.kind: self.name}
        return Limit(self.most, resource, None, Scope(**whose))


def asked(texts: Sequence[str]) -> tuple[Bound, ...]:
    """What each ``--limit WHO=N,…`` says.

    WHO is a partition, or one of a kind: ``user:ann``, ``account:physics``, ``qos:long``; ``*``
    stands for each of them (``user:*``). N counts what the pool does, or ``jobs``, ``cpus``,
    ``nodes``, ``gpus``, which then follows it: ``user:*=4jobs``.

    Raises:
        UsageError: it is not of that form, or says two things of one.
    """
    found: list[Bound] = []
    for text in (part for each in texts for part in each.split(",")):
        match = _ASKED.fullmatch(text.strip())
        if match is None or not 1 <= int(match["most"]) <= _LARGEST or match["name"][-1] == ":":
            raise UsageError(
                f"--limit {text}: write PARTITION=N, or user:NAME=N, account:NAME=N, qos:NAME=N, N "
                "from 1 on; for NAME * is each of them, after N jobs, cpus, nodes or gpus may stand"
            )
        kind: Kind = next((each for each in KINDS if each == match["kind"]), "partition")
        name = None if match["name"] == "*" else match["name"]
        found.append(Bound(kind, name, int(match["most"]), match["unit"]))
        if [(each.kind, each.name, each.unit) for each in found].count(
            (kind, name, match["unit"])
        ) > 1:
            raise UsageError(f"--limit {text}: a name stands there twice")
    return tuple(found)


def lifted(pool: Pool, what: Sequence[str]) -> Pool:
    """A pool without some of its limits and windows.

    Args:
        pool: as it is.
        what: ``all``, ``limits``, ``windows``, or the number of a limit, from 1 on, in the order of
            the configuration.

    Raises:
        UsageError: it has no such limit, or none at all.
    """
    gone: set[int] = set()
    count = len(pool.limits)
    for each in what:
        if each in ("all", "limits", "windows"):
            gone |= set(range(len(pool.limits))) if each != "windows" else set()
            if each != "limits":
                pool = pool._replace(windows=())
        elif each.isdecimal() and 1 <= int(each) <= count:
            gone.add(int(each) - 1)
        else:
            raise UsageError(
                f"--lift {each}: all, limits, windows, or one of the {count} limits of pool "
                f"{pool.name!r} by its number"
            )
    kept = tuple(limit for k, limit in enumerate(pool.limits) if k not in gone)
    return pool._replace(limits=kept)
