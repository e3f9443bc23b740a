"""A change as the command line writes it; errors name the option."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from audit.errors import UsageError
from audit.formats.slurm import slurm_conf
from audit.policies import SETTINGS, Policy
from audit.rules import KINDS, Kind
from audit.scenario.scenario import Amount, Bound, Change

DAY_S: Final = 86_400
_LARGEST: Final = 1 << 53
_LIMIT: Final = re.compile(
    r"(?:(?P<kind>user|account|qos|partition):)?(?P<name>.+)=(?P<most>\d{1,18})"
    r"(?P<unit>jobs|cpus|nodes|gpus)?(?P<narrow>:narrow)?"
)


def change(**given: Any) -> Change:
    """Return the change that options ask for.

    Args:
        given: values of the options of ``whatif`` (or ``simulate``), by their names in Python; None
            or empty: not given.

    Raises:
        UsageError: one of them cannot be read.
    """
    read = {
        field: reader(given[name])
        for name, (field, reader) in _READERS.items()
        if given.get(name) not in (None, [])
    }
    policy = {key: given[key] for key in Policy._fields if given.get(key) is not None}
    return Change(policy=policy, **read)


def limits(texts: Sequence[str]) -> tuple[Bound, ...]:
    """Read each ``--limit WHO=N,…``.

    WHO is a partition, or one of a kind: ``user:ann``, ``account:physics``, ``qos:long``; ``*``
    means each of them (``user:*``). N counts what the pool counts, or the ``jobs``, ``cpus``,
    ``nodes``, ``gpus`` that follow it: ``user:*=4jobs``. After ``:narrow`` requests above N are
    exempt.

    Raises:
        UsageError: it is not of that form, or limits the same thing twice.
    """
    found: list[Bound] = []
    for text in (part for each in texts for part in each.split(",")):
        match = _LIMIT.fullmatch(text.strip())
        if match is None or not 1 <= int(match["most"]) <= _LARGEST or match["name"][-1] == ":":
            raise UsageError(
                f"--limit {text}: write PARTITION=N, or user:NAME=N, account:NAME=N, qos:NAME=N, N "
                "from 1 on; NAME * is each of them; jobs, cpus, nodes or gpus may follow N, and "
                ":narrow, which exempts requests above N"
            )
        kind: Kind = next((each for each in KINDS if each == match["kind"]), "partition")
        name = None if match["name"] == "*" else match["name"]
        bound = Bound(kind, name, int(match["most"]), match["unit"], match["narrow"] is not None)
        if any(bound[:2] == other[:2] and bound.unit == other.unit for other in found):
            raise UsageError(f"--limit {text}: limited twice")
        found.append(bound)
    return tuple(found)


def _shares(text: str) -> Mapping[str, float]:
    """Read ``--targets NAME=SHARE,…``."""
    return {
        name: _number(value, f"--targets {name}={value}: a share")
        for name, value in _pairs(text, "--targets", "NAME=SHARE")
    }


def _weights(texts: Sequence[str]) -> Mapping[str, float]:
    """Read each ``--weight FACTOR=N``."""
    return {
        name.lower(): _number(value, f"--weight {name}={value}: a weight")
        for text in texts
        for name, value in _pairs(text, "--weight", "FACTOR=N")
    }


def _bounds(texts: Sequence[str]) -> Mapping[str, int]:
    """Read each ``--relax RULE=N``."""
    by_rule: dict[str, int] = {}
    for text in texts:
        for name, value in _pairs(text, "--relax", "RULE=N"):
            if not (value.isdecimal() and 1 <= int(value) <= _LARGEST):
                raise UsageError(f"--relax {name}={value}: a whole number from 1 on")
            by_rule[name] = int(value)
    return by_rule


def _walltime_limits(texts: Sequence[str]) -> Mapping[str, int]:
    """Read each ``--max-walltime PARTITION=D-HH:MM:SS``."""
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


def _pairs(text: str, flag: str, form: str) -> list[tuple[str, str]]:
    pairs = [part.rpartition("=") for part in text.split(",")]
    names = [name.strip() for name, _, _ in pairs]
    if not all(names):
        raise UsageError(f"{flag} {text}: write {form}, with commas between several")
    if len(set(names)) < len(names):
        raise UsageError(f"{flag} {text}: a name is given twice")
    return [(name, value.strip()) for name, (_, _, value) in zip(names, pairs, strict=True)]


def _number(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (number >= 0 and math.isfinite(number)):
        raise UsageError(f"{what} is a number from 0 on")
    return number


def _amount(flag: str) -> Callable[[str], Amount]:
    """Return what reads ``N``, ``+N`` or ``-N``."""

    def read(text: str) -> Amount:
        relative = text[:1] in ("+", "-")
        try:
            value = int(text)
        except ValueError:
            raise UsageError(f"{flag} {text}: not a whole number") from None
        least = -_LARGEST if relative else 1
        if not least <= value <= _LARGEST:
            raise UsageError(f"{flag} {text}: a whole number from {least} to {_LARGEST}")
        return Amount(value, relative)

    return read


def _walltimes(text: str) -> Fraction:
    """Read ``--walltimes exact`` or a factor."""
    if text == "exact":
        return Fraction(1)
    try:
        factor = Fraction(text).limit_denominator(1_000_000)
    except (ValueError, ZeroDivisionError):
        factor = Fraction(0)
    if not 1 <= factor <= 1_000:
        raise UsageError(
            f"--walltimes {text}: 'exact', or the largest ratio of walltime to run time, from 1 to "
            "1000"
        )
    return factor


_READERS: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "limit": ("limits", limits),
    "lift": ("lift", tuple),
    "relax": ("relax", _bounds),
    "targets": ("targets", _shares),
    "weight": ("weights", _weights),
    "half_life": ("half_life_s", lambda days: days * DAY_S),
    "walltimes": ("walltimes", _walltimes),
    "walltimes_of": ("walltimes_of", tuple),
    "capacity": ("capacity", _amount("--capacity")),
    "nodes": ("nodes", _amount("--nodes")),
    "max_walltime": ("walltime_limits", _walltime_limits),
    "without_user": ("without", tuple),
}
"""By option: the field of ``Change``, and what reads its value."""


def written(change: Change) -> str:
    """Return the options that ask for a change."""
    return shlex.join(_written(change))


def _written(change: Change) -> Iterator[str]:
    for key, value in change.policy.items():
        yield from (SETTINGS[key].flag if key in SETTINGS else f"--{key}", str(value))
    for bound in change.limits:
        who = f"{bound.kind}:{'*' if bound.name is None else bound.name}"
        narrow = ":narrow" if bound.narrow else ""
        yield from ("--limit", f"{who}={bound.most}{bound.unit or ''}{narrow}")
    if change.targets:
        shares = ",".join(f"{name}={share:.12g}" for name, share in change.targets.items())
        yield from ("--targets", shares)
    single = {
        "--half-life": change.half_life_s and f"{change.half_life_s / DAY_S:.12g}",
        "--walltimes": change.walltimes,
        "--capacity": change.capacity and _signed(change.capacity),
        "--nodes": change.nodes and _signed(change.nodes),
    }
    several = {
        "--lift": change.lift,
        "--relax": [f"{rule}={bound}" for rule, bound in change.relax.items()],
        "--walltimes-of": change.walltimes_of,
        "--weight": [f"{name}={weight:.12g}" for name, weight in change.weights.items()],
        "--max-walltime": [
            f"{name}={limit // 60:02}:{limit % 60:02}"
            for name, limit in change.walltime_limits.items()
        ],
        "--without-user": change.without,
    }
    for flag, value in single.items():
        if value is not None:
            yield from (flag, str(value))
    for flag, values in several.items():
        for value in values:
            yield from (flag, value)


def _signed(wanted: Amount) -> str:
    return f"{wanted.amount:+}" if wanted.relative else str(wanted.amount)
