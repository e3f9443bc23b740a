"""A change as the command line says it; errors name the option."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from audit.errors import UsageError
from audit.formats.slurm import slurm_conf
from audit.policies import Policy
from audit.rules import KINDS, Kind
from audit.scenario.scenario import Amount, Bound, Change

DAY_S: Final = 86_400
_LARGEST: Final = 1 << 53
_ASKED: Final = re.compile(
    r"(?:(?P<kind>user|account|qos|partition):)?(?P<name>.+)=(?P<most>\d{1,18})"
    r"(?P<unit>jobs|cpus|nodes|gpus)?"
)


def change(**given: Any) -> Change:
    """Return the change that options ask for.

    Args:
        given: the values of ``whatif``'s options, by their names in Python (``simulate`` has some
            of them); None or empty: not given.

    Raises:
        UsageError: one of them cannot be read.
    """
    readers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "limit": ("limits", limits),
        "lift": ("lift", tuple),
        "targets": ("targets", _shares),
        "weight": ("weights", _weights),
        "half_life": ("half_life_s", lambda days: days * DAY_S),
        "walltimes": ("walltimes", _walltimes),
        "capacity": ("capacity", lambda text: _amount(text, "--capacity")),
        "nodes": ("nodes", lambda text: _amount(text, "--nodes")),
        "max_walltime": ("walltime_limits", _walltime_limits),
        "without_user": ("without", tuple),
    }
    policy = {key: given[key] for key in Policy._fields if given.get(key) is not None}
    read = {
        field: reader(given[name])
        for name, (field, reader) in readers.items()
        if given.get(name) not in (None, [])
    }
    return Change(policy=policy, **read)


def limits(texts: Sequence[str]) -> tuple[Bound, ...]:
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


def _shares(text: str | None) -> Mapping[str, float]:
    """What ``--targets NAME=SHARE,…`` says.

    Raises:
        UsageError: it is not of that form, or a share is below 0.
    """
    by_name: dict[str, float] = {}
    for name, value in _pairs(text, "--targets", "NAME=SHARE"):
        by_name[name] = _number(value, f"--targets {name}={value}: a share")
    return by_name


def _weights(texts: Sequence[str]) -> Mapping[str, float]:
    """What each ``--weight FACTOR=N`` says.

    Raises:
        UsageError: it is not of that form, or a weight is below 0.
    """
    by_name: dict[str, float] = {}
    for text in texts:
        for name, value in _pairs(text, "--weight", "FACTOR=N"):
            by_name[name.lower()] = _number(value, f"--weight {name}={value}: a weight")
    return by_name


def _walltime_limits(texts: Sequence[str]) -> Mapping[str, int]:
    """What each ``--max-walltime PARTITION=D-HH:MM:SS`` says; a time as Slurm writes it.

    Raises:
        UsageError: it is not of that form, or no time at all.
    """
    by_name: dict[str, int] = {}
    for text in texts:
        for name, value in _pairs(text, "--max-walltime", "PARTITION=D-HH:MM:SS"):
            limit = slurm_conf.seconds(value)
            if limit is None or not 1 <= limit <= _LARGEST:
                raise UsageError(
                    f"--max-walltime {name}={value}: no time; write minutes, HH:MM:SS or D-HH:MM:SS"
                )
            by_name[name] = int(limit)
    return by_name


def _pairs(text: str | None, flag: str, form: str) -> list[tuple[str, str]]:
    if text is None:
        return []
    pairs = [part.rpartition("=") for part in text.split(",")]
    names = [name.strip() for name, _, _ in pairs]
    if not all(names):
        raise UsageError(f"{flag} {text}: write {form}, with commas between several")
    if len(set(names)) < len(names):
        raise UsageError(f"{flag} {text}: a name stands there twice")
    return [(name, value.strip()) for name, (_, _, value) in zip(names, pairs, strict=True)]


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (number >= 0 and math.isfinite(number)):
        raise UsageError(f"{what} is a number from 0 on")
    return number


def _amount(text: str | None, flag: str) -> Amount | None:
    """What ``--capacity N``, ``+N`` or ``-N`` says.

    Raises:
        UsageError: it is not a whole number.
    """
    if text is None:
        return None
    relative = text[:1] in ("+", "-")
    return Amount(_whole(text, f"{flag} {text}", least=None if relative else 1), relative)


def _whole(text: str, option: str, least: int | None) -> int:
    try:
        value = int(text)
    except ValueError:
        raise UsageError(f"{option}: not a whole number") from None
    if (least is not None and value < least) or abs(value) > _LARGEST:
        raise UsageError(f"{option}: a whole number from {least or -_LARGEST} to {_LARGEST}")
    return value


def _walltimes(text: str | None) -> Fraction | None:
    """What ``--walltimes exact`` or a factor says.

    Raises:
        UsageError: it is neither, or below 1.
    """
    if text is None:
        return None
    if text == "exact":
        return Fraction(1)
    try:
        factor = Fraction(text).limit_denominator(1_000_000)
    except (ValueError, ZeroDivisionError):
        factor = Fraction(0)
    if not 1 <= factor <= 1_000:
        raise UsageError(
            f"--walltimes {text}: 'exact', or how many times the run time may be asked for, from "
            "1 to 1000"
        )
    return factor
